"""How fast the friction-contact solver is, beside Siconos on the same problems in the same run.

Each reference problem is solved from a cold start to the same tolerance 1e-8 by our kernel and by
two solvers of Siconos (NSGS, nonsmooth Gauss–Seidel; NSN-AC, nonsmooth Newton on Alart–Curnier);
only the solver call is timed, best of many. The value is the time of the faster Siconos solver that
succeeded over ours: at least 1 is the bar. Our tolerance is the stricter one: over ‖q‖, where
Siconos divides by the largest of ‖q‖, ‖r‖ and ‖u‖.

Siconos is Debian's and is called through the system's Python; without it those entries say so.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from marsyard.interaction.nonsmooth import AUTO, solve_kernel, work_size
from marsyard.interaction.nonsmooth.problems import ContactProblem, generate, standing_rover

FOLDER = Path(__file__).parents[1].parent / "shared" / "reference" / "friction-contact"
TOLERANCE = 1e-8
REPEATS = 2000
SECONDS = 0.2
ROUNDS = 3
SYSTEM_PYTHON = "/usr/bin/python3"

# runs under the system's Python: file names in, one JSON object out
SICONOS_PROGRAM = """
import json, sys, time
import numpy as np
import siconos.numerics as sn
out = {}
for name in sys.argv[3:]:
    data = np.load(name)
    W, q, mu = np.asfortranarray(data["W"]), data["q"], data["mu"]
    problem = sn.FrictionContactProblem(3, W, q, mu)
    best = {}
    for label, solver in (("NSGS", sn.SICONOS_FRICTION_3D_NSGS),
                          ("NSN-AC", sn.SICONOS_FRICTION_3D_NSN_AC)):
        options = sn.SolverOptions(solver)
        options.dparam[0] = float(sys.argv[1])
        options.iparam[0] = 100000
        began = time.perf_counter()
        for _ in range(int(sys.argv[2])):
            r, u = np.zeros(q.size), np.zeros(q.size)
            start = time.perf_counter()
            info = sn.fc3d_driver(problem, r, u, options)
            spent = time.perf_counter() - start
            if info == 0:
                best[label] = min(best.get(label, 1e9), spent)
            if time.perf_counter() - began > 0.2:
                break
    out[name] = best
print("JSON" + json.dumps(out))
"""


def _problems() -> list[ContactProblem]:
    """The reference problems, or generated ones where the folder is absent."""
    files = sorted(FOLDER.glob("*.npz"))
    if files:
        data = [(f.stem, np.load(f)) for f in files]
        return [ContactProblem(name, d["W"], d["q"], d["mu"]) for name, d in data]
    families = ("pushed_box", "pile", "standing_rover", "wall")
    return [p for family in families for p in generate(family, (6, 20, 50), (0.4,), 1)]


def _our_seconds(problem: ContactProblem) -> tuple[float, float]:
    """Best time of the kernel from a cold start [s], and the residual."""
    n = problem.contacts
    W = np.ascontiguousarray(problem.W)
    r, u, work = np.zeros(3 * n), np.zeros(3 * n), np.empty(work_size(n))
    solve_kernel(n, W, problem.q, problem.mu, r, u, work, TOLERANCE, 20_000, AUTO)
    best, residual = np.inf, np.inf
    began = time.perf_counter()
    for _ in range(REPEATS):
        r[:] = 0.0
        start = time.perf_counter()
        _, _, residual, _ = solve_kernel(
            n, W, problem.q, problem.mu, r, u, work, TOLERANCE, 20_000, AUTO
        )
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - began > SECONDS:
            break
    return best, residual


def _siconos_seconds(problems: list[ContactProblem]) -> list[dict[str, float]] | None:
    """Best time of each Siconos solver on each problem [s]; None without Siconos."""
    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder) / f"{k}.npz") for k in range(len(problems))]
        for name, p in zip(names, problems, strict=True):
            np.savez(name, W=p.W, q=p.q, mu=p.mu)
        command = [SYSTEM_PYTHON, "-c", SICONOS_PROGRAM, str(TOLERANCE), str(REPEATS), *names]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired):
            return None
    lines = [line for line in run.stdout.splitlines() if line.startswith("JSON")]
    if not lines:
        return None
    answer = json.loads(lines[-1][4:])
    return [answer[name] for name in names]


def _standing_rover_seconds() -> tuple[float, str]:
    """Time of one warm-started solve of a rover standing on six wheels [s]."""
    from numba import njit

    @njit
    def many(count, n, W, q, mu, r, u, work):
        status = 0
        for k in range(count):
            # the load varies from step to step
            factor = 1.0 + 1e-3 * (k % 2)
            for i in range(3 * n):
                q[3 * n + i] = factor * q[i]
            status += solve_kernel(n, W, q[3 * n :], mu, r, u, work, 1e-10, 1000, AUTO)[0]
        return status

    problem = standing_rover(np.random.default_rng(0), 6, 0.7)
    r, u, work = np.zeros(18), np.zeros(18), np.empty(work_size(6))
    q = np.concatenate([problem.q, problem.q])
    failures = many(2, 6, problem.W, q, problem.mu, r, u, work)
    best = np.inf
    for _ in range(20):
        start = time.perf_counter()
        failures += many(500, 6, problem.W, q, problem.mu, r, u, work)
        best = min(best, (time.perf_counter() - start) / 500)
    rank = np.linalg.matrix_rank(problem.W, tol=1e-9)
    return best, f"18 x 18 of rank {rank}, all sticking, {failures} failures"


def run() -> list[dict]:
    """Entries {name, value, unit, bar, ok, note}; ratios are measured in this run."""
    entries = []
    seconds, note = _standing_rover_seconds()
    entries.append(
        {
            "name": "standing rover, warm start",
            "value": 1e6 * seconds,
            "unit": "µs",
            "bar": "≤ 5",
            "ok": 1e6 * seconds <= 5.0,
            "note": note,
        }
    )
    problems = _problems()
    # turn and turn about, so that a busy moment of the machine does not decide
    ours = [_our_seconds(p) for p in problems]
    theirs = _siconos_seconds(problems)
    for _ in range(ROUNDS - 1):
        ours = [min(a, _our_seconds(p)) for a, p in zip(ours, problems, strict=True)]
        again = _siconos_seconds(problems)
        if theirs is not None and again is not None:
            for a, b in zip(theirs, again, strict=True):
                a.update({k: min(v, a.get(k, v)) for k, v in b.items()})
    for k, (problem, (spent, residual)) in enumerate(zip(problems, ours, strict=True)):
        name = f"{problem.name}: speed against Siconos"
        if theirs is None:
            ratio, note = None, f"siconos not installed; ours {1e6 * spent:.1f} µs"
        elif not theirs[k]:
            ratio, note = None, f"ours {1e6 * spent:.1f} µs; Siconos fails"
        else:
            fastest = min(theirs[k], key=theirs[k].get)
            ratio = theirs[k][fastest] / spent
            note = f"ours {1e6 * spent:.1f} µs, {fastest} {1e6 * theirs[k][fastest]:.1f} µs"
        good = bool(ratio >= 1.0) if ratio is not None else None
        good = good if residual <= TOLERANCE else False
        note += f", residual {residual:.1e}, {problem.contacts} contacts"
        entries.append(
            {"name": name, "value": ratio, "unit": "×", "bar": "≥ 1", "ok": good, "note": note}
        )
    return entries
