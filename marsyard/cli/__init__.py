"""The command line. One file per command; nothing heavy is imported until a command needs it."""

from __future__ import annotations

import atexit
import errno
import gc
import sys
import warnings
from typing import Any

import typer

from marsyard.cli._compiling import watch_compiling
from marsyard.cli._help import DESCRIPTION, Commands
from marsyard.cli.analyze import analyze
from marsyard.cli.bench import bench
from marsyard.cli.compare import compare
from marsyard.cli.edit import edit
from marsyard.cli.export import export
from marsyard.cli.ground import ground
from marsyard.cli.identify import identify
from marsyard.cli.import_robot import import_robot
from marsyard.cli.list import list_
from marsyard.cli.movie import movie
from marsyard.cli.optimize import optimize
from marsyard.cli.report import report
from marsyard.cli.run import run
from marsyard.cli.show import show
from marsyard.cli.sweep import sweep
from marsyard.cli.teleop import teleop
from marsyard.cli.validate import validate
from marsyard.cli.view import view
from marsyard.errors import InputError
from marsyard.run_folder import is_full

app = typer.Typer(
    name="marsyard",
    cls=Commands,
    help=DESCRIPTION,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("list")(list_)
app.command("show")(show)
app.command("ground")(ground)
app.command("edit")(edit)
app.command("import")(import_robot)
app.command("run")(run)
app.command("report")(report)
app.command("view")(view)
app.command("movie")(movie)
app.command("export")(export)
app.command("compare")(compare)
app.command("sweep")(sweep)
app.command("optimize")(optimize)
app.command("validate")(validate)
app.command("teleop")(teleop)
app.add_typer(analyze, name="analyze")
app.command("identify")(identify)
app.command("bench")(bench)


@app.callback(invoke_without_command=True)
def _first(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from marsyard import __version__

        typer.echo(f"marsyard {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        return
    context.call_on_close(watch_compiling())


def main() -> None:
    """Entry point: input errors end with one sentence and exit code 2."""
    warnings.formatwarning = _warning
    # starting makes half a million objects that live to the end: look through them once, when they
    # are there, and not once more when all goes away with the process
    gc.set_threshold(600_000, 20, 20)
    gc.callbacks.append(_collect_as_usual)
    atexit.register(gc.freeze)
    try:
        app()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        text = _about_disk(error)
        if not text:
            raise
        print(f"error: {text}", file=sys.stderr)
        sys.exit(2)


def _collect_as_usual(*_: Any) -> None:
    """After the first garbage collection, look more often."""
    gc.set_threshold(50_000, 20, 20)
    gc.callbacks.remove(_collect_as_usual)


def _about_disk(error: OSError) -> str:
    """What a full or closed disk says to the user; empty for other errors."""
    if is_full(error):
        where = f" for '{error.filename}'" if error.filename else ""
        return f"no space is left on the disk{where}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) and error.filename:
        return f"'{error.filename}' cannot be read or written ({error.strerror})"
    return ""


def _warning(message: Warning | str, *_: Any, **__: Any) -> str:
    """A warning as a line, without the place in the code."""
    return f"warning: {message}\n"
