"""Tables, sentences and files from made-up evaluations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from present.pages import read_page

import whereof
from paper import hand_made
from whereof.paper.compare import compare, summarise
from whereof.paper.figures import Comparison, Figure, Row
from whereof.paper.measure import ExplainedExample, PartResult
from whereof.paper.plan import PaperOptions
from whereof.paper.write import Paper


@pytest.fixture(scope="module")
def results() -> Paper:
    parts = {
        "removal-distmult": hand_made.table1(),
        "criage": hand_made.criage(),
        "approximation": hand_made.approximation(),
        "theory": hand_made.theory(),
    }
    return hand_made.results(PaperOptions(models=("distmult",), seeds=2), parts)


@pytest.fixture(scope="module")
def tables(results: Paper) -> dict[str, Comparison]:
    return {table.name: table for table in compare(results)}


def figure(table: Comparison, *names: str, column: str) -> Figure:
    found = table.figures(*names)[list(table.columns).index(column)]
    assert found is not None
    return found


@pytest.fixture(scope="module")
def both() -> Paper:
    """DistMult with both optimizers; of ComplEx nothing is finished."""
    parts = {"removal-distmult": hand_made.table1(), "lazy-distmult": hand_made.lazy()}
    return hand_made.results(PaperOptions("fb15k-237"), parts)


def test_what_was_not_measured_has_no_table(tables: dict[str, Comparison], both: Paper) -> None:
    names = {table.name for table in compare(both)}
    assert not names & {"criage", "criage-p", "criage-seconds", "theory"}
    assert {"table1", "sizes", "criage", "criage-p", "models", "times", "theory"} <= tables.keys()


def test_table_1_stands_beside_the_papers(tables: dict[str, Comparison]) -> None:
    first = figure(tables["table1"], "DistMult", "adam", "rollback", column="PD 1")
    assert (first.mean, first.seeds, first.n_predictions) == (
        pytest.approx(0.91),
        (0.88, 0.94),
        143,
    )
    assert (first.paper, first.paper_is) == (0.93, "inside")
    answer = figure(tables["table1"], "DistMult", "adam", "rollback", column="TC 1")
    assert (answer.paper, answer.paper_is) == (0.38, "above")
    apart = figure(tables["table1"], "DistMult", "adam", "difference", column="PD 1")
    assert (apart.mean, apart.paper) == (0.36, 0.39)


def test_removed_answers_may_count_as_new(tables: dict[str, Comparison]) -> None:
    answer = figure(tables["table1-released"], "DistMult", "adam", "rollback", column="TC 1")
    assert answer.mean == pytest.approx(0.34)
    assert answer.interval == pytest.approx((0.3, 0.37))
    assert answer.seeds == pytest.approx((0.32, 0.36))
    assert (answer.n_predictions, answer.paper) == (143, None)
    assert len(tables["table1-released"].rows) == 2


def test_sizes(tables: dict[str, Comparison]) -> None:
    taken = figure(tables["sizes"], "DistMult", "adam", column="removed by GR-all")
    assert (taken.mean, taken.std, taken.seeds) == (250.0, 50.0, (240.0, 260.0))
    assert (taken.paper, taken.paper_std) == (261, 56)
    assert figure(tables["sizes"], "DistMult", "adam", column="adjacent").mean == 500


def test_the_criage_table(tables: dict[str, Comparison]) -> None:
    assert figure(tables["criage"], "criage", "TC", column="k = 5").paper == 0.48
    assert figure(tables["criage"], "rollback", "PD", column="k = 3").mean == 0.9
    assert figure(tables["criage-p"], "rollback, criage", "PD", column="k = 10").mean == 0.0001
    assert figure(tables["criage-seconds"], "criage", column="seconds").mean == 0.01


def test_models_and_times(tables: dict[str, Comparison]) -> None:
    mrr = figure(tables["models"], "DistMult", "adam", "paper's", column="MRR")
    assert (mrr.mean, mrr.paper, mrr.interval) == (0.6, 0.5888, (0.6, 0.6))
    assert figure(tables["models"], "DistMult", "adam", "standard", column="MRR").paper is None
    training = figure(tables["times"], "DistMult", "adam", column="training, s")
    assert (training.mean, training.paper) == (pytest.approx(0.6), 60)
    assert training.interval == pytest.approx((0.5, 0.7))  # of 4 ways to draw 2 seeds, the ends
    assert figure(
        tables["times"], "DistMult", "adam", column="training, min"
    ).interval == pytest.approx((0.5 / 60, 0.7 / 60))
    explaining = figure(tables["times"], "DistMult", "adam", column="explaining, s")
    assert (explaining.seeds, explaining.paper) == ((0.005, 0.007), pytest.approx(4.2))
    assert explaining.interval == pytest.approx((0.005, 0.007))
    minutes = figure(tables["times"], "DistMult", "adam", column="explaining, min")
    assert (minutes.mean, minutes.paper) == (pytest.approx(0.0001), pytest.approx(0.07))


def test_approximation_has_every_seed_that_is_known(tables: dict[str, Comparison]) -> None:
    changes = figure(tables["approximation"], "DistMult", "adam", "none", column="r, changes")
    assert (changes.mean, changes.seeds, changes.interval) == (0.4, (0.3,), None)
    whole = figure(tables["approximation"], "DistMult", "adam", "none", column="r, probabilities")
    assert (whole.seeds, whole.interval) == ((0.94, 0.96), (0.93, 0.97))
    assert figure(
        tables["approximation"], "DistMult", "adam", "none", column="Lipschitz"
    ).interval == (6.8, 7.0)
    slope = figure(tables["approximation"], "DistMult", "adam", "unit", column="Lipschitz")
    assert (slope.mean, slope.paper) == (0.7, 0.67)


def test_one_seed_has_no_interval_over_seeds() -> None:
    part = hand_made.table1()
    part = replace(part, metrics=part.metrics[:1])
    results = hand_made.results(
        PaperOptions(models=("distmult",), seeds=1), {"removal-distmult": part}
    )
    (models,) = [table for table in compare(results) if table.name == "models"]
    mrr = figure(models, "DistMult", "adam", "paper's", column="MRR")
    assert (mrr.seeds, mrr.interval) == ((0.6,), None)


def shown(table: Comparison) -> list[tuple[str, ...]]:
    """The rows that people see."""
    return [tuple(getattr(cell, "value", cell) for cell in row) for row in table.table().rows]


def test_rows_read_ours_first_and_the_papers_last(tables: dict[str, Comparison]) -> None:
    rows = shown(tables["table1"])
    first = [row[0] for row in rows].index("DistMult, adam, rollback")
    assert [row[1] for row in rows[first : first + 4]] == ["91.0%", "87-95%", "88-94%", "93%"]
    assert [row[0] for row in rows[first + 1 : first + 4]] == ["95%", "seeds", "paper"]


def test_values_that_are_not_known_are_shown_as_such(tables: dict[str, Comparison]) -> None:
    assert ("stability bound", "-") in shown(tables["theory"])


def test_the_summary_says_where_figures_lie(results: Paper) -> None:
    paper = results
    text = " ".join(paper.summary)
    assert "Table 1, the paper's 12 figures beside the range of our 2 seeds" in text
    assert "DistMult adam rollback TC 1 (paper 38%, ours 30-34%)" in text
    assert "DistMult adam paper's MRR (paper 58.88%, ours 60.0%)" in text
    assert "falls in 91.0% of predictions, 36.0 points more than without a random fact" in text
    assert "rollback is at or above criage in 8 of 8 figures; 4 of 8 differences" in text
    assert "the slope of the score falls from 6.90 to 0.700, and r rises: 0.950 to 0.990" in text
    assert "So rollback is closer to retraining" in text


def test_one_seed_says_how_far_from_the_paper_it_is() -> None:
    part = hand_made.table1()
    first = [
        replace(row, pd=row.pd_seeds[0], pd_seeds=row.pd_seeds[:1])
        for row in part.evaluation.removal
    ]
    first = [replace(row, tc=row.tc_seeds[0], tc_seeds=row.tc_seeds[:1]) for row in first]
    evaluation = hand_made.evaluation(seeds=(42,), removal=tuple(first))
    part = replace(part, evaluation=evaluation)
    options = PaperOptions(models=("distmult",), seeds=1)
    paper = hand_made.results(options, {"removal-distmult": part})
    table = {table.name: table for table in paper.tables}["table1"]
    apart = [
        100 * abs(figure.mean - figure.paper)
        for row in table.rows
        if row.names[-1] != "difference"
        for figure in row.figures
    ]
    assert (len(apart), max(apart) > 1) == (12, True)
    mean = sum(apart) / len(apart)
    (sentence,) = [each for each in paper.summary if each.startswith("Table 1, the paper's")]
    expected = f"Table 1, the paper's 12 figures beside our one seed: {mean:.1f} points apart on"
    assert sentence == f"{expected} average."


def test_files_hold_all_of_it(results: Paper, tmp_path: Path) -> None:
    paper = results
    paper.write(tmp_path)
    document = json.loads((tmp_path / "paper.json").read_text(), parse_constant=pytest.fail)
    assert [part["seeds"] for part in document["parts"]] == [[42, 43]] * 4
    (row,) = [r for r in document["tables"]["table1"]["rows"] if r["method"] == "rollback"]
    assert row["pd_1"]["paper"] == 0.93
    tables_md = (tmp_path / "tables.md").read_text()
    assert (
        "| DistMult, adam, rollback | 91.0% | 98.0% | 100.0% | 32.0% | 86.0% | 98.0% |" in tables_md
    )
    page = (tmp_path / "paper.html").read_text()
    assert page.count("<table") == len(paper.tables)
    assert len(paper.drawings) == 3
    assert page.count("<svg") == 1 + len(paper.drawings)  # one opens the page
    found = read_page(page)
    assert not found.sources
    assert not {"link", "script", "img", "iframe"} & {*found.tags}
    assert {link.removeprefix("#") for link in found.links} <= {*found.ids}
    assert " ".join(paper.summary[0].split()) in found.text.replace("\N{MINUS SIGN}", "-")
    assert {file.stem for file in tmp_path.glob("*.svg")} == paper.drawings.keys()


def test_both_optimizers_stand_in_one_table(both: Paper) -> None:
    tables = {table.name: table for table in compare(both)}
    assert [row.names[:2] for row in tables["steadiness"].rows] == [
        ("DistMult", "adam"),
        ("DistMult", "adam-lazy"),
    ]
    for name in ("table1", "table1-released", "sizes", "models", "times", "steadiness"):
        assert {row.names[1] for row in tables[name].rows} == {"adam", "adam-lazy"}, name
    lazy = figure(tables["table1"], "DistMult", "adam-lazy", "rollback", column="PD 1")
    assert (lazy.mean, len(lazy.seeds), lazy.paper) == (pytest.approx(0.95), 3, None)
    apart = figure(tables["table1"], "DistMult", "adam-lazy", "difference", column="TC 10")
    assert (apart.mean, apart.paper) == (0.46, 0.13)
    slope = figure(tables["approximation"], "DistMult", "adam-lazy", "none", column="Lipschitz")
    assert (slope.mean, slope.paper) == (5.0, None)  # the paper's is of Nations


def test_tables_say_what_their_rows_rest_on(both: Paper) -> None:
    tables = {table.name: table for table in compare(both)}
    about = tables["table1"].about
    assert "optimizer=adam-lazy, credit=source, sampling=distinct" in about
    assert about.endswith(
        "DistMult adam: 143 predictions, 2 seeds; DistMult adam-lazy: 143 predictions, 3 seeds."
    )
    assert tables["models"].about.endswith("2 seeds.")
    first, *_, last = tables["table1"].to_dict()["rows"]
    assert (first["n_predictions"], first["n_seeds"]) == (143, 2)
    assert (last["optimizer"], last["n_seeds"]) == ("adam-lazy", 3)


def test_a_partial_summary_says_first_what_is_missing(both: Paper) -> None:
    paper = both
    assert paper.summary[0] == (
        "Not finished: 3 of 5 parts are missing (Table 1, ComplEx with adam; Table 1, ComplEx with "
        "adam-lazy; the truth, fact by fact). Run the same command again to continue."
    )
    assert paper.to_dict()["missing"] == ["removal-complex", "lazy-complex", "truth"]


def test_seeds_without_a_figure_of_the_paper_do_not_count() -> None:
    """Lazy Adam has three seeds, the paper's setting one."""
    rows = [
        Row(("DistMult", "adam", "rollback"), [Figure(0.9, seeds=(0.9,), paper=0.93)]),
        Row(("DistMult", "adam-lazy", "rollback"), [Figure(0.9, seeds=(0.8, 0.9, 1.0))]),
        Row(("DistMult", "adam", "difference"), [None]),
    ]
    table = Comparison("table1", "Table 1", ["PD 1"], "", "model optimizer method", rows=rows)
    nothing = hand_made.results(PaperOptions(), {})
    assert "figures beside our one seed: 3.0 points apart" in " ".join(summarise(nothing, [table]))


def test_the_distance_to_random_is_compared_with_the_papers(both: Paper) -> None:
    text = " ".join(both.summary)
    assert (
        "DistMult, adam-lazy: rollback's distance to random is larger than the paper's in 6 of 6 "
        "columns (PD 1, PD 10, PD all, TC 1, TC 10, TC all)."
    ) in text
    assert (
        "DistMult, adam: rollback's distance to random is larger than the paper's in 1 of 1" in text
    )


def test_figures_are_titled_by_model_and_optimizer(both: Paper) -> None:
    assert both.drawings.keys() == {"scatter", "scatter-changes", "boxes-distmult-adam"}
    title, _ = both.drawings["boxes-distmult-adam"]
    assert title.startswith("DistMult, adam: ")
    assert "DistMult, adam-lazy" in both.drawings["scatter"][1]


def test_parts_measured_apart_are_listed_apart(both: Paper) -> None:
    assert [(each["date"], len(each["parts"])) for each in both.measured] == [("2026-11-15", 2)]
    lazy = hand_made.lazy()
    later = replace(lazy.measured, date="2026-11-16T08:00:00+00:00", machine="a GPU")
    parts = {"removal-distmult": hand_made.table1(), "lazy-distmult": replace(lazy, measured=later)}
    assert hand_made.results(both.options, parts).sources == [
        "Measured 2026-11-15 on a processor, 2 cores: `whereof paper` "
        "(Table 1, DistMult with adam).",
        "Measured 2026-11-16 on a GPU: `whereof paper` (Table 1, DistMult with adam-lazy).",
    ]


def truth_results(**values: Any) -> Paper:
    options = PaperOptions("fb15k-237", models=("distmult",))
    return hand_made.results(options, {"truth": hand_made.truth(**values)})


def test_the_truth_has_one_row_a_method() -> None:
    table = {table.name: table for table in compare(truth_results())}["truth"]
    assert shown(table) == [
        ("rollback, step", "0.200", "31", "50", "5.0%", "35.0%"),
        ("rollback, source", "0.200", "21", "30", "-5.0%", "35.0%"),
        ("gradient-dot", "0.300", "46", "80", "-5.0%", "35.0%"),
    ]
    assert [row.figures[0].n_predictions for row in table.rows if row.figures[0]] == [2, 2, 1]


def test_the_truth_has_one_row_for_every_prediction_and_method() -> None:
    table = {table.name: table for table in compare(truth_results())}["truth-predictions"]
    rows = shown(table)
    assert len(rows) == 6
    assert rows[1] == (
        *("Happy-Go-Lucky - edited by - Michael Kahn", "rollback, source"),
        *("0.500", "228", "0.300", "12", "10.0%", "50.0%"),
    )
    assert rows[4][0] == "/m/3 - edited by - Michael Kahn"
    assert rows[4][-2:] == ("-20.0%", "20.0%")


def test_the_summary_says_how_well_methods_find_the_best_fact() -> None:
    text = " ".join(truth_results().summary)
    assert "all 400 facts adjacent to 2 predictions" in text
    assert "lowers its probability by 35% on average" in text
    assert "source: removing the fact it ranks first raises the probability by 5%" in text
    assert "the best fact is always among its first 30." in text
    rising = truth_results(first_drop=-1.0).summary
    (sentence,) = (each for each in rising if "rollback, step" in each)
    assert "ranks first raises the probability by 100% on average" in sentence


def test_without_the_part_there_is_no_truth(both: Paper) -> None:
    assert not {table.name for table in compare(both)} & {"truth", "qualitative"}
    unfinished, *others = both.summary
    assert "the truth, fact by fact" in unfinished
    assert "truth" not in " ".join(others)


RELATION = "/business/business_operation/industry"


def with_example(run: whereof.Run, optimizer: str, credit: str, rank: int) -> PartResult:
    """A part whose example is an explanation with other names and numbers."""
    found = run.explain("egypt", "embassy", "uk", top=3)

    def named(subject: str) -> dict[str, Any]:
        labels = {"subject": subject, "relation": RELATION, "object": "Video game"}
        return {"relation": RELATION, "labels": labels}

    asked = replace(found.prediction, probability=0.37, **named("Bandai"))
    numbers = (("Enix", 1, 0.2), ("Sega", 2, 0.15), ("Midway", rank, 0.1))
    facts = [
        replace(fact, rank=rank, influence=influence, **named(name))
        for fact, (name, rank, influence) in zip(found.facts, numbers, strict=True)
    ]
    ours = replace(found, prediction=asked, n_adjacent=334, facts=tuple(facts[:2]))
    part = hand_made.table1()
    evaluation = replace(part.evaluation, config={"optimizer": optimizer, "credit": credit})
    example = ExplainedExample(ours, tuple(facts[2:]))
    return replace(part, evaluation=evaluation, qualitative=(example,))


def test_our_facts_stand_above_the_papers_for_both_trainings(tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", model="distmult", dim=4, epochs=1)
    parts = {
        "removal-distmult": with_example(run, "adam", "step", 16),
        "lazy-distmult": with_example(run, "adam-lazy", "source", 13),
    }
    results = hand_made.results(PaperOptions("fb15k-237", models=("distmult",)), parts)
    table = {table.name: table for table in compare(results)}["qualitative"]
    rows = shown(table)
    assert rows[0] == (
        *("Bandai - industry - Video game", "adam, credit=step", "ours"),
        *("Enix - industry - Video game", "0.370", "1", "334", "0.200"),
    )
    assert [line[1:3] for line in rows] == [
        *[("adam, credit=step", "ours")] * 2,
        ("adam, credit=step", "paper's"),
        *[("adam-lazy, credit=source", "ours")] * 2,
        ("adam-lazy, credit=source", "paper's"),
    ]
    assert rows[2][5] == "16"
    row = table.to_dict()["rows"][2]
    assert (row["whose"], row["fact"]) == ("paper's", "Midway - industry - Video game")
    assert row["influence"]["mean"] == 0.1
