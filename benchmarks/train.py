"""Training speed: the cost of tracing, the same step in PyTorch, and the lower bound by memory.

python benchmarks/train.py [--quick] [--markdown] [--json FILE]
python benchmarks/train.py --memory
"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reports import machine, publish

if TYPE_CHECKING:
    from measurements import Measured

# Heavy modules are imported in the functions that use them: `--memory` starts small processes, and
# a process inherits the peak memory of its parent.


def main() -> None:
    options = _options()
    facts = machine()
    results: list[Measured] = []
    if options.memory:
        from memory import measure_memory

        reports = [measure_memory(options.data_dir)]
    else:
        results = _measure(options)
        reports = [result.report for result in results]
    publish(*reports, markdown=options.markdown)
    if options.json:
        summary = {"machine": facts, "results": [result.to_dict() for result in results]}
        if options.memory:
            summary["results"] = [vars(report) for report in reports]
        options.json.write_text(json.dumps(summary, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data-dir", type=Path, help="folder with fb15k-237/  [default: WHEREOF_DATA]")
    add("--steps", type=_count, default=20_000, help="number of timed steps for each contender")
    add("--rounds", type=_count, default=20, help="number of rounds")
    add("--order", choices=("file", "shuffle"), default="file", help="order of the facts")
    add("--quick", action="store_true", help="1,000 steps in 4 rounds, as a check")
    add("--memory", action="store_true", help="measure peak memory instead of time")
    add("--markdown", action="store_true", help="print Markdown for docs/benchmarks.md")
    add(
        "--json",
        type=Path,
        metavar="FILE",
        help="also write the numbers of every round to this file",
    )
    options = parser.parse_args()
    if options.quick:
        options.steps, options.rounds = 1_000, 4
    return options


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not 1 or more")
    return number


def _measure(options: argparse.Namespace) -> "list[Measured]":
    from measurements import compare_peers, compare_settings
    from problems import load_data
    from rounds import Plan

    from whereof import WhereofError

    plan = Plan(options.steps, options.rounds)
    try:
        data = load_data(options.data_dir)
    except WhereofError as error:
        _stop(str(error))
    if 2 * plan.total() > data.n_facts:  # traced and not traced: two halves of one epoch
        _stop(f"--steps {plan.steps} is too large: an epoch has {data.n_facts:,} facts")
    return [compare_peers(data, plan, options.order), compare_settings(data, plan, options.order)]


def _stop(line: str) -> None:
    print(f"error: {line}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
