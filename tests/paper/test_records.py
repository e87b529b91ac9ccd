import pytest

from whereof.paper._records import Figure


@pytest.mark.parametrize(
    ("paper", "standing"),
    [(0.93, "inside"), (0.945, "inside"), (0.96, "above"), (0.8, "below"), (None, None)],
)
def test_where_the_papers_figure_lies(paper: float | None, standing: str | None) -> None:
    assert Figure(0.91, seeds=(0.88, 0.94), paper=paper).standing == standing


def test_a_whole_percent_stands_for_all_that_round_to_it() -> None:
    assert Figure(0.934, seeds=(0.9341,), paper=0.93).standing == "inside"
    assert Figure(0.936, seeds=(0.9361,), paper=0.93).standing == "below"


def test_more_digits_leave_less_room() -> None:
    assert Figure(0.59, seeds=(0.5889,), paper=0.5888, rounded=0.00005).standing == "below"


def test_counts_are_not_rounded_to_percents() -> None:
    assert Figure(250, seeds=(249.0, 251.0), paper=252, unit="facts").standing == "above"


def test_a_figure_as_a_document() -> None:
    figure = Figure(0.91, (0.89, 0.93), (0.88, 0.94), 143, paper=0.93)
    assert figure.to_dict() == {
        "unit": "share",
        "mean": 0.91,
        "interval": [0.89, 0.93],
        "low": 0.88,
        "high": 0.94,
        "seeds": [0.88, 0.94],
        "n_predictions": 143,
        "std": None,
        "paper": 0.93,
        "paper_std": None,
        "paper_is": "inside",
    }
