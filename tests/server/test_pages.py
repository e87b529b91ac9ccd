"""Pages over HTTP: each address answers, and errors are one line in the page."""

import re

import httpx
import pytest


def get(client: httpx.Client, path: str) -> httpx.Response:
    return client.get(path, headers={"accept": "text/html"})


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/", "ratings"),
        ("/runs/nations/ask", "Predictions worth a look"),
        ("/runs/nations/ask?subject=egypt&relation=embassy", "Why "),
        ("/runs/nations/ask?relation=embassy&object=usa&asks=subject", "Why "),
        ("/runs/nations/ask?list=test", "Facts that the model has not seen"),
        ("/runs/nations/why?subject=egypt&relation=embassy", "Facts that support it"),
        ("/runs/nations/why?subject=egypt&relation=embassy&opposing=true", "Facts that oppose it"),
        ("/runs/nations/entity?name=egypt", "The model predicts"),
        ("/jobs", "Jobs"),
    ],
)
def test_pages_answer(client: httpx.Client, path: str, says: str) -> None:
    found = get(client, path)
    assert found.status_code == 200
    assert says in found.text
    assert "<style" not in found.text
    for link in re.findall(r'(?:href|src)="(/static/[^"]*)"', found.text):
        assert client.get(link).status_code == 200


def test_a_recommendation_names_the_user(client: httpx.Client) -> None:
    asked = get(client, "/runs/ratings/ask?list=test")
    link = re.search(r'href="(/runs/ratings/why[^"]*)"', asked.text)
    assert link
    found = get(client, link[1].replace("&amp;", "&"))
    assert found.status_code == 200
    assert "The ratings it is made of" in found.text


def test_a_method_that_is_not_ready_waits_for_a_job(client: httpx.Client) -> None:
    path = "/runs/nations/why?subject=egypt&relation=embassy&method=retrain"
    found = get(client, path)
    assert found.status_code == 200
    assert "retrain is computed" in found.text


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/runs/nations/ask?subject=egipt&relation=embassy", 400, "egypt"),
        ("/runs/nations/why?subject=egypt&relation=embassy&method=magic", 400, "magic"),
        ("/runs/nowhere/ask", 404, "there is no run"),
        ("/runs/nations/why?subject=egypt&relation=embassy&top=0", 422, "top is"),
    ],
)
def test_errors_are_in_the_page(client: httpx.Client, path: str, status: int, says: str) -> None:
    found = get(client, path)
    assert found.status_code == status
    assert says in found.text
    assert 'class="error"' in found.text
