"""Columns side by side in the room that there is."""

from rich.cells import cell_len
from rich.console import Console

from whereof.cli._columns import Column, aligned, fitted, middle, shared


def test_columns_share_what_room_there_is() -> None:
    assert shared([5, 50, 50], 45) == [5, 20, 20]
    assert shared([5, 6], 45) == [5, 6]
    assert middle("abcdefgh", 5) == "ab…gh"
    assert cell_len(middle("埃及的大使馆", 6)) == 6
    assert fitted("why {} rather than {}", ["x" * 30, "y"], 30) == "why xxxxx…xxxxxx rather than y"


def test_a_long_table_is_like_a_short_one() -> None:
    def text(n_rows: int) -> list[str]:
        names = [f"name {number % 7}" for number in range(n_rows)]
        columns = [Column("a", names, cut=True), Column("b", ["1"] * n_rows, right=True)]
        console = Console(width=80)
        with console.capture() as capture:
            console.print(aligned(columns, 80), end="")
        return capture.get().splitlines()

    assert len(text(5000)) == 5001
    assert text(5000)[:4] == text(3) == ["a       b", "name 0  1", "name 1  1", "name 2  1"]
