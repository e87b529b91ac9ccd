"""A run folder: its content, and error messages for broken ones."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from listening import Recorded
from safetensors.numpy import load_file
from trained import train

import whereof
from whereof.errors import Interrupted
from whereof.events import Validated
from whereof.run.dataset import read_dataset
from whereof.run.folder import RunFolder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, keep_checkpoints=2, inverse=True)
    return path


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_a_run_can_be_read_without_whereof(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = load_file(folder / "parameters.safetensors")
    trace, facts = np.load(folder / "trace.npy"), np.load(folder / "train.npy")
    assert manifest["format"] == 1
    assert manifest["dataset"]["hash"] == whereof.Run.open(folder).dataset.hash
    assert rows["entities"].shape == (14, 6)
    assert rows["relations"].shape == (110, 6)
    assert facts.shape == (1592, 3)
    assert trace.shape == (1592, 24)
    assert len(json.loads((folder / "history.json").read_text())) == 4


def test_the_manifest_says_how_the_data_was_read(folder: Path) -> None:
    opened = RunFolder.open(folder)
    about = opened.manifest.dataset
    assert about["read"] == opened.dataset.read == {"data": "nations"}
    older = {name: value for name, value in about.items() if name != "read"}
    assert read_dataset(folder, older, opened.manifest.files).read == {}


def test_nothing_of_the_making_is_left(folder: Path) -> None:
    names = {file.name for file in folder.iterdir()}
    assert not [name for name in names if name == "progress" or name.endswith(".new")]


def test_an_opened_run_is_what_was_trained(folder: Path) -> None:
    run = whereof.Run.open(folder)
    assert run.entity_rows.dtype == np.float32
    assert isinstance(run.trace, np.memmap)
    assert run.dataset.entities.name(run.dataset.entities.find("egypt")) == "egypt"
    assert run.summary()["metrics"]["test"]["mrr"] > 0.3


def test_checkpoints_are_spread_over_training_and_end_with_it(folder: Path) -> None:
    kept = sorted((folder / "checkpoints").iterdir())
    assert [file.name for file in kept] == ["0001.safetensors", "0002.safetensors"]
    last, final = load_file(kept[-1]), load_file(folder / "parameters.safetensors")
    if whereof.Run.open(folder).summary()["best_epoch"] == 4:
        assert np.array_equal(last["entities"], final["entities"])
    assert not np.array_equal(load_file(kept[0])["entities"], last["entities"])


@pytest.mark.parametrize(
    "name", ["trace.npy", "parameters.safetensors", "entities.json", "test.npy"]
)
@pytest.mark.parametrize("damage", ["missing", "truncated", "altered"])
def test_a_damaged_file_is_named(folder: Path, name: str, damage: str) -> None:
    RunFolder.open(folder)  # a check that is remembered must not hide what happens later
    file = folder / name
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(content[:-1])
    else:
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(whereof.WhereofError, match=f"{name}.*(missing|truncated|altered)"):
        RunFolder.open(folder)


def test_check_looks_again_at_a_file_that_seems_unchanged(folder: Path) -> None:
    RunFolder.open(folder)
    trace = folder / "trace.npy"
    times, content = trace.stat(), trace.read_bytes()
    trace.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(trace, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(whereof.WhereofError, match=r"trace\.npy was altered"):
        RunFolder.open(folder, check=True)


def test_an_altered_manifest_is_noticed(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed": 3', '"seed": 4'))
    with pytest.raises(whereof.WhereofError, match=r"manifest\.json was altered"):
        RunFolder.open(folder)


def test_a_truncated_manifest_is_noticed(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text()[:100])
    with pytest.raises(whereof.WhereofError, match=r"manifest\.json cannot be read"):
        RunFolder.open(folder)


def test_a_newer_format_asks_for_an_upgrade(folder: Path) -> None:
    manifest = folder / "manifest.json"
    values = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(values | {"format": 2}))
    with pytest.raises(whereof.WhereofError, match=r"format 2.*upgrade"):
        RunFolder.open(folder)


def test_a_place_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(whereof.WhereofError, match="no run at"):
        RunFolder.open(tmp_path / "nowhere")
    with pytest.raises(whereof.WhereofError, match=r"no manifest\.json"):
        RunFolder.open(tmp_path)


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("mine")
    with pytest.raises(
        whereof.WhereofError, match=r"exists; choose another folder with -o \(in Python: out=\)$"
    ):
        train(tmp_path / "run")
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_bad_settings_leave_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(whereof.WhereofError, match="more than the 13 other entities"):
        train(tmp_path / "run", negatives=14)
    assert not list(tmp_path.iterdir())


def test_a_trace_too_large_for_memory_is_mapped_and_equal(tmp_path: Path) -> None:
    in_memory = train(tmp_path / "memory", epochs=2)
    mapped = train(tmp_path / "mapped", epochs=2, memory_share=0.0)
    assert np.array_equal(in_memory.trace, mapped.trace)
    assert in_memory.trace.any()


def test_a_run_without_a_trace_has_none(tmp_path: Path) -> None:
    run = train(tmp_path / "run", trace=False, epochs=1)
    assert run.trace is None
    assert run.summary()["trace_bytes"] == 0
    assert not (tmp_path / "run" / "trace.npy").exists()


def test_an_unfinished_run_says_how_far_it_has_come(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", epochs=1000, events=Recorded(3, Validated))
    info = whereof.Run.open(tmp_path / "run", unfinished=True).info()
    assert not info["finished"]
    assert info["epochs"] == len(info["history"]) == 3
    assert info["steps"] == 3 * 1592
    assert info["config"]["epochs"] == 1000
    assert info["metrics"] == {}
    with pytest.raises(whereof.WhereofError, match="not finished; continue with"):
        whereof.Run.open(tmp_path / "run")
    with pytest.raises(whereof.WhereofError, match=r"exists; .*whereof train --resume"):
        train(tmp_path / "run")


def test_before_its_first_checkpoint_a_run_has_come_nowhere(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", epochs=1000, events=Recorded(1, Validated))
    shutil.rmtree(tmp_path / "run" / "progress")
    info = whereof.Run.open(tmp_path / "run", unfinished=True).info()
    assert (info["epochs"], info["steps"], info["history"]) == (0, 0, [])


def test_a_finished_run_is_described_as_it_is(finished: Path) -> None:
    assert whereof.Run.open(finished, unfinished=True).info() == whereof.Run.open(finished).info()


def test_ratings_and_sources_are_kept_with_the_facts(tmp_path: Path) -> None:
    films = {"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [1.0, 2.5, 3.0, 4.0]}
    films |= {"source": ["web", "app", "web", "app"]}
    trained = whereof.train(films, out=tmp_path / "run", dim=2, epochs=1)
    names = {"ratings-train.npy", "ratings-test.npy", "sources.json", "sources.npy"}
    assert names <= trained.info()["files"].keys()
    dataset = whereof.Run.open(tmp_path / "run").dataset
    assert dataset.ratings is not None
    assert dataset.ratings.train.tolist() == films["rating"]
    assert dataset.sources is not None
    assert list(dataset.sources) == films["source"]
    (tmp_path / "run" / "sources.npy").unlink()
    with pytest.raises(whereof.WhereofError, match=r"sources\.npy.*missing"):
        RunFolder.open(tmp_path / "run")


def test_data_without_ratings_and_sources_has_no_files_for_them(folder: Path) -> None:
    assert not [*folder.glob("ratings-*"), *folder.glob("sources.*")]
