import pytest

from whereof.paper.figures import Comparison, Count, Figure, Row


@pytest.mark.parametrize(
    ("paper", "standing"),
    [(0.93, "inside"), (0.94, "inside"), (0.96, "above"), (0.8, "below"), (None, None)],
)
def test_where_the_papers_figure_lies(paper: float | None, standing: str | None) -> None:
    assert Figure(0.91, seeds=(0.88, 0.94), paper=paper).paper_is == standing


def test_a_whole_percent_stands_for_all_that_round_to_it() -> None:
    assert Figure(0.934, seeds=(0.9341,), paper=0.93).paper_is == "inside"
    assert Figure(0.936, seeds=(0.9361,), paper=0.93).paper_is == "below"


def test_more_digits_leave_less_room() -> None:
    assert Figure(0.59, seeds=(0.5889,), paper=0.5888).paper_is == "below"


def test_counts_are_not_rounded_to_percents() -> None:
    assert Figure(250, seeds=(249.0, 251.0), paper=252, unit="facts").paper_is == "above"


def test_a_figure_as_a_document() -> None:
    figure = Figure(0.91, (0.89, 0.93), (0.88, 0.94), 143, paper=0.93)
    assert figure.to_dict() == {
        "unit": "share",
        "mean": 0.91,
        "interval": (0.89, 0.93),
        "low": 0.88,
        "high": 0.94,
        "seeds": (0.88, 0.94),
        "n_predictions": 143,
        "std": None,
        "paper": 0.93,
        "paper_std": None,
        "paper_is": "inside",
    }


@pytest.mark.parametrize(
    ("figure", "texts"),
    [
        (
            Figure(0.91, (0.874, 0.95), (0.88, 0.94), paper=0.93),
            ("91.0%", "87-95%", "88-94%", "93%"),
        ),
        (Figure(1.0, (1.0, 1.0), (1.0, 1.0)), ("100.0%", "100.0%", "100.0%", "")),
        (
            Figure(0.36, (-0.02, 0.38), paper=0.39, unit="points"),
            ("+36.0", "-2 to 38", "", "+39"),
        ),
        (
            Figure(250.0, std=50.0, paper=261, paper_std=56, unit="facts"),
            ("250 ± 50", "", "", "261 ± 56"),
        ),
        (Figure(None, unit="number"), ("-", "", "", "")),
        (Figure(0.6, seeds=(0.61,), paper=0.5888), ("60.0%", "", "", "58.88%")),
    ],
)
def test_a_figure_as_text(figure: Figure, texts: tuple[str, ...]) -> None:
    assert figure.texts == texts


def test_rows_of_several_lines_have_the_papers_figure_last() -> None:
    rows = [
        Row(("DistMult", "adam"), [Figure(0.91, seeds=(0.88, 0.94), paper=0.93), None]),
        Row(("ComplEx", "adam"), [Figure(0.9), Figure(0.8)], Count(10, 1)),
    ]
    comparison = Comparison("table", "Table", ["PD 1", "TC 1"], "About it.", rows=rows)
    table = comparison.table()
    assert [column.title for column in table.columns] == ["model, optimizer", "PD 1", "TC 1"]
    shown = [tuple(getattr(cell, "value", cell) for cell in row) for row in table.rows]
    assert shown == [
        ("DistMult, adam", "91.0%", ""),
        ("seeds", "88-94%", ""),
        ("paper", "93%", ""),
        ("ComplEx, adam", "90.0%", "80.0%"),
    ]


def test_rows_of_single_values_have_a_column_for_each_name() -> None:
    rows = [Row(("DistMult", "1"), [Figure(0.5, unit="number")])]
    table = Comparison("table", "Table", ["median"], "", "model k", rows=rows).table()
    assert [column.title for column in table.columns] == ["model", "k", "median"]
