"""Why: what a click may ask for, whose results a page shows, and what it says of bad input."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx import Client
from trained import train

import whereof
from server.conftest import serving
from server.test_jobs import ended, start

RETRAINED = {"method": "verified", "top": 3, "opposing": "false"}
ASKED = {"subject": "india", "relation": "students", "object": "usa"}
OTHER = ASKED | {"object": "uk"}
PAGE = {"Accept": "text/html"}


def open_why(client: Client, run: str = "nations", **query: Any) -> str:
    answer = client.get(f"/runs/{run}/why", params=query, headers=PAGE)
    assert answer.status_code == 200, answer.text
    return answer.text


def view_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="view">(.*?)</script>', page)
    assert found
    return dict(json.loads(found[1]))


def listed(page: str) -> list[int]:
    return [int(each) for each in re.findall(r'data-fact="(\d+)"', page)]


@pytest.fixture(scope="module")
def verified(client_of_module: Client) -> str:
    """The id of a job that explained the prediction by retraining."""
    asked = {"kind": "explain", **ASKED, "method": "verified", "budget": 6, "top": 3}
    return str(ended(client_of_module, start(client_of_module, **asked)["id"])["id"])


@pytest.fixture(scope="module")
def client_of_module(address: str) -> Iterator[Client]:
    with Client(base_url=address, timeout=60) as found:
        yield found


def test_a_page_never_retrains(client: Client, nations: whereof.Run, verified: str) -> None:
    assert nations.path is not None
    kept = nations.path / "retrained"

    def files() -> dict[Path, int]:
        return {each: each.stat().st_size for each in kept.rglob("*") if each.is_file()}

    before = files()
    assert before
    page = open_why(client, **ASKED, **RETRAINED, without="7,11,13,17,19")
    assert "measured by retraining" in page
    assert "Estimated by rollback" in page
    assert files() == before


def test_what_if_works_on_a_page_of_retrained_facts(client: Client, verified: str) -> None:
    view = view_of(open_why(client, **ASKED, **RETRAINED))
    answer = client.post(view["estimate"], json=view["about"] | {"facts": [3, 5]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["fact_ids"] == [3, 5]


def test_a_check_of_retrained_facts_is_shown_beside_them(client: Client, verified: str) -> None:
    explained = open_why(client, **ASKED, **RETRAINED)
    check = view_of(explained)["check"] | {"facts": [3, 5]}
    job = ended(client, start(client, **check)["id"])["id"]
    page = open_why(client, **ASKED, **RETRAINED, without="3,5", job=job)
    assert 'class="verdict' in page
    assert listed(page)[:3] == listed(explained)[:3]


def test_a_page_shows_only_jobs_of_its_own(client: Client, verified: str) -> None:
    check = {"kind": "verify", **ASKED, "facts": [3, 5]}
    job = ended(client, start(client, **check)["id"])["id"]
    mine = {"method": "rollback", "without": "3,5", "job": job}
    assert 'class="verdict' in open_why(client, **ASKED, **mine)
    open_place = open_why(client, **ASKED | {"object": ""}, **mine)
    top = view_of(open_place)["about"]["object"]
    assert ('class="verdict' in open_place) == (top == "usa")
    assert 'class="verdict' not in open_why(client, **OTHER, **mine)
    turned = {"asks": "subject", **mine}
    assert 'class="verdict' not in open_why(client, **ASKED, **turned)
    ratings = {"subject": "u1", "object": "m3", **mine}
    assert 'class="verdict' not in open_why(client, "ratings", **ratings)
    other = open_why(client, **OTHER, **RETRAINED)
    assert "data-job" not in other
    assert view_of(other)["closer"]["object"] == "uk"


def test_a_result_for_other_facts_is_marked(client: Client) -> None:
    job = ended(client, start(client, kind="verify", **ASKED, facts=[3, 5])["id"])["id"]
    query = ASKED | {"method": "rollback", "job": job}
    assert "data-other hidden>" in open_why(client, **query, without="5,3")
    assert "data-other>" in open_why(client, **query, without="3")


def test_left_out_facts_are_measured_on_the_same_quantity(
    client: Client, nations: whereof.Run
) -> None:
    query = ASKED | {"method": "rollback", "of": "score", "top": 1, "without": "7"}
    influence = nations.explain(*ASKED.values(), method="rollback", of="score", without=[7])
    rows = open_why(client, **query).split('data-fact="7"')[1]
    found = re.search(r'influence" data-key="([^"]+)"', rows)
    assert found
    assert float(found[1]) == influence.facts[0].influence


def test_facts_that_do_not_exist_are_named(client: Client) -> None:
    page = open_why(client, **ASKED, method="rollback", without="99999999")
    said = re.search(r'<p class="error" role="alert" id="problem">([^<]+)</p>', page)
    assert said
    assert "99999999" in said[1]
    assert listed(page)


def test_a_download_has_the_facts_of_the_page(client: Client) -> None:
    page = open_why(client, **ASKED, method="rollback", top=4, without="3,5")
    links = re.findall(r'href="(/api/runs/nations/explanation[^"]+)" download', page)
    assert len(links) == 4
    found = client.get(links[0].replace("&amp;", "&")).json()
    ids = [each["fact_id"] for each in found["facts"]]
    assert len(ids) == 8
    assert ids == [each for each in listed(page) if each in ids]
    assert found["without"]["fact_ids"] == [3, 5]
    table = client.get(links[1].replace("&amp;", "&")).text.splitlines()
    assert [int(line.split(",")[0]) for line in table[1:]] == ids


def downloads(page: str) -> list[str]:
    links = re.findall(r'href="(/api/runs/nations/explanation[^"]+)" download', page)
    return [each.replace("&amp;", "&") for each in links]


def test_downloads_of_retrained_facts_have_the_facts_of_the_page(
    client: Client, verified: str
) -> None:
    page = open_why(client, **ASKED, **RETRAINED)
    assert view_of(page)["closer"] is None
    found = [client.get(each) for each in downloads(page)]
    assert [each.status_code for each in found] == [200] * 4
    ids = [each["fact_id"] for each in found[0].json()["facts"]]
    assert ids == listed(page)
    assert found[0].json()["method"] == "verified"
    refused = client.get(downloads(page)[0], params={**ASKED, **RETRAINED, "top": 4})
    assert refused.status_code == 409


def test_a_slow_method_is_left_to_a_job_while_a_quick_one_is_shown(client: Client) -> None:
    page = open_why(client, **OTHER, method="retrain", top=4, opposing="true")
    assert re.search(r'data-method="rollback" aria-current="true"', page)
    assert len(listed(page)) == 4
    task = view_of(page)["closer"]
    assert task["kind"] == "explain"
    assert (task["method"], task["top"], task["opposing"]) == ("retrain", 4, True)
    assert view_of(open_why(client, **OTHER, method="rollback"))["closer"] is None


def test_the_true_rating_is_on_the_page(client: Client, ratings: whereof.Run) -> None:
    assert ratings.find_rating("u1", "m3") == 5
    page = open_why(client, "ratings", subject="u1", object="m3", method="rollback")
    assert "True rating: 5 of 5, from training" in page
    predicted = ratings.predict("u1", "m3").answers[0].score
    assert f"<strong>{predicted:.2f} of 5</strong> predicted rating" in page


def test_an_item_that_the_user_did_not_rate_has_no_true_rating(
    client: Client, ratings: whereof.Run
) -> None:
    assert ratings.find_rating("u3", "m3") is None
    page = open_why(client, "ratings", subject="u3", object="m3", method="rollback")
    assert "True rating" not in page


def test_the_closest_estimate_stays_while_a_job_retrains(client: Client) -> None:
    asked = OTHER | {"asks": "subject"}
    ended(client, start(client, kind="explain", **asked, method="unrolled")["id"])
    page = open_why(client, **asked, method="retrain")
    assert re.search(r'data-method="unrolled" aria-current="true"', page)
    assert "estimates by unrolled: no retraining has confirmed them" in page
    assert view_of(page)["closer"]["method"] == "retrain"


def test_reliability_that_was_measured_later_is_on_the_page_of_every_method(
    tmp_path: Path,
) -> None:
    run = train(tmp_path / "run", inverse=True)
    with serving({"nations": run}) as address, Client(base_url=address, timeout=60) as client:
        for method, more in (("verified", {"budget": 3, "top": 3}), ("unrolled", {})):
            asked = {"kind": "explain", **ASKED, "method": method, **more}
            ended(client, start(client, **asked)["id"])
        measured = "Whereof retrained without"
        page = open_why(client, **ASKED, method="rollback")
        assert "The reliability of rollback in this run has not been measured." in page
        assert "data-measure" in page
        measure = view_of(open_why(client, **ASKED, **RETRAINED))["measure"]
        ended(client, start(client, **measure | {"limit": 5})["id"])
        for query in (RETRAINED, {"method": "rollback"}, {"method": "unrolled"}):
            page = open_why(client, **ASKED, **query)
            assert measured in page
            assert "data-measure" not in page


def test_the_result_of_a_job_is_found_again_by_another_server(
    client: Client, nations: whereof.Run
) -> None:
    check = {"kind": "verify", **ASKED, "method": "rollback", "facts": [3, 5]}
    job = ended(client, start(client, **check)["id"])
    query = ASKED | {"method": "rollback", "without": "3,5", "job": job["id"], "result": "verify"}
    assert view_of(open_why(client, **query))["again"] is None
    with serving({"nations": nations}) as address, Client(base_url=address, timeout=60) as other:
        task = view_of(open_why(other, **query))["again"]
        found = ended(other, start(other, **task)["id"])["result"]
    assert found["actual"] == job["result"]["actual"]
    assert found["n_known"] == found["n_retrainings"]  # nothing was retrained again


@pytest.fixture(scope="module")
def without_trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    run = train(tmp_path_factory.mktemp("bare") / "bare", trace=False)
    with serving({"bare": run}) as address, Client(base_url=address, timeout=60) as client:
        yield client


def test_a_run_without_a_trace_has_its_pages(without_trace: Client) -> None:
    page = open_why(without_trace, "bare", **ASKED)
    assert listed(page)
    methods = re.findall(r"<span>([\w-]+)", page.split('class="methods"')[1].split("</ul>")[0])
    assert "rollback" not in methods
    assert {"unrolled", "retrain"} <= {*methods}
    waiting = open_why(without_trace, "bare", **ASKED, method="retrain")
    assert view_of(waiting)["closer"]["method"] == "retrain"
    assert listed(waiting)
    answer = without_trace.get(
        "/runs/bare/why", params=ASKED | {"method": "rollback"}, headers=PAGE
    )
    assert answer.status_code == 400
    assert "rollback needs a trace" in answer.text
    api = without_trace.get("/api/runs/bare/explanation", params=ASKED | {"method": "rollback"})
    assert api.status_code == 400
    assert api.json()["message"].startswith("rollback needs a trace")


def test_a_list_that_needs_a_trace_says_so_in_its_place(without_trace: Client) -> None:
    answer = without_trace.get("/runs/bare/ask", params={"list": "unstable"}, headers=PAGE)
    before, inside = answer.text.split('<div id="list"')
    assert answer.status_code == 400
    assert 'class="error"' not in before
    assert "needs a trace" in inside
    assert re.search(r'list=unstable" aria-current="true"', before)
