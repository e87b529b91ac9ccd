"""`whereof serve`."""

import os
import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import click

from whereof.cli import _options
from whereof.errors import WhereofError, need


@click.command("serve")
@click.argument("runs", metavar="RUN...", type=_options.RUN, nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    default=8000,
    show_default=True,
    help="Port to listen on; if it is taken, the next free one. 0: any free port.",
)
@click.option(
    "--token",
    metavar="TEXT",
    envvar="WHEREOF_TOKEN",
    help="Secret that every reader needs; or set WHEREOF_TOKEN.",
)
@_options.flag("--insecure", help="Let other machines in without a token.")
@click.option("--open/--no-open", "opens", default=True, help="Open the page in a browser.")
def command(
    runs: tuple[Path, ...], host: str, port: int, token: str | None, insecure: bool, opens: bool
) -> None:
    """Explain predictions in the browser: ask, see why, remove facts, and check.

    RUN is the folder of a run, or a folder of runs. Only this machine can open the page. To let
    others in, pass --host and --token, and send them the address with the token.
    """
    for package in ("fastapi", "uvicorn"):
        need(package, "web", "whereof serve")
    from whereof.cli.progress import TerminalEvents
    from whereof.server.app import create_app
    from whereof.server.runs import open_runs
    from whereof.server.security import is_loopback
    from whereof.server.serve import listen, serve

    if token is not None and not token.strip():
        raise WhereofError("--token is empty; give a secret, or leave it out")
    if insecure and token is not None:
        raise WhereofError("--insecure and --token exclude each other; choose one of them")
    if not is_loopback(host) and token is None and not insecure:
        raise WhereofError(
            f"--host {host} lets other machines in; protect the page with --token SECRET, or use "
            "--insecure if everybody who reaches this machine may use it"
        )
    opened = open_runs(runs)
    with TerminalEvents():  # it says when kernels are compiled
        for run in opened.values():
            run.warm_up()
    listening = listen(host, port)
    number = listening.getsockname()[1]
    if port not in (0, number):
        click.echo(f"port {port} is taken; using {number}", err=True)
    address = f"http://{_name_of(host, is_loopback(host))}:{number}/"
    address += f"?{urlencode({'token': token})}" if token is not None else ""
    with suppress(KeyboardInterrupt):  # the usual way to stop it
        click.echo(f"{address}\nPress Ctrl-C to stop.")
        if opens and _has_display():
            webbrowser.open(address)
        # On this machine alone, names of other hosts are always refused: nobody needs them.
        serve(create_app(opened, token, insecure=insecure and not is_loopback(host)), listening)


def _name_of(host: str, local: bool) -> str:
    """The name of this machine in addresses."""
    if local:
        return "localhost"
    if host in ("0.0.0.0", "::", ""):  # every address of this machine
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _has_display() -> bool:
    """Whether a browser can be shown to the person who typed the command."""
    if os.environ.get("SSH_CONNECTION"):
        return False
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or bool(shown)
