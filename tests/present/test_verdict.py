"""A verdict in words, in the terminal and as a page."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from present.documents import HOSTILE
from present.pages import read_page
from whereof.present.names import answers_table
from whereof.present.pages.jobs import RetrainedResult
from whereof.present.verdict import claim_words, show_verdict, verdict_page
from whereof.retrain.verify import OfSeed, Summary, Verdict

NAMES = {"subject": "a", "relation": "r", "object": "b"}


def stand(probability: float | None, top: str, score: float = 1.0) -> dict[str, Any]:
    return {
        "probability": probability,
        "score": score,
        "rank": 1,
        "top_answer": top,
        "labels": {"top_answer": top.upper()},
    }


def fact(fact_id: int, **more: Any) -> dict[str, Any]:
    return {"fact_id": fact_id, **NAMES, "labels": NAMES, **more}


def verdict(
    before: dict[str, Any], predicted: dict[str, Any] | None, actual: dict[str, Any], **changes: Any
) -> Verdict:
    labels = {**NAMES, "top_answer": "b"}
    seeds = msgspec.convert(changes.pop("seeds", ()), tuple[OfSeed, ...])
    document = {
        "prediction": before
        | NAMES
        | {"labels": labels, "asks": "object", "n_candidates": 9, "n_new": 8},
        "removed": [1, 2],
        "before": before,
        "predicted": predicted,
        "actual": actual,
        "top_answers": [
            {"entity": name, "label": name.upper(), "before": before, "actual": after}
            | {"rank_before": number, "rank_actual": 3 - number}
            for number, (name, before, after) in enumerate((("b", 0.5, 0.2), ("c", 0.3, 0.4)), 1)
        ],
        "control_matches_run": True,
        "facts": [fact(1, influence=0.25), fact(2, influence=-0.125)],
        "each": [],
        "seeds": [],
        "summary": None,
        "n_retrainings": 2,
        "n_known": 0,
        "method": "rollback",
        "engine": "local",
        "seconds": 1370.0,
    }
    made = msgspec.convert(document | changes, Verdict)
    return replace(made, seeds=seeds, summary=Summary.of(seeds) if seeds else None)


def whole(name: str = "a") -> Verdict:
    """A verdict that has every part."""
    before, actual = stand(0.5, "usa"), stand(0.25, "uk")
    each = [
        fact(number, predicted=stand(0.4, "usa"), actual=stand(0.3, top), source=name)
        for number, top in ((1, "usa"), (2, "uk"))
    ]
    for row in each:
        row["labels"] = dict.fromkeys(NAMES, name)
    seeds = [
        {"seed": seed, "before": before, "actual": actual, "control_matches_run": True}
        for seed in (3, 4)
    ]
    return verdict(before, stand(0.3, name), actual, each=each, seeds=seeds, notes=[name])


@pytest.mark.parametrize(
    ("before", "predicted", "actual", "words"),
    [
        (
            stand(0.312, "usa"),
            stand(0.029, "uk"),
            stand(0.04, "uk"),
            "Without these 2 facts the probability really falls from 31.2% to 4.0%; the "
            "estimate was 2.9%. The top answer changes from USA to UK, as estimated.",
        ),
        (
            stand(0.312, "usa"),
            stand(0.3, "usa"),
            stand(0.5, "uk"),
            "Without these 2 facts the probability really rises from 31.2% to 50.0%; the "
            "estimate was 30.0%. The top answer changes from USA to UK; the estimate was USA.",
        ),
        (
            stand(0.25, "usa"),
            None,
            stand(0.25, "usa"),
            "Without these 2 facts the probability stays at 25.0%. The top answer stays USA.",
        ),
        (
            stand(0.25, "usa"),
            None,
            stand(0.2500001, "usa"),
            "Without these 2 facts the probability hardly rises, at 25.0%. "
            "The top answer stays USA.",
        ),
        (
            stand(None, "usa", 3.5),
            stand(None, "uk", 3.25),
            stand(None, "usa", 3.0),
            "Without these 2 facts the rating really falls from 3.50 to 3.00; the "
            "estimate was 3.25. The top answer stays USA; the estimate was UK.",
        ),
    ],
)
def test_a_verdict_in_words(
    before: dict[str, Any], predicted: dict[str, Any] | None, actual: dict[str, Any], words: str
) -> None:
    assert str(verdict(before, predicted, actual)) == words


@pytest.mark.parametrize(
    ("known", "ranks", "cells", "places"),
    [
        ("train", [1, 2], ["known", "known"], ["would be 1st", "would be 2nd"]),
        ("test", [1, 2], ["1.", "2."], ["1", "2"]),
    ],
)
def test_a_known_answer_has_the_rank_that_it_would_have(
    known: str, ranks: list[int | None], cells: list[str], places: list[str]
) -> None:
    found = verdict(stand(0.5, "b"), None, stand(0.2, "c") | {"rank": 2})
    found = replace(found, prediction=replace(found.prediction, known=known))
    own = next(row for row in answers_table(found).rows if row[0] == "B")
    assert [own[2], own[4].value] == ranks
    shown = RetrainedResult(found, "toy")
    (mine,) = (each for each in shown.answers if each["own"])
    assert [rank for _, _, rank, _ in mine["cells"]] == cells
    assert mine["moved"] is (known == "test")
    assert [row["rank"] for row in shown.rows] == places


@pytest.mark.parametrize(
    ("before", "predicted", "actual", "claim"),
    [
        (stand(0.8, "usa"), None, stand(0.3, "uk"), None),
        (stand(0.8, "usa"), stand(0.3, "usa"), stand(0.35, "usa"), "confirmed"),
        (stand(0.8, "usa"), stand(0.3, "uk"), stand(0.35, "uk"), "confirmed"),
        (stand(0.8, "usa"), stand(0.3, ""), stand(0.35, "uk"), "confirmed"),
        (stand(0.92, "usa"), stand(0.21, "uk"), stand(0.002, "uk"), "partly confirmed"),
        (stand(0.5, "usa"), stand(0.9, "usa"), stand(0.99, "usa"), "partly confirmed"),
        (stand(1e-13, "usa"), stand(1e-14, "usa"), stand(1e-14, "usa"), "confirmed"),
        (stand(0.8, "usa"), stand(0.3, "uk"), stand(0.6, "uk"), "partly confirmed"),
        (stand(0.8, "usa"), stand(0.6, "uk"), stand(0.1, "uk"), "partly confirmed"),
        (stand(0.8, "usa"), stand(0.3, "uk"), stand(0.75, "uk"), "partly confirmed"),
        (stand(0.2, "usa"), stand(0.119, "uk"), stand(0.042, "uk"), "partly confirmed"),
        (stand(0.8, "usa"), stand(0.3, "uk"), stand(0.9, "uk"), "refuted"),
        (stand(0.8, "usa"), stand(0.6, "usa"), stand(0.4, "usa"), "partly confirmed"),
        (stand(0.8, "usa"), stand(0.3, "usa"), stand(0.6, "usa"), "partly confirmed"),
        (stand(0.8, "usa"), stand(0.6, "usa"), stand(0.1, "usa"), "partly confirmed"),
        (stand(0.8, "usa"), stand(0.3, "uk"), stand(0.35, "usa"), "partly confirmed"),
        (stand(0.8, "usa"), stand(0.3, "usa"), stand(0.8, "usa"), "refuted"),
        (stand(0.8, "usa"), stand(0.3, "uk"), stand(0.8, "usa"), "refuted"),
        (stand(0.8, "usa"), stand(0.3, "usa"), stand(0.7, "usa"), "refuted"),
        (stand(0.8, "usa"), stand(0.3, "usa"), stand(0.9, "usa"), "refuted"),
        (stand(0.8, "usa"), stand(0.8, "usa"), stand(0.3, "usa"), "refuted"),
        (stand(0.8, "usa"), stand(0.79999, "usa"), stand(0.3, "usa"), "refuted"),
        (stand(0.8, "usa"), stand(0.79999, "usa"), stand(0.80001, "usa"), "confirmed"),
        (stand(0.8, "usa"), stand(0.8, "usa"), stand(0.8, "usa"), "confirmed"),
        (stand(0.8, "usa"), stand(0.799, "uk"), stand(0.799, "usa"), "refuted"),
        (stand(0.0, "usa"), stand(0.0, "usa"), stand(0.0, "usa"), "confirmed"),
        (stand(None, "usa", 3.5), stand(None, "usa", 3.0), stand(None, "usa", 2.9), "confirmed"),
        (stand(None, "usa", -0.5), stand(None, "usa", -1.0), stand(None, "usa", 0.1), "refuted"),
    ],
)
def test_whether_an_estimate_came_true(
    before: dict[str, Any],
    predicted: dict[str, Any] | None,
    actual: dict[str, Any],
    claim: str | None,
) -> None:
    found = verdict(before, predicted, actual)
    assert found.claim == claim
    assert found.to_dict()["claim"] == claim
    out = Console(force_terminal=False, highlight=False)
    with out.capture() as capture:
        show_verdict(out, found)
    said = [line for line in capture.get().splitlines() if line.startswith("The estimate is")]
    assert said == ([] if claim is None else [f"The estimate is {claim_words(found)}."])
    assert claim_words(found).partition(":")[0] == (claim or "")


@pytest.mark.parametrize(
    ("predicted", "actual", "words"),
    [
        (
            stand(0.3, "usa"),
            stand(0.6, "usa"),
            "partly confirmed: retraining confirms direction and top answer, but the actual change "
            "is 0.40 times as large as the estimated one",
        ),
        (
            stand(0.6, ""),
            stand(0.1, "uk"),
            "partly confirmed: retraining confirms direction, but the actual change is 3.5 "
            "times as large as the estimated one",
        ),
        (
            stand(0.3, "uk"),
            stand(0.25, "usa"),
            "partly confirmed: retraining confirms direction and size, but the top answer is USA, "
            "not UK",
        ),
        (
            stand(0.3, "uk"),
            stand(0.2, "uk"),
            "confirmed: retraining confirms direction, size and top answer; the actual change is "
            "1.2 times as large as the estimated one",
        ),
        (
            stand(0.8, "usa"),
            stand(0.8, "usa"),
            "confirmed: retraining confirms direction, size and top answer",
        ),
        (
            stand(0.3, "usa"),
            stand(0.9, "uk"),
            "refuted: the change goes the other way and the top answer is UK, not USA",
        ),
        (stand(0.8, "usa"), stand(0.3, "usa"), "refuted: no change was estimated"),
        (
            stand(0.3, "usa"),
            stand(0.3, "usa"),
            "confirmed: retraining confirms direction, size and top answer; the actual change is "
            "as large as the estimated one",
        ),
    ],
)
def test_what_retraining_confirmed_of_an_estimate(
    predicted: dict[str, Any], actual: dict[str, Any], words: str
) -> None:
    assert claim_words(verdict(stand(0.8, "usa"), predicted, actual)) == words


def test_a_size_is_not_confirmed_if_far_less_of_the_probability_remains() -> None:
    found = verdict(stand(0.924, "b"), stand(0.213, "b"), stand(0.0023, "b"))
    assert claim_words(found) == (
        "partly confirmed: retraining confirms direction and top answer, but the actual change of "
        "the log-odds is 2.3 times as large as the estimated one"
    )


def test_what_retraining_confirmed_is_in_the_document() -> None:
    found = verdict(stand(0.8, "usa"), stand(0.6, "usa"), stand(0.55, "usa"))
    assert found.claim == "confirmed"
    less = verdict(stand(0.8, "usa"), stand(0.75, "usa"), stand(0.55, "usa"))
    assert less.claim == "partly confirmed"
    assert less.to_dict()["confirmed"] == {
        "direction": True,
        "size": False,
        "top_answer": True,
        "ratio": pytest.approx(5),
        "log_odds_ratio": pytest.approx(4.12, abs=0.01),
    }
    assert verdict(stand(0.8, "usa"), None, stand(0.5, "usa")).to_dict()["confirmed"] is None


def test_one_fact_is_not_several_and_seeds_are_summed_up() -> None:
    before, actual = stand(0.5, "usa"), stand(0.25, "uk")
    others = [(before, actual), (stand(0.25, "usa"), stand(0.5, "usa"))]
    others.append((stand(0.75, "usa"), stand(0.3, "usa")))
    seeds = [
        {"seed": seed, "before": first, "actual": last, "control_matches_run": True}
        for seed, (first, last) in enumerate(others)
    ]
    facts = [fact(1, influence=0.25)]
    words = str(verdict(before, None, actual, removed=[1], facts=facts, seeds=seeds))
    said = "Without the fact a r b the probability really falls from 50.0% to 25.0%."
    assert words.startswith(said)
    assert words.endswith(
        "The probability falls in 2 of 3 seeds, on average from 50.0% to 35.0%; the top answer "
        "changes in 1."
    )


@pytest.mark.parametrize("width", [74, 80])
@pytest.mark.parametrize("name", ["x" * 90, "one two " * 20])
def test_the_terminal_gets_lines_that_fit_and_every_letter(width: int, name: str) -> None:
    out = Console(force_terminal=True, color_system=None, width=width, highlight=False)
    with out.capture() as capture:
        show_verdict(out, whole(name))
    lines = capture.get().splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "…" not in capture.get()
    assert "2 retrainings, in 22 min 50 s; method rollback" in lines


def test_the_page_has_every_part_and_needs_nothing_else() -> None:
    html = verdict_page(whole())
    found = read_page(html)
    assert found.headings == [
        "a r b",
        "Without these 2 facts together",
        "Top answers",
        "Influence of each of them alone",
        "Without the same facts, under several seeds",
        "About",
    ]
    assert str(whole()) in found.text
    assert "C 30.0% 2 40.0% 1" in found.text
    assert "control equals the stored run yes" in found.text
    assert not {"script", "link", "img"} & {*found.tags}
    assert "http" not in html
    plain = read_page(verdict_page(verdict(stand(0.5, "usa"), None, stand(0.2, "uk"))))
    assert "The facts, by rollback" in plain.headings


def test_hostile_names_stay_text() -> None:
    html = verdict_page(whole(HOSTILE))
    read_page(html)
    assert "<b>" not in html
    assert "</script>" not in html
    assert "\x00" not in html


@pytest.mark.parametrize("rank", [0, 4])
def test_a_rank_that_is_not_known_is_explained(rank: int) -> None:
    said = "A rank of - is not known"
    found = verdict(stand(0.5, "b"), stand(0.25, "") | {"rank": rank}, stand(0.2, "c"))
    for matches in (True, False):
        found = replace(found, control_matches_run=matches)
        out = Console(width=200)
        with out.capture() as shown:
            show_verdict(out, found)
        for text in (shown.get(), verdict_page(found)):
            assert (said in text) is (rank == 0)
            assert ("follows only the strongest rivals" in text) is (rank == 0 and matches)
            assert ("the control has other ranks" in text) is (rank == 0 and not matches)
