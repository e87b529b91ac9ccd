"""Tables out of evaluations made by hand, and how they read."""

import json
from pathlib import Path

import pytest

from paper import hand_made
from whereof.paper import Paper, PaperOptions
from whereof.paper._markdown import markdown
from whereof.paper._page import page
from whereof.paper._records import Count, Figure, Row, Table
from whereof.paper._results import Results
from whereof.paper._tables import make_tables
from whereof.paper._text import grid


@pytest.fixture(scope="module")
def results() -> Results:
    parts = {
        "removal-distmult": hand_made.table1(),
        "criage": hand_made.criage(),
        "approximation": hand_made.approximation(),
        "theory": hand_made.theory(),
    }
    return Results(PaperOptions(models=("distmult",), seeds=2), parts)


@pytest.fixture(scope="module")
def tables(results: Results) -> dict[str, Table]:
    return {table.name: table for table in make_tables(results)}


def figure(table: Table, *names: str, column: str) -> Figure:
    (row,) = [row for row in table.rows if row.names == names]
    found = row.figures[table.columns.index(column)]
    assert found is not None
    return found


@pytest.fixture(scope="module")
def both() -> Results:
    """DistMult with both optimizers; of ComplEx nothing is finished."""
    parts = {"removal-distmult": hand_made.table1(), "lazy-distmult": hand_made.lazy()}
    return Results(PaperOptions("fb15k-237"), parts)


def test_what_was_not_measured_has_no_table(tables: dict[str, Table], both: Results) -> None:
    names = {table.name for table in make_tables(both)}
    assert not names & {"criage", "criage-p", "criage-seconds", "theory"}
    assert {"table1", "sizes", "criage", "criage-p", "models", "times", "theory"} <= tables.keys()


def test_table_1_stands_beside_the_papers(tables: dict[str, Table]) -> None:
    first = figure(tables["table1"], "DistMult", "adam", "rollback", column="PD 1")
    assert (first.ours, first.seeds, first.n) == (pytest.approx(0.91), (0.88, 0.94), 143)
    assert (first.paper, first.standing) == (0.93, "inside")
    answer = figure(tables["table1"], "DistMult", "adam", "rollback", column="TC 1")
    assert (answer.paper, answer.standing) == (0.38, "above")
    apart = figure(tables["table1"], "DistMult", "adam", "difference", column="PD 1")
    assert (apart.ours, apart.paper) == (0.36, 0.39)


def test_removed_answers_may_count_as_new(tables: dict[str, Table]) -> None:
    answer = figure(tables["table1-released"], "DistMult", "adam", "rollback", column="TC 1")
    assert answer.ours == pytest.approx(0.34)
    assert answer.interval == pytest.approx((0.3, 0.37))
    assert answer.seeds == pytest.approx((0.32, 0.36))
    assert (answer.n, answer.paper) == (143, None)
    assert len(tables["table1-released"].rows) == 2


def test_sizes(tables: dict[str, Table]) -> None:
    taken = figure(tables["sizes"], "DistMult", "adam", column="removed by GR-all")
    assert (taken.ours, taken.std, taken.seeds) == (250.0, 50.0, (240.0, 260.0))
    assert (taken.paper, taken.paper_std) == (261, 56)
    assert figure(tables["sizes"], "DistMult", "adam", column="adjacent").ours == 500


def test_the_criage_table(tables: dict[str, Table]) -> None:
    assert figure(tables["criage"], "criage", "TC", column="k = 5").paper == 0.48
    assert figure(tables["criage"], "rollback", "PD", column="k = 3").ours == 0.9
    assert figure(tables["criage-p"], "rollback, criage", "PD", column="k = 10").ours == 0.0001
    assert figure(tables["criage-seconds"], "criage", column="seconds").ours == 0.01


def test_models_and_times(tables: dict[str, Table]) -> None:
    mrr = figure(tables["models"], "DistMult", "adam", "paper's", column="MRR")
    assert (mrr.ours, mrr.paper, mrr.interval) == (0.6, 0.5888, (0.6, 0.6))
    assert figure(tables["models"], "DistMult", "adam", "standard", column="MRR").paper is None
    training = figure(tables["times"], "DistMult", "adam", column="training, s")
    assert (training.ours, training.paper) == (pytest.approx(0.6), 60)
    assert training.interval == pytest.approx((0.5, 0.7))  # of 4 ways to draw 2 seeds, the ends
    assert figure(
        tables["times"], "DistMult", "adam", column="training, min"
    ).interval == pytest.approx((0.5 / 60, 0.7 / 60))
    explaining = figure(tables["times"], "DistMult", "adam", column="explaining, s")
    assert (explaining.seeds, explaining.paper) == ((0.005, 0.007), pytest.approx(4.2))
    assert explaining.interval == pytest.approx((0.005, 0.007))
    minutes = figure(tables["times"], "DistMult", "adam", column="explaining, min")
    assert (minutes.ours, minutes.paper) == (pytest.approx(0.0001), pytest.approx(0.07))


def test_approximation_has_every_seed_that_is_known(tables: dict[str, Table]) -> None:
    changes = figure(tables["approximation"], "DistMult", "adam", "none", column="r, changes")
    assert (changes.ours, changes.seeds, changes.interval) == (0.4, (0.3,), None)
    whole = figure(tables["approximation"], "DistMult", "adam", "none", column="r, probabilities")
    assert (whole.seeds, whole.interval) == ((0.94, 0.96), (0.93, 0.97))
    assert figure(
        tables["approximation"], "DistMult", "adam", "none", column="Lipschitz"
    ).interval == (6.8, 7.0)
    slope = figure(tables["approximation"], "DistMult", "adam", "unit", column="Lipschitz")
    assert (slope.ours, slope.paper) == (0.7, 0.67)


def test_one_seed_has_no_interval_over_seeds() -> None:
    part = hand_made.table1()
    results = Results(
        PaperOptions(models=("distmult",), seeds=1),
        {"removal-distmult": {**part, "runs": part["runs"][:1]}},
    )
    (models,) = [table for table in make_tables(results) if table.name == "models"]
    mrr = figure(models, "DistMult", "adam", "paper's", column="MRR")
    assert (mrr.seeds, mrr.interval) == ((0.6,), None)


def test_rows_read_ours_first_and_the_papers_last(tables: dict[str, Table]) -> None:
    shown = grid(tables["table1"])
    assert shown.heads[:5] == ("model", "optimizer", "method", "", "PD 1")
    block = shown.blocks[1]
    assert [line[3:5] for line in block] == [
        ("ours", "91.0"),
        ("95%", "87-95"),
        ("seeds", "88-94"),
        ("paper", "93"),
    ]
    names = ("DistMult", "adam", "rollback")
    assert [line[:3] for line in block] == [names, *[("", "", "")] * 3]


def test_ranges_have_a_digit_more_where_the_paper_has() -> None:
    shown = Figure(0.618, (0.6112, 0.6274), (0.61, 0.63), paper=0.5888, rounded=0.00005)
    table = Table(
        "models", "", "", ("model",), ("MRR",), (Row(("DistMult",), (shown,), Count(None, 2)),)
    )
    lines = [line[-1] for line in grid(table).blocks[0]]
    assert lines == ["61.8", "61.1-62.7", "61.0-63.0", "58.88"]


def test_a_table_of_single_values_has_no_labels(tables: dict[str, Table]) -> None:
    shown = grid(tables["theory"])
    assert shown.heads == ("quantity", "value")
    assert ("stability bound, closed form", "-") in {block[0] for block in shown.blocks}


def test_the_summary_says_where_figures_lie(results: Results) -> None:
    paper = Paper.of(results)
    text = " ".join(paper.summary)
    assert "Table 1, the paper's 12 figures beside the spread of our 2 seeds" in text
    assert "DistMult adam rollback TC 1 (paper 38, ours 30-34)" in text
    assert "DistMult adam paper's MRR (paper 58.88, ours 60.0)" in text
    assert "falls in 91.0% of predictions, 36.0 points more than without a random one" in text
    assert "rollback is at or above criage in 8 of 8 figures; 4 of 8 differences" in text
    assert "the Lipschitz constant from 6.900 to 0.700" in text
    assert "Rollback is nearer to retraining" in text


def test_one_seed_says_how_far_from_the_paper_it_is() -> None:
    part = hand_made.table1()
    for row in part["evaluation"]["removal"]:
        for metric in ("pd", "tc"):
            row[f"{metric}_seeds"] = row[f"{metric}_seeds"][:1]
            row[metric] = row[f"{metric}_seeds"][0]
    options = PaperOptions(models=("distmult",), seeds=1)
    paper = Paper.of(Results(options, {"removal-distmult": part}))
    table = {table.name: table for table in paper.tables}["table1"]
    apart = [
        100 * abs(figure.ours - figure.paper)
        for row in table.rows
        if row.names[-1] != "difference"
        for figure in row.figures
    ]
    assert (len(apart), max(apart) > 1) == (12, True)
    mean = sum(apart) / len(apart)
    (sentence,) = [each for each in paper.summary if each.startswith("Table 1, the paper's")]
    expected = f"Table 1, the paper's 12 figures beside our one seed: {mean:.1f} points apart on"
    assert sentence == f"{expected} average."


def test_files_hold_all_of_it(results: Results, tmp_path: Path) -> None:
    paper = Paper.of(results)
    paper.write(tmp_path)
    document = json.loads((tmp_path / "paper.json").read_text(), parse_constant=pytest.fail)
    assert [part["seeds"] for part in document["parts"]] == [[42, 43]] * 4
    (row,) = [r for r in document["tables"]["table1"]["rows"] if r["method"] == "rollback"]
    assert row["pd_1"]["paper"] == 0.93
    tables_md = (tmp_path / "tables.md").read_text()
    assert (
        "| DistMult | adam | rollback | ours | 91.0 | 98.0 | 100.0 | 32.0 | 86.0 | 98.0 |"
        in tables_md
    )
    page = (tmp_path / "paper.html").read_text()
    assert page.count("<table>") == len(paper.tables)
    assert page.count("<svg") == len(paper.drawn) == 3
    assert {file.stem for file in tmp_path.glob("*.svg")} == paper.drawn.keys()


def test_both_optimizers_stand_in_one_table(both: Results) -> None:
    tables = {table.name: table for table in make_tables(both)}
    assert [row.names[:2] for row in tables["steadiness"].rows] == [
        ("DistMult", "adam"),
        ("DistMult", "adam-lazy"),
    ]
    for name in ("table1", "table1-released", "sizes", "models", "times", "steadiness"):
        assert {row.names[1] for row in tables[name].rows} == {"adam", "adam-lazy"}, name
    lazy = figure(tables["table1"], "DistMult", "adam-lazy", "rollback", column="PD 1")
    assert (lazy.ours, len(lazy.seeds), lazy.paper) == (pytest.approx(0.95), 3, None)
    apart = figure(tables["table1"], "DistMult", "adam-lazy", "difference", column="TC 10")
    assert (apart.ours, apart.paper) == (0.46, 0.13)
    slope = figure(tables["approximation"], "DistMult", "adam-lazy", "none", column="Lipschitz")
    assert (slope.ours, slope.paper) == (5.0, None)  # the paper's is of Nations


def test_tables_say_what_their_rows_rest_on(both: Results) -> None:
    tables = {table.name: table for table in make_tables(both)}
    about = tables["table1"].about
    assert "optimizer=adam-lazy, credit=source, sampling=distinct" in about
    assert about.endswith(
        "DistMult adam: 143 predictions, 2 seeds; DistMult adam-lazy: 143 predictions, 3 seeds."
    )
    assert tables["models"].about.endswith("2 seeds.")
    first, *_, last = tables["table1"].to_dict()["rows"]
    assert (first["n_predictions"], first["n_seeds"]) == (143, 2)
    assert (last["optimizer"], last["n_seeds"]) == ("adam-lazy", 3)


def test_a_partial_summary_says_first_what_is_missing(both: Results) -> None:
    paper = Paper.of(both)
    assert paper.summary[0] == (
        "Not finished: 3 of 5 parts are missing (Table 1, ComplEx with adam; Table 1, ComplEx with "
        "adam-lazy; the truth, fact by fact). The same command goes on."
    )
    assert paper.to_dict()["missing"] == ["removal-complex", "lazy-complex", "truth"]


def test_the_distance_to_random_is_compared_with_the_papers(both: Results) -> None:
    text = " ".join(Paper.of(both).summary)
    assert (
        "DistMult, adam-lazy: rollback's distance to random is larger than the paper's in 6 of 6 "
        "columns (PD 1, PD 10, PD all, TC 1, TC 10, TC all)."
    ) in text
    assert (
        "DistMult, adam: rollback's distance to random is larger than the paper's in 1 of 1" in text
    )


def test_figures_are_titled_by_model_and_optimizer(both: Results) -> None:
    drawn = Paper.of(both).drawn
    assert drawn.keys() == {"scatter", "scatter-changes", "boxes-distmult-adam"}
    assert drawn["boxes-distmult-adam"][0].startswith("DistMult, adam: ")
    assert "DistMult, adam-lazy" in drawn["scatter"][1]


def test_parts_measured_apart_are_listed_apart(both: Results) -> None:
    whole = Paper.of(both)
    assert [(each.date, len(each.parts)) for each in whole.measured] == [("2026-11-15", 2)]
    later = hand_made.lazy()
    later["measured"] = later["measured"] | {
        "date": "2026-11-16T08:00:00+00:00",
        "machine": "a card",
    }
    apart = Paper.of(Results(both.options, {**both.parts, "lazy-distmult": later}))
    text = markdown(apart.title, apart.measured, apart.summary, apart.tables)
    assert (
        "Measured 2026-11-15 on a processor, 2 cores: "
        "`whereof paper` (Table 1, DistMult with adam)."
    ) in text
    assert (
        "Measured 2026-11-16 on a card: `whereof paper` (Table 1, DistMult with adam-lazy)."
    ) in text
    assert "<p>Measured 2026-11-16 on a card: whereof paper" in page(
        apart.title, apart.measured, apart.summary, apart.tables, apart.drawn
    )
