"""Before a server answers, a run has computed what it computes once."""

from pathlib import Path

import pytest
from trained import train_ratings

from whereof.data.name_index import NameIndex


def test_names_of_users_and_of_items_are_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train_ratings(tmp_path, epochs=1)
    run.warm_up()
    monkeypatch.delattr(NameIndex, "of")  # no index can be built any more
    assert [each.name for each in run.find_names("m1", place="object")] == ["m1"]
    assert [each.name for each in run.find_names("u1", place="subject")] == ["u1"]
