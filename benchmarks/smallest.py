"""How often `smallest` changes the answer, and its sets beside greedy ones, for docs/smallest.md.

    python benchmarks/smallest.py RUN [--limit N] [--greedy 30]

asks for the smallest set of every top new answer of the test queries. For some of them it also
removes facts in the order of their true influence, which retraining without each fact gives, until
the top answer changes.
"""

import argparse

import numpy as np

import whereof
from whereof.predict.answers import Answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--greedy", type=int, default=30)
    arguments = parser.parse_args()
    run = whereof.Run.open(arguments.run)
    predictions = top_answers(run)[: arguments.limit]
    found = [run.smallest(*names) for names in predictions]
    sizes = np.array([len(each.removed) for each in found])
    changed = np.array([each.found for each in found])
    print(
        f"{changed.sum()} of {len(found)} answers change; sizes {np.bincount(sizes[changed])[1:]}"
    )
    chosen = np.unique(
        np.linspace(0, len(found) - 1, min(arguments.greedy, len(found))).astype(int)
    )
    control, *without = run.retrain(
        [[fact] for fact in range(run.dataset.n_facts)], [predictions[i] for i in chosen]
    )
    greedy = np.zeros(len(chosen), int)
    for place, number in enumerate(chosen):
        after = [each.standings[place].probability for each in without]
        order, top = np.argsort(after, kind="stable"), control.standings[place].top_answer
        for size in range(1, len(order)):
            _, one = run.retrain([order[:size].tolist()], [predictions[number]])
            if one.standings[0].top_answer != top:
                greedy[place] = size
                break
    apart = sizes[chosen] - greedy
    print(
        f"beside greedy: {(apart > 0).sum()} larger, {(apart < 0).sum()} smaller, of {len(apart)}"
    )


def top_answers(run: whereof.Run) -> list[tuple[str, str, str]]:
    """The distinct top new answers of the test queries."""
    names, data = dict[tuple[str, str, str], None](), run.dataset
    queries = {(data.entities.name(s), data.relations.name(r)) for s, r, _ in data.test.tolist()}
    for query in sorted(queries):
        answers = next(iter(run.predict_many([query], 1, new=True)))
        if isinstance(answers, Answers) and answers.answers:
            names[(*query, answers.answers[0].entity)] = None
    return list(names)


if __name__ == "__main__":
    main()
