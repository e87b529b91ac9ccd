"""`whereof explain` as a user types it: tables that fit, JSON, CSV, pictures, files, bad input."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from trained import train, train_ratings

import whereof as library
from cli.helpers import whereof
from whereof.cli import _with_flags, cli
from whereof.units import ordinal

EGYPT = ("egypt", "embassy", "usa")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, inverse=True)
    return str(path)


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run whose names are long, wide, or break lines."""
    folder = tmp_path_factory.mktemp("long")
    names = [
        "n" * 300,
        "埃及的大使馆" * 30,
        'a "quoted"\tname\nof two lines' * 4,
        "short",
        "é" * 90,
    ]
    relation = "/a/very/long/relation/" * 12
    facts = [(a, relation, b) for a in names for b in names if a != b]
    with (folder / "facts.csv").open("w", newline="") as file:
        csv.writer(file).writerows(facts)
    library.train(folder / "facts.csv", out=folder / "run", dim=4, epochs=3, inverse=True)
    return str(folder / "run")


def shown(*arguments: str, **env: str) -> list[str]:
    """Standard output of a command in this process, where kernels are loaded."""
    done = CliRunner(env=env).invoke(cli, ["explain", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.split("\n")[:-1]


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("\n".join(shown(*arguments, "--json")))
    return found


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def test_the_command_that_measures_reliability_names_the_run(run: str) -> None:
    assert f"`whereof evaluate {run} --protocols steadiness`" in "\n".join(shown(run, *EGYPT))


def test_json_is_what_the_library_says(run: str) -> None:
    found = document(run, *EGYPT)
    expected = library.Run.open(run).explain(*EGYPT).to_dict()
    assert found.pop("seconds") >= 0
    expected.pop("seconds")
    assert found == expected
    prediction = {"subject", "relation", "object", "probability", "rank"}
    assert prediction <= found["prediction"].keys()
    assert {"prediction", "method", "n_adjacent", "facts"} <= found.keys()
    fact = {"fact_id", *prediction - {"probability", "rank"}, "role", "influence"}
    fact |= {"probability_without", "top_answer_changes"}
    assert all(fact <= each.keys() for each in found["facts"])
    influences = [each["influence"] for each in found["facts"]]
    assert influences == sorted(influences, reverse=True)
    assert min(influences) > 0


@pytest.mark.parametrize(
    "options",
    [{}, {"of": "score"}, {"of": "loss", "opposing": True}, {"instead_of": "uk", "top": None}],
)
def test_everything_in_a_document_is_plain_and_finite(run: str, options: dict[str, Any]) -> None:
    opened = library.Run.open(run)
    more = {"graph": True, "stability": True}
    values = leaves(opened.explain(*EGYPT, **options, **more).to_dict())
    named = options | {"without": [1, 2], "opposing": False}
    values += leaves(opened.explain(*EGYPT, **named).to_dict())
    assert {type(value) for value in values} <= {str, int, float, bool, type(None)}
    assert all(math.isfinite(value) for value in values if isinstance(value, float))


def test_the_table_has_labels_signs_and_what_to_do_next(run: str) -> None:
    found, lines = document(run, *EGYPT, "--top", "3"), shown(run, *EGYPT, "--top", "3")
    prediction = found["prediction"]
    assert lines[0] == "egypt embassy usa"
    assert (
        f"probability {prediction['probability']:.4f}, known from training, would be "
        f"{ordinal(prediction['rank'])} among {prediction['n_new']} new answers" in lines[1]
    )
    table = lines[lines.index(next(line for line in lines if "influence  " in line)) :]
    columns = "fact subject relation object in common estimated influence estimated without share"
    assert table[0].removesuffix("  new top answer").split() == columns.split()
    for line, fact in zip(table[1:], found["facts"], strict=False):
        assert line.split()[:2] == [str(fact["rank"]), str(fact["fact_id"])]
        assert line.split()[2:5] == [fact["subject"], fact["relation"], fact["object"]]
        assert f"{fact['influence']:+.4f}" in line
        assert f"{fact['probability_without']:.4f}" in line
    assert any(line.startswith(f"3 of {found['n_adjacent']} adjacent facts, in ") for line in lines)
    assert lines[-2] == "next: --opposing, --top all, --stability, --json"
    assert [lines[-1]] == found["notes"]
    assert lines[-1].startswith("rollback is the default for this run: it was not trained steadily")


def test_the_heading_says_whose_numbers_they_are(run: str) -> None:
    rolled_back = "Facts that support it, by estimated influence on its probability"
    assert rolled_back in shown(run, *EGYPT, "--method", "rollback-o")
    lines = shown(run, *EGYPT, "--method", "gradient-dot", "--opposing")
    assert "Facts that oppose it, by influence as gradient-dot estimates it" in lines
    assert "its probability" not in "\n".join(lines)
    assert lines[-1] == "next: --top all, --json"


def test_another_top_answer_is_named(run: str) -> None:
    opened = library.Run.open(run)
    found = opened.predict("egypt", "embassy", top=None, new=True)
    last = found.answers[-1]
    top = opened.predict("egypt", "embassy", top=1, new=True).answers[0]
    lines = shown(run, "egypt", "embassy", last.entity)
    among = f"among {found.n_new} new answers"
    assert lines[1].endswith(f"rank {last.rank} {among}; the top answer is {top.entity}")
    assert shown(run, "egypt", "embassy", "_")[0] == f"egypt embassy {top.entity}"
    assert shown(run, "_", "embassy", "usa")[0].endswith(" embassy usa")


def test_a_pipe_gets_whole_names(long_names: str) -> None:
    names = library.Run.open(long_names).dataset
    prediction = names.fact_names(names.train[1])
    lines = shown(long_names, *prediction, "--everything", COLUMNS="80")
    assert "…" not in "".join(lines)
    facts = document(long_names, *prediction, "--everything")["facts"]
    start = next(number for number, line in enumerate(lines) if "influence  " in line)
    for line, fact in zip(lines[start + 1 :], facts, strict=False):
        assert line.split()[0] == str(fact["rank"])
        for name in (fact["subject"], fact["relation"], fact["object"]):
            assert name.replace("\n", " ").replace("\t", " ") in line


def test_colour_follows_the_sign_and_no_color(run: str) -> None:
    coloured = "\n".join(shown(run, *EGYPT, "--everything", FORCE_COLOR="1", TERM="xterm"))
    assert "\x1b[32m" in coloured
    assert "\x1b[31m" in coloured
    plain = shown(run, *EGYPT, "--everything", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1")
    assert "\x1b[3" not in "\n".join(plain)


def test_selections(run: str) -> None:
    everything = document(run, *EGYPT, "--everything")
    assert len(everything["facts"]) == everything["n_adjacent"]
    supporting = [fact for fact in everything["facts"] if fact["influence"] > 0]
    assert len(document(run, *EGYPT, "--top", "all")["facts"]) == len(supporting)
    opposing = document(run, *EGYPT, "--opposing", "--top", "2")["facts"]
    assert opposing[0]["fact_id"] == everything["facts"][-1]["fact_id"]
    chosen = ["--relation", "embassy", "--relation", "treaties", "--entity", "uk", "--role"]
    found = document(run, *EGYPT, *chosen, "relation", "--everything")["facts"]
    assert {fact["relation"] for fact in found} <= {"embassy", "treaties"}
    assert all("uk" in (fact["subject"], fact["object"]) for fact in found)


def test_csv_has_the_facts_of_json(run: str) -> None:
    rows = list(csv.DictReader(shown(run, *EGYPT, "--csv")))
    facts = document(run, *EGYPT)["facts"]
    assert [int(row["fact_id"]) for row in rows] == [fact["fact_id"] for fact in facts]
    assert [float(row["influence"]) for row in rows] == [fact["influence"] for fact in facts]
    assert list(rows[0])[:6] == ["fact_id", "subject", "relation", "object", "role", "influence"]


def test_what_is_asked_besides_is_shown(run: str) -> None:
    found = document(run, *EGYPT, "--without", "0", "--without", "5,9")["without"]
    text = "\n".join(shown(run, *EGYPT, "--without", "0", "--without", "5,9"))
    assert "Without these 3 facts together" in text
    assert f"{found['probability']:.4f}" in text
    assert f"{found['influence']:+.4f}" in text or "e-" in text
    steps = document(run, *EGYPT, "--stability")["stability"]
    lines = shown(run, *EGYPT, "--stability")
    at = lines.index("Without its strongest supporting facts")
    assert [line.split()[0] for line in lines[at + 2 : at + 6]] == ["none", "top", "top", "top"]
    cells = lines[at + 3].split()
    probability, influence = f"{steps[0]['probability']:.4f}", f"{steps[0]['influence']:+.4f}"
    assert cells[1:4] == ["1", probability, influence]  # without a rank: no claims are measured
    text = "\n".join(shown(run, *EGYPT, "--instead-of", "uk", "--graph"))
    assert "why usa and not uk" in text
    assert "Facts between the same two" in text
    paths = document(run, *EGYPT, "--graph")["graph"]["paths"]
    assert f"{paths[0]['influence']:+.4f}" in "\n".join(shown(run, *EGYPT, "--graph"))


def test_no_supporting_fact_is_one_line(run: str) -> None:
    opened = library.Run.open(run)
    facts = opened.explain(*EGYPT, top=None, role="subject").facts
    against = next(f.relation for f in reversed(facts) if f.influence < 0)
    mine = [f for f in facts if f.relation == against]
    entity = next(
        e
        for f in mine
        for e in (f.subject, f.object)
        if all(g.influence <= 0 for g in mine if e in (g.subject, g.object))
    )
    chosen = ["--role", "subject", "--relation", str(against), "--entity", entity]
    lines = shown(run, *EGYPT, *chosen, "--method", "rollback")
    assert len(lines) == 3
    assert lines[2].startswith("no fact supports it, of ")


def test_pictures_are_written_beside_the_table(run: str, tmp_path: Path) -> None:
    page, picture = tmp_path / "sub" / "why.html", tmp_path / "why.svg"
    done = whereof("explain", run, *EGYPT, "--html", str(page), "--svg", str(picture), "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-2:] == [f"{page} is written", f"{picture} is written"]
    assert json.loads(done.stdout)["graph"] is None
    assert "<svg" in page.read_text()
    assert f"whereof evaluate {run} --protocols steadiness" in page.read_text()
    assert "http://" not in page.read_text().replace("http://www.w3.org", "")
    assert picture.read_text().lstrip().startswith(("<svg", "<?xml"))
    before = picture.read_bytes()
    again = whereof("explain", run, *EGYPT, "--svg", str(picture))
    assert again.returncode == 2
    assert "overwrite it with --force" in again.stderr
    forced = whereof("explain", run, "egypt", "embassy", "uk", "--svg", str(picture), "--force")
    assert forced.returncode == 0, forced.stderr
    assert picture.read_bytes() != before


def test_pictures_of_other_methods_have_the_listed_facts_alone(run: str, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    shown(run, *EGYPT, "--method", "random", "--top", "2", "--html", str(page))
    text, facts = page.read_text(), document(run, *EGYPT, "--method", "random", "--top", "2")
    drawn = {int(number) for number in re.findall(r"\nfact (\d+)</title>", text)}
    assert drawn == {fact["fact_id"] for fact in facts["facts"]}
    assert "on the scale of random" in text
    assert "points" not in text


def test_no_picture_is_written_where_one_is_refused(run: str, tmp_path: Path) -> None:
    page, picture = tmp_path / "why.html", tmp_path / "why.svg"
    picture.write_text("mine")
    both = ["--html", str(page), "--svg", str(picture)]
    # The names are bad too: files are looked at before anything is computed.
    done = whereof("explain", run, "egyp", "embassy", "usa", *both)
    assert done.returncode == 2
    assert done.stderr.startswith(f"whereof: {picture} exists")
    assert not done.stdout
    assert not page.exists()
    same = whereof("explain", run, *EGYPT, "--html", str(page), "--svg", str(page), "--force")
    assert same.returncode == 2
    assert "two of --html, --svg and -o name the same file" in same.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["why.svg"]
    assert shown(run, *EGYPT, *both, "--force")[0] == "egypt embassy usa"
    assert page.exists()
    assert picture.read_text() != "mine"


def test_the_table_is_printed_where_a_picture_cannot_be_written(run: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = whereof("explain", run, *EGYPT, "--svg", str(tmp_path / "file" / "why.svg"))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stdout.startswith("egypt embassy usa\n")


def test_a_two_way_run_has_no_relation(tmp_path: Path) -> None:
    (tmp_path / "ratings.tsv").write_text("ann\tjaws\nann\tup\nbob\tup\nbob\tbig\ncy\tjaws\n")
    library.train(tmp_path / "ratings.tsv", out=tmp_path / "run", model="mf", dim=3, epochs=20)
    path = str(tmp_path / "run")
    lines = shown(path, "ann", "big", "--everything")
    assert lines[0] == "user ann, item big"
    assert lines[4].split()[:4] == ["fact", "user", "item", "estimated"]
    found = document(path, "ann", "_", "--without", "ann,up", "--without", "bob,up")
    assert found["prediction"]["relation"] is None
    assert len(found["without"]["fact_ids"]) == 2
    done = whereof("explain", path, "ann", "likes", "big")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "a prediction is SUBJECT OBJECT; got ann likes big" in done.stderr


def test_ratings_are_said_as_ratings(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, epochs=50)
    text = "\n".join(shown(str(run.path), "u3", "m1", "--everything", "--stability"))
    assert f"rating {run.explain('u3', 'm1').prediction.score:.2f}" in text
    assert "probability" not in text


def test_settings_come_from_a_file(run: str, tmp_path: Path) -> None:
    config = tmp_path / "whereof.toml"
    config.write_text(
        'seed = 3\n[explain]\ntop = 2\nof = "score"\nrelation = "embassy"\n'
        'entity = ["uk", "usa"]\ncandidates = ["usa", "uk", "cuba"]\n'
    )
    found = document(run, *EGYPT, "--config", str(config))
    expected = library.Run.open(run).explain(
        *EGYPT,
        top=2,
        of="score",
        relation="embassy",
        entity=["uk", "usa"],
        candidates=["usa", "uk", "cuba"],
    )
    assert found["facts"] == expected.to_dict()["facts"]
    assert found["prediction"]["n_candidates"] == 3
    over = document(run, *EGYPT, "--config", str(config), "--top", "1", "--relation", "treaties")
    assert [fact["relation"] for fact in over["facts"]] in ([], ["treaties"])
    config.write_text('threads = 2\ndevice = "cuda"\n')  # of training
    assert document(run, *EGYPT, "--config", str(config))["facts"]
    config.write_text("[explain]\ntop = 0\n")
    done = whereof("explain", run, *EGYPT, "--config", str(config))
    assert done.returncode == 2
    assert "give a number from 1 on, or all" in done.stderr
    config.write_text('[explain]\nmetod = "rollback"\n')
    assert "did you mean 'method'?" in whereof("explain", run, "--config", str(config)).stderr


def test_lists_in_a_file_keep_names_with_commas(tmp_path: Path) -> None:
    names = ["Paris, Texas", "Rome, Georgia", "Athens, Ohio"]
    facts = [(a, "twin, of", b) for a in names for b in names if a != b]
    (tmp_path / "facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    run = library.train(tmp_path / "facts.tsv", out=tmp_path / "run", dim=4, epochs=3)
    config = tmp_path / "whereof.toml"
    common = f"[explain]\ncandidates = {json.dumps(names[:2])}\n"
    for chosen in (
        {"entity": names[1:], "relation": ["twin, of"]},
        {"without": [2, list(facts[4])]},
    ):
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in chosen.items()]
        config.write_text(common + "".join(lines))
        found = document(str(run.path), *facts[0], "--config", str(config))
        expected = run.explain(*facts[0], candidates=names[:2], **chosen).to_dict()
        assert found["prediction"]["n_candidates"] == 2
        assert found | {"seconds": 0} == expected | {"seconds": 0}
    assert found["without"]["fact_ids"] == [2, 4]


def test_candidates_may_stand_in_a_file(run: str, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("usa\nuk\n\n cuba \n")
    found = document(run, *EGYPT, "--candidates", str(tmp_path / "names.txt"))
    assert found["prediction"]["n_candidates"] == 3
    assert document(run, *EGYPT, "--candidates", "usa,uk")["prediction"]["n_candidates"] == 2


def test_bad_input_is_one_clear_line(run: str, tmp_path: Path) -> None:
    train(tmp_path / "bare", trace=False)
    out = ["-o", str(tmp_path / "out.jsonl")]
    cases: list[tuple[str, list[str]]] = [
        ("unknown entity 'egyp'; did you mean 'egypt'?", [run, "egyp", "embassy", "usa"]),
        ("unknown relation 'embasy'", [run, "egypt", "embasy", "usa"]),
        ("needs a trace and this run has none", [str(tmp_path / "bare"), *EGYPT]),
        ("--top is 0; give a number from 1 on, or all", [run, *EGYPT, "--top", "0"]),
        ("--top is 'few'", [run, *EGYPT, "--top", "few"]),
        (
            "unknown role 'verb'; choose from subject, relation, object",
            [run, *EGYPT, "--role", "verb"],
        ),
        ("no fact has id 99999", [run, *EGYPT, "--without", "99999"]),
        ("a prediction is SUBJECT RELATION OBJECT; got egypt", [run, "egypt"]),
        ("give either a PREDICTION", [run]),
        ("give either a PREDICTION", [run, *EGYPT, "--predictions", "top", *out]),
        ("--predictions requires -o FILE", [run, "--predictions", "top"]),
        ("unknown ending '.graphml'", [run, "--predictions", "top", "-o", "out.graphml"]),
        ("unknown ending '.xls'", [run, *EGYPT, "-o", "out.xls"]),
        ("-o name the same file", [run, *EGYPT, "-o", "out.csv", "--html", "out.csv"]),
        ("choose one of them", [run, *EGYPT, "--json", "--csv"]),
        ("leave out --top", [run, *EGYPT, "--everything", "--top", "3"]),
        ("--csv requires one PREDICTION", [run, "--predictions", "top", *out, "--csv"]),
        (
            "--history requires one PREDICTION",
            [run, "--predictions", "top", *out, "--history", "h.txt", "--method", "rollback"],
        ),
        ("--split requires --predictions", [run, *EGYPT, "--split", "valid"]),
        ("--threads requires --predictions", [run, *EGYPT, "--threads", "2"]),
        ("--device requires --predictions", [run, *EGYPT, "--device", "cuda"]),
        ("threads is 0; give", [run, "--predictions", "top", *out, "--threads", "0"]),
        ("leave out of", [run, *EGYPT, "--instead-of", "uk", "--of", "score"]),
        (
            "limit is 0; give a number from 1 on",
            [run, "--predictions", "top", *out, "--limit", "0"],
        ),
        ("nowhere.tsv: no such file", [run, "--predictions", "nowhere.tsv", *out]),
        ("unknown ending '.xls'", [run, "--predictions", "top", "-o", "out.xls"]),
        ("relations cannot be left open", [run, "egypt", "_", "usa"]),
        ("no run at", ["nowhere", *EGYPT]),
    ]
    for words, arguments in cases:
        done = CliRunner().invoke(cli, ["explain", *arguments], standalone_mode=False)
        assert isinstance(done.exception, library.WhereofError | click.ClickException), arguments
        assert words in _with_flags(str(done.exception))
        assert not done.stdout
    for words, arguments in (cases[0], cases[3]):
        ended = whereof("explain", *arguments)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
        assert words in ended.stderr
        assert not ended.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["bare"]


def test_one_explanation_goes_to_a_file_too(run: str, tmp_path: Path) -> None:
    out = tmp_path / "why.ttl"
    done = whereof("explain", run, *EGYPT, "--top", "2", "-o", str(out))
    assert (done.returncode, done.stderr) == (0, f"{out} is written\n")
    assert out.read_text().count("whereof:influence") == 2
    again = whereof("explain", run, *EGYPT, "--top", "2", "-o", str(out))
    assert (again.returncode, again.stdout) == (2, "")


def test_verified_shows_predicted_and_actual_within_its_budget(run: str) -> None:
    lines = shown(run, *EGYPT, "--method", "verified", "--budget", "9", "--threads", "1")
    (head,) = (line for line in lines if "estimate  " in line)
    assert head.split()[-3:] == ["estimate", "actual", "without"]
    assert "The numbers are measured by retraining." in lines
    exact = document(run, *EGYPT, "--method", "verified", "--budget", "9", "--threads", "1")
    assert (exact["estimate"], document(run, *EGYPT)["estimate"]) == (False, True)
    assert "The numbers are estimates, not confirmed by retraining." in shown(run, *EGYPT)
    assert whereof("explain", run, *EGYPT, "--csv").stdout.splitlines()[1].endswith(",True")
    assert any(line.startswith("8 of ") for line in lines)
    refused = whereof("explain", run, *EGYPT, "--budget", "9")
    assert refused.returncode == 2
    assert "--budget requires --method verified" in refused.stderr
    wrong = whereof("explain", run, *EGYPT, "--method", "verified", "--budget", "soon")
    assert "--budget is 'soon'; give a number of retrainings from 2 on, or a text" in wrong.stderr
