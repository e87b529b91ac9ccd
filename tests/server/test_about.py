"""The page about a run."""

from httpx import Client
from present.pages import read_page

import whereof


def test_it_is_what_the_report_says(client: Client, nations: whereof.Run) -> None:
    answer = client.get("/runs/nations/about")
    assert answer.status_code == 200, answer.text
    assert "style=" not in answer.text
    found = read_page(answer.text)
    assert "distmult on nations" in found.headings
    assert {"Metrics", "Training", "The run", "Run it again"} <= {*found.headings}
    assert "This run has not been evaluated" in found.text
    nations.evaluate(protocols="removal", k=1, limit=2, methods="rollback,random")
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
