"""The page about a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx import Client
from present.pages import read_page
from trained import train

import whereof
from server.conftest import serving


@pytest.fixture
def unmeasured(tmp_path: Path) -> Iterator[tuple[Client, whereof.Run]]:
    """A run of its own: other tests evaluate theirs."""
    run = train(tmp_path / "run")
    with serving({"nations": run}) as address, Client(base_url=address, timeout=60) as client:
        yield client, run


def test_it_is_what_the_report_says(unmeasured: tuple[Client, whereof.Run]) -> None:
    client, run = unmeasured
    answer = client.get("/runs/nations/about")
    assert answer.status_code == 200, answer.text
    assert "style=" not in answer.text
    found = read_page(answer.text)
    assert "distmult on nations" in found.headings
    assert {"Metrics", "Training", "The run", "Run it again"} <= {*found.headings}
    assert "This run has not been evaluated" in found.text
    run.evaluate(protocols="removal", k=1, limit=2, methods="rollback,random")
    found = read_page(client.get("/runs/nations/about").text)
    assert "Removing facts and retraining" in found.headings
    assert "has not been evaluated" not in found.text


def test_a_stored_evaluation_that_cannot_be_read_is_noted(
    client: Client, ratings: whereof.Run
) -> None:
    assert ratings.path is not None
    folder = ratings.path / "evaluations"
    folder.mkdir(exist_ok=True)
    (folder / "bad.json").write_text("[]")
    text = read_page(client.get("/runs/ratings/about").text).text
    (folder / "bad.json").unlink()
    assert "Note: an evaluation is left out" in text


def test_there_is_no_page_of_an_unknown_run(client: Client) -> None:
    assert client.get("/runs/none/about").status_code == 404
