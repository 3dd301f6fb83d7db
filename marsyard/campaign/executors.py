"""Where members run: in this process, in processes of this machine, or on a Dask cluster.

All executors have one narrow face, and give the same outcomes bit for bit, since a member's outcome
follows from its settings alone:

    executor.slots                  how many members are worth having under way
    executor.submit(key, settings)  begin one, under a number of the caller's
    executor.ready(timeout)         finished ones, (key, outcome), after at most timeout [s]
    executor.close()                end at once; what is active is lost

A process that dies under a member (memory, a crash) is replaced, and the member begun again; if
that dies too, that is its outcome. A Dask cluster does the same with its workers (`cluster`).

Where a plan has a limit of time, members end by themselves when they have taken longer. One that
does not, because it hangs, is ended with its process `GRACE` seconds later; therefore a limit
makes a process even of a single job. A worker of a Dask cluster is not ended.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from marsyard.campaign.member import Plan, failed, too_long
from marsyard.errors import InputError
from marsyard.study.workers import Outcome, Stopped, block_sigint

Settings = Mapping[str, Any]
Finished = tuple[int, Outcome]
#: seconds beyond its limit of time, and to build its model, after which a member hangs
GRACE = 30.0
#: how often a member may lose its process before it counts as failed
TRIES = 2


class Executor(Protocol):
    """Runs members."""

    @property
    def slots(self) -> int: ...

    @property
    def words(self) -> str:
        """'2 processes'."""
        ...

    def submit(self, key: int, settings: Settings) -> None: ...

    def ready(self, timeout: float) -> list[Finished]: ...

    def close(self) -> None: ...


def make_executor(
    plan: Plan,
    jobs: int,
    scheduler: str = "",
    most: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> Executor:
    """The executor for `most` members: a cluster where a scheduler is named, else processes; in
    this process a single one, whose member ends early once `stop` gives true."""
    if scheduler:
        from marsyard.campaign.cluster import Cluster

        return Cluster(plan, scheduler)
    jobs = min(jobs, most)
    alone = jobs <= 1 and plan.time_limit is None
    return Here(plan, stop) if alone else Processes(plan, jobs)


def run_members(
    executor: Executor,
    members: Iterable[tuple[int, Settings]],
    done: Callable[[list[Finished]], Any],
    stop: Callable[[], bool] = lambda: False,
    idle: Callable[[], Any] = lambda: None,
) -> bool:
    """Run members, telling `done` of each; false if `stop` ended it before all were. `idle` is
    called a few times a second while nothing finishes.

    New members are begun before `done` is told of finished ones, so that nobody waits while they
    are written to the disk.
    """
    left = iter(members)
    under_way, more = 0, True
    finished: list[Finished] = []
    while True:
        while more and under_way < executor.slots and not stop():
            member = next(left, None)
            more = member is not None
            if member is not None:
                executor.submit(*member)
                under_way += 1
        if finished:
            done(finished)
        if stop():
            return False
        if not under_way:
            return True
        finished = executor.ready(0.2)
        under_way -= len(finished)
        if not finished:
            idle()


class Here:
    """One member after the other, in this process."""

    slots = 1
    words = "1 process"

    def __init__(self, plan: Plan, stop: Callable[[], bool] = lambda: False) -> None:
        self._plan, self._stop = plan, stop
        self._queue: deque[tuple[int, Settings]] = deque()

    def submit(self, key: int, settings: Settings) -> None:
        self._queue.append((key, settings))

    def ready(self, timeout: float) -> list[Finished]:
        if not self._queue:
            return []
        key, settings = self._queue.popleft()
        try:
            return [(key, self._plan.evaluate(settings, self._tell))]
        except Stopped:
            return []

    def _tell(self, time: float) -> None:
        if self._stop():
            raise Stopped

    def close(self) -> None:
        self._queue.clear()


class Processes:
    """Processes of this machine, each with a member at a time; they live as long as the study."""

    def __init__(self, plan: Plan, jobs: int) -> None:
        self._plan = plan
        self._queue: deque[tuple[int, Settings, int]] = deque()
        self._lost: list[Finished] = []
        self._crew = [_Worker(plan) for _ in range(jobs)]

    @property
    def slots(self) -> int:
        return len(self._crew)

    @property
    def words(self) -> str:
        return f"{len(self._crew)} process{'es' if len(self._crew) != 1 else ''}"

    def submit(self, key: int, settings: Settings) -> None:
        self._queue.append((key, settings, 1))
        self._hand_out()

    def _hand_out(self) -> None:
        for worker in self._crew:
            if not self._queue:
                return
            if worker.task is None and worker.up:
                worker.begin(self._queue.popleft())

    def ready(self, timeout: float) -> list[Finished]:
        pipes = {worker.pipe: worker for worker in self._crew if worker.task or not worker.up}
        finished, self._lost = self._lost, []
        for pipe in wait(list(pipes), 0.0 if finished else timeout):
            worker = pipes[pipe]  # type: ignore[index]
            try:
                answer = worker.pipe.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if answer is not None:
                finished.append(answer)
                worker.task = None
            worker.up = True
        self._end_hanging()
        self._hand_out()
        return finished

    def _end_hanging(self) -> None:
        """End processes whose member gives no word any more, long after its limit of time."""
        limit = self._plan.time_limit
        if limit is None:
            return
        for k, worker in enumerate(self._crew):
            if worker.task is None or time.monotonic() - worker.began < limit + GRACE:
                continue
            worker.process.kill()
            worker.end()
            self._crew[k] = _Worker(self._plan)
            self._lost.append((worker.task[0], failed(self._plan, too_long(limit))))

    def _replace(self, worker: _Worker) -> None:
        """Put another process in the place of one that died; its member is begun once more."""
        why, task = worker.end(), worker.task
        if not worker.up:
            raise InputError(
                f"jobs: a worker process could not start ({why}); in a script call marsyard.sweep "
                "under if __name__ == '__main__'"
            )
        self._crew[self._crew.index(worker)] = _Worker(self._plan)
        if task is None:
            return
        key, settings, tries = task
        if tries < TRIES:
            self._queue.appendleft((key, settings, tries + 1))
        else:
            reason = f"lost its process {TRIES} times ({why})"
            self._lost.append((key, failed(self._plan, reason)))

    def close(self) -> None:
        for worker in self._crew:
            worker.process.terminate()
        for worker in self._crew:
            worker.end()


class _Worker:
    """A process and the pipe to it; `task` is what it works on, `up` that it has begun."""

    def __init__(self, plan: Plan) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.task: tuple[int, Settings, int] | None = None
        self.up = False
        self.began = 0.0
        self.process = context.Process(target=_serve, args=(other, plan), daemon=True)
        with block_sigint(True), _single_threaded():
            self.process.start()
        other.close()

    def begin(self, task: tuple[int, Settings, int]) -> None:
        self.task, self.began = task, time.monotonic()
        # a process that died meanwhile is found when it is listened to
        with contextlib.suppress(OSError):
            self.pipe.send(task[:2])

    def end(self) -> str:
        """Let it go; how it ended, in words."""
        self.pipe.close()
        self.process.join(2.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        code = self.process.exitcode or 0
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        return f"ended with code {code}"


@contextlib.contextmanager
def _single_threaded() -> Any:
    """Processes that begin meanwhile use one thread each for linear algebra."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: "1" for name in names if before[name] is None})
    try:
        yield
    finally:
        for name in names:
            if before[name] is None:
                os.environ.pop(name, None)


def _serve(pipe: Connection, plan: Plan) -> None:
    """The life of a worker process: members until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            key, settings = pipe.recv()
            pipe.send((key, plan.evaluate(settings)))


def _end_with_parent() -> None:
    """End this process when the one that began it is gone, killed perhaps: nobody asks any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
