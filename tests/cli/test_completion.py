"""Shell completion."""

from cli.helpers import whereof


def complete(words: str) -> list[str]:
    """What bash suggests for the last word."""
    done = whereof(
        COMP_WORDS=words, COMP_CWORD=str(words.count(" ")), _WHEREOF_COMPLETE="bash_complete"
    )
    return done.stdout.split()


def test_the_shell_completes_datasets_files_models_and_runs() -> None:
    assert complete("whereof train na") == ["plain,nations", "file,na"]
    assert complete("whereof datasets na") == ["plain,nations"]
    assert complete("whereof train nations --model mf") == ["plain,mf", "plain,mf-biased"]
    for command in ("predict", "info"):
        assert complete(f"whereof {command} ru") == ["dir,ru"]
