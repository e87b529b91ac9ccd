"""Finding a working GPU: `auto` does without one; `cuda` says what is wrong."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trained
from cli.helpers import whereof as command
from training.helpers import make_problem

import whereof
import whereof.retrain.cuda.engine
from retrain.cuda.conftest import MakeCard
from whereof.retrain.cuda.card import open_card
from whereof.retrain.engine import choose_engine, settle_engine
from whereof.retrain.options import EngineOptions
from whereof.training.problem import Problem

CUPY = """
class cuda:
    class runtime:
        getDeviceCount = staticmethod(lambda: {count})
        getDeviceProperties = staticmethod(lambda number: {{"name": b"a card"}})

    class Device:
        id, compute_capability = 0, "90"

    class nvrtc:
        getVersion = staticmethod(lambda: {version})
"""
BROKEN = {
    "compiler": (
        {"count": "1", "version": "open('libnvrtc.so.12')"},
        "[Errno 2] No such file or directory: 'libnvrtc.so.12'",
    ),
    "driver": ({"count": "1 // 0", "version": "(12, 4)"}, "integer division or modulo by zero"),
    "no card": ({"count": "0", "version": "(12, 4)"}, "none is there"),
}
MakeCupy = Callable[[str], str]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeCupy]:
    """Installs a broken CuPy for the test and returns its error message."""

    def make(kind: str) -> str:
        (tmp_path / "cupy.py").write_text(CUPY.format(**BROKEN[kind][0]))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "cupy", raising=False)
        open_card.cache_clear()
        return BROKEN[kind][1]

    yield make
    sys.modules.pop("cupy", None)
    open_card.cache_clear()


def test_auto_takes_a_card_that_works(cpu_card: MakeCard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whereof.retrain.cuda.card.open_card", cpu_card)
    assert settle_engine(EngineOptions(), large_problem()).engine == "cuda"
    assert settle_engine(EngineOptions(), make_problem()).engine == "local"


@pytest.mark.parametrize("kind", BROKEN)
def test_auto_goes_on_without_a_card_that_does_not(broken: MakeCupy, kind: str) -> None:
    broken(kind)
    assert settle_engine(EngineOptions(), large_problem()).engine == "local"


@pytest.mark.parametrize("kind", BROKEN)
def test_who_asks_for_a_card_is_told_why_there_is_none(
    broken: MakeCupy, tmp_path: Path, kind: str
) -> None:
    why = broken(kind)
    with pytest.raises(whereof.WhereofError) as caught:
        choose_engine(EngineOptions(engine="cuda"))
    assert (
        str(caught.value)
        == f"engine cuda finds no CUDA GPU that works ({why}); use the CPU: leave out --engine cuda"
    )
    with pytest.raises(whereof.WhereofError) as caught:
        trained.train(tmp_path / "run", device="cuda")
    assert (
        str(caught.value)
        == f"device cuda finds no CUDA GPU that works ({why}); use the CPU: leave out --device cuda"
    )
    assert not (tmp_path / "run").exists()


def test_the_command_line_says_so_in_one_line(broken: MakeCupy, tmp_path: Path) -> None:
    trained.train(tmp_path / "run")
    why, path = broken("compiler"), f"{tmp_path}:{Path(whereof.__file__).parents[1]}"
    arguments = ("verify", str(tmp_path / "run"), "egypt", "embassy", "usa", "--engine", "cuda")
    done = command(*arguments, PYTHONPATH=path)
    assert done.returncode == 2
    assert (
        f"engine cuda finds no CUDA GPU that works ({why}); use the CPU: leave out --engine cuda"
        in done.stderr
    )
    assert len(done.stderr.splitlines()) == 1


def large_problem() -> Problem:
    """A problem whose steps are large enough for the GPU."""
    return make_problem(n_entities=3000, negatives=2999)
