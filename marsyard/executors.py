"""Where many runs go: one after the other in this process, or in processes of this machine.

All executors have one narrow face, and give the same outcomes bit for bit, since an outcome follows
from its task alone:

    executor.slots                  how many tasks are worth having under way
    executor.submit(key, task)      begin one, under a number of the caller's
    executor.ready(timeout)         finished ones, (key, outcome), after at most timeout [s]
    executor.simulated()            simulated time of those under way [s]
    executor.close()                end at once; what is under way is lost

What is done with a task is a `Work`, which travels once to each process. A process that dies under
a task (memory, a crash) is replaced, and the task begun again; if that dies too, the work says
what its outcome is. A Dask cluster has the same face and does the same (`campaign.cluster`).

Where a work has a limit of time, its tasks end by themselves when they have taken longer. One that
does not, because it hangs, is ended with its process `GRACE` seconds later; therefore a limit
makes a process even of a single job. A worker of a Dask cluster is not ended.

Ctrl-c is for the first process alone: others do not hear it, and end with the executor.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from marsyard.errors import InputError

Finished = tuple[int, Any]
#: seconds beyond its limit of time, and to build its model, after which a task hangs
GRACE = 30.0
#: how often a task may lose its process before it counts as failed
TRIES = 2
#: how the reason of a run begins that was ended because it took too long
TOO_LONG = "took longer than the time limit"


class Stopped(Exception):
    """A run was ended on the way, because nobody waits for it any more."""


class Work(Protocol):
    """What is done with tasks, in any process."""

    @property
    def time_limit(self) -> float | None:
        """How long a task may take on the clock [s]."""
        ...

    def evaluate(self, task: Any, tell: Callable[[float], Any]) -> Any:
        """The outcome of a task; `tell` hears the simulated time [s] now and then, and may raise
        `Stopped`. Exceptions reach whoever waits for the outcome."""
        ...

    def lost(self, reason: str) -> Any:
        """The outcome of a task that took its processes with it."""
        ...


class Executor(Protocol):
    """Runs tasks. `progress` is called while they are under way."""

    progress: Callable[[], Any]

    @property
    def slots(self) -> int: ...

    @property
    def words(self) -> str:
        """'2 processes'."""
        ...

    def submit(self, key: int, task: Any) -> None: ...

    def ready(self, timeout: float) -> list[Finished]: ...

    def simulated(self) -> float: ...

    def close(self) -> None: ...


def make_executor(
    work: Work, jobs: int, most: int, stop: Callable[[], bool] = lambda: False
) -> Executor:
    """The executor for `most` tasks at a time; in this process a single job, whose task ends early
    once `stop` gives true."""
    jobs = min(jobs, most)
    alone = jobs <= 1 and work.time_limit is None
    return Here(work, stop) if alone else Processes(work, max(jobs, 1))


def run_members(
    executor: Executor,
    members: Iterable[tuple[int, Any]],
    done: Callable[[list[Finished]], Any],
    stop: Callable[[], bool] = lambda: False,
    idle: Callable[[], Any] = lambda: None,
) -> bool:
    """Run tasks, telling `done` of each; false if `stop` ended it before all were. `idle` is
    called a few times a second while nothing finishes.

    New ones are begun before `done` is told of finished ones, so that nobody waits while they
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
    """One task after the other, in this process."""

    slots = 1
    words = "1 process"

    def __init__(self, work: Work, stop: Callable[[], bool] = lambda: False) -> None:
        self._work, self._stop = work, stop
        self._queue: deque[tuple[int, Any]] = deque()
        self._time = 0.0
        self.progress: Callable[[], Any] = lambda: None

    def submit(self, key: int, task: Any) -> None:
        self._queue.append((key, task))

    def ready(self, timeout: float) -> list[Finished]:
        if not self._queue:
            return []
        key, task = self._queue.popleft()
        try:
            return [(key, self._work.evaluate(task, self._tell))]
        except Stopped:
            return []
        finally:
            self._time = 0.0

    def _tell(self, time: float) -> None:
        self._time = time
        self.progress()
        if self._stop():
            raise Stopped

    def simulated(self) -> float:
        return self._time

    def close(self) -> None:
        self._queue.clear()


class Processes:
    """Processes of this machine, each with a task at a time; they live until `close`."""

    def __init__(self, work: Work, jobs: int) -> None:
        self._work = work
        self._queue: deque[tuple[int, Any, int]] = deque()
        self._lost: list[Finished] = []
        self._crew = [_Worker(work) for _ in range(jobs)]
        self.progress: Callable[[], Any] = lambda: None

    @property
    def slots(self) -> int:
        return len(self._crew)

    @property
    def words(self) -> str:
        return f"{len(self._crew)} process{'es' if len(self._crew) != 1 else ''}"

    def submit(self, key: int, task: Any) -> None:
        self._queue.append((key, task, 1))
        self._hand_out()

    def _hand_out(self) -> None:
        for worker in self._crew:
            if not self._queue:
                return
            if worker.task is None and worker.up:
                worker.begin(self._queue.popleft())

    def ready(self, timeout: float) -> list[Finished]:
        self.progress()
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
                finished.append(_checked(answer))
                worker.task, worker.time.value = None, 0.0
            worker.up = True
        self._end_hanging()
        self._hand_out()
        return finished

    def simulated(self) -> float:
        return sum(worker.time.value for worker in self._crew)

    def _end_hanging(self) -> None:
        """End processes whose task gives no word any more, long after its limit of time."""
        limit = self._work.time_limit
        if limit is None:
            return
        for k, worker in enumerate(self._crew):
            if worker.task is None or time.monotonic() - worker.began < limit + GRACE:
                continue
            worker.process.kill()
            worker.end()
            self._crew[k] = _Worker(self._work)
            self._lost.append((worker.task[0], self._work.lost(too_long(limit))))

    def _replace(self, worker: _Worker) -> None:
        """Put another process in the place of one that died; its task is begun once more."""
        why, task = worker.end(), worker.task
        if not worker.up:
            raise InputError(
                f"jobs: a worker process could not start ({why}); try fewer (memory), and in a "
                "script call marsyard under if __name__ == '__main__'"
            )
        self._crew[self._crew.index(worker)] = _Worker(self._work)
        if task is None:
            return
        key, what, tries = task
        if tries < TRIES:
            self._queue.appendleft((key, what, tries + 1))
        else:
            reason = f"lost its process {TRIES} times ({why})"
            self._lost.append((key, self._work.lost(reason)))

    def close(self) -> None:
        for worker in self._crew:
            worker.process.terminate()
        for worker in self._crew:
            worker.end()


class _Worker:
    """A process and the pipe to it; `task` is what it works on, `time` how far that is [s], `up`
    that it has begun."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.task: tuple[int, Any, int] | None = None
        self.time: Any = context.Value("d", 0.0, lock=False)
        self.up = False
        self.began = 0.0
        self.process = context.Process(target=_serve, args=(other, work, self.time), daemon=True)
        with block_sigint(), _single_threaded():
            self.process.start()
        other.close()

    def begin(self, task: tuple[int, Any, int]) -> None:
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


@contextlib.contextmanager
def block_sigint() -> Iterator[None]:
    """Processes that begin meanwhile do not hear ctrl-c, not even while Python starts in them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def too_long(limit: float | None) -> str:
    """Why a run was ended that took too long."""
    return f"{TOO_LONG} of {limit:g} s" if limit is not None else TOO_LONG


def _serve(pipe: Connection, work: Work, clock: Any) -> None:
    """The life of a worker process: tasks until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def tell(time: float) -> None:
        clock.value = time

    with contextlib.suppress(EOFError, OSError):
        pipe.send(None)
        while True:
            key, task = pipe.recv()
            try:
                answer = key, work.evaluate(task, tell)
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = key, error
            pipe.send(answer)


def _checked(answer: Finished) -> Finished:
    """A task's outcome; what was raised instead of one is raised here."""
    if isinstance(answer[1], Exception):
        raise answer[1]
    return answer


def _end_with_parent() -> None:
    """End this process when the one that began it is gone, killed perhaps: nobody asks any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


# --- tasks that know what to do


class Tasks:
    """The work of tasks with a method `work(tell)`, as studies, comparisons and validations have
    them; they must not be lost."""

    time_limit = None

    def evaluate(self, task: Any, tell: Callable[[float], Any]) -> Any:
        return task.work(tell)

    def lost(self, reason: str) -> Any:
        raise InputError(f"jobs: a run {reason}; try fewer (memory)")


class Workers:
    """Runs tasks in `jobs` processes, at most `most` at a time; in this one for a single job.

    A task has `work(tell)`, which gives an outcome with `simulated` [s].
    """

    def __init__(self, jobs: int, most: int) -> None:
        self._stop: Callable[[], bool] = lambda: False
        self._executor = make_executor(Tasks(), jobs, most, lambda: self._stop())

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.close()

    def run(
        self,
        tasks: Sequence[Any],
        tell: Callable[[float], Any],
        done: Callable[[int, Any], Any],
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Any]:
        """The outcomes in the order of the tasks; None of those that `stop` ended.

        `tell` hears the simulated time of all tasks together [s], `done` a task's number and
        outcome as soon as it is there. Once `stop` gives true, no more is begun, and runs under way
        end.
        """
        outcomes: list[Any] = [None] * len(tasks)
        before = 0.0

        def finished(some: list[Finished]) -> None:
            nonlocal before
            for key, outcome in some:
                outcomes[key] = outcome
                before += outcome.simulated
                done(key, outcome)

        self._stop = stop
        self._executor.progress = lambda: tell(before + self._executor.simulated())
        if not run_members(self._executor, enumerate(tasks), finished, stop):
            self._executor.close()
        return outcomes
