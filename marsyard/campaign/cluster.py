"""Members on a Dask cluster: any that `dask.distributed` can start, by the scheduler's address.

The cluster is started as Dask's documentation says (`dask scheduler`, `dask worker`, dask-jobqueue,
dask-kubernetes, dask-ssh); here a client only submits members and hears of them. The plan is a task
of its own, on which members depend: a worker that comes later gets it from another one, and if all
that had it died, Dask makes it again. Members have keys (group, number), so that Dask sees a group
that needs little and hands each to a worker that is free, not to the one that holds the plan.
Members of a lost worker are run again by others; one that loses several workers counts as failed.
"""

from __future__ import annotations

import contextlib
import os
import queue
import time
from collections.abc import Callable, Mapping
from typing import Any

from marsyard import executors
from marsyard.campaign.member import Plan, digest, failed
from marsyard.errors import InputError
from marsyard.executors import Executor
from marsyard.study.task import Outcome

#: seconds to reach a scheduler
PATIENCE = 10.0
#: active members for each thread of the cluster: one that runs, two that wait for it
AHEAD = 3
#: members' names on the cluster: a study's, and a number
Key = tuple[str, int]


def make_executor(
    plan: Plan,
    jobs: int,
    scheduler: str = "",
    most: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> Executor:
    """The executor for `most` members: a cluster where a scheduler is named, else processes."""
    if scheduler:
        return Cluster(plan, scheduler)
    return executors.make_executor(plan, jobs, most, stop)


class Cluster:
    """A Dask cluster, by the address of its scheduler or the file it wrote (*.json)."""

    def __init__(self, plan: Plan, address: str) -> None:
        self._plan, self._address = plan, address
        self._client = _connect(address)
        self._check_workers()
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._keys: dict[Key, int] = {}
        self._futures: dict[Key, Any] = {}
        self._study = digest([plan.name, os.getpid(), time.time_ns()])
        self._shared = self._client.submit(_hand_over, plan, key=f"marsyard_plan-{self._study}")
        self._slots = (0.0, 1)
        self._count = 0
        self.progress: Callable[[], Any] = lambda: None

    @property
    def slots(self) -> int:
        """What keeps all threads of the cluster busy, asked for anew every other second."""
        asked, slots = self._slots
        if time.monotonic() - asked > 2.0:
            slots = AHEAD * max(1, sum(self._workers().values()))
            self._slots = (time.monotonic(), slots)
        return slots

    @property
    def words(self) -> str:
        threads = self._workers()
        many = f"{len(threads)} worker{'s' if len(threads) != 1 else ''}"
        return f"{many} with {sum(threads.values())} threads of {self._address}"

    def simulated(self) -> float:
        """Members on a cluster do not say how far they are."""
        return 0.0

    def _workers(self) -> dict[str, int]:
        with contextlib.suppress(Exception):  # a scheduler that is gone is told by ready()
            return dict(self._client.nthreads())
        return {}

    def _check_workers(self) -> None:
        """Refuse a cluster whose workers cannot run members."""
        try:
            self._client.run(_hand_over, None, on_error="raise")
        except ModuleNotFoundError as error:
            raise InputError(
                f"--scheduler: workers of '{self._address}' lack the package '{error.name}'; "
                "install marsyard where they run"
            ) from None
        except OSError as error:
            raise InputError(f"--scheduler: a worker does not answer ({error})") from None

    def submit(self, key: int, settings: Mapping[str, Any]) -> None:
        self._count += 1
        name = (f"marsyard_member-{self._study}", self._count)
        future = self._client.submit(_evaluate, self._shared, dict(settings), key=name)
        self._keys[name], self._futures[name] = key, future
        future.add_done_callback(self._done.put)

    def ready(self, timeout: float) -> list[tuple[int, Outcome]]:
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._done.get(timeout=timeout))
            while True:
                found.append(self._done.get_nowait())
        if not found and self._client.status != "running":
            raise self._gone()
        return [(self._keys.pop(f.key), self._outcome(f)) for f in found if f.key in self._keys]

    def _outcome(self, future: Any) -> Outcome:
        from distributed import KilledWorker

        self._futures.pop(future.key, None)
        if future.status == "finished":
            return future.result()
        if future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker):
                return failed(self._plan, "its Dask workers were lost several times")
            return failed(self._plan, f"failed with {type(error).__name__}: {error}")
        raise self._gone()

    def _gone(self) -> InputError:
        return InputError(
            f"--scheduler: the scheduler at '{self._address}' is gone; finished runs are kept, "
            f"continue with --resume"
        )

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel([*self._futures.values(), self._shared], force=True)
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--scheduler: needs the package distributed; pip install 'marsyard[campaign]'"
        ) from None
    how = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    if "scheduler_file" in how and not os.path.exists(address):
        raise InputError(f"--scheduler: no such file '{address}'")
    try:
        return Client(**how, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = "" if isinstance(error, OSError) else f" ({error})"
        raise InputError(
            f"--scheduler: no Dask scheduler answers at '{address}'{why}; start one with `dask "
            "scheduler` and give the address that it prints, e.g. tcp://127.0.0.1:8786"
        ) from None


# --- what workers do


def _hand_over(plan: Plan | None) -> Plan | None:
    return plan


def _evaluate(plan: Plan, settings: Mapping[str, Any]) -> Outcome:
    return plan.evaluate(settings)
