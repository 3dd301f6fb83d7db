"""A run with a live view: the server, the physics in this thread, and the replay afterwards.

    live = LiveRun(port=8080)              # the page is there at once
    marsyard.run("rt0448/test-1", out="runs/test-1", live=live)
    live.wait()                            # the finished run as a replay, until ctrl-c

Ctrl-c during the run ends it in good order: what was recorded is checked, drawn and reported as
always, and the report says when it was ended.
"""

from __future__ import annotations

import contextlib
import io
import math
import signal
import sys
import threading
import time as clock
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from marsyard.operations.live.mailbox import Mailbox
from marsyard.web.server import start_server

if TYPE_CHECKING:
    from marsyard.operations.live.physics import Physics
    from marsyard.operations.live.view import LiveView
    from marsyard.results.replay import Replay, Scene
    from marsyard.simulation import Simulation

#: how long a thread may keep Python's lock from another [s]; the physics needs it only briefly
SWITCH = 1e-4


class LiveRun:
    """A view at `host`:`port` for one run; `url` is its address, with the token that it needs.

    speed: simulated by wall time, inf for as fast as it goes; wait: begin when somebody watches.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 8080,
        *,
        token: str | None = None,
        speed: float = math.inf,
        wait: bool = False,
    ) -> None:
        self.mailbox = Mailbox(speed, paused=wait)
        self._wait = wait
        self.server, self.url = start_server(host, port, "the live view", token)
        self._note: Any = self.server.gui.add_markdown("Preparing the run …")
        self.physics: Physics | None = None
        self.view: LiveView | None = None
        self.replay: Replay | None = None
        self._stopped = threading.Event()

    def run(
        self,
        simulation: Simulation,
        progress: Callable[[float], Any] | None = None,
        name: str = "",
        say: Callable[[str], Any] = lambda text: None,
    ) -> str | None:
        """Run a simulation controlled by viewers; returns the reason if it was stopped early."""
        # from here on, while the scene is built too
        with _ends_by_ctrl_c(self.mailbox), _shared_lock():
            from marsyard.operations.live.physics import Physics
            from marsyard.operations.live.view import LiveView

            self.physics = Physics(simulation, self.mailbox)
            self._note.remove()
            self.view = LiveView(self.physics, self.server, name=name)
            self._wait_for_viewer()
            say("running; ctrl-c stops the run and keeps the recorded results")
            self.physics.run(progress)
        if self.physics.stopped_by_hand:
            return f"stopped by the user at t = {simulation.time:.6g} s"
        return None

    def _wait_for_viewer(self) -> None:
        assert self.view is not None
        while self._wait and not self.view.viewers and not self.mailbox.peek().stop:
            clock.sleep(0.05)
        if self._wait:
            self.mailbox.go_on()

    def show(self, scene: Scene) -> None:
        """Show the finished run in place of the running one."""
        from marsyard.results.replay import Replay

        if self.view is not None:
            self.view.stop()
        for client in self.server.get_clients().values():
            client.gui.reset()
        self.server.scene.reset()
        self.server.gui.reset()
        self.replay = Replay(scene, self.server, self.url)

    def wait(self) -> None:
        """Wait until it is stopped."""
        while not self._stopped.is_set():
            clock.sleep(0.2)

    def stop(self) -> None:
        """End the view and free the port."""
        self._stopped.set()
        if self.view is not None:
            self.view.stop()
        if self.replay is not None:
            self.replay.stop()
            return
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()


@contextlib.contextmanager
def _ends_by_ctrl_c(mailbox: Mailbox) -> Iterator[None]:
    """Ctrl-c ends the run at the next piece; a second one ends the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def heard(number: int, frame: Any) -> None:
        mailbox.stop()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _shared_lock() -> Iterator[None]:
    """Have Python's threads take turns often, so that the physics does not wait for drawing."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
