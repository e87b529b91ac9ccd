"""Wrong arguments of every public function: an error in one line, never one of Python's own."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest
from trained import FAST, train

import whereof

FACT = ("egypt", "embassy", "usa")
WRONG: list[Any] = [
    *(
        10**30,
        object(),
        np.zeros(3),
        [1],
        None,
        5,
        -1,
        1.5,
        float("nan"),
        float("inf"),
        True,
        "x",
        "",
        b"x",
        "a\0b",
        "\ud800",
    ),
    *([], {}, ("a",), [None], lambda: 0),
]


class Stopping(whereof.Events):
    """Stops all work at once: only the checks of arguments are tested."""

    def should_stop(self) -> bool:
        return True


class Call(NamedTuple):
    """A public function with arguments that it accepts."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})

    def variants(self, value: Any) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        """The arguments, each time with one of them replaced by a value."""
        args, options = self.args, {**self.options}
        for at, (name, each) in enumerate(inspect.signature(self.function).parameters.items()):
            if each.kind is each.VAR_KEYWORD:
                for keys in get_args(each.annotation):
                    yield from ((key, args, options | {key: value}) for key in keys.__annotations__)
            elif each.kind is each.VAR_POSITIONAL:
                for place in range(len(args)):
                    yield name, (*args[:place], value, *args[place + 1 :]), options
            elif name != "events":
                given = at < len(args)
                changed = (*args[:at], value, *args[at + 1 :]) if given else args
                yield name, changed, options if given else options | {name: value}


STOP = {"events": Stopping()}
ROLLBACK = {"method": "rollback"}
CALLS: dict[str, Callable[[whereof.Run, Path], Call]] = {
    "read": lambda run, new: Call(whereof.read, ("nations",)),
    "train": lambda run, new: Call(
        whereof.train, ("nations",), {"out": new, "epochs": 1, "dim": 2, "search": False, **STOP}
    ),
    "resume": lambda run, new: Call(whereof.resume, (run.path,), STOP),
    "open": lambda run, new: Call(whereof.Run.open, (run.path,)),
    "describe": lambda run, new: Call(whereof.Run.describe, (run.path,)),
    "from_arrays": lambda run, new: Call(
        whereof.Run.from_arrays,
        options={
            "model": "distmult",
            "entities": ["a", "b"],
            "relations": ["r"],
            "facts": [[0, 0, 1]],
            "entity_rows": np.ones((2, 3)),
            "relation_rows": np.ones((1, 3)),
        },
    ),
    "save": lambda run, new: Call(run.save, (new,)),
    "show": lambda run, new: Call(run.show),
    "add_labels": lambda run, new: Call(run.add_labels),
    "find_names": lambda run, new: Call(run.find_names, ("eg",)),
    "find_rating": lambda run, new: Call(run.find_rating, FACT),
    "find_labels": lambda run, new: Call(run.find_labels, FACT),
    "predict": lambda run, new: Call(run.predict, FACT[:2]),
    "predict_many": lambda run, new: Call(run.predict_many, ([FACT[:2]],)),
    "predict_file": lambda run, new: Call(run.predict_file, (new, new.with_suffix(".csv")), STOP),
    "explain": lambda run, new: Call(run.explain, FACT, ROLLBACK | STOP),
    "advise": lambda run, new: Call(run.advise, (run.explain(*FACT, **ROLLBACK),)),
    "is_ready": lambda run, new: Call(run.is_ready, FACT),
    "check_method": lambda run, new: Call(run.check_method, ("rollback",)),
    "explain_many": lambda run, new: Call(run.explain_many, ([FACT],), ROLLBACK),
    "explain_file": lambda run, new: Call(
        run.explain_file, ("true", new.with_suffix(".csv")), {"limit": 1, **ROLLBACK, **STOP}
    ),
    "card": lambda run, new: Call(run.card, ("egypt",)),
    "interesting": lambda run, new: Call(run.interesting, ("surprising",)),
    "impact": lambda run, new: Call(run.impact, (0,)),
    "audit": lambda run, new: Call(run.audit, (), STOP),
    "evaluate": lambda run, new: Call(run.evaluate, (), {"limit": 1, "methods": "random", **STOP}),
    "report": lambda run, new: Call(run.report, (new.with_suffix(".html"),), {"examples": 0}),
    "verify": lambda run, new: Call(run.verify, FACT, ROLLBACK | STOP),
    "smallest": lambda run, new: Call(run.smallest, FACT, ROLLBACK | STOP),
    "sufficient": lambda run, new: Call(run.sufficient, FACT, STOP),
    "unlearn": lambda run, new: Call(run.unlearn, (0,), {"out": new, **STOP}),
    "update": lambda run, new: Call(
        run.update, ({"s": ["uk"], "r": ["embassy"], "o": ["usa"]},), {"out": new, **STOP}
    ),
    "retrain": lambda run, new: Call(run.retrain, ([0],), STOP),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("arguments") / "run", **FAST | {"inverse": True})


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_one_line(
    run: whereof.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    n_tried = 0
    for value in WRONG:
        for number, _ in enumerate(CALLS[name](run, tmp_path).variants(value)):
            new = tmp_path / f"{n_tried}"
            which, args, options = [*CALLS[name](run, new).variants(value)][number]
            n_tried += 1
            try:
                found = CALLS[name](run, new).function(*args, **options)
                next(found, None) if isinstance(found, Iterator) else found
            except whereof.WhereofError as error:
                assert "\n" not in str(error), (which, value)  # noqa: PT017 - both are right
            except Exception as error:
                pytest.fail(f"{name}({which}={value!r}): {error!r}")
    assert n_tried >= len(WRONG)


def test_every_public_function_is_tried() -> None:
    functions = {
        name
        for name, it in inspect.getmembers(whereof.Run, callable)
        if not name.startswith("_") and inspect.signature(it).parameters.keys() - {"self"}
    }
    inner = {"with_method", "file", "checked_files"}  # for other parts of this package
    assert functions - inner <= CALLS.keys()
