"""One table in the terminal and in Markdown."""

import pytest
from rich.cells import cell_len
from rich.console import Console

from present.pages import plain
from whereof.present.terminal import console, markdown, show
from whereof.table import Cell, Column, Table

LONG = "experiences the symptoms of a very rare disease"
TABLE = Table(
    "removal",
    "Facts removed",
    [
        Column("method", "method"),
        Column("k", "k", "count"),
        Column("pd", "PD", "percent"),
        Column("pd_interval", "95%", "percent", "interval"),
    ],
    [
        ("rollback", 1, Cell(0.92, mark="***", tone="changed"), (0.82, 1.0)),
        ("random|<b>", "all", float("nan"), None),
    ],
    "PD: the probability falls.",
)


def in_terminal(table: Table, width: int) -> str:
    out = Console(force_terminal=True, color_system=None, width=width, highlight=False)
    with out.capture() as capture:
        show(out, table)
    return capture.get()


def test_columns_are_aligned_and_marks_apart() -> None:
    assert plain(TABLE).splitlines() == [
        "Facts removed",
        "method        k        PD      95%",
        "rollback      1  92.0%***  82-100%",
        "random|<b>  all      -",
        "PD: the probability falls.",
    ]


def test_a_pipe_gets_whole_names_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = LONG * 5
    show(console(), Table("t", "", [Column("a", "name")] * 2, [(name, name)]))
    assert capsys.readouterr().out.splitlines()[1] == f"{name}  {name}"


@pytest.mark.parametrize("name", [LONG, "x" * 70, "埃及的大使馆" * 9])
def test_a_terminal_gets_every_letter_in_lines_that_fit(name: str) -> None:
    table = Table(
        "t", "", [Column("a", "a"), Column("b", "b"), Column("n", "n", "count")], [("s", name, 7)]
    )
    lines = in_terminal(table, 40).splitlines()
    assert all(cell_len(line) <= 40 for line in lines)
    letters = "".join(lines[1:]).replace(" ", "").replace("7", "", 1).removeprefix("s")
    assert letters == name.replace(" ", "")


def test_words_are_broken_between_words() -> None:
    table = Table("t", "", [Column("a", "a"), Column("n", "n", "count")], [(LONG, 7)])
    assert in_terminal(table, 30).splitlines()[1:] == [
        "experiences the symptoms of  7",
        "a very rare disease",
    ]


def test_a_long_table_shows_its_first_rows_and_counts_the_others() -> None:
    rows = [(number,) for number in range(100)]
    table = Table("t", "", [Column("n", "n", "count")], rows, most=40)
    lines = plain(table).splitlines()
    assert lines[1:41] == [f"{number:>2}" for number in range(40)]
    assert lines[41:] == ["and 60 more rows; --json has all of them"]


def test_no_name_breaks_a_line() -> None:
    table = Table("t", "", [Column("a", "a")], [("one\ntwo\x1b[2J",)])
    assert plain(table) == "a\none two [2J\n"


def test_markdown_escapes_what_ends_a_cell() -> None:
    assert markdown(TABLE).splitlines() == [
        "## Facts removed",
        "",
        "PD: the probability falls.",
        "",
        "| method | k | PD | 95% |",
        "| --- | ---: | ---: | ---: |",
        "| rollback | 1 | 92.0%*** | 82-100% |",
        "| random\\|&lt;b> | all | - |  |",
    ]
