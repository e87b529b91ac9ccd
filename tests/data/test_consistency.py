"""Copied relations, entities with the same facts, and near-contradictions."""

import pandas as pd

import whereof
from whereof.data.consistency import Consistency, check_consistency


def check(facts: list[tuple[str, str, str]]) -> Consistency:
    return check_consistency(whereof.read(pd.DataFrame(facts, columns=["s", "r", "o"])))


def chain(relation: str, n: int = 30) -> list[tuple[str, str, str]]:
    return [(f"e{i}", relation, f"e{i + 1}") for i in range(n)]


def test_a_relation_and_its_copies() -> None:
    turned = [(o, "turned", s) for s, _, o in chain("one")]
    found = check(chain("one") + chain("two", 28) + turned + chain("short", 5)).copies
    pairs = {(it.relation, it.copy, it.swapped): (it.n_shared, it.share) for it in found}
    assert pairs == {
        ("one", "two", False): (28, 1.0),
        ("one", "turned", True): (30, 1.0),
        ("turned", "two", True): (28, 1.0),
    }


def test_a_symmetric_relation_is_no_copy_of_itself() -> None:
    facts = chain("near")
    assert check(facts + [(o, r, s) for s, r, o in facts]).copies == ()


def test_entities_with_the_same_facts() -> None:
    same = [(name, relation, "e1") for name in ("x", "y") for relation in ("a", "b")]
    same += [("e2", "a", name) for name in ("x", "y")]
    (group,) = check(chain("one") + same).same_entities
    assert (group.entities, group.labels, group.n_facts) == (("x", "y"), ("x", "y"), 3)
    assert not check([*chain("one"), *same, ("x", "b", "e5")]).same_entities


def test_facts_that_break_a_rule() -> None:
    facts = [*chain("one", 50), ("e20", "one", "e3"), ("e9", "one", "e8")]
    data = whereof.read(pd.DataFrame(facts, columns=["s", "r", "o"]))
    found = check_consistency(data).contradictions
    broken = {
        (it.rule, *(data.fact_names(data.train[i])[::2] for i in it.fact_ids)) for it in found
    }
    assert broken == {
        ("one object", ("e20", "e21"), ("e20", "e3")),
        ("one object", ("e9", "e10"), ("e9", "e8")),
        ("one subject", ("e2", "e3"), ("e20", "e3")),
        ("one subject", ("e7", "e8"), ("e9", "e8")),
        ("one direction", ("e8", "e9"), ("e9", "e8")),
    }
    shares = {it.rule: it.share for it in found}
    assert shares == {"one object": 48 / 50, "one subject": 48 / 50, "one direction": 1 - 2 / 52}


def test_a_rule_that_many_facts_break_is_none() -> None:
    assert not check(
        [*chain("one"), *((f"e{i}", "one", f"e{i + 9}") for i in range(5))]
    ).contradictions


def test_two_way_data_has_no_rules() -> None:
    data = whereof.read(pd.DataFrame([("u", "i"), ("u", "j"), ("v", "i")], columns=["a", "b"]))
    assert check_consistency(data) == Consistency((), (), ())
