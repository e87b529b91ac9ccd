"""What a notebook displays: parts of HTML, and whole pages in frames."""

import sys
from html import unescape
from types import ModuleType
from typing import Any

import msgspec
import pytest
from evaluate.documents import FULL, INFO, RATED
from trained import train

import whereof
from present.documents import HOSTILE, explanation, fact, made, small
from present.pages import read_page
from whereof.errors import WhereofError
from whereof.present.explanation import explanation_page
from whereof.present.report import run_html
from whereof.run.folder import RunInfo


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("shown") / "run", inverse=True)


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What IPython was asked to display."""
    found, module = list[Any](), ModuleType("IPython.display")
    module.display = found.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return found


def page_of(cell: Any) -> str:
    """The page inside a frame."""
    html = cell._repr_html_()
    start, end = html.index('srcdoc="') + len('srcdoc="'), html.index('" width=')
    assert '"' not in html[start:end]
    return unescape(html[start:end])


def test_an_explanation_is_shown_as_its_page(displayed: list[Any]) -> None:
    shown = made(small())
    shown.show(height=300)
    (cell,) = displayed
    assert page_of(cell) == explanation_page(shown)
    assert 'height="300"' in cell._repr_html_()


def test_names_cannot_leave_the_frame(displayed: list[Any]) -> None:
    facts = [fact(0, (HOSTILE, HOSTILE, HOSTILE), 0.4, ("relation",))]
    made(explanation((HOSTILE, HOSTILE, HOSTILE), facts)).show()
    html = displayed[0]._repr_html_()
    assert html.count("<") == 2  # iframe
    assert "<b>" not in page_of(displayed[0])


def test_a_run_is_shown_as_its_report_or_as_an_explanation(
    run: whereof.Run, displayed: list[Any]
) -> None:
    run.show()
    run.show("india", "students", "usa", top=3, method="rollback")
    about, why = (read_page(page_of(cell)) for cell in displayed)
    assert {"Metrics", "The run", "Run it again"} <= {*about.headings}
    assert why.headings[0] == "india students usa"
    assert "Graph" in why.headings


def test_outside_a_notebook_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython.display", raising=False)
    with pytest.raises(WhereofError, match="elsewhere, write a page with"):
        made(small()).show()


def test_a_run_says_first_what_its_report_says_first(run: whereof.Run) -> None:
    found = read_page(run._repr_html_())
    assert "It is not known yet how far you can trust the estimates" in found.text
    assert "MRR of" in found.text
    assert "training facts" in found.text
    evaluated = read_page(run_html(msgspec.convert(INFO, RunInfo), [FULL]))
    assert "Removing the fact that rollback ranks first" in evaluated.text
    assert "svg" in evaluated.tags


@pytest.mark.parametrize("found", [FULL, RATED])
def test_an_evaluation_has_its_sentences_charts_and_tables(found: whereof.Evaluation) -> None:
    shown = read_page(found._repr_html_())
    for section in found.sections():
        assert section.title in shown.headings
    assert shown.tags.count("figure") == sum(len(each.charts) for each in found.sections())
    assert shown.tags.count("table") == sum(len(each.tables) for each in found.sections())


def test_verdicts_and_smallest_sets_are_retrained(run: whereof.Run) -> None:
    names = "india", "students", "usa"
    for found in (run.verify(*names, top=2, method="rollback"), run.smallest(*names, budget=3)):
        shown = read_page(found._repr_html_())
        assert " ".join(str(found).split()) in shown.text.replace("\N{MINUS SIGN}", "-")
        assert "retrained" in shown.text
        assert "table" in shown.tags
