"""Evaluations to documents and back, and the sentences of protocols."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.documents import FULL, RATED, THEORY, change, document, removal
from whereof.errors import WhereofError
from whereof.evaluate.evaluation import Evaluation, Section, plain
from whereof.evaluate.protocol import protocols
from whereof.evaluate.protocols.leave_one_out import LeaveOneOut, Order
from whereof.table import Cell
from whereof.units import UNITS


@given(
    st.recursive(
        st.floats() | st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=8,
    )
)
def test_a_plain_document_is_json(value: object) -> None:
    json.dumps(plain(value), allow_nan=False)


def test_plain_keeps_all_that_is_finite() -> None:
    value = {"a": [1.5, math.nan], "b": (math.inf, "x"), "c": None}
    assert plain(value) == {"a": [1.5, None], "b": [None, "x"], "c": None}


@pytest.mark.parametrize("found", [FULL, RATED], ids=lambda found: found.model)
def test_an_evaluation_comes_back_from_its_document(found: Evaluation) -> None:
    again = Evaluation.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert again.removal[0].pd_interval == found.removal[0].pd_interval


def test_null_is_nan_where_a_number_is_wanted() -> None:
    (row,) = FULL.leave_one_out[:1]
    made = document(leave_one_out=(replace(row, rho_all=math.nan, rho_all_interval=None),))
    assert made["leave_one_out"][0]["rho_all"] is None
    again = Evaluation.from_dict(made)
    assert math.isnan(again.leave_one_out[0].rho_all)
    assert again.leave_one_out[0].rho_all_interval is None
    assert again.to_dict() == made


def test_results_of_protocols_that_did_not_run_are_empty(tmp_path: Path) -> None:
    made = document()
    del made["kelpie"], made["theory"], made["notes"]
    found = Evaluation.from_dict(made)
    assert (found.kelpie, found.theory, found.notes) == ((), None, ())
    assert "kelpie" not in {section.name for section in found.sections()}
    with pytest.raises(AttributeError, match="an evaluation has no 'kelpy'"):
        found.kelpy  # noqa: B018
    (tmp_path / "e.json").write_text(json.dumps(made))
    assert Evaluation.read(tmp_path / "e.json") == found


def _changed(name: str, key: str | None, value: Any) -> dict[str, Any]:
    made = document()
    if key is None:
        made[name] = value
    else:
        made[name][0][key] = value
    return made


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ([1], "is not an evaluation"),
        ({"run": "x"}, "missing required field `dataset`"),
        (_changed("removal", None, 3), "removal: Expected `array`, got `int`"),
        (_changed("removal", None, [{"method": "rollback"}]), "missing required field `k`"),
        (_changed("removal", "pd", "much"), "removal: Expected `float`, got `str` - at `$[0].pd`"),
        (_changed("removal", "pd_interval", [0.1]), "of length 2, got 1 - at `$[0].pd_interval`"),
        (_changed("removal", "pd_interval", [0.1, 0.2, 0.3]), "of length 2, got 3"),
        (_changed("removal", "k", []), "Expected `int | str`, got `array` - at `$[0].k`"),
        (_changed("approximation", "points", [[0.1, "x", 0.2]]), "at `$[0].points[0][1]`"),
        (_changed("theory", None, 7), "theory: Expected `object | null`, got `int`"),
        (_changed("seeds", None, [True]), "Expected `int`, got `bool` - at `$.seeds[0]`"),
        (_changed("explain_seconds", None, [1]), "at `$.explain_seconds`"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, made: Any, words: str) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps(made))
    with pytest.raises(WhereofError) as caught:
        Evaluation.read(path)
    message = str(caught.value)
    assert words in message
    assert message.startswith(str(path))
    assert message.endswith("give a file that `whereof evaluate --json` printed")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(WhereofError, match="No such file"):
        Evaluation.read(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(WhereofError, match=r"bad\.json is not JSON"):
        Evaluation.read(tmp_path / "bad.json")


@pytest.mark.parametrize("found", [FULL, RATED], ids=lambda found: found.model)
def test_every_protocol_describes_itself(found: Evaluation) -> None:
    sections = {section.name: section for section in found.sections()}
    assert {*sections} == {*(protocol.name for protocol in protocols()), "seconds"}
    for section in sections.values():
        assert section.title
        assert section.tables or section.name == "steadiness"
        assert section.sentences or section.name == "seconds"
        for table in section.tables:
            assert {column.unit for column in table.columns} <= {*UNITS}
            assert {len(row) for row in table.rows} == {len(table.columns)}
        for sentence in section.sentences:
            assert sentence.endswith(".")
            assert "nan" not in sentence.lower().replace("nations", "")
    if found.rated:
        assert "probabilit" not in " ".join(map(words, sections.values())).lower()


def words(section: Section) -> str:
    """All text of a section, without values."""
    parts = [section.title, *section.sentences]
    for table in section.tables:
        parts += [table.title, table.note, *(column.title for column in table.columns)]
    for chart in section.charts:
        parts += [chart.title, chart.x.title, *([chart.y.title] if chart.y else [])]
    return " ".join(parts)


def test_sections_stand_in_the_order_in_which_they_were_asked() -> None:
    names = ["theory", "removal", "kelpie"]
    found = change(FULL, options={"protocols": names})
    assert [section.name for section in found.sections()][:3] == names


def said(name: str, found: Evaluation = FULL) -> list[str]:
    (section,) = (each for each in found.sections() if each.name == name)
    return [*section.sentences]


def test_removal_is_compared_with_the_baseline() -> None:
    one, released = said("removal")
    assert one == (
        "Removing the fact that rollback ranks first lowers the probability of 91.6% of 143 "
        "predictions (mean of 2 seeds). For one random adjacent fact it is 54.0%: 37.6 points "
        "more, more than chance (p <0.0002). The top answer changes for 34.0%, compared with "
        "12.0%: 22.0 points more, which may be chance (p = 0.2100)."
    )
    assert "TC would be 36.0% instead of 34.0% (rollback, k = 1), " in released
    (headline,) = (each.headline for each in FULL.sections() if each.name == "removal")
    assert headline == (
        "Removing the fact that rollback ranks first lowers the probability of 91.6% of 143 "
        "predictions; removing one random adjacent fact, that of 54.0%."
    )


@pytest.mark.parametrize(
    ("k", "mine", "others"),
    [
        (10, "the 10 facts that rollback ranks first", "10 random adjacent facts"),
        (
            "all",
            "all supporting facts that rollback finds (261.4 on average)",
            "as many random adjacent facts (261.4 on average)",
        ),
    ],
)
def test_facts_of_every_size_have_words(k: int | str, mine: str, others: str) -> None:
    rows = tuple(row for row in FULL.removal if row.k == k)
    sentence, _ = said("removal", change(FULL, removal=rows))
    assert sentence.startswith(f"Removing {mine} lowers")
    assert f"For {others} it is" in sentence


def test_a_method_below_its_baseline_is_said_to_be() -> None:
    rows = (removal("tracin", 1, 0.4, 0.1, 1), removal("random", 1, 0.5, 0.1, 1))
    sentence, _ = said("removal", change(FULL, removal=rows, significance=()))
    assert "50.0%: 10.0 points less." in sentence
    assert "compared with 10.0%: no difference." in sentence


def test_a_method_alone_is_not_compared() -> None:
    alone = change(FULL, removal=(removal("rollback", 1, 0.9, 0.3, 1),))
    sentence, _ = said("removal", alone)
    assert sentence.endswith("(mean of 2 seeds) and changes the top answer of 30.0%.")


def test_the_stars_of_a_table_are_p_values() -> None:
    tables = [table for section in FULL.sections() for table in section.tables]
    (table,) = (each for each in tables if each.name == "removal")
    names = [column.name for column in table.columns]
    pd, tc = names.index("pd"), names.index("tc")
    assert table.rows[0][pd] == Cell(0.916, mark="***")
    assert (table.rows[0][tc], table.rows[1][pd]) == (0.34, 0.97)


@pytest.mark.parametrize(
    ("tc", "where"), [(0.34, "This is clearly more"), (0.07, "This is not clearly more")]
)
def test_the_floor_of_changes_is_compared(tc: float, where: str) -> None:
    floor, above = said("steadiness", change(FULL, removal=(removal("rollback", 1, 0.9, tc, 1),)))
    assert "changes 6.5% of the top answers (5.0-8.0%; 40 removals)" in floor
    assert above.endswith(f" {where} than removing a random fact does.")


def test_constraints_are_compared_from_steep_to_flat() -> None:
    *_, last = said("approximation")
    assert last == (
        "From no constraint to unit norm, the slope of the score falls from 6.93 to 0.670, and r "
        "rises: 0.930 to 0.990."
    )


@pytest.mark.parametrize(
    ("changes", "batch_size", "words"),
    [
        ({"lipschitz": None, "smoothness": None}, 1, "lemmas do not hold for distmult"),
        ({"lipschitz": None, "smoothness": None}, 64, "lemmas do not hold for distmult"),
        ({}, 64, "proved for one fact per step, and a batch has 64 facts"),
        ({}, 1, "not finite for this training"),
        # The document of a training that diverged.
        ({"lipschitz": None, "largest_norm": math.nan}, 1, "not finite for this training"),
    ],
)
def test_a_missing_bound_has_its_own_reason(
    changes: dict[str, Any], batch_size: int, words: str
) -> None:
    theory = replace(THEORY, stability_bound=None, recurrence_bound=None, **changes)
    config = {**FULL.config, "batch_size": batch_size}
    text = " ".join(said("theory", change(FULL, theory=theory, config=config)))
    reasons = ("lemmas do not hold", "proved for one fact", "not finite")
    assert words in text
    assert sum(reason in text for reason in reasons) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "So rollback is closer to retraining than doing nothing."),
        ({"rollback_error": 0.1}, "So rollback is no closer to retraining"),
        ({}, "is 12.5: above 1, so it says nothing about a probability"),
        ({"stability_bound": 0.5}, "is 0.500: below 1"),
        ({"stability_bound": math.inf}, "The stability bound is not finite"),
        ({}, "nearly constant in comparison"),
        ({"normaliser_std": 1.2}, "not constant in comparison"),
    ],
)
def test_theory_is_told_in_words(changes: dict[str, Any], words: str) -> None:
    assert words in " ".join(said("theory", change(FULL, theory=replace(THEORY, **changes))))


def test_without_all_facts_removed_adjacent_ones_are_compared() -> None:
    rows = (
        LeaveOneOut("rollback", 0.14, (0.1, 0.2), math.nan, None, 0.33, 5, 1, 2303),
        LeaveOneOut("gradient-dot", 0.12, (0.1, 0.2), math.nan, None, 0.2, 5, 1, 2303),
    )
    (sentence,) = said("leave-one-out", change(FULL, leave_one_out=rows))
    assert sentence.startswith("Each of 2,303 adjacent facts was removed alone. The order of roll")
    assert "rho 0.140 over the adjacent facts of a prediction" in sentence


def test_single_predictions_are_shown_and_the_rest_is_counted() -> None:
    names = ("a", None, "b", "object")
    order = Order(42, *names, 1000, 0.5, 0.31, 7, 0.15, 28, 3, -0.02)
    empty = replace(order, original=0.0, rho=math.nan, first_fact=None)
    row = LeaveOneOut("rollback", 0.1, None, 0.1, None, 0.3, 5, 1, 9, (order, empty) * 30)
    found = change(FULL, leave_one_out=(row,))
    (section,) = (each for each in found.sections() if each.name == "leave-one-out")
    _, table = section.tables
    assert (len(table.rows), table.most) == (60, 40)
    assert table.rows[0][:4] == ("a b", "rollback", 1000, 0.31)
    assert table.rows[0][4:] == pytest.approx((-0.04, 0.3, 28))
    assert table.rows[1][4:] == (None, None, 28)
    rated = replace(found, config=RATED.config)
    (section,) = (each for each in rated.sections() if each.name == "leave-one-out")
    assert section.tables[1].rows[1][4:] == (-0.02, 0.15, 28)


def test_a_control_that_differs_is_a_caution() -> None:
    assert not any("control differs" in line for line in FULL.ending())
    differing = change(FULL, control_matches_run=False)
    assert any("control differs from the stored run" in line for line in differing.ending())
    assert "a note of the evaluation" in differing.ending()
