"""Records as plain documents."""

import json

from hypothesis import given
from hypothesis import strategies as st

from whereof.evaluate.results import plain


@given(
    st.recursive(
        st.floats() | st.integers() | st.text() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_plain_document_is_json(document: object) -> None:
    json.dumps(plain(document), allow_nan=False)


def test_plain_keeps_all_that_is_finite() -> None:
    document = {"a": [1.5, float("nan")], "b": (float("inf"), "x"), "c": None}
    assert plain(document) == {"a": [1.5, None], "b": [None, "x"], "c": None}
