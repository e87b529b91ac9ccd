"""Any data and any settings: a run whose numbers are sound, or one clear line."""

import math
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from trained import FAST

import whereof

NAMES = st.one_of(
    st.text(min_size=1, max_size=5),
    st.sampled_from(["a", "b", "_", "\\_", "a\x1b[2J", "\u202eabc", "\u05d0\u05d1", "=1+1"]),
    st.just("x" * 10_000),
    st.integers(-5, 10**20),
)
FACTS = st.lists(st.tuples(NAMES, st.one_of(st.just("r"), NAMES), NAMES), min_size=1, max_size=30)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "dim": st.integers(1, 4),
        "rate": st.sampled_from([1e-40, 1e-7, 0.1, 10.0, 1e10, 1e38]),
        "init": st.sampled_from([1e-40, 0.1, 1e20, 1e38]),
        "negatives": st.integers(0, 40),
        "epochs": st.integers(1, 3),
        "batch_size": st.integers(1, 50),
        "constraint": st.sampled_from(["none", "unit", "max:1e-30", "max:1e30"]),
        "n3": st.sampled_from([0.0, 1e-3, 1e10]),
        "seed": st.sampled_from([0, 2**63 - 1]),
    },
)


@settings(
    max_examples=int(os.environ.get("WHEREOF_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(FACTS, SETTINGS)
@example([("a", "r", "a")], {})  # one fact, a self-loop
@example([("a", "r", "b")] * 5, {})
@example([("a", "r", "b"), ("b", "r", "a"), ("a", "r", "a")], {"rate": 1e38})
def test_a_run_is_sound_or_refused(facts: list[tuple[Any, ...]], chosen: dict[str, Any]) -> None:
    columns = {"subject": [], "relation": [], "object": []}
    for fact in facts:
        for name, cell in zip(columns, fact, strict=True):
            columns[name].append(cell)
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = whereof.train(columns, out=Path(folder) / "run", **FAST | chosen)
            asked = [str(cell) for cell in facts[0]]
            names = [f"\\{name}" if name == "_" else name for name in asked]
            probability = run.predict(*names).answers[0].probability
            explanation = run.explain(*names, method="rollback", top=None)
        except whereof.WhereofError as error:
            assert str(error).isprintable()  # noqa: PT017 - either is right
            assert not (Path(folder) / "run" / "progress").exists()
            return
        assert probability is None or 0 <= probability <= 1
        assert all(math.isfinite(fact.influence) for fact in explanation.facts)
        assert whereof.Run.open(run.path, check=True).fingerprint == run.fingerprint
