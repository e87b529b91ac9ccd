"""All of Nations on a few predictions: measured, interrupted and continued."""

import json
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import read_table

import whereof
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Event, Events, Note, StageStarted
from whereof.paper.measure import Measuring
from whereof.paper.plan import PaperOptions, plan
from whereof.paper.write import Budget, Deadline, Paper, make_budget, reproduce
from whereof.retrain.engine import LocalEngine
from whereof.run.folder import RunFolder

FEW: dict[str, Any] = {"models": ("distmult",), "seeds": 2, "limit": 2}


class Notes(Events):
    """Records events; stops after a number of retrainings of a part."""

    def __init__(self, stop_in: str | None = None, after: int = 0) -> None:
        self.parts: list[str] = []
        self.prepared: list[str] = []
        self.budget: Budget | None = None
        self.said: list[str] = []
        self.n_retrained = 0
        self.retrained = dict[str, int]()
        """By part."""
        self._stop_in, self._after = stop_in, after

    def emit(self, event: Event) -> None:
        match event:
            case Budget():
                assert self.prepared == []
                self.budget = event
            case Note(text) if text.startswith("training ") and "once" not in text:
                self.prepared.append(text.removeprefix("training "))
            case Note(text):
                self.said.append(text)
            case StageStarted(number, n_stages, title):
                self.parts.append(f"{number} of {n_stages}: {title}")
            case Advanced(noun="retrainings"):
                self.n_retrained += 1
                part = self.parts[-1].partition(": ")[2]
                self.retrained[part] = self.retrained.get(part, 0) + 1
                if self._stop_in and self._stop_in in self.parts[-1]:
                    self._after -= 1

    def should_stop(self) -> bool:
        return self._stop_in is not None and self._after < 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Paper, Notes]:
    notes = Notes()
    out = tmp_path_factory.mktemp("whole") / "paper"
    return reproduce(PaperOptions(**FEW, out=out), notes), notes


def figures(paper: Paper) -> dict[str, Any]:
    """All tables except those of times."""
    tables = paper.to_dict()["tables"]
    return {name: tables[name] for name in tables if name not in ("times", "criage-seconds")}


def test_the_budget_comes_first_and_is_an_upper_bound(whole: tuple[Paper, Notes]) -> None:
    _, notes = whole
    assert notes.budget is not None
    costs = notes.budget.parts
    assert (len(costs), notes.budget.n_kept) == (5, 0)
    assert 0 < notes.n_retrained <= notes.budget.total("n_retrainings")
    assert 0 < costs[0].seconds < notes.budget.total("seconds")
    by_name = {cost.part.name: cost.n_retrainings for cost in costs}
    reliability = 2 * 3 + 2 * 2 + 1  # weighed facts, claims and their control
    assert by_name["lazy-distmult"] == 2 * (2 * 6 + 20 + 1 + reliability)


def test_every_training_is_in_the_budget_once(whole: tuple[Paper, Notes]) -> None:
    paper, notes = whole
    assert notes.budget is not None
    assert (
        notes.budget.total("n_trainings") == 2 * 3 + 2 * 3
    )  # settings, and constraints, of two seeds
    runs = paper.options.folder / "runs"
    assert len([*runs.rglob("manifest.json")]) == notes.budget.total("n_trainings")
    assert len(notes.prepared) == 3  # the others are kept inside these
    first = {cost.part.name: cost.n_trainings for cost in notes.budget.parts}
    shared = [first[name] for name in ("removal-distmult", "theory", "approximation")]
    assert (sum(shared), first["lazy-distmult"], first["criage"]) == (8, 2, 2)
    assert 0 < notes.budget.total("training_seconds") < notes.budget.total("seconds")


def test_a_run_that_is_there_is_not_counted(whole: tuple[Paper, Notes], tmp_path: Path) -> None:
    options = PaperOptions(**FEW, out=tmp_path)
    first, *_ = plan(options)
    measuring = Measuring(options, Notes())
    assert len(measuring.missing(first)) == 2
    shutil.copytree(whole[0].options.folder / "runs" / "distmult", tmp_path / "runs" / "distmult")
    assert measuring.missing(first) == []
    shutil.rmtree(tmp_path / "runs" / "distmult" / "siblings" / "seed-43")
    (missing,) = measuring.missing(first)
    assert missing.name == "seed-43"


def test_all_predictions_are_at_most_as_many_as_queries(tmp_path: Path) -> None:
    options = PaperOptions(models=("complex",), seeds=1, out=tmp_path)
    queries = {(s, r) for s, r, _ in whereof.read("nations").test.tolist()}
    budget = make_budget(plan(options), [], Measuring(options, Notes()))
    assert {cost.n_retrainings for cost in budget.parts} == {len(queries) * 6 + 20 + 1 + 81}
    assert [*tmp_path.iterdir()] == []


def test_the_cheapest_part_is_done_first(whole: tuple[Paper, Notes]) -> None:
    _, notes = whole
    assert notes.budget is not None
    costs = notes.budget.parts
    seconds = [cost.retraining_seconds for cost in costs]
    assert seconds == sorted(seconds)
    assert notes.parts == [f"{n} of 5: {cost.part.title}" for n, cost in enumerate(costs, 1)]


def test_parts_that_have_begun_come_first(whole: tuple[Paper, Notes], tmp_path: Path) -> None:
    options = PaperOptions(models=("distmult",), seeds=1, limit=2, out=tmp_path)
    measuring, parts = Measuring(options, Notes()), plan(options)
    named = {part.name: part for part in parts}
    for name in ("criage", "removal-distmult"):
        run = named[name].run
        shutil.copytree(whole[0].options.folder / "runs" / run, tmp_path / "runs" / run)
    assert named["removal-distmult"] == parts[0]
    assert named["theory"].run == parts[0].run
    budget = make_budget(parts[1:], parts[:1], measuring)
    assert budget.parts[0].part.name == "criage"
    assert (budget.n_kept, budget.at_once) == (1, measuring.engine.at_once)


def test_every_table_and_figure_is_there(whole: tuple[Paper, Notes]) -> None:
    paper, _ = whole
    names = {table.name for table in paper.tables}
    assert names == {
        "table1",
        "table1-released",
        "sizes",
        "criage",
        "criage-p",
        "criage-seconds",
        "models",
        "times",
        "approximation",
        "boxes",
        "steadiness",
        "theory",
    }
    assert paper.drawings.keys() == {
        "scatter",
        "scatter-changes",
        "boxes-distmult-adam",
        "boxes-distmult-adam-lazy",
        "example-distmult-adam-1",
        "example-distmult-adam-2",
        "example-distmult-adam-lazy-1",
        "example-distmult-adam-lazy-2",
    }


def test_rollback_is_compared_with_every_baseline(whole: tuple[Paper, Notes]) -> None:
    tables = {table.name: table for table in whole[0].tables}
    names = [row.names[0] for row in tables["criage-p"].rows]
    assert names == ["rollback, criage"] * 2 + ["rollback, random"] * 2
    assert all(figure for row in tables["criage-p"].rows for figure in row.figures)
    rows = {row.names[1:]: row.figures for row in tables["table1"].rows}
    for optimizer in ("adam", "adam-lazy"):
        for mine, other, apart in zip(
            *(rows[optimizer, n] for n in ("random", "rollback", "difference")), strict=True
        ):
            assert mine is not None
            assert other is not None
            assert apart is not None
            assert apart.seeds == pytest.approx(
                [b - a for a, b in zip(mine.seeds, other.seeds, strict=True)]
            )


def test_the_folder_holds_all_of_it(whole: tuple[Paper, Notes]) -> None:
    paper, _ = whole
    folder = paper.options.folder
    document = json.loads((folder / "paper.json").read_text(), parse_constant=pytest.fail)
    assert document == paper.to_dict()
    assert [part["seeds"] for part in document["parts"]] == [[42, 43]] * 5
    assert document["missing"] == []
    for file in [*document["figures"].values(), "tables.md", "paper.html"]:
        assert (folder / file).stat().st_size > 0


def test_shares_agree_with_the_single_retrainings(whole: tuple[Paper, Notes]) -> None:
    paper, _ = whole
    rows = read_table(paper.options.folder / "retrainings" / "removal-distmult.parquet").to_pylist()
    single = [row for row in rows if (row["method"], row["k"]) == ("rollback", "1")]
    by_seed = [
        [row["actual"] < row["original"] for row in single if row["seed"] == seed]
        for seed in (42, 43)
    ]
    (table,) = [table for table in paper.tables if table.name == "table1"]
    (row,) = [row for row in table.rows if row.names[1:] == ("adam", "rollback")]
    assert row.figures[0] is not None
    assert row.figures[0].seeds == tuple(sum(falls) / len(falls) for falls in by_seed)


def copied(whole: tuple[Paper, Notes], folder: Path, *without: str) -> PaperOptions:
    """The finished folder with some files removed."""
    shutil.copytree(whole[0].options.folder, folder)
    for name in without:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return PaperOptions(**FEW, out=folder)


def test_an_interruption_costs_nothing(whole: tuple[Paper, Notes], tmp_path: Path) -> None:
    paper, notes = whole
    lost = ("parts/criage.json", "parts/theory.json", "runs/distmult-sigmoid")
    options = copied(whole, tmp_path / "paper", *lost)
    first, then = Notes("CRIAGE", 5), Notes()
    with pytest.raises(
        Interrupted, match=r"^interrupted; tables of finished parts: .*paper; run the same command"
    ):
        reproduce(options, first)
    n_kept = 5 - 2 + len(first.parts) - 1
    document = json.loads((options.folder / "paper.json").read_text())
    assert len(document["parts"]) == n_kept
    assert document["summary"][0].startswith(f"Not finished: {5 - n_kept} of 5 parts are missing")
    assert "criage" in document["missing"]
    assert "criage" not in document["tables"]
    for file in [*document["figures"].values(), "tables.md", "paper.html"]:
        assert (options.folder / file).stat().st_size > 0
    again = reproduce(options, then)
    assert then.budget is not None
    assert then.budget.n_kept == n_kept
    assert first.budget is not None
    assert then.budget.total("n_trainings") < first.budget.total("n_trainings")
    assert figures(again) == figures(paper)
    # Threads that were at work when it stopped may have finished, unheard.
    assert notes.retrained["CRIAGE table"] == first.n_retrained + then.n_retrained


def test_it_says_what_was_measured_where(whole: tuple[Paper, Notes]) -> None:
    paper, _ = whole
    (measured,) = {(each["command"], each["machine"]) for each in paper.measured}
    assert measured[0] == "whereof paper nations --models distmult --seeds 2 --limit 2"
    assert measured[1] == LocalEngine().describe()
    assert "core" in measured[1]
    for part in paper.to_dict()["parts"]:
        assert datetime.fromisoformat(part["measured"]["date"]).utcoffset() == timedelta(0)
    for file in ("tables.md", "paper.html"):
        assert measured[0] in (paper.options.folder / file).read_text()


def test_what_does_not_fit_into_the_time_left_is_not_begun() -> None:
    deadline = Deadline(Notes(), 1000.0)
    assert deadline.has_room_for(1.0)
    assert deadline.has_room_for(2000.0)  # it would never fit
    assert not deadline.spent
    assert not deadline.has_room_for(1000.0)
    assert deadline.spent
    assert deadline.should_stop()


def test_a_time_budget_that_is_spent_says_so(tmp_path: Path) -> None:
    notes, options = Notes(), PaperOptions(**FEW, out=tmp_path / "paper", time_budget="0.001s")
    with pytest.raises(Interrupted) as caught:
        reproduce(options, notes)
    assert str(caught.value) == (
        "the time budget is spent; no part is finished; run the same command again to continue"
    )
    assert "s; with a shorter time budget none may finish" in notes.said[0]
    assert not (options.folder / "paper.json").exists()


def test_a_time_budget_keeps_what_is_finished(whole: tuple[Paper, Notes], tmp_path: Path) -> None:
    notes, options = Notes(), copied(whole, tmp_path / "paper")
    options = replace(options, time_budget="0.001s")
    assert reproduce(options, notes).missing == []  # there is nothing left to do
    (options.folder / "parts" / "theory.json").unlink()
    with pytest.raises(Interrupted, match=r"is spent; tables of finished parts: .*paper; run"):
        reproduce(options, notes)
    assert (notes.parts, notes.n_retrained) == ([], 0)
    document = json.loads((options.folder / "paper.json").read_text())
    assert document["missing"] == ["theory"]
    assert document["tables"].keys() == whole[0].to_dict()["tables"].keys() - {"theory"}
    assert reproduce(replace(options, time_budget=None)).missing == []


def test_what_is_finished_is_not_done_again(whole: tuple[Paper, Notes]) -> None:
    paper, _ = whole
    notes = Notes()
    again = reproduce(paper.options, notes)
    assert (notes.parts, notes.n_retrained, notes.budget) == ([], 0, None)
    assert again.to_dict() == paper.to_dict()


@pytest.mark.parametrize("fault", ["not JSON", "a missing field", "another version"])
def test_a_part_that_cannot_be_used_is_measured_again(
    fault: str, whole: tuple[Paper, Notes], tmp_path: Path
) -> None:
    options = copied(whole, tmp_path / "paper")
    path = options.folder / "parts" / "theory.json"
    stored = json.loads(path.read_text())
    if fault == "a missing field":
        del stored["significance"]
    stored["asked"]["whereof"] += "x" * (fault == "another version")
    path.write_text("{" if fault == "not JSON" else json.dumps(stored))
    notes = Notes()
    again = reproduce(options, notes)
    assert notes.said[0] == (
        "measured again, because the settings, the machine or the version differ: theory"
    )
    assert (notes.parts, notes.n_retrained) == (["5 of 5: theory"], 0)
    assert figures(again) == figures(whole[0])


def test_the_engine_is_closed(whole: tuple[Paper, Notes], monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[LocalEngine] = []
    monkeypatch.setattr(LocalEngine, "close", lambda engine: closed.append(engine))
    reproduce(whole[0].options)
    assert len(closed) == 1


def test_other_seeds_are_evaluated_but_retrain_only_what_is_new(whole: tuple[Paper, Notes]) -> None:
    paper, _ = whole
    notes = Notes()
    reproduce(PaperOptions(**(FEW | {"seeds": 1}), out=paper.options.folder), notes)
    assert len(notes.parts) == 5
    assert notes.n_retrained == 0


class Stopped(Events):
    """Stops a training as soon as it asks."""

    def should_stop(self) -> bool:
        return True


@pytest.mark.parametrize("settings", [{}, {"preset": "paper", "epochs": 2}])
def test_a_run_of_other_settings_is_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    whereof.train("nations", out=tmp_path / "runs" / "distmult", model="distmult", **settings)
    with pytest.raises(WhereofError, match="was trained with other settings; remove it"):
        reproduce(PaperOptions(**FEW, out=tmp_path))


def _interrupted(path: Path, **settings: Any) -> None:
    with pytest.raises(Interrupted):
        whereof.train(
            "nations",
            out=path,
            preset="paper",
            model="distmult",
            checkpoint_seconds=0.001,
            events=Stopped(),
            **settings,
        )
    assert not RunFolder.open(path, unfinished=True).manifest.finished


def test_an_unfinished_run_of_other_settings_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "distmult"
    _interrupted(path, dim=4)
    with pytest.raises(WhereofError, match="was trained with other settings; remove it"):
        reproduce(PaperOptions(**FEW, out=tmp_path))
    assert not RunFolder.open(path, unfinished=True).manifest.finished


def test_an_unfinished_run_is_continued(whole: tuple[Paper, Notes], tmp_path: Path) -> None:
    _interrupted(tmp_path / "runs" / "distmult")
    options = PaperOptions(**FEW, out=tmp_path)
    run = Measuring(options, Notes()).open(plan(options)[0])
    same = whereof.Run.open(whole[0].options.folder / "runs" / "distmult")
    assert run.entity_rows.tobytes() == same.entity_rows.tobytes()


def test_the_folder_of_a_run_is_left_alone(tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", epochs=1, model="distmult", dim=4)
    before = sorted(path.name for path in run.path.iterdir())
    with pytest.raises(WhereofError, match="is a run; choose another folder"):
        reproduce(PaperOptions(out=run.path))
    assert sorted(path.name for path in run.path.iterdir()) == before
