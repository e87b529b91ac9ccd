"""The report: complete, without empty sections, every name escaped."""

import json
import math
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from evaluate.documents import (
    FULL,
    INFO,
    RATED,
    RATED_INFO,
    SIZES,
    THEORY,
    change,
    document,
    removal,
)

from present.documents import HOSTILE, explanation, fact, made
from present.pages import Page, read_page
from whereof.chart import Chart
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.protocols.leave_one_out import LeaveOneOut
from whereof.explain.explanation import Explanation
from whereof.present.report import report_page, run_parts
from whereof.run.folder import RunInfo
from whereof.run.reliability import Claims, Linearity, Reliability

SECTIONS = {
    "removal": "Removing facts and retraining",
    "steadiness": "Steadiness",
    "approximation": "Predicted against actual",
    "leave_one_out": "True influence, fact by fact",
    "datamodelling": "Linear datamodelling score",
    "kelpie": "All explanations removed together",
    "theory": "Theory",
    "explain_seconds": "Time per explanation",
}


def page(*evaluations: dict[str, Any], info: dict[str, Any] = INFO, **parts: Any) -> Page:
    found = [Evaluation.from_dict(each) for each in evaluations]
    return read_page(report_page(msgspec.convert(info, RunInfo), found, **parts))


def example() -> Explanation:
    facts = [fact(7, ("ann", "likes", "bob"), 0.4, ("relation",))]
    return made(explanation(("ann", "likes", "carl"), facts))


def test_a_full_page_has_every_section() -> None:
    found = page(document(), examples=[example()], made="today")
    assert {*SECTIONS.values(), "The run", "Metrics", "Training", "Examples", "Run it again"} <= {
        *found.headings
    }
    assert "ann likes carl" in found.headings
    assert "today" in found.text
    assert {link.removeprefix("#") for link in found.links} <= {*found.ids}
    charts = sum(len(each.charts) for each in FULL.sections())
    assert found.tags.count("desc") == 1 + 2 + charts + 1  # summary, training, evaluation, example


def opening(*evaluations: Evaluation, **changes: Any) -> tuple[str, list[str], Chart | None]:
    """The first sentence of a page, those that follow, and the chart."""
    info = replace(msgspec.convert(INFO, RunInfo), **changes)
    name, lead, sentences, chart = run_parts(info, evaluations)[0]
    assert name == "summary"
    return lead, sentences, chart


def test_a_page_opens_with_five_sentences_and_a_chart() -> None:
    several = FULL, FULL, change(FULL, n_predictions=9)
    lead, sentences, chart = opening(*several)
    assert len({lead, *sentences}) == 1 + len(sentences) == 5
    assert "The order of tracin is closest to the true one" in lead
    assert not any(". " in section.headline for section in FULL.sections())  # one sentence each
    known = Reliability(claims=(Claims("unrolled", 20, 0.9, 20, 8, 8),))
    assert opening(*several, reliability=known)[1][2] == lead
    assert chart is not None
    assert chart.name == "leave-one-out"


def test_the_largest_sample_of_a_protocol_speaks_for_it() -> None:
    rows = tuple(replace(row, n_predictions=9, pd=0.123) for row in FULL.removal)
    less = change(FULL, n_predictions=9, removal=rows)
    for evaluations in ((FULL, less), (less, FULL)):
        said = " ".join(opening(*evaluations)[1])
        assert "of 91.6% of 143 predictions" in said
        assert "12.3%" not in said


def test_evaluations_of_other_settings_do_not_open_a_page() -> None:
    _, sentences, chart = opening(change(FULL, config={"dim": 3}))
    assert not any("rollback" in each for each in sentences)
    assert chart is not None
    assert chart.name != "leave-one-out"


def test_a_page_opens_with_how_far_estimates_can_be_trusted() -> None:
    good = Claims("unrolled", 20, 0.9, 20, 8, 8)
    assert "not known yet" in opening()[0]
    for claims, lead in (
        ((Claims("rollback", 20, 3.0, 2, 8, 8), good), "by unrolled are close to what retraining"),
        ((Claims("rollback", 20, 3.0, 2, 8, 8),), "Estimates are rough in this run"),
        ((replace(good, n_true=2),), "check announced changes of the top answer by retraining"),
    ):
        found = opening(reliability=Reliability(claims=claims))
        assert lead in found[0]
        assert found[1][0] == str(claims[-1])
    linear = Linearity(100, 0.99, 0.99, 1.0, 0.0)
    assert "should be close" in opening(reliability=Reliability(linear))[0]
    rough = replace(linear, spearman=0.2)
    assert "are rough" in opening(reliability=Reliability(rough))[0]
    lead, sentences, _ = opening(reliability=Reliability(rough, (good,)))
    assert "by unrolled are close" in lead  # checks outrank linearity
    assert sentences[0] == str(good)
    foreign = replace(good, method="not-installed-here")
    lead, sentences, _ = opening(reliability=Reliability(claims=(foreign,)))
    assert "by not-installed-here are close" in lead
    assert sentences[0] == str(foreign)


@pytest.mark.parametrize("name", SECTIONS)
def test_what_was_not_asked_is_left_out(name: str) -> None:
    empty = None if name in ("steadiness", "theory", "explain_seconds") else ()
    others = {"significance": (), "changes": ()} if name == "removal" else {}
    headings = page(document(**{name: empty}, **others)).headings
    assert SECTIONS[name] not in headings
    assert {*SECTIONS.values()} - {SECTIONS[name]} <= {*headings}


def test_without_evaluations_it_says_how_to_evaluate() -> None:
    found = page()
    assert not {*SECTIONS.values()} & {*found.headings}
    assert {"The run", "Metrics", "Training"} <= {*found.headings}
    assert "This run has not been evaluated" in found.text
    assert "whereof evaluate runs/nations" in found.text


def test_the_page_needs_nothing_else() -> None:
    html = report_page(msgspec.convert(INFO, RunInfo), [FULL], [example()])
    found = read_page(html)
    assert not found.sources
    assert not {"link", "script", "img", "iframe"} & {*found.tags}
    assert "url(" not in html
    assert "style=" not in html
    assert html.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_figures_of_the_tables_are_those_of_the_document() -> None:
    text = page(document()).text
    for words in ("91.6%", "87-97%", "261.4", "+37.6 points", "<0.0002", "2.1 ms"):
        assert words in text
    assert "MRR" in text
    assert "71.1" in text


def test_commands_in_sentences_are_code() -> None:
    html = report_page(msgspec.convert(INFO, RunInfo))
    assert "<code>whereof evaluate runs/nations --protocols steadiness</code>" in html
    assert "`" not in html


def test_every_name_is_escaped() -> None:
    rows = tuple(removal(HOSTILE, k, 0.5, 0.5, 1) for k in SIZES)
    changed = document(
        run=HOSTILE, removal=rows, predictions=HOSTILE, explain_seconds={HOSTILE: 1.0}
    )
    changed["notes"] = [HOSTILE]
    changed["approximation"][0]["constraint"] = HOSTILE
    info = INFO | dict.fromkeys(("run", "dataset", "model", "created"), HOSTILE)
    info |= {"config": {HOSTILE: HOSTILE}, "notes": [HOSTILE], "read": {"data": HOSTILE}}
    facts = [fact(7, (HOSTILE, HOSTILE, HOSTILE), 0.4, ("relation",))]
    shown = made(explanation((HOSTILE, HOSTILE, HOSTILE), facts))
    found = [Evaluation.from_dict(changed)]
    html = report_page(msgspec.convert(info, RunInfo), found, [shown], [HOSTILE], HOSTILE)
    read_page(html)
    assert "<b>" not in html
    assert "</script>" not in html
    assert "\x00" not in html


def test_several_evaluations_have_places_of_their_own() -> None:
    found = page(document(), document())
    assert len({*found.ids}) == len(found.ids)
    assert {"Evaluation 1", "Evaluation 2"} <= {*found.headings}


def test_the_command_has_the_options_that_were_asked() -> None:
    made = document() | {
        "options": {
            "methods": ["rollback", "random"],
            "k": [1, "all"],
            "limit": 7,
            "baseline": None,
        }
    }
    assert "whereof evaluate runs/nations --methods rollback,random --k 1,all --limit 7 " in (
        page(made).text
    )


def test_ratings_are_told_by_ratings() -> None:
    html = report_page(msgspec.convert(RATED_INFO, RunInfo), [RATED])
    assert "probabilit" not in html.lower()
    text = read_page(html).text
    for words in (
        "ranks first lowers the rating of 91.6%",
        "PD: the rating fell",
        "whose rating falls",
        "How much lower the rating is",
        "difference of ratings",
        "and the rating by 0.0123 on average",
        "With no constraint, predicted and actual ratings correlate",
        "r of ratings",
        "predicted rating",
        "actual rating",
        "the rating by rollback is 0.0123 away",
    ):
        assert words in text


def test_cautions_are_said() -> None:
    assert "Caution" not in page(document()).text
    assert (
        "The control differs from the stored run" in page(document(control_matches_run=False)).text
    )
    assert "other settings: runs/nations" in page(document(config={"dim": 3})).text


def _without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_numbers(item) for item in value]
    return None if isinstance(value, float) else value


@pytest.mark.parametrize("spoil", [_without_numbers, lambda made: json.loads(_nan(made))])
def test_numbers_that_are_not_there_do_no_harm(spoil: Any) -> None:
    text = page(spoil(document())).text
    assert " - " in text
    assert "nan" not in text.replace("nations", "")


def _nan(made: dict[str, Any]) -> str:
    rows = tuple(replace(row, pd=math.nan) for row in FULL.removal)
    theory = replace(THEORY, stability_bound=math.inf, recurrence_bound=math.inf)
    return json.dumps(change(FULL, removal=rows, theory=theory).to_dict())


def test_a_run_in_memory_has_a_page() -> None:
    info = {name: INFO[name] for name in ("dataset", "model", "n_facts", "config")}
    found = page(info={**info, "run": None, "metrics": {}})
    assert found.headings == ["distmult on nations", "The run", "Run it again"]
    assert "whereof train" not in found.text


def test_adjacent_facts_alone_have_no_correlation_over_all() -> None:
    rows = (
        LeaveOneOut("rollback", 0.14, (0.1, 0.2), math.nan, None, 0.33, 5, 1, 2303),
        LeaveOneOut("gradient-dot", 0.12, (0.1, 0.2), math.nan, None, 0.2, 5, 1, 2303),
    )
    text = page(document(leave_one_out=rows)).text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "Each of 2,303 adjacent facts was removed alone. The order of rollback is closest" in text
    )
    assert "Spearman's rho 0.140 over the adjacent facts of a prediction." in text
