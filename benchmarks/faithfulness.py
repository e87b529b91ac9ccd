"""Write the figures of docs/faithfulness.md from stored studies.

    python benchmarks/faithfulness.py nations=runs/nations   # store the run's last study, and write
    python benchmarks/faithfulness.py                        # write the page from what is stored

The page has a pair of comments for every study, `<!-- nations -->` and `<!-- /nations -->`. The
text between them is replaced.
"""

import json
import re
import sys
from pathlib import Path

from whereof import Evaluation
from whereof.present.charts import chart_svg
from whereof.present.report import evaluation_markdown
from whereof.run.files import find_evaluations

PAGE = Path(__file__).parent.parent / "docs" / "faithfulness.md"
STORED = PAGE.with_suffix("")


def store(name: str, run: Path) -> None:
    """Keep the last study of a run, without the lists of every prediction."""
    paths = find_evaluations(run) if run.is_dir() else [run]
    studies = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    document = [each for each in studies if each["options"].get("suite") == "faithfulness"][-1]
    document["run"], document["true_influences"] = name, []
    document.pop("checksum", None)  # of the whole document
    for row in document["leave_one_out"]:
        row["orders"] = []
    STORED.mkdir(exist_ok=True)
    text = json.dumps(document, ensure_ascii=False, indent=1)
    (STORED / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def write() -> None:
    """Replace the figures of all stored studies in the page."""
    page = PAGE.read_text(encoding="utf-8")
    for path in sorted(STORED.glob("*.json")):
        name, found = path.stem, Evaluation.read(path)
        (chart,) = next(found.sections()).charts
        path.with_suffix(".svg").write_text(chart_svg(chart), encoding="utf-8")
        text = (
            f"{evaluation_markdown(found, level=3)}\n\n![{chart.title}]({STORED.name}/{name}.svg)"
        )
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        page, n_found = marked.subn(lambda place: f"{place[1]}\n{text}\n\n{place[2]}", page)  # noqa: B023
        if not n_found:
            sys.exit(f"{PAGE} has no place for {name}: add <!-- {name} --> and <!-- /{name} -->")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        store(given.partition("=")[0], Path(given.partition("=")[2]))
    write()
