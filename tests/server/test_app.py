"""Every route answers with the documents of the library."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from httpx import Client

import whereof
from whereof.server.requests import given_names

ASKED = {"subject": "india", "relation": "students", "object": "usa"}


def get(client: Client, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def plain(document: Any) -> Any:
    return json.loads(json.dumps(document))


def test_runs_are_listed_with_their_summaries(client: Client, nations: whereof.Run) -> None:
    listed = get(client, "/api/runs")
    assert [each["id"] for each in listed] == ["nations", "ratings"]
    assert listed[0]["summary"] == plain(nations.summary())
    assert get(client, "/api/runs/nations") == plain(nations.info())


def test_answers_are_those_of_predict(client: Client, nations: whereof.Run) -> None:
    found = get(client, "/api/runs/nations/answers", subject="india", relation="students", top=3)
    assert found == nations.predict("india", "students", top=3).to_dict()
    new = get(client, "/api/runs/nations/answers", subject="india", relation="students", new=True)
    assert new == nations.predict("india", "students", new=True).to_dict()


def test_two_way_runs_need_no_relation(client: Client, ratings: whereof.Run) -> None:
    assert get(client, "/api/runs/ratings/answers", subject="u1") == ratings.predict("u1").to_dict()


def test_an_explanation_is_that_of_explain(client: Client, nations: whereof.Run) -> None:
    options = {"method": "rollback", "top": 3, "graph": True}
    found = get(client, "/api/runs/nations/explanation", **ASKED, **options)
    wanted = nations.explain(*ASKED.values(), **options).to_dict()  # type: ignore[arg-type]
    assert found | {"seconds": 0} == wanted | {"seconds": 0}


@pytest.mark.parametrize(
    ("kind", "start"), [("csv", "fact_id,"), ("svg", "<svg"), ("html", "<!doctype html>")]
)
def test_an_explanation_can_be_saved(client: Client, kind: str, start: str) -> None:
    query = ASKED | {"method": "rollback", "format": kind}
    answer = client.get("/api/runs/nations/explanation", params=query)
    assert answer.text.lower().startswith(start)
    name = f"explanation-india-students-usa.{kind}"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'


def test_an_estimate_is_that_of_all_facts_together(client: Client, nations: whereof.Run) -> None:
    asked = ASKED | {"method": "rollback", "facts": [3, 5, 8]}
    answer = client.post("/api/runs/nations/estimate", json=asked)
    joint = nations.explain(*ASKED.values(), method="rollback", without=[3, 5, 8]).without
    assert joint is not None
    assert answer.json() == {**vars(joint), "fact_ids": [3, 5, 8]}


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/runs/none", 404, "there is no run 'none'; choose from nations, ratings"),
        ("/api/nothing", 404, "there is no page /api/nothing"),
        (
            "/api/runs/nations/answers?subject=indja&relation=students",
            400,
            "unknown entity 'indja'; did you mean 'india', 'china'?",
        ),
        (
            "/api/runs/nations/answers?subject=india&relation=students&top=0",
            422,
            "top is '0'; input should be greater than or equal to 1",
        ),
        ("/api/jobs/none", 404, "there is no such job; the server keeps only the latest ones"),
    ],
)
def test_an_error_is_one_line(client: Client, path: str, status: int, message: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (status, {"message": message})


def test_names_cards_and_interesting_predictions_are_those_of_the_run(
    client: Client, nations: whereof.Run, ratings: whereof.Run
) -> None:
    found = get(client, "/api/runs/nations/names", text="ind", limit=3)
    assert found == [each.to_dict() for each in nations.find_names("ind", limit=3)]
    found = get(client, "/api/runs/nations/names", text="stud", kind="relation")
    assert [each["name"] for each in found] == ["students", "relstudents"]
    items = get(client, "/api/runs/ratings/names", place="object")
    assert {each["name"] for each in items} == {"m1", "m2", "m3"}
    assert get(client, "/api/runs/nations/entity", name="usa") == nations.card("usa").to_dict()
    query = {"kind": "unstable", "limit": 2}
    found = get(client, "/api/runs/nations/interesting", **query)
    assert found == [each.to_dict() for each in nations.interesting("unstable", 2)]


@pytest.mark.parametrize(
    ("text", "place", "names"),
    [
        ("user u1", "subject", ["u1"]),
        ("User u", "subject", ["u0", "u1", "u2", "u3"]),
        ("item m2", "object", ["m2"]),
        ("item u1", "subject", []),
        ("user u1", "", []),
    ],
)
def test_completion_takes_the_noun_that_pages_write_before_a_name(
    client: Client, text: str, place: str, names: list[str]
) -> None:
    found = get(client, "/api/runs/ratings/names", text=text, place=place)
    assert sorted(each["name"] for each in found) == names


def test_a_question_takes_the_noun_that_pages_write_before_a_name(
    client: Client, ratings: whereof.Run
) -> None:
    found = get(client, "/api/runs/ratings/answers", subject="user u1", object="item m3")
    assert found == ratings.predict("u1", "m3").to_dict()
    answer = client.get("/api/runs/ratings/answers", params={"subject": "item u1"})
    assert answer.json()["message"].startswith("unknown user 'item u1'")
    answer = client.get("/api/runs/ratings/answers", params={"subject": "user"})
    assert answer.json()["message"].startswith("unknown user 'user'")


def test_a_name_that_starts_with_the_noun_is_that_name(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("user 5\ta\n5\tb\n5\tc\n6\ta\n")
    settings = {"columns": "1,2", "epochs": 1, "valid_fraction": 0, "test_fraction": 0}
    run = whereof.train(tmp_path / "facts.tsv", out=tmp_path / "run", **settings)
    assert given_names(run, "user 5", "", "") == ("user 5", None)
    assert given_names(run, "user 6", "", "") == ("6", None)


def test_what_takes_long_is_refused_with_what_to_do(client: Client) -> None:
    query = {"subject": "india", "relation": "embassy", "object": "usa", "method": "retrain"}
    answer = client.get("/api/runs/nations/explanation", params=query)
    message = (
        "retrain takes longer than a click here: start a job of kind explain, or choose the method "
        "rollback"
    )
    assert (answer.status_code, answer.json()) == (409, {"message": message})


def test_many_readers_get_the_same_answers(client: Client, address: str) -> None:
    def read(number: int) -> Any:
        query = ASKED | {"method": "rollback", "top": 1 + number % 5, "graph": True}
        with Client(base_url=address, timeout=60) as mine:
            return mine.get("/api/runs/nations/explanation", params=query).json()["facts"]

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(read, range(64)))
    for number, facts in enumerate(found):
        assert [each["fact_id"] for each in facts] == [
            each["fact_id"] for each in found[4][: 1 + number % 5]
        ]
