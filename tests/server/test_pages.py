"""Pages answer every address without a server error, and with nothing from elsewhere."""

import html
import re
from typing import Any

import pytest
from httpx import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from present.pages import read_page

import whereof
from whereof.server import limits

KNOWN = ["", "_", "india", "usa", "students", "u1", "m1", "rollback", "nations", "true", "0", "3"]
PAGES = {
    "/": [],
    "/runs/{run}": [],
    "/runs/{run}/ask": ["subject", "relation", "object", "asks", "top", "known", "list"],
    "/runs/{run}/why": [
        *("subject", "relation", "object", "asks", "method", "top", "opposing", "of", "without"),
        "job",
    ],
    "/runs/{run}/entity": ["name", "place"],
    "/runs/{run}/about": [],
    "/runs/{run}/audit": ["job", "start"],
    "/compare": ["a", "b", "run", "subject", "relation", "object", "method"],
    "/jobs": [],
}
VALUES = st.one_of(
    st.sampled_from([*KNOWN, "9" * 5000, "1,2,3", "run=nations&subject=india", "top=x"]),
    st.text(max_size=10),
    st.integers().map(str),
)


@pytest.mark.parametrize("page", PAGES)
def test_no_address_makes_the_server_fail(page: str, client: Client) -> None:
    @settings(max_examples=60 if PAGES[page] else 5)
    @given(
        query=st.dictionaries(st.sampled_from(PAGES[page] or ["x"]), VALUES),
        run=st.sampled_from(["nations", "ratings", "none"]),
    )
    def ask(query: dict[str, str], run: str) -> None:
        answer = client.get(page.format(run=run), params=query, headers={"Accept": "text/html"})
        assert answer.status_code < 500, answer.text

    ask()


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"without": "9" * 5000}, 422),
        ({"without": "7,x"}, 422),
        ({"top": "x"}, 422),
        ({"top": "0"}, 422),
        ({"subject": "indja"}, 400),
        ({"method": "none"}, 400),
        ({"asks": "relation"}, 422),
    ],
)
def test_bad_values_in_a_good_address_are_bad_input(
    client: Client, more: dict[str, str], status: int
) -> None:
    query = {"subject": "india", "relation": "students", "object": "usa", "method": "rollback"}
    answer = client.get("/runs/nations/why", params=query | more, headers={"Accept": "text/html"})
    assert answer.status_code == status


def test_a_fact_that_is_not_there_cannot_be_left_out(client: Client, nations: whereof.Run) -> None:
    names = {"subject": "india", "relation": "students", "object": "usa"}
    query = names | {"method": "rollback", "without": "7,99999"}
    answer = client.get("/runs/nations/why", params=query, headers={"Accept": "text/html"})
    assert answer.status_code == 200  # the explanation is there
    with pytest.raises(whereof.WhereofError) as problem:
        nations.explain(*names.values(), method="rollback", without=[7, 99999])
    assert str(problem.value) in read_page(answer.text).text


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("/", {}),
        ("/runs/nations/ask", {"subject": "india", "relation": "students"}),
        (
            "/runs/nations/why",
            {"subject": "india", "relation": "students", "object": "usa", "method": "rollback"},
        ),
        ("/runs/ratings/why", {"subject": "u1", "object": "m3", "method": "rollback"}),
        ("/runs/nations/about", {}),
        ("/runs/nations/entity", {"name": "usa"}),
        ("/jobs", {}),
        ("/nothing", {}),
    ],
)
def test_a_page_needs_nothing_that_the_policy_refuses(
    client: Client, page: str, query: dict[str, Any]
) -> None:
    answer = client.get(page, params=query, headers={"Accept": "text/html"})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    text = answer.text
    assert not re.search(r"<(style|script)(?![^>]*\bsrc=)(?![^>]*type=.application/json)", text)
    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", text)
    links = re.findall(r"\b(?:src|href|action)=\"([^\"]*)\"", text)
    assert [each for each in links if not re.match(r"/(?!/)|#|\?|data:", each)] == []
    for each in (link for link in links if link.startswith("/static/")):
        assert client.get(each).status_code == 200


def test_a_reader_gets_a_cookie_once(address: str) -> None:
    with Client(base_url=address) as client:
        headers = {"Accept": "text/html"}
        first = client.get("/jobs", headers=headers).headers["set-cookie"]
        assert re.match(r"whereof-client=[\w-]{16}; Path=/; HttpOnly; SameSite=Lax", first)
        assert "set-cookie" not in client.get("/jobs", headers=headers).headers


def test_recommendations_are_new_items_unless_the_known_ones_are_asked_for(
    client: Client, ratings: whereof.Run
) -> None:
    page = client.get("/runs/ratings/ask", params={"subject": "u1"}).text
    found = ratings.predict("u1", top=10, new=True).answers
    assert re.findall(r'<td class="number">(\d+)</td>', page) == [str(each.rank) for each in found]
    assert [each.rank for each in found] == [*range(1, len(found) + 1)]
    assert 'class="tag">training' not in page
    (switch,) = re.findall(r'<a href="([^"]+)">Also those already rated</a>', page)
    both = client.get(html.unescape(switch)).text
    assert 'class="tag">training' in both
    assert ">Only new items</a>" in both


@pytest.mark.parametrize("query", [{"subject": "india"}, {"object": "usa", "asks": "subject"}])
def test_a_question_without_a_relation_says_what_to_fill_in(
    client: Client, query: dict[str, str]
) -> None:
    answer = client.get("/runs/nations/ask", params=query)
    assert answer.status_code == 400
    assert "Fill in the relation: the model finds subjects and objects." in answer.text


def test_more_answers_stop_at_the_limit(client: Client) -> None:
    query = {"subject": "india", "relation": "students"}
    page = client.get("/runs/nations/ask", params=query).text
    assert "top=50" in page
    page = client.get("/runs/nations/ask", params=query | {"top": limits.ANSWERS}).text
    assert "Show more answers" not in page


def test_an_error_page_has_the_menu_of_its_run(client: Client) -> None:
    headers = {"Accept": "text/html"}
    page = client.get("/runs/nations/ask?top=x", headers=headers)
    assert page.status_code == 422
    assert 'href="/runs/nations/about"' in page.text
    assert "/runs/none/" not in client.get("/runs/none/ask", headers=headers).text


def test_answers_of_the_test_set_are_found(nations: whereof.Run) -> None:
    data = nations.dataset
    subject, relation, _ = data.test[0].tolist()
    names = data.entities.name(subject), data.relations.name(relation)
    wanted = {
        data.entities.name(fact[2])
        for fact in data.test.tolist()
        if fact[:2] == [subject, relation]
    }
    found = nations.predict(*names, known="test").answers
    assert {each.entity for each in found} == wanted
    assert {each.known for each in found} == {"test"}
    with pytest.raises(whereof.WhereofError, match="choose from train, valid, test"):
        nations.predict(*names, known="all")


def test_a_card_says_what_the_data_has_before_what_the_model_predicts(
    client: Client, nations: whereof.Run
) -> None:
    text = read_page(client.get("/runs/nations/entity", params={"name": "israel"}).text).text
    card = nations.card("israel")
    held_out = card.held_out[0]
    known = f"{held_out.subject} {held_out.relation} {held_out.object} (validation)"
    best = card.predictions[0]
    asked = " ".join(best.query[place] or "?" for place in ("subject", "relation", "object"))
    assert text.index("What the data says") < text.index(known)
    assert text.index(known) < text.index("What the model predicts") < text.index(asked)
