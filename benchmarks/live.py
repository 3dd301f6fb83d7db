"""Live view with twenty viewers: does the physics keep its rate, and does memory stay?

One run at full speed. Viewers live in a process of their own, and come and go in windows of some
seconds, so that rates with and without them are compared within one run on the same machine: each
window with viewers against the mean of the two around it without. They read all that is sent, as a
browser does, and draw nothing.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

from marsyard.operations.live import LiveRun
from marsyard.scenario import load_scenario
from marsyard.simulation import Simulation

VIEWERS = 20
#: to and fro, so that the ground kept does not grow: rough soil by a wheel model, and by SCM
RUNS = {
    "eldorado2/rough": {"control.0.speed": "speed/radius*sin(t/40)"},
    "exomars/rough": {"control.0.speed": "0.3*sin(t/20)"},
}
#: SCM alone is slower than that, so its speed is only told
SPEED_BAR = {"eldorado2/rough": 10.0}
RATE_BAR, MEMORY_BAR = 0.95, 10.0
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (-3.0, -3.0, 2.0),
    "fov": 1.0, "near": 0.01, "far": 100.0, "image_height": 300, "image_width": 400,
    "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip


def run() -> list[dict[str, Any]]:
    """Ratio of rates, speed against real time and growth of memory of some runs."""
    rows = []
    for name in RUNS:
        got = measure(name)
        bar = SPEED_BAR.get(name)
        rows += [
            {
                "name": f"{name}: rate with {VIEWERS} viewers by that without",
                "value": got["ratio"], "unit": "×", "bar": f"≥ {RATE_BAR:g}",
                "ok": got["ratio"] >= RATE_BAR,
                "note": f"{got['frames']:.0f} pictures a second, {got['sent']:.1f} MB/s to each",
            },
            {
                "name": f"{name}: speed with them against real time", "value": got["speed"],
                "unit": "×", "bar": None if bar is None else f"≥ {bar:g}",
                "ok": None if bar is None else got["speed"] >= bar,
                "note": "one process; viewers in another",
            },
            {
                "name": f"{name}: growth of memory", "unit": "MB", "value": got["growth"],
                "bar": f"≤ {MEMORY_BAR:g}", "ok": got["growth"] <= MEMORY_BAR,
                "note": f"beside records, in {got['watched']:.0f} s",
            },
        ]  # fmt: skip
    return rows


def measure(
    name: str,
    viewers: int = VIEWERS,
    windows: int = 3,
    length: float = 6.0,
    alone: float | None = None,
) -> dict[str, float]:
    """Run a scenario with viewers in every other window of `length` [s], and without them in those
    between, of length `alone` [s] if it is to be another.

    ratio: of rates with and without; speed: simulated by wall time with them; growth: of memory
    beside the records in the second half of a window [MB]; frames: pictures a second; sent: to each
    viewer [MB/s]; watched: all windows with viewers [s].
    """
    simulation = _endless(name)
    simulation.warm_up()
    live = LiveRun(port=0)
    crowd = Crowd(live.url.replace("http", "ws", 1), viewers)
    thread = threading.Thread(target=live.run, args=(simulation,), daemon=True)
    thread.start()
    while live.view is None:
        time.sleep(0.01)
    try:
        return _windows(simulation, live, crowd, windows, length, alone or length)
    finally:
        crowd.end()
        live.mailbox.stop()
        thread.join()
        with contextlib.redirect_stdout(io.StringIO()):
            live.stop()


class Crowd:
    """Viewers in a process of their own."""

    def __init__(self, address: str, count: int) -> None:
        self.count = count
        self._process = subprocess.Popen(
            [sys.executable, __file__, address, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._answer()

    def _answer(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def tell(self, word: str) -> int:
        """Tell them to "come" or "go"; bytes they have heard, when they have."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """Send them home. On a busy machine they hardly ever run and would take minutes to go."""
        self._process.kill()
        self._process.communicate()


def _windows(
    simulation: Simulation,
    live: LiveRun,
    crowd: Crowd,
    windows: int,
    length: float,
    between: float,
) -> dict[str, float]:
    assert live.view is not None
    watched, alone, growth = [], [_rate(simulation, between)], []
    frames = sent = 0
    for _ in range(windows):
        crowd.tell("come")
        before = live.view.frames
        first = _rate(simulation, length / 2)
        memory = _memory(simulation)
        watched.append((first + _rate(simulation, length / 2)) / 2)
        growth.append(_memory(simulation) - memory)
        frames += live.view.frames - before
        sent = crowd.tell("go")
        while live.view.viewers:
            time.sleep(0.01)
        alone.append(_rate(simulation, between))
    pairs = zip(watched, alone[:-1], alone[1:], strict=True)
    span = windows * length
    return {
        "ratio": statistics.median(2 * rate / (a + b) for rate, a, b in pairs),
        "speed": statistics.median(watched), "growth": statistics.median(growth),
        "frames": frames / span, "sent": sent / crowd.count / span / 1e6, "watched": span,
    }  # fmt: skip


def _endless(name: str) -> Simulation:
    """A scenario that lasts, with a record a second, and room for all records from the start: room
    that grows on the way would be taken for growth of the display."""
    settings = {**RUNS[name], "run.duration": 36000.0, "run.record_period": 1.0}
    simulation = Simulation(load_scenario(name, settings))
    simulation._reserve(round(36000.0 / simulation.scenario.run.step))
    return simulation


def _rate(simulation: Simulation, length: float) -> float:
    """Simulated by wall time over a window."""
    began, start = time.perf_counter(), simulation.time
    time.sleep(length)
    return (simulation.time - start) / (time.perf_counter() - began)


def _memory(simulation: Simulation) -> float:
    """Resident memory without what the records fill [MB]."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    records = sum(array[: simulation.record_count].nbytes for array in simulation.record_room)
    return (pages * os.sysconf("SC_PAGE_SIZE") - records) / 1e6


def _watch(address: str, viewers: int) -> None:
    """Viewers that read whatever comes, while they are told to be there."""
    import asyncio

    import msgspec
    import viser
    from websockets.asyncio.client import connect

    os.nice(19)  # they would be on other machines
    hello = msgspec.msgpack.encode(CAMERA)
    protocol = [f"viser-v{viser.__version__}"]
    heard = 0

    async def one(up: asyncio.Event) -> None:
        nonlocal heard
        how = {"subprotocols": protocol, "max_size": None, "compression": None}
        async with connect(address, **how) as socket:
            await socket.send(hello)
            async for message in socket:
                heard += len(message)
                up.set()

    async def all_of_them() -> None:
        loop = asyncio.get_running_loop()
        tasks: list[asyncio.Task[None]] = []
        while word := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            if word == "come":
                ups = [asyncio.Event() for _ in range(viewers)]
                tasks = [asyncio.create_task(one(up)) for up in ups]
                await asyncio.gather(*(up.wait() for up in ups))
            else:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            print(heard, flush=True)

    print(0, flush=True)
    asyncio.run(all_of_them())


if __name__ == "__main__":
    _watch(sys.argv[1], int(sys.argv[2]))
