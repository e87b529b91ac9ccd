"""The documentation names everything there is; help texts are current, links work.

`python tests/test_docs.py` writes the current help texts of the commands into docs/cli.md.
"""

import re
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

import whereof
from whereof.cli import cli
from whereof.data.catalogue import CATALOGUE
from whereof.evaluate.protocol import Protocol, protocols
from whereof.models import MODELS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
PAGES += sorted((ROOT / "docs" / "protocols").glob("*.md"))
CLI_PAGE = ROOT / "docs" / "cli.md"
COMMANDS = cli.list_commands(None)  # type: ignore[arg-type]
WIDTH = 88

_HELP = re.compile(r"(<!-- help: (\S+) -->\n```text\n)(.*?)(```)", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def help_text(command: str) -> str:
    arguments = ["--help"] if command == "whereof" else [command, "--help"]
    result = CliRunner().invoke(cli, arguments, prog_name="whereof", terminal_width=WIDTH)
    assert result.exit_code == 0, result.output
    return result.output


def with_help_texts(page: str) -> str:
    return _HELP.sub(lambda found: found[1] + help_text(found[2]) + found[4], page)


def prose() -> str:
    """All pages, without the blocks of code and help."""
    return "\n".join(_FENCE.sub("", read(page)) for page in PAGES)


@pytest.mark.skipif(
    [*map(int, version("click").split(".")[:2])] < [8, 5], reason="older click: other help texts"
)
def test_cli_page_has_every_help_text_as_it_is() -> None:
    page = read(CLI_PAGE)
    assert [found[2] for found in _HELP.finditer(page)] == ["whereof", *COMMANDS]
    assert page == with_help_texts(page), "docs/cli.md is old; run: python tests/test_docs.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    assert f"\n## whereof {command}\n" in read(CLI_PAGE)
    assert f"`{command}`" in read(ROOT / "CHANGELOG.md")


def test_no_placeholder_is_left() -> None:
    assert not re.findall(r"^[A-Z]{4,}$", prose(), re.MULTILINE)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_documented_and_cited(name: str) -> None:
    page = " ".join(read(ROOT / "docs" / "models.md").split())
    score, widths, citation = (
        page[page.index(start) :] for start in ("| name | score", "## Row widths", "## Citations")
    )
    assert f"| `{name}` |" in score
    assert f"`{name}`" in widths.partition("## Two-way")[0]
    assert f"`{name}`" in citation
    assert MODELS[name].citation in citation


@pytest.mark.parametrize("setting", [item.name for item in fields(whereof.TrainConfig)])
def test_every_setting_is_explained_in_words(setting: str) -> None:
    flag = setting.replace("_", "-")
    names = rf"`{setting}`|`{setting}=|`--{flag}[ `]|`--no-{flag}`|\\texttt{{{setting}}}"
    assert re.search(names, prose()), f"no page says what `{setting}` does"


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_named_dataset_is_documented_and_cited(name: str) -> None:
    entry, page = CATALOGUE[name], read(ROOT / "docs" / "datasets.md")
    sizes = (entry.n_facts, entry.n_valid, entry.n_test, entry.n_entities, entry.n_relations)
    labels = "yes" if entry.labelled else "no"
    row = " | ".join([f"| `{name}`", *(f"{size:,}" for size in sizes), labels])
    assert f"{row} | {entry.licence}: {entry.terms} |" in page
    assert f"{entry.citation}. <{entry.homepage}>" in page


@pytest.mark.parametrize("name", sorted({*whereof.__all__} - {"__version__"}))
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert f"whereof.{name}" in read(ROOT / "docs" / "python.md")


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in _LINK.findall(_FENCE.sub("", read(page))):
            if not re.match(r"[a-z]+:", target):
                yield page, target


@pytest.mark.parametrize(("page", "target"), [*links()], ids=lambda value: str(value)[-40:])
def test_every_link_leads_somewhere(page: Path, target: str) -> None:
    path, _, anchor = target.partition("#")
    place = page.parent / path if path else page
    assert place.is_file(), f"{page.name} links to {target}, which does not exist"
    if anchor:
        headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", read(place)), re.MULTILINE)
        assert anchor in {_anchor(heading) for heading in headings}


def _anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub and myst make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_page_stands_in_the_index() -> None:
    for folder in (ROOT / "docs", ROOT / "docs" / "protocols"):
        listed = read(folder / "index.md").splitlines()
        missing = {page.stem for page in PAGES if page.parent == folder} - {"index", *listed}
        assert not missing
    assert "protocols/index" in read(ROOT / "docs" / "index.md").splitlines()


@pytest.mark.parametrize("protocol", protocols(), ids=lambda protocol: protocol.name)
def test_every_protocol_is_documented_and_cited(protocol: Protocol) -> None:
    text = " ".join(read(ROOT / "docs" / "protocols" / f"{protocol.name}.md").split())
    assert protocol.citation in text
    assert f"--protocols {protocol.name}" in text
    for name, kind in protocol.fields.items():
        assert f"`{name}`" in text
        for item in fields(get_args(kind)[0]):
            shown = re.sub("_(interval|seeds|before|after|fall)$", "", item.name)
            assert shown in text or not item.metadata.get("written", True), item.name


def test_the_version_is_one() -> None:
    found = re.search(r"^version: (\S+)$", read(ROOT / "CITATION.cff"), re.MULTILINE)
    assert found
    assert found[1] == whereof.__version__
    assert f"\n## [{whereof.__version__}]" in read(ROOT / "CHANGELOG.md")


if __name__ == "__main__":
    CLI_PAGE.write_text(with_help_texts(read(CLI_PAGE)), encoding="utf-8")
