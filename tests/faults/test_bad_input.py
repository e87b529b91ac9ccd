"""Bad input of all kinds: one line that says what is wrong, exit code 2, no traceback."""

import os
from pathlib import Path

import pytest
from cli.helpers import whereof as command
from trained import train

import whereof


@pytest.mark.parametrize(
    "arguments",
    [
        ["--name", os.fsdecode(b"\xff\xfe")],
        ["--seed", "9" * 30],
        ["--dim", "9" * 30],
        ["--epochs", "1_0"],
        ["--rate", "1_0.5"],
        ["--time-budget", "1_0m"],
        ["--constraint", "max:1_0"],
        ["--negatives", "9" * 5000],
        ["--columns", f"1,2,{'9' * 5000}"],
    ],
    ids=lambda it: ascii(it)[:40],
)
def test_a_bad_option_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    done = command("train", "nations", "-o", str(tmp_path / "run"), *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("whereof: ")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    ["a=" + "[" * 20_000, "epochs = [[1]]", "epochs = 1979-05-27", f"seed = {'9' * 30}", "= 3"],
    ids=["deep", "list", "date", "large", "no TOML"],
)
def test_a_bad_config_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    done = command("train", "nations", "-o", str(tmp_path / "run"), "--config", "c.toml",
                   cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("whereof: c.toml: ")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["impact", "9" * 5000], ["unlearn", "9" * 5000], ["evaluate", "--k", "9" * 5000]),
        ["evaluate", "--methods", f"verified:budget={'9' * 5000}"],
        ["evaluate", "--protocols", "datamodelling", "--drop", "1_0%"],
        *(["smallest", "egypt", "embassy", "usa", "--budget", it] for it in ("1_0", "1e308")),
    ],
    ids=lambda it: " ".join(it)[:40],
)
def test_a_number_that_is_none_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    train(tmp_path / "run", epochs=1)
    done = command(arguments[0], "run", *arguments[1:], cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("whereof: ")


@pytest.mark.parametrize("column", ["rating", "weight", "time"])
def test_a_cell_with_an_underscore_is_not_a_number(column: str) -> None:
    facts = {"s": ["a", "b"], "o": ["c", "d"], column: ["1_0", "2"]}
    with pytest.raises(whereof.WhereofError, match=f"{column} '1_0' is not a"):
        whereof.read(facts, **{"columns": "s,o", "test_fraction": 0.5, column: column})


def test_a_config_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("\n" * 2_000_000)
    done = command("info", "run", "--config", "c.toml", cwd=tmp_path)
    assert done.returncode == 2
    said = "the file is too large; a file of options has at most 1 MB"
    assert done.stderr == f"whereof: c.toml: {said}\n"


@pytest.mark.parametrize("threads", [float("nan"), 0, -1, 1.5, float("inf")])
def test_a_number_of_threads_that_is_none_is_refused(tmp_path: Path, threads: float) -> None:
    run = train(tmp_path / "run", epochs=1)
    with pytest.raises(whereof.WhereofError, match="threads"):
        next(run.explain_many([("egypt", "embassy", "usa")], threads=threads))  # type: ignore[arg-type]


def test_an_entity_called_like_the_open_place_is_reported(tmp_path: Path) -> None:
    names = ["_", "a", "b", "c"]
    pairs = [(s, o) for s in names for o in names]
    facts = {"s": [s for s, _ in pairs], "r": ["r"] * len(pairs), "o": [o for _, o in pairs]}
    del facts["s"][1::3], facts["r"][1::3], facts["o"][1::3]
    options = {"test_fraction": 0.2, "epochs": 2, "dim": 2, "search": False}
    run = whereof.train(facts, out=tmp_path / "run", **options)
    run.warm_up()
    assert run.report(tmp_path / "report.html", examples=9).exists()


def test_a_terminal_of_no_columns_shows_everything(tmp_path: Path) -> None:
    train(tmp_path / "run", epochs=1)
    assert "trace.npy" in command("info", str(tmp_path / "run"), COLUMNS="0").stdout
