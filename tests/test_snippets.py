"""Every snippet of README and docs: Python runs, commands exist with these options.

test_console.py runs the commands.

A line `<!-- not run: REASON -->` before a block leaves it out, for example because it needs a GPU.
"""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import click
import pytest
from click.testing import CliRunner
from test_docs import PAGES, ROOT, read
from trained import train

import whereof
from whereof.cli import cli
from whereof.models import MODELS

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+) -->\n\n?)?^```(?P<kind>python|console)\n(?P<code>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
OWN = {
    *("docs/add-a-method.md", "docs/add-a-protocol.md"),
    *("docs/pykeen.md", "docs/torch.md"),  # tests/integrations/test_pages.py
}
"""Pages that have tests of their own."""
_OTHERS = {"pip", "make", "python", "curl", "export"}
"""Programs besides `whereof`."""


def blocks(page: Path, kind: str) -> list[str]:
    """The blocks of a page that are run."""
    found = _BLOCK.finditer(read(page))
    return [each["code"] for each in found if each["kind"] == kind and not each["reason"]]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "small"
    train(path, inverse=True)
    return path


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page, "python") and name(page) not in OWN],
    ids=name,
)
def test_python_runs(
    page: Path, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a page in order; pages about a run may use `run`."""
    monkeypatch.chdir(tmp_path)
    for folder in ("runs/demo", "nations-run"):
        shutil.copytree(small, folder)
    names: dict[str, object] = {"whereof": whereof, "run": whereof.Run.open("nations-run")}
    with mock.patch.dict(MODELS):
        for block in blocks(page, "python"):
            exec(block, names)


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/tutorials/*.ipynb")), ids=name)
def test_tutorials_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.stem == "pytorch":
        pytest.importorskip("torch", reason="needs the extra torch: make test-integrations")
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(read(page))["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in cells), "run: make notebooks"
    names: dict[str, object] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)


def commands(page: Path) -> Iterator[list[str]]:
    """The commands of a page, without comments, pipes and variables."""
    for block in blocks(page, "console"):
        for line in re.findall(r"^\$ (.+)$", block.replace("\\\n", " "), re.MULTILINE):
            for part in re.split(r" (?:&&|\||>) ", line):
                words = shlex.split(part, comments=True)
                while words and re.fullmatch(r"\w+=\S*", words[0]):
                    words.pop(0)
                if words:
                    yield words


COMMANDS = [(page, words) for page in PAGES for words in commands(page)]


def spelled(value: Path | list[str]) -> str:
    return name(value) if isinstance(value, Path) else " ".join(value)[:60]


@pytest.mark.parametrize(("page", "words"), COMMANDS, ids=spelled)
def test_commands_and_their_options_exist(page: Path, words: list[str]) -> None:
    program, *given = words
    if program == "whereof":
        _parse(given)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE)
        assert {word for word in given if "=" not in word} <= {*targets}
    elif program == "python" and given[0] != "-m":
        assert (ROOT / given[0]).is_file()
    else:
        assert program in _OTHERS, f"{name(page)}: {program} is no known program"


def _parse(given: list[str]) -> None:
    """Parse the options of a command as click does, and check the values that are choices."""
    if given[0].startswith("--"):
        assert CliRunner().invoke(cli, given).exit_code == 0
        return
    command = cli.get_command(click.Context(cli), given[0])
    assert command is not None, f"no command {given[0]}"
    context = click.Context(command, info_name=given[0])
    values, _, _ = command.make_parser(context).parse_args(given[1:])
    for param in command.params:
        if isinstance(param, click.Option) and values.get(str(param.name)) is not None:
            param.type_cast_value(context, values[str(param.name)])
