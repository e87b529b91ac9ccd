"""`whereof datasets`: the list, one in full, and downloads."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from servers import serving

from whereof.cli import cli
from whereof.cli.progress import TerminalEvents
from whereof.data.catalogue import CATALOGUE, File, find_entry, find_folder
from whereof.errors import WhereofError

FACTS = b"a\tr\tb\nb\tr\tc\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data folder."""
    monkeypatch.setenv("WHEREOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WHEREOF_DATA", raising=False)
    return tmp_path / "cache"


def datasets(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["datasets", *arguments])


def serve_umls(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve UMLS from a local server."""
    file = File("train.txt", f"{address}/train.txt")
    little = replace(CATALOGUE["umls"], files=(file,), n_facts=2)
    monkeypatch.setitem(CATALOGUE, "umls", little)


def test_the_list_has_all() -> None:
    done = datasets()
    assert done.exit_code == 0, done.output
    rows = {line.split()[0]: line for line in done.output.splitlines()[1:]}
    assert list(rows) == list(CATALOGUE)
    assert rows["nations"].endswith("bundled")
    assert rows["fb15k-237"].split()[1:4] == ["272,115", "17,535", "20,466"]


def test_the_list_as_json_says_where_each_one_is(tmp_path: Path) -> None:
    (tmp_path / "mine" / "kinship").mkdir(parents=True)
    done = datasets("--json", "--data-dir", str(tmp_path / "mine"))
    listed = {about["name"]: about for about in json.loads(done.stdout)["datasets"]}
    assert list(listed) == list(CATALOGUE)
    assert listed["kinship"]["here"] == "copy"
    assert listed["kinship"]["folder"] == str(tmp_path / "mine" / "kinship")
    assert (listed["umls"]["here"], listed["umls"]["folder"]) == ("absent", None)
    for name, about in listed.items():
        assert about.items() >= CATALOGUE[name].to_dict().items()


@pytest.mark.parametrize("name", CATALOGUE)
def test_one_in_full(name: str) -> None:
    entry = CATALOGUE[name]
    text = datasets(name.upper()).output
    for word in (entry.title, entry.terms, entry.citation, entry.homepage):
        assert word in text
    assert all(file.url in text and (file.sha256 or "recorded") in text for file in entry.files)
    assert json.loads(datasets(name, "--json").stdout)["citation"] == entry.citation


def test_download_shows_its_progress_and_is_there_afterwards(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({"train.txt": FACTS}) as address:
        serve_umls(address, monkeypatch)
        done = datasets("umls", "--download", "--json")
    assert done.exit_code == 0, done.output
    assert f"downloading {address}/train.txt" in done.stderr
    about = json.loads(done.stdout)
    assert (about["here"], about["folder"]) == ("cached", str(cache / "umls"))
    again = datasets("umls", "--download", "--json")
    assert (again.stdout, again.stderr) == (done.stdout, "")


def test_a_terminal_gets_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with serving({"train.txt": FACTS}) as address:
        serve_umls(address, monkeypatch)
        with TerminalEvents() as events:
            find_folder(find_entry("umls"), events=events)
    assert "12/12 bytes" in capsys.readouterr().err


def test_bad_input_is_one_clear_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"train.txt": FACTS}, missing_bytes=9) as address:
        serve_umls(address, monkeypatch)
        cases = {
            "cut off after 12 of 21 bytes": ["umls", "--download"],
            "did you mean 'umls'": ["uml"],
            "--download needs a NAME": ["--download"],
            "no folder": ["umls", "--download", "--data-dir", str(cache)],
        }
        for words, arguments in cases.items():
            error = datasets(*arguments).exception
            assert isinstance(error, WhereofError)
            assert words in str(error)
            assert "\n" not in str(error)
