"""Functions of models as C: what Python says, on any number of threads, or one clear refusal."""

from dataclasses import replace
from pathlib import Path

import pytest
from training.helpers import make_problem

import whereof
from retrain.cuda import loops
from retrain.cuda.helpers import check_tracked, run_trainer, trained_fleet
from retrain.cuda.translated import Function, check_translated
from whereof.models import MODELS, Model, find_model
from whereof.retrain.cuda._card import Card
from whereof.retrain.cuda._translating import declared, translate

MANY = (1, 2, 3, 3, 3, 3, 3, 3)
"""Threads of call after call, so that what meets by chance meets."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("translated")


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_says_the_same_in_c(folder: Path, model: str) -> None:
    declaration = MODELS[model]
    for dim, precision in ((1, "float64"), (6, "float32")):
        widths = declaration.widths(dim)
        e, r, q = widths.entity, widths.relation, widths.query
        check_translated(folder, declaration.query, (e, r, q), precision)
        check_translated(folder, declaration.query_vjp, (e, r, q, e, r), precision)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_the_loops_of_every_model_are_shared_out(model: str) -> None:
    source = declared(MODELS[model], "float")
    assert source.count("DEVICE void") == 3
    assert source.count("double *") >= 3, "queries are worked out in double precision too"
    loops_of_one = [part for part in source.split("if (THREAD == 0)")[1:] if "for (" in part[:20]]
    assert not loops_of_one
    assert "N_THREADS" in source


@pytest.mark.parametrize("function", loops.SHARED, ids=lambda it: it.__name__)
def test_rounds_that_keep_to_themselves_are_shared_out(folder: Path, function: Function) -> None:
    source = check_translated(folder, function, (40, 20, 40), n_threads=MANY)
    assert "THREAD == 0" not in source
    assert "N_THREADS" in source


@pytest.mark.parametrize("function", loops.ALONE, ids=lambda it: it.__name__)
def test_rounds_that_meet_are_left_to_one_thread(folder: Path, function: Function) -> None:
    source = check_translated(folder, function, (40, 20, 40), n_threads=MANY)
    assert "THREAD == 0" in source
    assert "N_THREADS" not in source


@pytest.mark.parametrize("function", loops.MIXED, ids=lambda it: it.__name__)
def test_names_and_places_reach_all_threads(folder: Path, function: Function) -> None:
    source = check_translated(folder, function, (40, 20, 40), n_threads=MANY)
    assert "N_THREADS" in source


@pytest.mark.parametrize("function", loops.AT_OR_ABOVE_0, ids=lambda it: it.__name__)
def test_below_0_divisions_and_places_are_those_of_python(folder: Path, function: Function) -> None:
    """A place below 0 would be another one in C; see what is refused."""
    check_translated(folder, function, (40, 20, 40), n_threads=MANY)


def test_only_what_may_be_below_0_is_divided_at_length() -> None:
    assert "floor" in as_query(loops.less_than_nothing_divided)
    assert "floor" not in as_query(loops.places_of_names)
    assert all("floor" not in declared(model, "float") for model in MODELS.values())


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_names_of_c_do_no_harm(folder: Path, precision: str) -> None:
    check_translated(folder, loops.with_names_of_c, (8, 8, 8), precision)
    check_translated(folder, loops.with_all_functions, (8, 8, 8), precision)


def as_query(function: Function) -> str:
    widths = {"s": "WIDTH", "r": "RELATION_WIDTH", "q": "QUERY_WIDTH"}
    return translate(function, "query", widths, dict.fromkeys(widths.values(), 1), "float")


@pytest.mark.parametrize(
    ("function", "named"), loops.REFUSED, ids=[it.__name__ for it, _ in loops.REFUSED]
)
def test_what_has_no_translation_is_one_clear_line(function: Function, named: str) -> None:
    with pytest.raises(whereof.WhereofError) as caught:
        as_query(function)
    where = f"engines.cuda.loops.{function.__name__}"
    wanted = f"{where} cannot be put on a card ({named}); leave out cuda"
    assert str(caught.value) == wanted


def test_functions_without_a_source_are_refused() -> None:
    made: dict[str, Function] = {}
    exec("def query(s, r, q): pass", made)
    in_a_list, named = [lambda s, r, q: None][0], lambda s, r, q: None
    for function in (made["query"], in_a_list, named):
        with pytest.raises(whereof.WhereofError, match=r"cannot be put on a card \(it.*\); leave"):
            as_query(function)


OWN_MODEL = '''
from whereof.models import Model, Widths


def query(s, r, q):
    """The subject without its part along the relation, then turned round."""
    h = q.shape[0]
    along, length = 0, 1e-3
    for k in range(h):
        along += s[k] * r[k]
        length += r[k] * r[k]
    for k in range(h):
        q[k] = s[h - 1 - k] - along / length * r[h - 1 - k]


def query_vjp(s, r, dq, ds, dr):
    h = dq.shape[0]
    along, length, inner = 0, 1e-3, 0
    for k in range(h):
        along += s[k] * r[k]
        length += r[k] * r[k]
        inner += dq[h - 1 - k] * r[k]
    for k in range(h):
        ds[k] = dq[h - 1 - k] - inner / length * r[k]
        dr[k] = 2 * inner * along / (length * length) * r[k]
        dr[k] -= (inner * s[k] + along * dq[h - 1 - k]) / length


MODEL = Model("own", "Own", "-", "-", "l2", lambda dim: Widths(dim, dim, dim), query, query_vjp)
'''


@pytest.fixture
def own_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model of somebody else's, in a module of its own."""
    (tmp_path / "own_model_of_a_test.py").write_text(OWN_MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    import own_model_of_a_test  # type: ignore[import-not-found]

    model: Model = replace(own_model_of_a_test.MODEL)
    monkeypatch.setitem(MODELS, model.name, model)
    return model


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_a_model_of_ones_own_trains_on_a_card(card: Card, own_model: Model, optimizer: str) -> None:
    problem = make_problem(model=find_model("own"), dim=5, optimizer=optimizer, inverse=True)
    assert problem.model is own_model
    check_tracked(trained_fleet(card, problem, tracked=True), run_trainer(problem), 1e-9)
