"""One part after another: evaluated, and kept when it is finished."""

import json
from dataclasses import dataclass, fields
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from whereof._version import __version__
from whereof.api import Run
from whereof.api._cases import open_case
from whereof.evaluate.evaluation import Evaluation, Retraining, plain
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import result_fields
from whereof.evaluate.protocols.removal import Significance
from whereof.events import Events
from whereof.files import write_retrainings, write_text
from whereof.paper._examples import choose_examples
from whereof.paper._options import PaperOptions
from whereof.paper._plan import FIRST_SEED, Part
from whereof.paper._provenance import note_measured
from whereof.paper._qualitative import explain_examples
from whereof.paper._results import Document
from whereof.paper._runs import Runs
from whereof.paper._truth import measure_truth, open_other
from whereof.retrain import Engine

_EXAMPLES, _EXAMPLE_FACTS = 2, 8


@dataclass(frozen=True)
class Measuring:
    """Everything that measuring a part needs."""

    options: PaperOptions
    engine: Engine
    events: Events
    runs: Runs

    def kept(self, part: Part) -> Document | None:
        """What a part came to when it was finished before, under the same settings."""
        try:
            found = json.loads(self._path(part).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = isinstance(found, dict) and found.get("asked") == self._asked(part)
        return found if same else None

    def measure(self, part: Part) -> Document:
        """Evaluate a part, and keep what it came to."""
        run = self.runs.open(part)
        found = self._found(run, part)
        document: dict[str, Any] = plain(
            {
                "asked": self._asked(part),
                "measured": note_measured(self.options, self.engine),
                "runs": [_trained(each) for each in self.runs.seeds(run, part)],
                **found,
            }
        )
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
        write_text(self._path(part), text, force=True)
        return document

    def _found(self, run: Run, part: Part) -> Document:
        """What a part keeps of its own, beside what all of them do."""
        # What may be lacking is found out before anything is retrained.
        qualitative = explain_examples(part.name, self.options.dataset, run, self.events)
        other = open_other(part, self.runs, run)
        evaluation = self._evaluate(run, part, part.methods, part.baselines[-1])
        self._write_retrainings(part, evaluation)
        return {
            "evaluation": evaluation.to_dict(),
            "significance": self._significance(run, part, evaluation),
            "examples": _examples(run, evaluation),
            "qualitative": qualitative,
            **({} if other is None else self._truth(run, other, evaluation)),
        }

    def _truth(self, run: Run, other: Run, evaluation: Evaluation) -> Document:
        """What the part of the truth has more than others."""
        options = EvaluateOptions.from_dict(evaluation.options)
        with open_case(run, self.engine, self.events) as case:
            return measure_truth(case, other, options)

    def _evaluate(
        self, run: Run, part: Part, methods: tuple[str, ...], baseline: str
    ) -> Evaluation:
        asked: dict[str, Any] = {
            "methods": methods,
            "k": part.sizes,
            "protocols": part.protocols,
            "baseline": baseline,
            "seeds": part.n_seeds,
            "limit": self.options.n_predictions,
        }
        if "approximation" in part.protocols:
            asked["constraints"] = part.constraints
        asked |= part.asked
        return run.evaluate(events=self.events, **asked, **self.runs.engine.to_dict())

    def _significance(self, run: Run, part: Part, evaluation: Evaluation) -> list[Significance]:
        """Rollback against every baseline; an evaluation has one, and retrains nothing twice."""
        found = [
            self._evaluate(run, part, (baseline, "rollback"), baseline)
            for baseline in part.baselines[:-1]
        ]
        rows = [row for each in (*found, evaluation) for row in each.significance]
        return [row for row in rows if row.method == "rollback"]

    def _write_retrainings(self, part: Part, evaluation: Evaluation) -> None:
        """A table of every single one, where Parquet can be written."""
        if not evaluation.retrainings or find_spec("pyarrow") is None:
            return
        path = self.options.folder / "retrainings" / f"{part.name}.parquet"
        write_retrainings(path, map(plain, evaluation.retrainings), force=True)

    def _path(self, part: Part) -> Path:
        return self.options.folder / "parts" / f"{part.name}.json"

    def _asked(self, part: Part) -> Document:
        """What tells a finished part from one that was asked otherwise."""
        return {
            "part": plain(part),
            "limit": self.options.n_predictions,
            "engine": self.engine.identity,
            "whereof": __version__,
            "records": _records_key(),
        }


def _records_key() -> str:
    """Tells evaluations whose records have these fields from others, also within a version."""
    kinds = {name: get_args(kind)[0] for name, kind in result_fields().items()}
    kinds |= {"evaluation": Evaluation, "retraining": Retraining}
    named = {name: [item.name for item in fields(kind)] for name, kind in kinds.items()}
    return blake2b(json.dumps(named, sort_keys=True).encode(), digest_size=8).hexdigest()


def _trained(run: Run) -> Document:
    """What training came to."""
    seconds = run.summary()["seconds"]
    return {"seed": run.config.seed, "seconds": seconds, "metrics": run.metrics}


def _examples(run: Run, evaluation: Evaluation) -> list[Document]:
    """Explanations of the predictions that fell furthest."""
    found = choose_examples(evaluation.retrainings, FIRST_SEED, _EXAMPLES)
    return [
        run.explain(subject, relation, object_, top=_EXAMPLE_FACTS).to_dict()
        for subject, relation, object_, asks in found
        if asks == "object"
    ]
