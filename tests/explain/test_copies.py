"""Which facts say nearly the same."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import whereof
from whereof.explain.copies import find_copies

PAIRS = [(s, o) for s in range(20) for o in range(20) if (7 * s + o) % 11 == 1 and s != o]


def _groups(folder: Path, facts: Sequence[str]) -> list[set[str]]:
    """The groups of copies among all facts, as written."""
    (folder / "facts.tsv").write_text("\n".join(facts))
    fractions = {"valid_fraction": 0, "test_fraction": 0}
    run = whereof.train(folder / "facts.tsv", out=folder / "run", epochs=1, dim=2, **fractions)
    data = run.dataset
    found = find_copies(run._trained, np.arange(data.n_facts))
    return [{" ".join(data.fact_names(fact)) for fact in data.train[group]} for group in found]


def test_inverses_and_relations_of_the_same_meaning_are_copies(tmp_path: Path) -> None:
    facts = [f"e{s}\tparent\te{o}" for s, o in PAIRS] + [f"e{o}\tchild\te{s}" for s, o in PAIRS]
    facts += [f"e{s}\tmother\te{o}" for s, o in PAIRS[::4] + PAIRS[1::4] + PAIRS[2::4]]
    facts += [f"e{s}\tlikes\te{o}" for s, o in PAIRS[::5]]  # only some of the same pairs
    groups = _groups(tmp_path, facts)
    assert len(groups) == len(PAIRS)
    first, last = PAIRS[0], PAIRS[3]
    assert {
        f"e{first[0]} parent e{first[1]}",
        f"e{first[1]} child e{first[0]}",
        f"e{first[0]} mother e{first[1]}",
    } in groups
    assert {f"e{last[0]} parent e{last[1]}", f"e{last[1]} child e{last[0]}"} in groups


def test_both_directions_of_a_symmetric_relation_are_copies(tmp_path: Path) -> None:
    ends = {tuple(sorted(pair)) for pair in PAIRS}
    facts = [f"e{s}\tally\te{o}\ne{o}\tally\te{s}" for s, o in sorted(ends)]
    assert len(_groups(tmp_path, facts)) == len(ends)


def test_facts_that_only_share_their_ends_are_not_copies(tmp_path: Path) -> None:
    """Relations that hold for most pairs have many pairs in common by chance."""
    rng = np.random.default_rng(0)
    every = [(s, o) for s in range(12) for o in range(12)]
    facts = [f"e{s}\tr{r}\te{o}" for r in range(3) for s, o in every if rng.random() < 0.8]
    assert _groups(tmp_path, facts) == []
