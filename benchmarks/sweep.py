"""Campaigns: what a second core brings, and what a study costs beside its runs.

Two processes against one: members of about 0.1 s, workers warm, the two in turn and the median of
the ratios, so that a machine that slows down under both does not count. Overhead: the processor
time of a study of many short runs, journal and progress included, less that of its
runs themselves. Dask: two workers of a cluster on this machine against one of it.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marsyard.campaign import prepared
from marsyard.campaign.journal import Journal
from marsyard.campaign.member import Plan
from marsyard.campaign.prepared import Prepared
from marsyard.campaign.running import counted, members_left
from marsyard.executors import Executor, Here, Processes, run_members

RATIO_BAR, OVERHEAD_BAR, DASK_BAR = 1.9, 1.0, 1.7
SHORT = 300
#: gain of plain loops below which a machine is too busy to judge by
PLAIN = 1.95
_COUNT = """
import sys, time
end, n = time.perf_counter() + float(sys.argv[1]), 0
while time.perf_counter() < end:
    n += 1
print(n)
"""


def run() -> list[dict[str, Any]]:
    """Ratios of rates, and overhead per run."""
    plain = _plain_ratio()
    rows = [_two_processes(plain), _overhead()]
    try:
        import distributed  # noqa: F401
    except ImportError:
        return rows
    return [*rows, _dask(plain)]


def _study(duration: float, n: int) -> Prepared:
    """A rover that lands, from other heights and with other speeds."""
    return prepared(
        {
            "scenario": "rt0448/test-1",
            "set": {"run.duration": duration},
            "design": {"kind": "monte_carlo", "n": n},
            "vary": {"robot.velocity.0": "uniform(0, 0.1)", "gravity": "uniform(3, 4)"},
            "outputs": [{"name": "way", "of": "position_base.x", "take": "range"}],
        }
    )


def _rate(executor: Executor, ready: Prepared, count: int) -> float:
    """Runs a second."""
    began = time.perf_counter()
    run_members(executor, ((k, ready.settings(k)) for k in range(count)), lambda done: None)
    return count / (time.perf_counter() - began)


def _two_processes(plain: float, count: int = 30, rounds: int = 5) -> dict[str, Any]:
    ready = _study(2.0, count)
    one, two = Processes(ready.plan, 1), Processes(ready.plan, 2)
    try:
        for executor in (one, two):
            _rate(executor, ready, 6)  # kernels are loaded
        pairs = [(_rate(one, ready, count), _rate(two, ready, count)) for _ in range(rounds)]
    finally:
        one.close()
        two.close()
    ratio = statistics.median(b / a for a, b in pairs)
    return {
        "name": "two processes against one", "value": ratio, "unit": "×",
        "bar": f"≥ {RATIO_BAR:g}", "ok": ratio >= RATIO_BAR if plain >= PLAIN else None,
        "note": f"{statistics.median(b for _, b in pairs):.1f} runs/s on two; plain loops gain "
        f"{plain:.2f} × on this machine now" + ("" if plain >= PLAIN else ": too busy to judge"),
    }  # fmt: skip


def _plain_ratio(length: float = 2.0, rounds: int = 3) -> float:
    """What a second process gains in counting, which needs nothing but a core."""

    def counted(processes: int) -> int:
        started = [
            subprocess.Popen([sys.executable, "-c", _COUNT, str(length)], stdout=subprocess.PIPE)
            for _ in range(processes)
        ]
        return sum(int(p.communicate()[0]) for p in started)

    return statistics.median(counted(2) / counted(1) for _ in range(rounds))


class _Timed:
    """A plan that counts the processor time of its runs [s]."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self.spent = plan, 0.0

    def evaluate(self, settings: Any, tell: Any = None) -> Any:
        began = time.process_time()
        outcome = self._plan.evaluate(settings, tell)
        self.spent += time.process_time() - began
        return outcome


def _overhead() -> dict[str, Any]:
    """Processor time of a study beside its runs, per run."""
    ready = _study(0.01, SHORT)
    for k in range(20):
        ready.plan.evaluate(ready.settings(k))
    plan = _Timed(ready.plan)
    heard: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.create(Path(folder) / "log", {})
        count = counted(ready, {}, lambda watch: heard.append(watch.done), journal)
        began = time.process_time()
        count.run(Here(plan), members_left(ready, {}), lambda: False)  # type: ignore[arg-type]
        study = time.process_time() - began
        journal.close()
    value = 1e3 * (study - plan.spent) / SHORT
    return {
        "name": "overhead of a study per run", "value": value, "unit": "ms",
        "bar": f"≤ {OVERHEAD_BAR:g}", "ok": value <= OVERHEAD_BAR,
        "note": f"beside {1e3 * plan.spent / SHORT:.1f} ms that a run of 20 steps takes by itself, "
        "most of it to build the model; each is on the disk when the next begins",
    }  # fmt: skip


def _dask(plain: float, count: int = 60, rounds: int = 5) -> dict[str, Any]:
    ready = _study(2.0, count)
    with _cluster(ready.plan, 1) as one, _cluster(ready.plan, 2) as two:
        for executor in (one, two):
            _rate(executor, ready, 12)  # kernels are loaded
        pairs = [(_rate(one, ready, count), _rate(two, ready, count)) for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in pairs)
    return {
        "name": "two Dask workers against one", "value": ratio, "unit": "×",
        "bar": f"≥ {DASK_BAR:g}", "ok": ratio >= DASK_BAR if plain >= PLAIN else None,
        "note": f"{statistics.median(b for _, b in pairs):.1f} runs/s on two workers of a cluster "
        "on this machine; scheduler and client take their share of the two cores",
    }  # fmt: skip


@contextlib.contextmanager
def _cluster(plan: Plan, workers: int) -> Iterator[Executor]:
    """A Dask cluster on this machine, of processes with one thread each."""
    from distributed import LocalCluster

    from marsyard.campaign.cluster import Cluster

    how = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **how) as local:
        executor = Cluster(plan, local.scheduler_address)
        try:
            yield executor
        finally:
            executor.close()
