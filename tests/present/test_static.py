"""Static files: those of others are unchanged and licensed; ours refer to nothing outside."""

import hashlib
import json
import re

import pytest

from whereof.present.html import STATIC, page

VENDOR = STATIC / "vendor"
HASHES = json.loads((VENDOR / "hashes.json").read_text())


def test_files_of_others_are_unchanged_and_have_a_licence() -> None:
    files = {path.name for path in VENDOR.iterdir()} - {"hashes.json", "LICENCES.md"}
    assert files == {*HASHES}
    licences = (VENDOR / "LICENCES.md").read_text()
    for name, record in HASHES.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == record["sha256"]
        assert f"## {name}" in licences
        assert record["version"] in licences


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.*")), ids=lambda path: str(path.name))
def test_static_files_refer_only_to_each_other(path: object) -> None:
    text = (STATIC / str(path)).read_text()
    assert {*re.findall(r"https?://[^\s\"']*", text)} <= {"http://www.w3.org/2000/svg"}
    for name in re.findall(r"(?:from|import\()\s*\"\./([^\"]*)\"", text):
        assert (STATIC / name).is_file(), name
    assert not re.search(r"innerHTML|insertAdjacentHTML|outerHTML|\beval\(", text)


def test_a_page_has_no_style_attributes_and_its_scripts_inside() -> None:
    found = page([("paragraphs", ["hello"])], title="t", scripts=["table.js"])
    assert "style=" not in found
    assert "<link" not in found
    assert "makeSortable" in found
