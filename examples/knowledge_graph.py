"""A knowledge graph: train, predict, explain, check by retraining, and write the explanation."""

from pathlib import Path
from tempfile import TemporaryDirectory

import whereof


def main(folder: Path) -> None:
    """Write the run and the graphs to a folder."""
    run = whereof.train("nations", out=folder / "nations-run")
    print(f"test MRR {run.metrics['test']['mrr']:.3f}")

    # Where do students from india go? Answers that are not known from training.
    answers = run.predict("india", "students", new=True, top=3)
    print(answers)
    best = answers.answers[0].entity

    # Why? The numbers are estimates.
    explanation = run.explain("india", "students", best, top=5)
    print(explanation)
    print(explanation.to_pandas()[["subject", "relation", "object", "influence"]])

    # Check: retrain without these facts.
    verdict = run.verify("india", "students", best, top=5)
    print(verdict)

    # For graph tools and graph stores.
    explanation.to_file(folder / "why.graphml")
    explanation.to_file(folder / "why.ttl")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:  # to keep the files, name a folder of your own
        main(Path(folder))
