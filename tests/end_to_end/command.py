"""The command line for tests: in a process of its own, or in this one."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

#: code that runs the command in a new interpreter, with the arguments behind it
MAIN = "import sys; sys.argv[0] = 'marsyard'; from marsyard.cli import main; main()"


def run_here(arguments, cwd):
    """`marsyard` in this process: exit code, output, errors. The heavy imports are paid once."""
    from marsyard.cli import main

    out, err = io.StringIO(), io.StringIO()
    argv, old = sys.argv, Path.cwd()
    os.chdir(cwd)
    sys.argv = ["marsyard", *map(str, arguments)]
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as error:
        code = error.code or 0
    finally:
        sys.argv = argv
        os.chdir(old)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
