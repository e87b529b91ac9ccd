"""Finished audits in the run's folder: their addresses also work after a restart."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.evaluate.audit import Audit
from whereof.events import Events, Note
from whereof.run import files
from whereof.server.queue import BackgroundJob


@dataclass(frozen=True)
class KeptAudit:
    """A finished audit as a file; its name is the id of the job."""

    options: dict[str, Any]
    created: str
    result: Audit


def keep_audit(run: Run, job: BackgroundJob, found: Any, events: Events) -> None:
    """Write the result of a job into the run's folder, if it is an audit."""
    if run.path is None or not isinstance(found, Audit):
        return
    document = {"options": job.options, "created": job.created, "result": found.to_dict()}
    path = run.file(f"audits/{job.id}.json")
    try:
        path.parent.mkdir(exist_ok=True)
        files.write_sealed(path, document)
    except (OSError, ValueError, WhereofError) as error:
        events.emit(Note(f"the audit is not stored in the run: {error}"))


def kept_audits(run_id: str, run: Run) -> Iterator[BackgroundJob]:
    """The audits in a run's folder, as jobs that are done."""
    for path in [] if run.path is None else run.path.glob("audits/*.json"):
        try:
            document = files.parse_json(path.read_text(encoding="utf-8"))
            files.check_seal(path, document)
            kept = msgspec.convert(document, KeptAudit)
        except (OSError, ValueError, WhereofError, msgspec.ValidationError) as error:
            logging.getLogger(__name__).warning("%s is left out: %s", path, error)
            continue
        yield BackgroundJob(
            run_id,
            "audit",
            kept.options,
            id=path.stem,
            created=kept.created,
            state="done",
            found=kept.result,
        )
