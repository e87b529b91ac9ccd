"""Every `whereof` command of README and docs runs, on small data and for a few predictions.

The benchmarks of the catalogue, and the files and runs that the pages name, are small stand-ins.
Nations is real, because pages name its facts. Commands for a GPU are tested on a GPU, and those
that serve are tested in tests/server.
"""

import shutil
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_docs import PAGES
from test_snippets import OWN, commands, name

import whereof
from whereof.cli import cli

pytestmark = pytest.mark.slow

_FEW = {
    "train": "--epochs 2 --no-search",
    "evaluate": "--limit 2 --removals 2 --seeds 1",
    "paper": "--models distmult --seeds 1 --limit 2",
    "verify": "--seeds 1",
    "smallest": "--budget 10",
    "audit": "--limit 5 --top 2",
    "impact": "--limit 5",
}
"""Options that make a command short. They follow its own, so they win."""
_FEW_OF = {
    "leave-one-out": "--facts 3 --top-facts 1",
    "datamodelling": "--subsets 2",
    "kelpie": "--limit 30",
    "all": "--facts 3 --top-facts 1 --subsets 2",
    "faithfulness": "--facts 3 --top-facts 1 --subsets 2 --methods random,rollback,unrolled",
    "top": "--limit 5",
    "3m": "--budget 2s",
}
"""The same for values of options. The suite's method `retrain` would remove every fact."""
_USERS = 501
"""Enough for the paper's 500 negatives."""
_RUNS = {"movielens-run": "movielens-100k", "fb-run": "fb15k-237", "my-recommender": "clicks.tsv"}
"""Runs that pages name but do not train, and their data; others are of Nations."""
_NAMES = {"india": "SUBJECT", "students": "RELATION", "usa": "OBJECT", "uk": "OTHER", "israel": "X"}
"""Names of Nations, and those that pages use in their place."""


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and the data that pages name."""
    folder = tmp_path_factory.mktemp("stand-ins")
    for benchmark in ("fb15k-237", "kinship", "wn18rr"):
        write_graph(folder / "data" / benchmark)
    write_ratings(folder)

    data = whereof.read("nations")
    facts = [data.fact_names(row) for row in data.train]
    renamed = [[_NAMES.get(word, word) for word in fact] for fact in facts]
    renamed += [[each, "RELATION", "OBJECT"] for each in ("SUBJECT", "alice")]
    sources = ["crawl" if number % 9 == 0 else "book" for number in range(len(renamed))]
    header = ["subject", "relation", "object", "source"]
    rows = [[*fact, source] for fact, source in zip(renamed, sources, strict=True)]
    write(folder / "facts.tsv", [header, *rows])
    new = [["SUBJECT", "RELATION", "nowhere"], ["nowhere", "RELATION", "OBJECT"]]
    for file in ("new-facts.tsv", "tuesday.tsv"):
        write(folder / file, new)
    write(folder / "wrong.tsv", renamed[:2])
    write(folder / "new.tsv", [["egypt", "embassy", "atlantis"], ["atlantis", "embassy", "uk"]])
    write(folder / "queries.tsv", [["egypt", "embassy"]])
    write(folder / "mine.tsv", [["egypt", "embassy", "uk"]])
    return folder


def write(path: Path, rows: Iterable[Iterable[str]], between: str = "\t") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(between.join(row) + "\n" for row in rows))


def write_graph(folder: Path) -> None:
    """A graph in which the paper's 500 negatives can be drawn."""
    facts = [(f"e{at}", f"r{step}", f"e{at * step % 521}") for at in range(521) for step in (2, 3)]
    for split, chosen in {"train": facts, "valid": facts[::40], "test": facts[20::40]}.items():
        kept = [fact for fact in chosen if split != "train" or fact not in facts[::20]]
        write(folder / f"{split}.txt", kept)


def write_ratings(folder: Path) -> None:
    """Ratings of a few users and films, as MovieLens has them and as the pages have them."""
    rng = np.random.default_rng(2)
    films = ["casablanca", "vertigo", "rear-window", "psycho", "notorious", "rope", "spellbound"]
    rated = [
        (user, int(film), str(rng.integers(1, 6)), str(rng.integers(1e6)))
        for user in range(1, _USERS + 1)
        for film in rng.permutation(len(films))[:5]
        if (user, films[film]) != (1, "vertigo")
    ]
    numbered = [[str(user), str(film + 1), *rest] for user, film, *rest in rated]
    movielens = folder / "data" / "movielens-100k"
    write(movielens / "ua.base", numbered)
    valid = (numbered[::20] * 5_000)[:5_000]  # the first 5,000 lines are for validation
    write(movielens / "ua.test", [*valid, *numbered[10::20]])
    write(movielens / "u.item", [[str(at + 1), film] for at, film in enumerate(films)], "|")

    users = ["", "alice", *(str(user) for user in range(1, _USERS))]
    named = [[users[user], films[film], *rest] for user, film, *rest in rated]
    header = ["user", "item", "stars", "timestamp"]
    write(folder / "ratings.csv", [header, *named], ",")
    write(folder / "clicks.tsv", [each[:2] for each in named])
    write(folder / "movies.csv", [["movieId", "title"], *([it, it.title()] for it in films)], ",")
    write(folder / "tuesday.csv", [header[:3], ["2", "psycho", "4"]], ",")
    write(folder / "chosen.txt", [["casablanca"], ["vertigo"]])


def typed(page: Path) -> Iterator[list[str]]:
    """The `whereof` commands of a page that are run here."""
    for program, *words in commands(page):
        needs_gpu = any(word == "cuda" for word in words)
        if program == "whereof" and words[0] != "serve" and not needs_gpu and name(page) not in OWN:
            yield words


def run(*words: str) -> None:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, f"whereof {' '.join(words)}: {done.output}"


def shortening(command: str, *words: str) -> list[str]:
    """Options that make a command short."""
    found = _FEW.get(command, "").split()
    if command == "train" and ("--resume" in words or words[0] == "nations"):
        return []  # pages name what Nations says
    for option, value in pairwise(words):
        if option in ("--protocols", "--suite", "--predictions", "--budget"):
            found += [word for name in value.split(",") for word in _FEW_OF.get(name, "").split()]
        if option == "--negatives":
            found += [option, "6"]  # there are seven films
    return found


def make_way(words: list[str]) -> None:
    """Train the runs that a command reads if the page did not, and remove what it writes."""
    for option, value in pairwise(words):
        if option == "-o" and Path(value).is_dir():
            shutil.rmtree(value)
    named = [] if words[0] in ("train", "paper") else words[1 : 2 + (words[0] == "info")]
    named += [value for option, value in pairwise(words) if option == "--resume"]
    for path in named:
        if not Path(path).exists():
            data = _RUNS.get(path, "nations")
            run("train", data, "-o", path, *shortening("train", data))


@pytest.mark.parametrize("page", [page for page in PAGES if [*typed(page)]], ids=name)
def test_commands_run(
    page: Path, stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(stand_ins, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("WHEREOF_DATA", str(stand_ins / "data"))
    for words in typed(page):
        if page.stem == "README" and {"USER", "--history"} & {*words}:
            words = ["my-recommender" if word == "my-run" else word for word in words]
            words = ["2" if word == "USER" else word for word in words]
        make_way(words)
        run(*words, *shortening(*words))
