"""Before a server answers, a run has computed what it computes once."""

from pathlib import Path

import pytest
from trained import train, train_ratings

from whereof.data.name_index import NameIndex


def test_names_of_users_and_of_items_are_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train_ratings(tmp_path, epochs=1)
    run.warm_up()
    monkeypatch.delattr(NameIndex, "of")  # no index can be built any more
    assert [each.name for each in run.find_names("m1", place="object")] == ["m1"]
    assert [each.name for each in run.find_names("u1", place="subject")] == ["u1"]


def test_the_price_of_a_retraining_is_that_of_this_machine(tmp_path: Path) -> None:
    run = train(tmp_path / "run")
    run.manifest.result["facts_per_second"] = 1.0  # a machine that is very slow
    assert run.retraining_seconds == 4 * run.dataset.n_facts
    run.warm_up()
    assert run.retraining_seconds is not None
    assert run.retraining_seconds < run.dataset.n_facts
