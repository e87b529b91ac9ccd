"""Every line of the threat model names a test that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")


def test_every_line_has_its_test() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    lines = [line for line in lines if not line.endswith("| test |")]
    assert len(lines) > 30
    for line in lines:
        found = re.search(r"`(tests/\S+\.py)::(test_\w+)` \|$", line)
        assert found, line
        assert f"def {found[2]}(" in (ROOT / found[1]).read_text(encoding="utf-8"), line
