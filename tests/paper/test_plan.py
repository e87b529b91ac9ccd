import pytest

from whereof.errors import WhereofError
from whereof.paper.plan import PaperOptions, plan
from whereof.retrain.options import EngineOptions


def test_nations_has_every_part() -> None:
    names = [part.name for part in plan(PaperOptions())]
    assert names == [
        "removal-distmult",
        "lazy-distmult",
        "removal-complex",
        "lazy-complex",
        "criage",
        "approximation",
        "theory",
    ]


def test_what_the_paper_shows_of_distmult_needs_distmult() -> None:
    names = [part.name for part in plan(PaperOptions(models=("complex",)))]
    assert names == ["removal-complex", "lazy-complex"]


@pytest.mark.parametrize("dataset", ["fb15k-237", "movielens"])
def test_larger_datasets_take_100_predictions_and_few_seeds(dataset: str) -> None:
    options = PaperOptions(dataset)
    assert options.n_predictions == 100
    seeds = {part.name: part.options.seeds for part in plan(options) if part.name != "truth"}
    assert seeds == {
        "removal-distmult": 1,
        "lazy-distmult": 3,
        "removal-complex": 1,
        "lazy-complex": 1,
    }


def test_the_truth_is_asked_of_the_lazy_run_of_fb15k_237() -> None:
    parts = {part.name: part for part in plan(PaperOptions("fb15k-237"))}
    truth = parts["truth"]
    assert truth.run == parts["lazy-distmult"].run
    assert truth.options.adjacent_only
    assert (truth.options.limit, truth.options.most_adjacent) == (5, 1000)
    assert truth.n_retrainings(100, 272115) == 5 * 1000 + 1  # at most
    assert truth.n_retrainings(2, 272115) == 2 * 1000 + 1
    assert truth.n_retrainings(100, 1592) == 1592 + 1
    few = plan(PaperOptions("fb15k-237", limit=2))[-1]
    assert (few.name, few.options.limit) == ("truth", 2)
    others = [PaperOptions("fb15k-237", models=("complex",)), PaperOptions("movielens")]
    assert all(part.name != "truth" for options in others for part in plan(options))


def test_nations_takes_all_predictions_and_five_seeds() -> None:
    assert PaperOptions().n_predictions is None
    assert {part.options.seeds for part in plan(PaperOptions())} == {5}


@pytest.mark.parametrize("dataset", ["nations", "fb15k-237", "movielens"])
def test_seeds_that_are_asked_for_are_those_of_all_parts(dataset: str) -> None:
    parts = plan(PaperOptions(dataset, seeds=2))
    assert {part.options.seeds for part in parts if part.name != "truth"} == {2}


def test_negatives_of_lazy_adam_are_distinct_where_there_are_many() -> None:
    runs = {
        dataset: [part.run for part in plan(PaperOptions(dataset, ("distmult",)))][:2]
        for dataset in ("nations", "fb15k-237", "movielens")
    }
    assert runs["fb15k-237"] == ["distmult", "distmult-adam-lazy-source-distinct"]
    assert runs["nations"] == runs["movielens"] == ["distmult", "distmult-adam-lazy-source"]


def test_the_command_says_what_was_asked() -> None:
    assert PaperOptions("movielens").command == "whereof paper movielens"
    asked = PaperOptions(
        "fb15k-237", ("complex",), 2, 10, engine=EngineOptions("ray"), time_budget="9m"
    )
    expected = "whereof paper fb15k-237 --models complex --seeds 2 --limit 10 --engine ray"
    assert asked.command == expected
    assert asked.seconds == 540


@pytest.mark.parametrize(
    ("engine", "flag"),
    [("auto", ""), ("local", " --engine local"), ("cuda", " --engine cuda")],
)
def test_the_engine_is_named_where_it_was_asked_for(engine: str, flag: str) -> None:
    command = PaperOptions(engine=EngineOptions(engine)).command
    assert command == f"whereof paper nations{flag}"


def test_parts_of_one_setting_share_a_run() -> None:
    runs = {part.name: part.run for part in plan(PaperOptions())}
    assert runs["removal-distmult"] == runs["approximation"] == runs["theory"] == "distmult"
    assert len(set(runs.values())) == 5


def test_other_runs_of_a_part_are_known_before_they_are_trained() -> None:
    parts = {part.name: part for part in plan(PaperOptions(seeds=2))}
    assert parts["theory"].siblings == parts["criage"].siblings == [{"seed": 43}]
    assert parts["approximation"].siblings == [
        {"seed": 43},
        *(
            {"constraint": constraint} | seed
            for constraint in ("unit", "max:2", "max:3")
            for seed in ({}, {"seed": 43})
        ),
    ]
    assert plan(PaperOptions("fb15k-237"))[-1].siblings == [{"credit": "step"}]


def test_retrainings_are_counted_before_they_are_done() -> None:
    counts = {part.name: part.n_retrainings(143, 1592) for part in plan(PaperOptions())}
    assert counts["removal-distmult"] == 143 * 6 + 20 + 1 + 81  # the last: reliability
    assert counts["criage"] == 143 * 16 + 1
    assert counts["approximation"] == (143 + 1) * 4
    assert counts["theory"] == 143 * 4 + 1
    first, *_ = plan(PaperOptions("fb15k-237"))
    assert "approximation" in first.options.protocols  # which removes what rollback at 1 does
    assert first.n_retrainings(100, 272_115) == 100 * 6 + 20 + 1 + 81


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"dataset": "wn18"}, "unknown dataset 'wn18'; choose from nations, fb15k-237, movielens"),
        ({"models": ("transe",)}, "unknown model 'transe'; choose from distmult, complex"),
        ({"models": ()}, "no models; choose from distmult, complex"),
        ({"seeds": 0}, "seeds is 0; it must be 1 or more"),
        ({"limit": -1}, "limit is -1; it must be 1 or more"),
        (
            {"time_budget": "soon"},
            "time_budget is 'soon'; give seconds above 0, or a text such as 90s, 10m or 2h",
        ),
    ],
)
def test_bad_input_is_said(asked: dict[str, object], message: str) -> None:
    with pytest.raises(WhereofError) as error:
        PaperOptions(**asked)
    assert str(error.value) == message
