"""How long it takes to start, beside importing numba, mujoco and numpy alone.

Each side runs in fresh processes, alternately, with all kernels in the cache, best of several. What
is not cached is compiled first, in a run that does not count.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROUNDS = 7
BARE = ("-c", "import numba, mujoco, numpy")
ENGINE = ("-c", "from marsyard.simulation import Simulation")
RUN = ("-m", "marsyard", "run", "rt0448/test-1", "--out")
#: the last line that `marsyard run` prints before it draws figures
CHECKED = "times real time"


def timed(arguments: Sequence[str], mark: str = "") -> tuple[float, float]:
    """Seconds until Python prints a line with `mark`, and until it ends."""
    began = time.perf_counter()
    marked = float("nan")
    command = [sys.executable, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if mark and mark in line:
                marked = time.perf_counter() - began
    if process.returncode != 0:
        raise RuntimeError(f"'{' '.join(command)}' ended with {process.returncode}")
    return marked, time.perf_counter() - began


def run() -> list[dict[str, Any]]:
    """Ratios of starting and of a short run to the bare imports."""
    seconds: dict[str, list[float]] = {"bare": [], "engine": [], "checks": [], "report": []}
    with tempfile.TemporaryDirectory() as folder:
        whole = (*RUN, str(Path(folder) / "run"))
        timed(whole)
        for _ in range(ROUNDS):
            seconds["bare"].append(timed(BARE)[1])
            seconds["engine"].append(timed(ENGINE)[1])
            checks, report = timed(whole, CHECKED)
            seconds["checks"].append(checks)
            seconds["report"].append(report)
    best = {name: min(values) for name, values in seconds.items()}
    bare = f"{best['bare']:.2f} s for the bare imports"
    rows = (
        ("import of Simulation", "engine", 3.0, bare),
        ("warm run to its table of checks", "checks", 5.0, "rt0448/test-1"),
        ("warm run with figures and report", "report", 9.0, "rt0448/test-1"),
    )
    return [
        {"name": f"{name} / bare imports", "value": best[key] / best["bare"], "unit": "×",
         "bar": f"≤ {bar:g}", "ok": best[key] <= bar * best["bare"],
         "note": f"{best[key]:.2f} s; {note}"}
        for name, key, bar, note in rows
    ]  # fmt: skip
