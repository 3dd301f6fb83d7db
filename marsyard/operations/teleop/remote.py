"""The truth of a teleoperation: the remote rover, in this process or in one of its own.

`InlineRemote` runs by the clock it is told, as fast as it can: for tests and studies, the same bits
every time. `ProcessRemote` runs in a process of its own, paced by the wall clock; frames go over a
pipe with their times. Link and delays are the operator's side's business: the rover hears a message
when it is told that it arrived.

The rover writes a line per telemetry message to `truth.jsonl` in the session's folder, flushed at
once, so that a rover that is killed leaves what it recorded. When it is closed, or when the
operator's process goes away, it brakes, saves its run folder (`truth/`) and ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import multiprocessing
import os
import select
import shutil
import tempfile
import time as clock
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import util
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from marsyard.operations.teleop.rover import RoverWorld
from marsyard.operations.teleop.vehicle import Noise, Vehicle

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from marsyard.operations.link import LinkSettings
    from marsyard.operations.protocol import Outgoing, ProtocolSettings
    from marsyard.scenario.schema import Scenario

_LOG = logging.getLogger("marsyard.teleop")
#: how long a rover is given to come to rest before it is saved [s]
BRAKING = 10.0
#: how long a process is given to hear that it has to end, and then to save its run [s]
PATIENCE, SAVING = 60.0, 600.0


@dataclass(frozen=True)
class Truth:
    """What a remote rover is made of: scenario, protocol, telemetry, the way down, folder."""

    scenario: Scenario
    settings: ProtocolSettings
    telemetry_period: float = 0.5
    noise: Noise = field(default_factory=Noise)
    down: LinkSettings | None = None
    folder: Path | None = None

    def build(self, say: Callable[[str], Any] | None = None) -> RoverWorld:
        """The rover."""
        is_open = (lambda now: True) if self.down is None else self.down.is_open
        return RoverWorld(
            Vehicle(self.scenario, say), self.settings, telemetry_period=self.telemetry_period,
            noise=self.noise, is_open=is_open,
        )  # fmt: skip


class Remote(Protocol):
    """A remote rover.

    Attributes:
        state: "starting", "running", "ended" or "gone". reason: for it, in words.
    """

    state: str
    reason: str

    def give(self, data: bytes, arrived: float) -> None:
        """A message that arrived at a time [s]."""

    def advance(self, now: float) -> list[tuple[float, Outgoing]]:
        """What left the rover until a time [s], and when."""

    def close(self) -> Path | None:
        """Brake, save, end; the folder of the run."""


class InlineRemote:
    """The rover in this process."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.world = truth.build()
        self._log = _Log(truth.folder)
        self.state, self.reason = "running", ""

    def give(self, data: bytes, arrived: float) -> None:
        """A message that arrived."""
        self.world.give(data, arrived)

    def advance(self, now: float) -> list[tuple[float, Outgoing]]:
        """What left the rover until a time."""
        if self.state != "running":
            return []
        out = self.world.advance(now)
        self._log.write(self.world)
        if self.world.stopped:
            self.state, self.reason = "ended", self.world.stopped
        return out

    def close(self) -> Path | None:
        """Brake, save, end."""
        if self.state == "running":
            self.state, self.reason = "ended", "closed"
        self._log.close()
        return save_truth(self.world, self.truth)


class _Log:
    """A line per telemetry message of what really was."""

    def __init__(self, folder: Path | None) -> None:
        self._file: IO[str] | None = None
        self._told = 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / "truth.jsonl").open("a", encoding="utf-8")

    def write(self, world: RoverWorld) -> None:
        """The state, if telemetry was told since the last line."""
        if self._file is None or world.told == self._told:
            return
        self._told = world.told
        line = {
            "time": round(world.time, 9),
            "order": world.vehicle.order,
            "mode": world.protocol.mode,
            "qpos": [round(float(v), 7) for v in world.vehicle.simulation.qpos],
        }
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:
            # a rover drives on without its log
            _LOG.warning("truth.jsonl ends here: %s", error.strerror)
            _drop(self._file)
            self._file = None

    def close(self) -> None:
        if self._file is not None:
            _drop(self._file)
            self._file = None


def _drop(file: IO[str]) -> None:
    """Close a file, whether or not what is left can be written."""
    with contextlib.suppress(OSError):
        file.close()


def save_truth(world: RoverWorld, truth: Truth) -> Path | None:
    """Bring the rover to rest and save its run folder."""
    from marsyard.operations.teleop.records import save_run
    from marsyard.run_folder import is_full
    from marsyard.simulation import Diverged

    vehicle = world.vehicle
    vehicle.stand()
    with contextlib.suppress(Diverged):
        end = vehicle.time + BRAKING
        while (
            not world.stopped and vehicle.time < end and abs(vehicle.drive.wheel_rates).max() > 0.0
        ):
            vehicle.step()
    if truth.folder is None:
        return None
    try:
        return save_run(vehicle, truth.folder / "truth", world.stopped)
    except OSError as error:
        if not is_full(error):
            raise
    other = Path(tempfile.mkdtemp(prefix="marsyard-truth-")) / "truth"
    save_run(vehicle, other, world.stopped)
    _LOG.warning("no space is left for '%s'; the rover's run is in '%s'", truth.folder, other)
    return other


# --- in a process of its own


class ProcessRemote:
    """The rover in a process of its own, paced by the wall clock."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.state, self.reason = "starting", "building the world"
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(theirs, truth), daemon=False)
        self._process.start()
        theirs.close()
        # an operator's process that ends without `close` would wait for this one for ever
        self._at_exit = util.Finalize(self, self._pipe.close, exitpriority=10)
        self.folder: Path | None = None
        self.behind = 0.0
        self._unsent: deque[Any] = deque(maxlen=10_000)

    @property
    def pid(self) -> int | None:
        """Of its process."""
        return self._process.pid

    def wait(self, timeout: float = 600.0, asked: Callable[[], bool] = lambda: False) -> bool:
        """Wait until it is built, or `asked` to end; whether it is built."""
        end = clock.monotonic() + timeout
        while self.state == "starting" and self.reason != "ready" and clock.monotonic() < end:
            if asked():
                break
            self._hear(0.1)
        return self.reason == "ready"

    def begin(self, epoch: float) -> None:
        """Have its time begin at an instant of the monotonic clock [s]."""
        self._tell(("begin", epoch))
        if self.state == "starting":
            self.state, self.reason = "running", ""

    def give(self, data: bytes, arrived: float) -> None:
        """A message that arrived."""
        self._tell(("give", data, arrived))

    def advance(self, now: float) -> list[tuple[float, Outgoing]]:
        """What left the rover until now."""
        return self._hear(0.0)

    def _tell(self, message: Any) -> None:
        self._unsent.append(message)
        try:
            # a process that is suspended reads nothing, and must not hold up the operator
            while self._unsent and self._takes():
                self._pipe.send(self._unsent[0])
                self._unsent.popleft()
        except (OSError, ValueError):
            self._notice()

    def _takes(self) -> bool:
        """Whether the pipe has room for a message."""
        if os.name == "nt":
            return True
        room = select.poll()
        room.register(self._pipe.fileno(), select.POLLOUT)
        return bool(room.poll(0))

    def _hear(self, timeout: float) -> list[tuple[float, Outgoing]]:
        out: list[tuple[float, Outgoing]] = []
        try:
            while self._pipe.poll(timeout):
                kind, *rest = self._pipe.recv()
                timeout = 0.0
                if kind == "frames":
                    out += rest[0]
                    self.behind = rest[1]
                elif kind == "ready":
                    self.reason = "ready"
                elif kind == "failed":
                    self.state, self.reason = "gone", rest[0]
                elif kind == "saving":
                    self.reason = "saving"
                elif kind == "ended":
                    self.reason, self.folder = rest
                    self.state = "ended"
        except (EOFError, OSError):
            self._notice()
        return out

    def _notice(self) -> None:
        """The process is not there any more."""
        if self.state in ("ended", "gone"):
            return
        self._process.join(2.0)
        code = self._process.exitcode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else "ended"
        self.state, self.reason = "gone", f"the rover's process {how}"

    def close(self) -> Path | None:
        """Brake, save, end."""
        if self.state in ("starting", "running"):
            self._tell(("close",))
            self._wait_for_end()
        self._process.join(5.0)
        if self._process.is_alive():
            self._kill()
        self._pipe.close()
        if self.folder is None and self.truth.folder is not None:
            _LOG.warning("the rover's run is not saved; its log is truth.jsonl")
        return self.folder

    def _wait_for_end(self) -> None:
        """Until it has saved its run: on a busy machine that may take minutes."""
        asked = clock.monotonic()
        while self.state in ("starting", "running"):
            self._hear(0.1)
            patience = SAVING if self.reason == "saving" else PATIENCE
            if clock.monotonic() - asked > patience:
                return

    def _kill(self) -> None:
        """End it as it is, and take away what it had half written."""
        self._process.kill()
        self._process.join(5.0)
        if self.truth.folder is not None:
            for half in self.truth.folder.glob(".truth-*"):
                shutil.rmtree(half, ignore_errors=True)

    def abandon(self) -> None:
        """End it at once; nothing is saved."""
        self.state, self.reason = "ended", "abandoned"
        self._kill()
        self._pipe.close()


def _run(pipe: Connection, truth: Truth) -> None:
    """The rover's process."""
    import signal

    # ctrl-c, the end of a group of processes and a terminal that is closed are for the operator's
    # process, which closes this one
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    try:
        world = truth.build()
        pipe.send(("ready",))
        epoch = math.inf
        log = _Log(truth.folder)
        reason = _keep_pace(pipe, world, log, epoch)
        log.close()
        with contextlib.suppress(OSError):
            pipe.send(("saving",))
        folder = save_truth(world, truth)
        with contextlib.suppress(OSError):
            pipe.send(("ended", reason, folder))
    except Exception as error:  # the operator has to know whatever went wrong
        with contextlib.suppress(OSError):
            pipe.send(("failed", f"the rover's process failed: {error}"))
        raise


def _keep_pace(pipe: Connection, world: RoverWorld, log: _Log, epoch: float) -> str:
    """Run by the wall clock until told to end, or nobody is there; why it ended."""
    while True:
        now = clock.monotonic() - epoch if math.isfinite(epoch) else -1.0
        wait = max(0.0, world.time - now) if math.isfinite(epoch) else 1.0
        try:
            while pipe.poll(min(wait, 0.05)):
                wait = 0.0
                kind, *rest = pipe.recv()
                if kind == "close":
                    return "closed"
                if kind == "begin":
                    epoch = rest[0]
                else:
                    world.give(*rest)
            if not math.isfinite(epoch):
                continue
            now = clock.monotonic() - epoch
            if world.time <= now:
                # one period at a time, so that what arrives is heard in between
                frames = world.advance(world.time)
                log.write(world)
                pipe.send(("frames", frames, max(0.0, now - world.time)))
            if world.stopped:
                return world.stopped
        except (EOFError, OSError):
            return "the operator disconnected"
