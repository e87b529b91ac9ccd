"""Tables and pages: well-formed, escaped, complete and self-contained."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from markupsafe import escape
from rich.cells import cell_len
from rich.console import Console
from trained import train

from present.documents import HOSTILE, estimated, explanation, fact, joint, made, ratings, small
from whereof.explain.explanation import Explanation
from whereof.explain.options import ExplainOptions
from whereof.present import explanation as present
from whereof.present.names import fact_text

VOID = {"meta", "br", "wbr"}


def explanation_html(document: dict[str, Any]) -> str:
    return present.explanation_html(made(document))


def explanation_page(document: dict[str, Any]) -> str:
    return present.explanation_page(made(document))


class Reading(HTMLParser):
    """Checks that tags are closed in order, and keeps tables and tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Explanation:
    run = train(tmp_path_factory.mktemp("drawn") / "run")
    return run.explain("egypt", "embassy", "usa", graph=True, stability=True, top=None)


def whole() -> dict[str, Any]:
    """An explanation that has every part."""
    other = {"answer": "/m/9", "label": "Cy", "probability": 0.2, "rank": 3, "score": 1.0}
    stands = {"top_answer": "paris", "labels": {"top_answer": "paris"}}
    parts = {
        "contrast": other | stands | {"log_ratio": 0.916},
        "of": "log_ratio",
        "without": joint(3, 1),
        "stability": (joint(0), joint(0, 2, 3, rank=1032)),
        "notes": ("criage supposes <sigmoid>",),
    }
    return small() | parts


def test_the_table_of_a_notebook() -> None:
    read = Reading(explanation_html(small()))
    assert read.rows[0] == [
        "rank", "fact", "estimated influence", "estimated probability without it",
        "estimated new top answer",
    ]  # fmt: skip
    groups = ["Facts that support it"], ["Facts that oppose it"], ["Facts without influence"]
    assert [row for row in read.rows if len(row) == 1] == [*groups]
    first = "ann likes bob in common: subject, relation, object"
    assert _texts(read.rows[2]) == ["1", first, "+40.0 points", "25.0%", "rome"]
    assert read.rows[8][2] == "−20.0 points"
    assert [row[-1] for row in read.rows if len(row) > 1][2:] == [""] * 7
    assert {("span", "supports"), ("span", "opposes")} <= {
        (tag, attributes.get("class")) for tag, attributes in read.tags
    }
    assert {head.get("scope") for head in read.all("th")} == {"col", "rowgroup"}
    text = explanation_html(small())
    assert "<strong>ann likes bob</strong>" in text
    stands = "probability, rank 2 among 1,200 new answers; the top answer is paris"
    assert f"<strong>50.0%</strong> {stands}" in text
    assert '<span class="estimate">estimate</span>' in text


def test_a_long_list_is_cut() -> None:
    facts = [fact(n, ("a", "r", f"x{n}"), 0.1, ("subject",)) for n in range(1052)]
    text = explanation_html(explanation(("a", "r", "b"), facts))
    assert len(Reading(text).rows) == 52
    assert "and 1,002 more" in text
    text = explanation_html(explanation(("a", "r", "b"), facts[:50]))
    assert len(Reading(text).rows) == 52
    assert "more</p>" not in text


def test_columns_that_nobody_fills_are_left_out() -> None:
    assert "in common" not in explanation_html(ratings())
    unknown = {"probability_without": None, "top_answer_changes": None, "top_answer_without": None}
    facts = [fact(0, ("a", "r", "c"), 0.5, ("subject",), **unknown)]
    document = estimated(explanation(("a", "r", "b"), facts, of="score"), "random")
    assert [*map(_texts, Reading(explanation_html(document)).rows)] == [
        ["rank", "fact", "estimated influence"],
        ["Facts that support it"],
        ["1", "a r c in common: subject", "+0.500"],
    ]


def test_the_page_lists_every_fact(real: Explanation) -> None:
    read = Reading(present.explanation_page(real))
    facts = real.facts
    assert len(facts) > 500
    listed = [row for row in read.all("tr") if "data-fact" in row]
    assert [int(str(row["data-fact"])) for row in listed] == [fact.fact_id for fact in facts]
    rows = [_texts(row)[1] for row in read.rows if len(row) == len(read.rows[0])]
    ids = [f", id {fact.fact_id}" for fact in facts]
    assert all(
        row.startswith(fact_text(fact)) and row.endswith(own)
        for row, fact, own in zip(rows[1:], facts, ids, strict=False)
    )
    assert [row[0] for row in read.rows[-4:]] == ["none", "top 1", "top 3", "top 10"]
    keys = [cell["data-key"] for cell in read.all("td") if "influence" in str(cell.get("class"))]
    assert [float(str(key)) for key in keys] == [f.influence for f in facts]


def test_the_page_says_all_else() -> None:
    text = explanation_page(whole())
    read = Reading(text)
    for said in (
        "<dt>method</dt><dd>rollback</dd>",
        "<dt>influence on</dt><dd>log ratio</dd>",
        "<dt>adjacent facts</dt><dd>77</dd>",
        "<dt>compared with</dt><dd>Cy (/m/9): probability 20.0%, rank 3</dd>",
        "<dt>log of their ratio</dt><dd>0.916</dd>",
        "Note: criage supposes &lt;sigmoid&gt;",
        "Without these 2 facts together",
    ):
        assert said in text
    assert ["none", "50.0%", "2", "", "", "paris"] in read.rows
    assert ["together", "5.0%", "31", "+0.4500", "+0.5500", "oslo"] in read.rows
    assert read.rows[-1] == ["top 3", "5.0%", "1,032", "+0.4500", "+0.5500", "oslo"]


@pytest.mark.parametrize("draw", [explanation_html, explanation_page])
def test_numbers_of_other_methods_are_no_falls(draw: Any) -> None:
    text = draw(estimated(small(), "random"))
    assert "+0.400" in text
    assert "Influence is an estimate on the scale of random" in text
    assert "points" not in text
    assert "minus the probability" not in text


def test_facts_rolled_back_together_are_falls_beside_any_method() -> None:
    read = Reading(explanation_page(estimated(small(), "random") | {"without": joint(3, 1)}))
    assert read.rows[-1][3:5] == ["+45.0 points", "+55.0 points"]
    assert read.rows[2][2] == "+0.400"


def test_a_rank_that_is_not_known_is_explained() -> None:
    said = "A rank of - is not known: the method follows only the strongest rivals."
    for rank, shown in ((0, "-"), (31, "31")):
        page = explanation_page(small() | {"stability": (joint(0, rank=rank),)})
        assert Reading(page).rows[-1][2] == shown
        assert (said in page) is (rank == 0)


def test_a_page_of_ratings_has_scores() -> None:
    document = ratings() | {"stability": (joint(0, probability=None),)}
    read = Reading(explanation_page(document))
    assert read.rows[-1] == ["top 1", "−1.50", "31", "+0.4500", "+0.5500", "oslo"]
    assert "probability" not in read.rows[0] + read.rows[-3]


def test_the_page_can_be_read_by_anybody() -> None:
    read = Reading(explanation_page(whole()))
    assert read.all("html") == [{"lang": "en"}]
    assert {"charset": "utf-8"} in read.all("meta")
    assert any(meta.get("name") == "viewport" for meta in read.all("meta"))
    drawings = [svg for svg in read.all("svg") if "aria-hidden" not in svg]
    assert [svg["role"] for svg in drawings] == ["img"]
    assert len(read.all("table")) == 3
    assert all(table["aria-label"] for table in read.all("table"))
    assert all(head.get("scope") in ("row", "col", "rowgroup") for head in read.all("th"))


@pytest.mark.parametrize("draw", [explanation_page, explanation_html])
def test_nothing_outside_is_referred_to(draw: Any) -> None:
    text = draw(whole())
    assert text.count("http") == text.count('xmlns="http')
    assert not re.search(r"href|src=|url\(|@import|style=", text)


@pytest.mark.parametrize("draw", [explanation_page, explanation_html])
def test_hostile_names_stay_text(draw: Any) -> None:
    hostile = fact(
        0,
        (HOSTILE, HOSTILE, HOSTILE),
        0.5,
        ("subject",),
        labels=dict.fromkeys(
            ("subject", "relation", "object", "top_answer_without"), HOSTILE + "!"
        ),
        top_answer_without=HOSTILE,
        source=HOSTILE,
    )
    plain = explanation(("a", "r", "b"), [fact(0, ("a", "r", "b"), 0.5, ("subject",), source="x")])
    facts = explanation((HOSTILE, HOSTILE, "b"), [hostile], notes=[HOSTILE])
    parts = {"contrast": {"answer": HOSTILE, "label": HOSTILE, "log_ratio": 0.5} | joint(0)}
    text = draw(facts | parts)
    tags = {tag for tag, _ in Reading(draw(plain | {"notes": ["x"]})).tags}
    assert {tag for tag, _ in Reading(text).tags} - tags <= {"small", "wbr"}
    assert HOSTILE not in text
    assert str(escape(HOSTILE.rstrip("\x00"))) in text.replace("<wbr>", "")


def test_no_facts() -> None:
    empty = explanation(("a", "r", "b"), [])
    assert "No facts are listed." in explanation_html(empty)
    assert Reading(explanation_html(empty)).rows == []
    assert "No facts are listed." in explanation_page(empty)
    assert Reading(explanation_page(empty)).rows == []


def test_a_notebook_shows_it(tmp_path: Any) -> None:
    explained = train(tmp_path / "run").explain("egypt", "embassy", "usa")
    assert explained._repr_html_() == present.explanation_html(explained)


LONG = ("n" * 90, "埃及的大使馆" * 15, 'a "quoted"\tname\nof two lines ' * 4)


def long_names() -> dict[str, Any]:
    """Every part, with names that are long, wide or break lines."""
    facts = [fact(n, (LONG[n % 3], LONG[0], LONG[(n + 1) % 3]), 0.5 - n / 9, ()) for n in range(9)]
    paths = [
        {"entity": LONG[0], "label": LONG[0], "facts": facts[:2], "influence": 0.3}
        | {"probability_without": 0.2}
    ]
    graph = {"between": facts[:1], "same_relation": facts, "paths": paths}
    return whole() | explanation(LONG, facts, graph=graph, source=LONG[2], without=joint(3, 1))


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("document", [whole(), ratings(), long_names()])
def test_every_line_of_the_terminal_fits(document: dict[str, Any], width: int) -> None:
    out = Console(force_terminal=True, color_system=None, width=width, highlight=False)
    with out.capture() as capture:
        present.show_explanation(out, made(document), ExplainOptions(graph=True))
    lines = capture.get().splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "…" not in capture.get()


def test_the_terminal_shows_sources() -> None:
    facts = [fact(n, ("a", "r", "b"), 0.1, (), source=f"file{n}.tsv") for n in range(2)]
    out = Console(width=80)
    with out.capture() as capture:
        document = explanation(("a", "r", "b"), facts)
        present.show_explanation(out, made(document), ExplainOptions())
    assert "source" in capture.get()
    assert "file1.tsv" in capture.get()


def test_the_terminal_separates_a_users_history_from_other_users() -> None:
    facts = [
        fact(0, ("4", None, "9"), 0.5, ("subject",), rating=5.0),
        fact(1, ("7", None, "4"), 0.9, ("object",), rating=2.0),
    ]
    document = explanation(("4", None, "4"), facts, n_history=1)
    out = Console(width=120)
    with out.capture() as capture:
        present.show_explanation(out, made(document), ExplainOptions(top=1))
    own, others = capture.get().split("Ratings of other users that support it")
    assert "Ratings of user 4 that support it" in own
    assert ("+0.5000" in own, "+0.9000" in own, "+0.9000" in others) == (True, False, True)
    assert "--top all" in others


def test_a_page_of_a_user_lists_the_history_first() -> None:
    page = present.explanation_page(made(ratings() | {"n_history": 1}))
    rows = [*map(_texts, Reading(page).rows)]
    own, others = (
        rows.index([title])
        for title in (
            "Ratings of user 4 that support it",
            "Ratings of other users with item 4 that oppose it",
        )
    )
    assert (rows[own + 1][1], rows[others + 1][1]) == ("item 9 id 0", "user 9 id 1")
    assert page.count("Influence is an estimate of the predicted rating with all ratings") == 2
    assert page.count('class="note"') == 1


def _texts(row: list[str]) -> list[str]:
    return [" ".join(text.split()) for text in row]
