import re
from pathlib import Path

VERSION_FILE = Path(__file__).parents[1] / "src" / "whereof" / "_version.py"
found = re.search(r'__version__ = "([^"]+)"', VERSION_FILE.read_text(encoding="utf-8"))
assert found, f"no version in {VERSION_FILE}"

project = "Whereof"
author = "The Whereof developers"
release = version = found.group(1)

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
# paper/*/tables.md are written by `whereof paper`; paper.md says where they are.
suppress_warnings = ["toc.not_included"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_mock_imports = ["pykeen", "torch"]
napoleon_google_docstring = False

nb_execution_mode = "off"  # the tutorials hold their outputs; `make notebooks` writes them
html_theme = "furo"
html_title = f"Whereof {release}"
