"""The command line for tests: in a process of its own, or in this one."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

#: a wide terminal without colours
PLAIN = {"COLUMNS": "200", "NO_COLOR": "1"}
#: a report with one figure, for runs whose report is not looked at: drawing takes a second
ONE_FIGURE = "report.figures=[{title: Height, panels: [[position_base.z]]}]"
#: code that runs the command in a new interpreter, with the arguments behind it
MAIN = "import sys; sys.argv[0] = 'marsyard'; from marsyard.cli import main; main()"


def run_aside(arguments, cwd, timeout=240):
    """`marsyard` in a process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, arguments)],
        cwd=cwd, env=os.environ | PLAIN, capture_output=True, text=True, timeout=timeout,
        check=False,
    )  # fmt: skip


def run_here(arguments, cwd):
    """`marsyard` in this process: exit code, output, errors. The heavy imports are paid once."""
    from marsyard.cli import main

    out, err = io.StringIO(), io.StringIO()
    argv, old = sys.argv, Path.cwd()
    os.chdir(cwd)
    sys.argv = ["marsyard", *map(str, arguments)]
    code = 0
    try:
        with (
            mock.patch.dict(os.environ, PLAIN | os.environ),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as error:
        code = error.code or 0
    finally:
        sys.argv = argv
        os.chdir(old)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
