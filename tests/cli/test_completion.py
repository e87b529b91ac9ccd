"""What the shell offers."""

from cli.helpers import whence


def complete(words: str) -> list[str]:
    """What bash would offer for the last word."""
    done = whence(
        COMP_WORDS=words, COMP_CWORD=str(words.count(" ")), _WHENCE_COMPLETE="bash_complete"
    )
    return done.stdout.split()


def test_the_shell_completes_datasets_files_models_and_runs() -> None:
    assert complete("whence train na") == ["plain,nations", "file,na"]
    assert complete("whence datasets na") == ["plain,nations"]
    assert complete("whence train nations --model mf") == ["plain,mf", "plain,mf-biased"]
    for command in ("predict", "info"):
        assert complete(f"whence {command} ru") == ["dir,ru"]
