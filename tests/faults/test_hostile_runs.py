"""Run folders that were damaged or crafted: an error in one line, never a crash or a figure."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from listening import Recorded
from safetensors.numpy import load_file, save_file
from trained import train

import whereof
from whereof.errors import Interrupted
from whereof.retrain.journal import open_journal
from whereof.run.files import describe, digest
from whereof.run.folder import Manifest


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, keep_checkpoints=2)
    return path


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def reseal(run: Path, **changes: Any) -> None:
    """Describe all files of the manifest again, as an attacker would."""
    values = json.loads((run / "manifest.json").read_text())
    values.pop("checksum")
    for name, value in changes.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    for name in values["files"]:
        if (run / name).is_file():
            values["files"][name] = describe(run / name)
    sealed = values | {"checksum": digest(values)}
    (run / "manifest.json").write_text(json.dumps(sealed))


def use(run: Path) -> None:
    opened = whereof.Run.open(run)
    opened.info()
    opened.predict("egypt", "embassy")
    opened.explain("egypt", "embassy", "usa", method="rollback")
    opened.kept_checkpoints()


def alter(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def altered(run: Path) -> None:
        np.save(run / name, change(np.load(run / name)))

    return altered


def alter_rows(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def altered(run: Path) -> None:
        file = run / "parameters.safetensors"
        rows = load_file(file)
        save_file(rows | {name: np.ascontiguousarray(change(rows[name]))}, file)

    return altered


def alter_json(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def altered(run: Path) -> None:
        file = run / name
        file.write_text(json.dumps(change(json.loads(file.read_text()))))

    return altered


CRAFTED = {
    "ids of facts": alter("train.npy", lambda it: it + 1000),
    "negative ids": alter("adjacency-entity-facts.npy", lambda it: it - 5000),
    "large ids": alter("adjacency-relation-facts.npy", lambda it: it + 100_000),
    "bounds": alter("adjacency-entity-bounds.npy", lambda it: it * 7),
    "fewer bounds": alter("adjacency-entity-bounds.npy", lambda it: it[:3]),
    "type of bounds": alter("adjacency-relation-bounds.npy", lambda it: it.astype(np.float64)),
    "short trace": alter("trace.npy", lambda it: it[:2]),
    "narrow trace": alter("trace.npy", lambda it: it[:, :3]),
    "type of trace": alter("trace.npy", lambda it: it.astype(np.float64)),
    "two rows": alter_rows("entities", lambda it: it[:2]),
    "narrow rows": alter_rows("relations", lambda it: it[:, :1]),
    "type of rows": alter_rows("entities", lambda it: it.astype(np.float64)),
    "NaN": alter_rows("entities", lambda it: it * np.nan),
    "no tensor": lambda run: save_file({"x": np.zeros(1)}, run / "parameters.safetensors"),
    "no array": lambda run: (run / "train.npy").write_bytes(b"\x93NUMPY"),
    "fewer names": alter_json("entities.json", lambda it: it | {"names": it["names"][:3]}),
    "numbers as names": alter_json("entities.json", lambda it: it | {"names": [1] * 14}),
    "a list": alter_json("relations.json", lambda it: [it]),
    "labels": alter_json("entities.json", lambda it: it | {"labels": 5}),
    "metrics": alter_json("metrics.json", lambda it: [1, 2]),
    "history": alter_json("history.json", lambda it: {"a": 1}),
}


@pytest.mark.parametrize("craft", CRAFTED.values(), ids=CRAFTED)
def test_a_crafted_file_is_refused(run: Path, craft: Callable[[Path], None]) -> None:
    craft(run)
    reseal(run)
    with pytest.raises(whereof.WhereofError):
        use(run)


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": {"objects": [-5, 14]}},
        {"dataset": {"subjects": [0, 10**6]}},
        {"dataset": {"objects": ["a", 3]}},
        {"dataset": {"notes": None}},
        {"dataset": {"labels": "../../labels.json"}},
        {"result": {"facts_per_second": "fast"}},
        {"result": {"best_epoch": []}},
        {"config": {"dim": 10**9}},
        {"config": {"model": 5}},
        {"config": []},
        {"files": {"../run/train.npy": {}}},
        {"files": {"/etc/hostname": {}}},
        {"files": {"train.npy": 5}},
        {"created": 5},
    ],
    ids=str,
)
def test_a_crafted_manifest_is_refused(run: Path, changes: dict[str, Any]) -> None:
    harmless = changes == {"dataset": {"labels": "../../labels.json"}}
    (run.parent.parent / "labels.json").write_text("{")
    values = json.loads((run / "manifest.json").read_text())
    values.pop("checksum")
    for name, value in changes.items():
        values[name] = values[name] | value if isinstance(value, dict) else value
    (run / "manifest.json").write_text(json.dumps(values | {"checksum": digest(values)}))
    if harmless:  # a file that the manifest does not list is not read
        use(run)
        return
    with pytest.raises(whereof.WhereofError):
        use(run)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": NaN}', "[" * 100_000, '{"format": 1}'])
def test_a_manifest_that_is_none_is_refused(run: Path, text: str) -> None:
    (run / "manifest.json").write_text(text)
    with pytest.raises(whereof.WhereofError, match=r"manifest\.json"):
        Manifest.read(run)


def test_files_that_the_manifest_does_not_list_are_not_read(finished: Path, run: Path) -> None:
    shutil.copy(run / "checkpoints" / "0001.safetensors", run / "checkpoints" / "0009.safetensors")
    (run / "checkpoints" / ".DS_Store").write_bytes(b"mine")
    (run / "sources.json").write_text('["mine"]')
    np.save(run / "sources.npy", np.zeros(1592, np.int32))
    for split in ("train", "valid", "test"):
        np.save(run / f"ratings-{split}.npy", np.ones(3, np.float32))
    np.save(run / "weights.npy", np.zeros(1592))
    opened, own = whereof.Run.open(run), whereof.Run.open(finished)
    assert len(opened.kept_checkpoints()) == 2
    assert opened.dataset.sources is opened.dataset.ratings is opened.dataset.weights is None
    assert opened.fingerprint == own.fingerprint


@pytest.mark.parametrize("name", ["trace.npy", "adjacency-entity-facts.npy"])
def test_a_file_that_is_cut_under_an_open_run_is_noticed(run: Path, name: str) -> None:
    opened = whereof.Run.open(run)
    opened.explain("egypt", "embassy", "usa", method="rollback")
    (run / name).write_bytes((run / name).read_bytes()[:100])
    with pytest.raises(whereof.WhereofError, match=f"{name} is truncated"):
        opened.explain("egypt", "embassy", "usa", method="rollback")


def test_a_file_that_is_altered_before_its_first_use_is_noticed(run: Path) -> None:
    opened = whereof.Run.open(run)
    alter_rows("entities", np.negative)(run)
    with pytest.raises(whereof.WhereofError, match=r"parameters\.safetensors was altered"):
        opened.predict("egypt", "embassy")


def flipped(path: Path, seed: int) -> bytes:
    content, rng = bytearray(path.read_bytes()), np.random.default_rng(seed)
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return bytes(content)


def test_no_flipped_bit_in_a_journal_of_retrainings_becomes_a_figure(run: Path) -> None:
    opened = whereof.Run.open(run)
    opened.verify("egypt", "embassy", "usa", method="random", top=2)
    (path,) = run.glob("retrained/*.jsonl")
    with open_journal(path) as journal:
        known = journal._found
    content = path.read_bytes()
    assert len(known) >= 2
    for seed in range(100):
        path.write_bytes(content)
        path.write_bytes(flipped(path, seed))
        with open_journal(path) as journal:
            assert journal._found.items() <= known.items()


def test_no_flipped_bit_in_unfinished_work_becomes_a_figure(run: Path, tmp_path: Path) -> None:
    opened, out = whereof.Run.open(run), tmp_path / "e.jsonl"
    asked: dict[str, Any] = {"limit": 6, "top": 2, "method": "rollback"}
    opened.explain_file("true", tmp_path / "whole.jsonl", **asked)
    with pytest.raises(Interrupted):
        opened.explain_file("true", out, **asked, events=Recorded(5))
    journal = tmp_path / ".e.jsonl.unfinished"
    content = journal.read_bytes()
    for seed in range(20):
        journal.write_bytes(content)
        journal.write_bytes(flipped(journal, seed))
        try:
            opened.explain_file("true", out, **asked)
        except whereof.WhereofError as error:
            assert "unfinished work" in str(error)  # noqa: PT017 - the header was hit
            continue
        assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
        out.unlink()


PREPARED = {
    "ids of rivals": lambda it: it | {"rivals": it["rivals"] + 10**6},
    "negative ids": lambda it: it | {"rivals": -it["rivals"] - 1},
    "fewer facts": lambda it: it | {"changes": it["changes"][:, :5]},
    "fewer columns": lambda it: it | {"changes": it["changes"][:1]},
    "NaN": lambda it: it | {"changes": it["changes"] * np.nan},
    "text": lambda it: it | {"changes": np.array("much")},
    "no changes": lambda it: {"rivals": it["rivals"]},
    "nothing": lambda it: {"x": np.zeros(0)},
}


@pytest.mark.parametrize("craft", PREPARED.values(), ids=PREPARED)
def test_crafted_arrays_of_a_method_are_computed_again(
    run: Path, craft: Callable[[Any], Any]
) -> None:
    asked: Any = ("egypt", "embassy", "usa")
    wanted = whereof.Run.open(run).explain(*asked, method="unrolled").to_dict()
    store = whereof.Run.open(run)._trained.store
    for file in run.glob("prepared/*.npz"):
        arrays = store._read(file.stem)
        assert arrays is not None
        store.put(file.stem, craft(arrays) if "changes" in arrays else {"scale": np.array("x")})
    found = whereof.Run.open(run).explain(*asked, method="unrolled").to_dict()
    assert found | {"seconds": 0} == wanted | {"seconds": 0}


def test_arrays_of_another_run_are_computed_again(run: Path, tmp_path: Path) -> None:
    asked: Any = ("egypt", "embassy", "usa")
    wanted = whereof.Run.open(run).explain(*asked, method="unrolled").to_dict()
    train(tmp_path / "other", seed=1).explain(*asked, method="unrolled")
    names = [{file.name for file in it.glob("prepared/*")} for it in (run, tmp_path / "other")]
    assert names[0] == names[1]
    shutil.rmtree(run / "prepared")
    shutil.copytree(tmp_path / "other" / "prepared", run / "prepared")
    found = whereof.Run.open(run).explain(*asked, method="unrolled").to_dict()
    assert found | {"seconds": 0} == wanted | {"seconds": 0}


WRITTEN = (
    *(".checked.json", ".lock", "reliability.json", "retrained", "prepared", "siblings"),
    *("evaluations", "progress", "prepared/x.npz", "retrained/x.jsonl", "evaluations/x.json"),
    *("audits", "audits/x.json"),
)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_run_does_not_write_through_a_link(run: Path, name: str) -> None:
    outside = run.parent / "outside"
    outside.write_text("mine")
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(outside)
    with pytest.raises(whereof.WhereofError, match="is a link; replace it by a copy"):
        use(run)
    assert outside.read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", WRITTEN)
def test_a_run_does_not_wait_for_a_pipe(run: Path, name: str) -> None:
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    with pytest.raises(whereof.WhereofError, match="is a device or a pipe; delete it"):
        use(run)


def test_drafts_of_documents_are_not_links(run: Path) -> None:
    outside = run.parent / "outside"
    outside.write_text("mine")
    (run / "manifest.json.new").symlink_to(outside)
    whereof.Run.open(run).add_labels({"egypt": "Egypt"})
    assert outside.read_text() == "mine"
    assert whereof.Run.open(run).find_labels("egypt", "embassy")["subject"] == "Egypt"


def test_a_listed_file_may_stand_elsewhere_if_it_is_unchanged(run: Path, tmp_path: Path) -> None:
    (run / "trace.npy").rename(tmp_path / "large.npy")
    (run / "trace.npy").symlink_to(tmp_path / "large.npy")
    use(run)
    (run / "trace.npy").unlink()
    (run / "trace.npy").symlink_to("/etc/hostname")
    with pytest.raises(whereof.WhereofError, match=r"trace\.npy is truncated or altered"):
        use(run)
