"""A problem: what fits together, the shapes that follow, and the rows that training starts from."""

import numpy as np
import pytest

from training.helpers import ITEMS, N_ENTITIES, N_RELATIONS, USERS, make_facts, make_problem
from whereof.errors import WhereofError
from whereof.models import MODELS
from whereof.training.config import NEGATIVES_UNSET, TrainConfig
from whereof.training.problem import Problem


@pytest.mark.parametrize("sampling", ["distinct", "independent"])
def test_more_negatives_than_other_entities_are_refused(sampling: str) -> None:
    make_problem(negatives=7, sampling=sampling)
    with pytest.raises(WhereofError) as error:
        make_problem(negatives=8, sampling=sampling)
    assert str(error.value) == (
        "8 negatives are more than the 7 other entities; choose at most 7, or all"
    )


def test_negatives_are_counted_for_both_directions() -> None:
    make_problem(model="mf", negatives=7)  # of 8 items
    with pytest.raises(WhereofError, match="7 negatives are more than the 5 other entities"):
        make_problem(model="mf", negatives=7, inverse=True)  # of 6 users


def test_unset_negatives_are_all_where_there_are_few() -> None:
    few, many = make_problem(negatives=None), make_problem(negatives=None, n_entities=1000)
    assert few.draw.objects == (0, N_ENTITIES, N_ENTITIES - 1)
    assert many.draw.objects == (0, 1000, NEGATIVES_UNSET)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_takes_facts_of_its_own_number_of_columns(model: str) -> None:
    kind, everyone = MODELS[model], range(N_ENTITIES)
    n_relations = N_RELATIONS if kind.two_way else 0
    with pytest.raises(WhereofError) as error:
        Problem(
            kind, TrainConfig(model=model, negatives=3), make_facts(), N_ENTITIES, n_relations,
            everyone, everyone,
        )  # fmt: skip
    wants, has, other = "three columns, with a relation", "none", "mf"
    if kind.two_way:
        wants, has, other = "two columns, without a relation", "one", "distmult"
    assert str(error.value) == (
        f"model {model} takes facts of {wants}, and these have {has}; "
        f"choose another model, such as {other}"
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("inverse", [False, True])
def test_shapes(model: str, inverse: bool) -> None:
    problem = make_problem(model=model, inverse=inverse)
    widths, directions = MODELS[model].widths(3), 1 + inverse
    entities, relations = problem.initial_rows()
    n_relations = 1 if MODELS[model].two_way else N_RELATIONS
    n_entities = ITEMS.stop if MODELS[model].two_way else N_ENTITIES
    assert entities.shape == (n_entities, widths.entity)
    assert relations.shape == (n_relations * directions, widths.relation)
    assert problem.trace_width == 2 * widths.entity + directions * widths.relation


def test_two_way_negatives_come_from_their_own_side() -> None:
    draw = make_problem(model="mf", inverse=True).draw
    assert draw.objects == (ITEMS.start, len(ITEMS), 4)
    assert draw.subjects == (USERS.start, len(USERS), 4)


@pytest.mark.parametrize("model", MODELS)
def test_rows_start_within_their_bounds(model: str) -> None:
    entities, relations = make_problem(model=model, init=0.2, dim=20).initial_rows()
    assert 0.15 < np.abs(entities).max() <= 0.2
    if MODELS[model].relation_phases:
        assert 0.2 < np.abs(relations).max() <= np.pi
    elif relations.size:
        assert 0.1 < np.abs(relations).max() <= 0.2


@pytest.mark.parametrize("model", MODELS)
def test_rows_start_under_their_constraint(model: str) -> None:
    kind = MODELS[model]
    entities, relations = make_problem(model=model, constraint="unit").initial_rows()
    np.testing.assert_allclose(np.linalg.norm(entities, axis=1), 1)
    lengths = np.linalg.norm(relations, axis=1)
    if kind.relation_phases:
        assert not np.allclose(lengths, 1)
    elif not kind.two_way:
        np.testing.assert_allclose(lengths, 1)


def test_single_precision_rows_are_the_rounded_double_ones() -> None:
    double, single = (make_problem(precision=p).initial_rows() for p in ("float64", "float32"))
    for rows, rounded in zip(double, single, strict=True):
        assert rounded.dtype == np.float32
        assert np.array_equal(rows.astype(np.float32), rounded)
