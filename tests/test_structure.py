"""Rules of the source tree that no linter knows."""

import ast
from collections import defaultdict
from pathlib import Path

import whereof

ROOT = Path(whereof.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module, or the module itself at the top."""
    return parts[1] if len(parts) > 1 else parts[0]


def imported(tree: ast.Module) -> set[str]:
    """Every module, or name of a module, that a file imports from us."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {name for name in found if name.split(".")[0] == "whereof"}


def test_no_room_imports_a_private_module_of_another_room() -> None:
    bad = []
    for file in FILES:
        own = ("whereof", *file.relative_to(ROOT).with_suffix("").parts)
        for name in imported(ast.parse(file.read_text())):
            parts = tuple(name.split("."))
            private = any(part.startswith("_") and part[1:2] != "_" for part in parts[2:])
            if private and room_of(parts) != room_of(own):
                bad.append(f"{'.'.join(own)} imports {name}")
    assert bad == []


def test_no_class_name_has_two_meanings() -> None:
    places = defaultdict(list)
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
