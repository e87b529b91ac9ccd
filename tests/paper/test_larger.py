"""The parts that only FB15k-237 has, measured on a folder with few facts and no labels."""

import numpy as np
import pytest
from listening import Recorded

from whereof.events import Advanced, Note
from whereof.paper.plan import PaperOptions
from whereof.paper.write import Budget, Paper, reproduce

N_ENTITIES, N_FACTS = 510, 100
"""More entities than the paper has negatives."""


class Told(Recorded):
    """Also records notes, in order."""

    @property
    def said(self) -> list[str]:
        return [
            "budget"
            if isinstance(each, Budget)
            else each.text
            if isinstance(each, Note)
            else "retrained"
            for each in self.events
            if isinstance(each, Note) or (isinstance(each, Advanced) and each.noun == "retrainings")
        ]

    @property
    def budgets(self) -> list[Budget]:
        return [each for each in self.events if isinstance(each, Budget)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Paper, Told]:
    data, random = tmp_path_factory.mktemp("data") / "fb15k-237", np.random.default_rng(0)
    data.mkdir()
    for name, n_facts in (("train", N_FACTS), ("valid", 5), ("test", 20)):
        ends = random.integers(N_ENTITIES, size=(n_facts, 2))
        relations = random.integers(10, size=n_facts)
        lines = [f"e{s}\tr{r}\te{o}\n" for (s, o), r in zip(ends, relations, strict=True)]
        if name == "train":
            lines += [f"e{i}\tr{i % 10}\te{i + 1}\n" for i in range(N_ENTITIES - 1)]
        (data / f"{name}.txt").write_text("".join(dict.fromkeys(lines)))
    out, watch = tmp_path_factory.mktemp("larger"), Told()
    options = PaperOptions(
        "fb15k-237", ("distmult",), seeds=1, limit=1, out=out, data_dir=data.parent
    )
    return reproduce(options, watch), watch


def test_the_budget_comes_before_any_training(told: tuple[Paper, Told]) -> None:
    paper, watch = told
    (budget,) = watch.budgets
    trained = [said for said in watch.said if said.startswith("training ")]
    assert len(trained) == 3
    assert watch.said.index("budget") < watch.said.index(trained[0])
    # One run of each optimizer, and that of the truth with the other credit.
    assert budget.total("n_trainings") == 3
    runs = paper.options.folder / "runs"
    assert len([*runs.rglob("manifest.json")]) == 3
    assert watch.said.count("retrained") <= budget.total("n_retrainings")


def test_examples_that_are_not_there_are_left_out_before_anything_is_retrained(
    told: tuple[Paper, Told],
) -> None:
    paper, watch = told
    notes = [n for n, said in enumerate(watch.said) if "examples are left out: unknown" in said]
    assert len(notes) == 2  # of both optimizers
    assert notes[0] < watch.said.index("retrained")
    names = {table.name for table in paper.tables}
    assert "qualitative" not in names
    assert paper.missing == []


def test_the_truth_is_there_of_both_credits(told: tuple[Paper, Told]) -> None:
    paper, _ = told
    (truth,) = [table for table in paper.tables if table.name == "truth"]
    assert [row.names[0] for row in truth.rows] == [
        "rollback, step",
        "rollback, source",
        "gradient-dot",
    ]


def test_the_same_folder_is_finished(told: tuple[Paper, Told]) -> None:
    paper, _ = told
    again = Told()
    assert reproduce(paper.options, again).to_dict() == paper.to_dict()
    assert again.said == []
