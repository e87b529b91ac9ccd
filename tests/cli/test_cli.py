"""The commands as a user types them: output, JSON, exit codes, one line for bad input."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from trained import outcome, train

import whereof as library
from cli.helpers import whereof, whereof_process
from whereof.cli import _with_flags

FAST = ["--model", "distmult", "--no-inverse", "--dim", "4", "--epochs", "1", "--negatives", "3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path)
    return str(path)


def test_train_prints_one_json_document(tmp_path: Path) -> None:
    done = whereof("train", "nations", "--json", "-o", str(tmp_path / "run"), *FAST)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    expected = {
        "run",
        "model",
        "n_facts",
        "n_entities",
        "n_relations",
        "epochs",
        "steps",
        "seconds",
        "facts_per_second",
        "trace_bytes",
        "lipschitz",
        "bookkeeping",
        "metrics",
    }
    assert expected <= result.keys()
    assert {"trace", "negatives", "drift", "projection"} <= result["bookkeeping"].keys()
    metrics = {"mrr", "hits@1", "hits@3", "hits@10"}
    assert metrics <= result["metrics"]["test"].keys()
    assert metrics <= result["metrics"]["test"]["paper_filter"].keys()
    assert result["metrics"]["valid"]["mrr"] <= 1
    assert result["steps"] == 1592


def test_the_size_of_the_trace_is_said_before_training(tmp_path: Path) -> None:
    done = whereof("train", "nations", "-o", str(tmp_path / "run"), *FAST)
    lines = done.stderr.splitlines()
    said = next(i for i, line in enumerate(lines) if line.startswith("trace"))
    assert "1,592 facts x 12 numbers" in lines[said]
    assert said < next(i for i, line in enumerate(lines) if line.startswith("epoch"))


def test_a_preset_gives_way_to_explicit_flags(tmp_path: Path) -> None:
    path = str(tmp_path / "run")
    whereof(
        "train", "nations", "--preset", "paper", "--optimizer", "sgd", "--rate", "0.1", "-o", path
    )
    config = json.loads(whereof("info", path, "--json").stdout)["config"]
    assert (config["optimizer"], config["rate"]) == ("sgd", 0.1)
    assert (config["dim"], config["negatives"], config["sampling"]) == (10, 13, "independent")


def test_a_config_file_gives_way_to_flags_and_overrides_a_preset(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[train]\ndim = 7\nepochs = 2\nbatch-size = 4\n")
    arguments = ["--config", str(tmp_path / "my.toml"), "--preset", "paper", "--epochs", "1"]
    done = whereof("train", "nations", "-o", str(tmp_path / "run"), *arguments)
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "run" / "manifest.json").read_text())["config"]
    assert (config["dim"], config["epochs"], config["batch_size"]) == (7, 1, 4)


def test_the_top_level_of_a_config_file_holds_for_every_command(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("1\ta\tr\tb\n2\tb\tr\tc\n3\tc\tr\ta\n")
    (tmp_path / "my.toml").write_text(
        "columns = [2, 3, 4]\nsource = 1\nkeep_checkpoints = 1\nepochs = 2\ntop = 2\njson = true\n"
        "[train]\nkeep-checkpoints = 0\ndim = 3\n[predict]\ntop = 1\n"
    )
    shared = ["--config", "my.toml"]
    done = whereof("train", "facts.tsv", "-o", "run", *shared, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    config = library.Run.open(tmp_path / "run").config
    assert (config.keep_checkpoints, config.epochs, config.dim) == (0, 2, 3)
    found = whereof("predict", "run", "a", "r", *shared, cwd=tmp_path)
    assert len(json.loads(found.stdout)["answers"]) == 1, found.stderr


def test_without_out_a_new_folder_is_made(tmp_path: Path) -> None:
    for name in ("nations-distmult", "nations-distmult-2"):
        done = whereof("train", "nations", *FAST, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "runs" / name / "manifest.json").exists()


def test_predict_json(run: str) -> None:
    result = json.loads(whereof("predict", run, "egypt", "embassy", "--top", "3", "--json").stdout)
    assert result["query"] == {"subject": "egypt", "relation": "embassy", "object": None}
    assert len(result["answers"]) == 3
    expected = {"entity", "label", "probability", "score", "rank", "known"}
    assert result["answers"][0].keys() == expected


def test_tables_have_no_colour_in_a_pipe(run: str) -> None:
    for arguments in (["predict", run, "egypt", "embassy"], ["info", run]):
        done = whereof(*arguments)
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout


def test_demo_trains_asks_explains_and_verifies(tmp_path: Path) -> None:
    done = whereof("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Where do students from india go?" in done.stdout
    assert "Why usa?\nindia students usa\n" in done.stdout
    assert "5 of all facts (633 adjacent)" in done.stdout
    assert "Without these 5 facts the probability really falls from 47.0% to " in " ".join(
        done.stdout.split()
    )
    assert "2 retrainings" in done.stderr
    assert "verify runs/demo india students usa --each" in done.stdout.split("Try next:")[1]
    assert (tmp_path / "runs" / "demo" / "manifest.json").exists()


def test_demo_has_one_document(tmp_path: Path) -> None:
    done = whereof("demo", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found.keys() == {"train", "predict", "explain", "verify"}
    verdict, explained = found["verify"], found["explain"]
    assert verdict["removed"] == [fact["fact_id"] for fact in explained["facts"]]
    assert verdict["control_matches_run"] is True
    assert verdict["actual"]["probability"] < verdict["before"]["probability"]


def test_version_and_help() -> None:
    assert whereof("--version").stdout.startswith("whereof, version ")
    for command in ([], ["train"], ["predict"], ["info"], ["demo"]):
        done = whereof(*command, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: whereof")


def test_help_and_import_leave_the_compiler_out() -> None:
    code = (
        "import sys, whereof, whereof.cli\n"
        "from click.testing import CliRunner\n"
        "assert CliRunner().invoke(whereof.cli.cli, ['--help']).exit_code == 0\n"
        "whereof.train, whereof.Run\n"
        "heavy = {'numba', 'pyarrow', 'pydantic', 'torch', 'pandas'} & sys.modules.keys()\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_second_process_compiles_nothing(run: str, tmp_path: Path) -> None:
    arguments = ["train", "nations", *FAST, "-o"]
    whereof_process(*arguments, str(tmp_path / "one"))
    done = whereof_process(*arguments, str(tmp_path / "two"), NUMBA_DEBUG_CACHE="1")
    assert "compiling" not in done.stderr
    assert "data saved" not in done.stdout + done.stderr


def bad_files(folder: Path) -> dict[str, list[str]]:
    """Arguments of `train` by the words that must be in the message."""
    write = {
        "ragged.tsv": b"a\tr\tb\nc\tr\n",
        "empty.tsv": b"",
        "latin.tsv": "a\tr\tb\né\tr\tc\n".encode("latin-1"),
        "one.tsv": b"a\tr\ta\n",
        "pairs.tsv": b"a\tb\nb\tc\nc\ta\n",
    }
    for name, content in write.items():
        (folder / name).write_bytes(content)
    (folder / "file").write_text("")
    at = {name: str(folder / name) for name in write}
    return {
        "ragged.tsv:2": [at["ragged.tsv"]],
        "empty": [at["empty.tsv"]],
        "UTF-8": [at["latin.tsv"]],
        "too few entities": [at["one.tsv"]],
        "three columns": [at["pairs.tsv"], "--model", "distmult"],
        "more than the 13 other": ["nations", "--negatives", "14"],
        "neither a file": ["no-such-data"],
        "unknown model 'distmul'": ["nations", "--model", "distmul"],
        "'--dim'": ["nations", "--dim", "many"],
        "the rows alone need": ["nations", "--dim", "1000000000000"],
        "dim is 0": ["nations", "--dim", "0"],
        "negatives is 'some'": ["nations", "--negatives", "some"],
        "constraint is 'max:-1'": ["nations", "--constraint", "max:-1"],
        "patience needs": ["nations", "--patience", "3", "--validate-every", "0"],
        "--keep-checkpoints is 9999": ["nations", "--epochs", "1", "--keep-checkpoints", "9999"],
        "credit requires a trace": ["nations", "--no-trace", "--credit", "step"],
        "beta1 requires": ["nations", "--optimizer", "sgd", "--beta1", "0.5"],
        "decay requires": ["nations", "--decay", "0.5"],
        "--trace-precision needs": ["nations", "--no-trace", "--trace-precision", "float16"],
        "leave out DATA, --dim": ["nations", "--resume", "x", "--dim", "3"],
        "DATA is missing": [],
        "no run at": ["--resume", str(folder / "nowhere")],
        "cannot write": ["nations", "-o", str(folder / "file" / "run")],
        "File name too long": ["nations", "-o", "x" * 300],
        "exists": ["nations", "-o", str(folder)],
        "No such option": ["nations", "--frobnicate"],
        "fb15k-237": ["fb15k-237", "--data-dir", str(folder)],
    }


def test_bad_input_is_one_clear_line_and_exit_2(tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    cases = bad_files(folder)
    before = sorted(folder.iterdir())
    for words, arguments in cases.items():
        extra = [] if {"-o", "--resume"} & set(arguments) else ["-o", str(tmp_path / "run")]
        done = whereof("train", *arguments, *extra)
        assert done.returncode == 2, (arguments, done.stderr)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stderr.startswith("whereof: ")
        assert words in done.stderr
    assert sorted(folder.iterdir()) == before
    assert not (tmp_path / "run").exists()


def test_bad_questions_are_one_clear_line(run: str, tmp_path: Path) -> None:
    cases = {
        "did you mean 'egypt'": ["predict", run, "egyp", "embassy"],
        "unknown relation 'embassies'": ["predict", run, "egypt", "embassies"],
        "--inverse": ["predict", run, "_", "embassy", "usa"],
        "--top is 0": ["predict", run, "egypt", "embassy", "--top", "0"],
        "no run at": ["info", str(tmp_path / "nowhere")],
        "--top is '²'": ["predict", run, "egypt", "embassy", "--top", "²"],
        "No such command 'explode'": ["explode"],
        "No such command 'trian'. Did you mean 'train'?": ["trian", "nations"],
        "my.toml": ["train", "nations", "--config", str(tmp_path / "my.toml")],
        "--top": ["predict", run, "egypt", "embassy", "--tpo", "3"],
        "Names that start with - go after --, at the end.": ["predict", run, "-x", "embassy"],
        "To write a file, use --out FILE.csv.": ["evaluate", run, "--csv", "out.csv"],
        "it prints; write --csv > x.csv": ["explain", run, "a", "b", "c", "--csv", "x.csv"],
        "unknown entity '-x'": ["predict", run, "--", "-x", "embassy"],
    }
    for words, arguments in cases.items():
        done = whereof(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert words in done.stderr, done.stderr


@pytest.mark.parametrize("option", ["--history", "-o", "--nothing"])
def test_an_option_of_another_command_is_not_taken_for_a_name(run: str, option: str) -> None:
    done = whereof("verify", run, "egypt", "embassy", option, "file")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No such option" in done.stderr
    assert "Names that start with" not in done.stderr


def test_messages_name_options_and_leave_the_user_s_words() -> None:
    said = "valid_fraction 1.5 and test_fraction leave; 'time_budget', a/batch_size, batch_size.tsv"
    expected = said.replace("valid_f", "--valid-f").replace("test_f", "--test-f")
    assert _with_flags(said) == expected
    assert _with_flags("dim is 0; set validate_every.") == "--dim is 0; set --validate-every."
    assert _with_flags("overwrite it with force=True") == "overwrite it with --force"
    assert _with_flags("adjacent_only is of it") == "--adjacent-only is of it"
    for said in ("say which with {}weight", "name them with {}columns, or say --no-header"):
        assert _with_flags(said.format("")) == said.format("--")


@pytest.mark.parametrize(
    ("typed", "noun", "near"),
    [
        (["train", "nations", "--optimizer", "adagard"], "optimizer", "adagrad"),
        (["train", "nations", "--loss", "sofmax"], "loss", "softmax"),
        (["train", "nations", "--preset", "papr"], "preset", "paper"),
        (["train", "nations", "--negatives-from", "entites"], "--negatives-from", "entities"),
        (["paper", "nation"], "dataset", "nations"),
        (["paper", "--engine", "locl"], "engine", "local"),
    ],
)
def test_a_wrong_name_suggests_the_nearest_one(typed: list[str], noun: str, near: str) -> None:
    done = whereof(*typed)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    said = f"whereof: unknown {noun} {typed[-1]!r}; did you mean {near!r}? choose from "
    assert done.stderr.startswith(said)


def test_names_are_printed_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("[/b]\tis\tFoo [film]\nFoo [film]\tis\t:cat:\n")
    whereof("train", str(tmp_path / "facts.tsv"), "-o", str(tmp_path / "run"), "--dim", "2")
    done = whereof("predict", str(tmp_path / "run"), "[/b]", "is")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("[/b] is ?", "Foo [film]", ":cat:"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train = 5", "unknown option 'train'"),
        ("dim = 2.5", "dim is 2.5; give a whole number"),
        ("epochs = true", "epochs is True"),
        ("frobnicate = 1", "unknown option 'frobnicate'; see whereof train --help"),
        ("epoch = 1\n[train]\ndim = 2", "unknown option 'epoch'; did you mean 'epochs'?"),
        ("[train]\ntop = 5", "unknown option 'top'"),
        ("[trian]\ndim = 5", "unknown table 'trian'; did you mean 'train'?"),
        ("[xyz]\ndim = 5", "unknown table 'xyz'; choose from demo, train, predict"),
        ("not toml", "not TOML"),
    ],
)
def test_a_bad_config_file_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "my.toml").write_text(text)
    done = whereof("train", "nations", "--config", str(tmp_path / "my.toml"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"my.toml: {words}" in done.stderr


@pytest.mark.slow
def test_the_process_that_compiles_gets_the_same_bits_as_those_that_load(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    facts = {(s, r, o) for s, r, o in rng.integers(0, (100, 5, 100), (2000, 3))}
    lines = "".join(f"e{s}\tr{r}\te{o}\n" for s, r, o in sorted(facts))
    (tmp_path / "facts.tsv").write_text(lines)
    outcomes = []
    for name in ("cold", "warm"):
        done = whereof_process(
            *("train", str(tmp_path / "facts.tsv"), "-o", str(tmp_path / name)),
            *("--dim", "20", "--epochs", "2"),
            NUMBA_CACHE_DIR=str(tmp_path / "cache"),
        )
        assert ("compiling" in done.stderr) == (name == "cold"), done.stderr
        outcomes.append(outcome(tmp_path / name))
    assert outcomes[0] == outcomes[1]


def test_two_processes_do_not_train_one_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    long = ["nations", "--epochs", "1000000", "--validate-every", "0", "-o", str(path)]
    first = subprocess.Popen(
        [sys.executable, "-m", "whereof", "train", *long], stderr=subprocess.DEVNULL
    )
    while not (path / ".lock").exists() and first.poll() is None:
        time.sleep(0.01)
    done = whereof("train", "--resume", str(path))
    first.kill()
    first.wait()
    assert done.returncode == 2
    assert "is being trained by another process" in done.stderr


def test_facts_may_come_from_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "whereof", "train", "-", "--format", "csv", "--json"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "run"), "--dim", "2", "--epochs", "1"],
        input="a,r,b\nb,r,c\nc,r,a\n",
        capture_output=True,
        text=True,
        check=True,
    )
    about = json.loads(done.stdout)
    assert (about["dataset"], about["n_facts"], about["n_entities"]) == ("stdin", 3, 3)
