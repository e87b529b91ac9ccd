"""Two predictions side by side."""

import csv
from pathlib import Path
from urllib.parse import urlencode

import pytest
from httpx import Client, Response
from present.pages import read_page

import whereof
from server.conftest import serving
from whereof.present.names import fact_text

ONE = {"run": "nations", "subject": "india", "relation": "students", "object": "usa"}
OTHER = ONE | {"subject": "china"}


def compare(client: Client, **views: dict[str, str]) -> Response:
    return client.get("/compare", params={key: urlencode(view) for key, view in views.items()})


def test_both_stand_side_by_side(client: Client) -> None:
    answer = compare(client, a=ONE, b=OTHER)
    assert answer.status_code == 200, answer.text
    assert "style=" not in answer.text
    found = read_page(answer.text)
    assert {"india students usa", "china students usa"} <= {*found.headings}
    assert "strongest facts of each side" in found.text
    assert "rho of their influences is" in found.text
    assert found.text.count("estimate by") == 2
    assert "retrain: every fact, retrained" in found.text
    assert answer.text.count('data-complete="/api/runs/nations/names"') == 3
    assert "/runs/nations/why?run=" not in answer.text
    assert any(link.startswith("/runs/nations/why?subject=china") for link in found.links)


def test_a_comparison_can_be_saved(client: Client, nations: whereof.Run) -> None:
    page = read_page(compare(client, a=ONE, b=OTHER).text)
    links = [link for link in page.links if link.startswith("/api/compare")]
    json, rows, file = (client.get(link) for link in links)
    for answer, format in ((json, "json"), (rows, "csv"), (file, "html")):
        assert f'filename="comparison.{format}"' in answer.headers["content-disposition"]
    one, other = (side["explanation"] for side in json.json()["sides"])
    assert [side["prediction"]["subject"] for side in (one, other)] == ["india", "china"]
    influences = {
        tuple(fact[place] for place in ("subject", "relation", "object")): fact["influence"]
        for fact in one["facts"]
    }
    listed = [*csv.DictReader(rows.text.splitlines())]
    found = {
        (row["subject"], row["relation"], row["object"]): float(row["influence_a"])
        for row in listed
        if row["influence_a"]
    }
    assert found == influences
    both = [row for row in listed if row["rank_a"] and row["rank_b"]]
    assert len(both) == json.json()["overlap"]["n_facts"]
    assert both == listed[: len(both)]  # those in common come first
    saved = read_page(file.text)
    assert {"india students usa", "china students usa"} <= {*saved.headings}
    assert "rho of their influences is" in saved.text
    assert [link for link in saved.links if link.startswith("/")] == []
    assert not [link for link in read_page(compare(client, a=ONE).text).links if "/api/" in link]


def test_a_prediction_compared_with_itself_has_all_facts_in_common(client: Client) -> None:
    text = read_page(compare(client, a=ONE, b=ONE).text).text
    assert "Of the 10 strongest facts of each side, 10 are the same." in text
    assert "rho of their influences is 1.000" in text
    assert "no influence" not in text


def test_both_sides_have_the_same_method(tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", epochs=3, search=False)
    assert run.default_method == "unrolled"
    run.explain("india", "students", "usa")  # the run stores it
    with serving({"nations": run}) as address, Client(base_url=address) as client:
        found = [read_page(compare(client, a=ONE, b=other).text).text for other in (ONE, OTHER)]
        run.explain("china", "students", "usa")  # what the page offers
        found.append(read_page(compare(client, a=ONE, b=OTHER).text).text)
    assert [each.count("estimate by unrolled") for each in found] == [2, 0, 2]
    assert [each.count("estimate by rollback") for each in found] == [0, 2, 0]
    offer = "A closer estimate of china students usa."
    assert [offer in each for each in found] == [False, True, False]


def test_a_method_that_takes_long_is_not_preselected_and_its_page_is_linked(tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", epochs=3, search=False)
    run.explain("india", "students", "usa", method="unrolled")
    closer = {"method": "unrolled"}
    with serving({"nations": run}) as address, Client(base_url=address) as client:
        form = compare(client, a=ONE | closer).text
        quick = read_page(compare(client, a=ONE | closer, b=OTHER).text).text
        slow = compare(client, a=ONE, b=OTHER | closer)
        run.explain("china", "students", "usa", method="unrolled")
        stored = read_page(compare(client, a=ONE | closer, b=OTHER).text).text
    assert '<option value="unrolled" selected' not in form
    assert "The two sides use different methods, unrolled and rollback:" in quick
    assert slow.status_code == 400
    assert "first open the page that computes it: china students usa" in read_page(slow.text).text
    links = read_page(slow.text).links
    why = "/runs/nations/why?subject=china&relation=students&object=usa&method=unrolled"
    assert why in links
    assert stored.count("estimate by unrolled") == 2
    assert "different methods" not in stored


def test_facts_against_a_prediction_are_compared_too(client: Client, nations: whereof.Run) -> None:
    text = read_page(compare(client, a=ONE, b=OTHER).text).text
    against = nations.explain("india", "students", "usa", method="rollback", opposing=True, top=1)
    assert fact_text(against.facts[0]) in text
    assert "\N{MINUS SIGN}" in text


def test_one_side_asks_for_the_other(client: Client) -> None:
    found = read_page(compare(client, a=ONE).text)
    assert "Compare it with" in found.headings
    assert "in another run" not in found.text  # of other data
    asked = {"a": urlencode(ONE), **OTHER}
    answer = client.get("/compare", params=asked, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/compare?" + urlencode(
        {"a": urlencode(ONE), "b": urlencode(OTHER)}
    )


def test_one_prediction_is_compared_in_two_runs(nations: whereof.Run) -> None:
    with (
        serving({"nations": nations, "again": nations}) as address,
        Client(base_url=address) as client,
    ):
        found = read_page(compare(client, a=ONE).text)
        (same,) = (link for link in found.links if link.startswith("/compare"))
        text = read_page(client.get(same).text).text
    assert "again: " in text
    assert "Of the 10 strongest facts of each side, 10 are the same." in text


def test_ratings_speak_of_users_and_items(client: Client, ratings: whereof.Run) -> None:
    view = {"run": "ratings", "subject": "u1", "object": ratings.predict("u1").answers[0].entity}
    text = read_page(compare(client, a=view).text).text
    assert "user u1, item " in text
    assert "User" in text
    assert "Relation" not in text


@pytest.mark.parametrize(
    ("view", "status", "words"),
    [
        ({"run": "none"}, 404, "there is no run 'none'; choose from nations, ratings"),
        (ONE | {"subject": "indja"}, 400, "unknown entity 'indja'"),
        (ONE | {"method": "rollbak"}, 400, "rollbak"),
        (ONE | {"asks": "relation"}, 400, "relation"),
    ],
)
def test_errors_are_one_line(client: Client, view: dict[str, str], status: int, words: str) -> None:
    answer = compare(client, a=ONE, b=view)
    assert answer.status_code == status
    assert words in answer.text.replace("&#39;", "'")
