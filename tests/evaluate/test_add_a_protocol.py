"""The protocol of docs/add-a-protocol.md works as written."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import whereof
from whereof import registry
from whereof.cli import cli

PAGE = Path(__file__).parents[2] / "docs" / "add-a-protocol.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the page's code defines, run in a folder of its own."""
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        patch.setattr(registry, "_ADDED", {})
        for block in re.findall(
            r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE
        ):
            exec(block, found)
        yield found


def test_the_page_shows_results(names: dict[str, Any]) -> None:
    found = names["found"]
    assert [(row.method, row.k) for row in found.sufficiency] == [
        (method, k) for method in ("rollback", "random") for k in (1, 10)
    ]
    assert found.removal == ()
    assert "facts of" in str(found)
    page = Path("sufficiency.html").read_text()
    assert "Only the explanation is kept" in page
    assert page.count("<svg") >= 1


def test_figures_are_those_of_retraining(names: dict[str, Any]) -> None:
    run, found = names["run"], names["found"]
    assert found.n_retrainings <= 1 + 2 * 2 * 4
    (again,) = run.evaluate(
        protocols="sufficiency", k=1, limit=1, methods="rollback", settings="rank=3"
    ).sufficiency
    assert again.survived in (0.0, 1.0)
    assert again.interval is None
    everything = run.evaluate(
        protocols="sufficiency", k=1, limit=1, methods="rollback", settings="rank=14"
    )
    assert everything.sufficiency[0].survived == 1.0


def test_the_command_and_the_document_know_it(names: dict[str, Any]) -> None:
    arguments = ["evaluate", "sufficiency-run", "--protocols", "sufficiency,steadiness"]
    arguments += ["--limit", "4", "--k", "1,10", "--settings", "rank=3", "--removals", "2"]
    done = CliRunner().invoke(cli, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    mine = [(row.survived, row.interval) for row in names["found"].sufficiency]
    assert [(row["survived"], row["interval"]) for row in document["sufficiency"]] == [
        (survived, None if interval is None else [*interval]) for survived, interval in mine
    ]
    assert document["options"]["settings"] == {"rank": "3"}
    again = whereof.Evaluation.from_dict(document)
    assert isinstance(again.sufficiency[0], names["Sufficiency"])
    assert again.to_dict() == document
    text = CliRunner().invoke(cli, arguments).stdout
    Path("options.toml").write_text("[evaluate]\nlimit = 4\nk = [1, 10]\nsettings = {rank = 3}\n")
    told = ["evaluate", "sufficiency-run", "--protocols", "sufficiency", "--config", "options.toml"]
    same = json.loads(CliRunner().invoke(cli, [*told, "--json"]).stdout)
    assert same["sufficiency"] == document["sufficiency"]
    assert same["options"]["settings"] == {"rank": 3}
    assert text.index("Only the explanation is kept") < text.index("Steadiness")
    assert "survived: share of predictions" in text


def test_its_needs_are_checked_and_its_settings_are_its_own(names: dict[str, Any]) -> None:
    run = names["run"]
    with pytest.raises(whereof.WhereofError, match="unknown setting of the protocols 'ranks'"):
        run.evaluate(protocols="sufficiency", settings={"ranks": 3})
    with pytest.raises(whereof.WhereofError, match="'power'; these protocols have no settings"):
        run.evaluate(protocols="removal", settings="power=2")
    with pytest.raises(whereof.WhereofError, match="settings: Expected `int`"):
        run.evaluate(protocols="sufficiency", settings="rank=high")
    with pytest.raises(whereof.WhereofError, match="rank is 0; it must be 1 or more"):
        run.evaluate(protocols="sufficiency", settings="rank=0")
    with pytest.raises(whereof.WhereofError, match="give NAME=VALUE"):
        run.evaluate(protocols="sufficiency", settings="rank")
    bare = whereof.train("nations", preset="paper", epochs=1, trace=False, out="bare")
    with pytest.raises(whereof.WhereofError, match="no trace, which rollback requires"):
        bare.evaluate(protocols="sufficiency", limit=1)


def test_arrays_are_kept_beside_the_document(
    names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, run = names["PROTOCOL"], names["run"]
    monkeypatch.setattr(protocol, "arrays", lambda found: {"mine": np.arange(3.0)})
    run.evaluate(protocols="sufficiency", k=1, limit=2, methods="random")
    (kept,) = Path("sufficiency-run/evaluations").glob("*-mine.npy")
    assert np.load(kept).tolist() == [0, 1, 2]
