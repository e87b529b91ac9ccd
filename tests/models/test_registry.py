"""Every model is documented, cited and tested; an unknown name gives a one-line error."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from models.formulas import FORMULAS
from whereof import registry
from whereof.errors import WhereofError
from whereof.models import MODELS, find_model

DOCS = Path(__file__).resolve().parents[2] / "docs" / "models.md"


@pytest.mark.parametrize("name", MODELS)
def test_every_model_says_what_it_is(name: str) -> None:
    model = MODELS[name]
    assert model.name == name
    assert find_model(name) is model
    for text in (model.title, model.formula, model.citation):
        assert text.strip() == text != ""
    assert any(str(year) in model.citation for year in range(1900, 2100)), "a citation has a year"


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_documented(name: str) -> None:
    lines = [line for line in DOCS.read_text("utf-8").splitlines() if f"`{name}`" in line]
    assert lines, f"docs/models.md has no line with `{name}`"


def test_every_model_is_tested_and_every_test_has_a_model() -> None:
    assert set(FORMULAS) == set(MODELS), "tests/models/formulas.py has one formula for each model"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dim", [1, 4])
def test_a_query_is_as_long_as_a_row_or_one_longer(name: str, dim: int) -> None:
    model = MODELS[name]
    widths = model.widths(dim)
    assert widths.query - widths.entity in (0, 1)
    assert widths.query == widths.entity or model.match == "dot"
    assert (widths.relation == 0) == model.two_way
    assert widths.entity % model.entity_parts == 0
    assert widths.relation % model.relation_parts == 0


def test_an_unknown_model_is_named_with_the_choices() -> None:
    with pytest.raises(WhereofError) as error:
        find_model("distmul")
    names = ", ".join(sorted(MODELS))
    wanted = f"unknown model 'distmul'; did you mean 'distmult'? choose from {names}"
    assert str(error.value) == wanted


@pytest.fixture
def install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_names: Callable[[], None]
) -> Iterator[Callable[[str], None]]:
    """Install a package that declares one model under the name `other`."""

    def declare(place: str) -> None:
        folder = tmp_path / "other_models-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: other-models\nVersion: 1.0\n"
        )
        (folder / "entry_points.txt").write_text(f"[{registry.MODELS}]\nother = {place}\n")
        monkeypatch.syspath_prepend(tmp_path)
        forget_names()

    yield declare
    monkeypatch.undo()
    forget_names()


def test_an_installed_model_is_found(install: Callable[[str], None]) -> None:
    with pytest.raises(WhereofError, match="unknown model 'other'"):
        find_model("other")
    install("models.test_add_a_model:CP")
    assert find_model("other").name == "cp"
    with pytest.raises(WhereofError, match=r"choose from complex, .*, other, "):
        find_model("another")


def test_an_installed_thing_that_is_no_model_is_named(install: Callable[[str], None]) -> None:
    install("models.formulas:FORMULAS")
    with pytest.raises(WhereofError, match=r"the entry point 'other' of .* is not a Model"):
        find_model("other")


def test_a_saved_scoring_function_is_asked_for_in_python() -> None:
    with pytest.raises(WhereofError, match=r"your own, tower, .*open_run\(folder, model, tower\)"):
        find_model("own-tower")
