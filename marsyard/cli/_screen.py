"""Progress of a campaign on the terminal, and interruption by ctrl-c."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marsyard.campaign import Watch


class Screen:
    """Progress with rate and time left, and a table of failures as they come, on stderr.

    Ctrl-c asks for the end; a second one does not wait for it.
    """

    def __init__(self, console: Any, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._console, self._quiet = console, quiet
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(),
            TextColumn("{task.completed:g} of {task.total:g}, {task.fields[rate]}"),
            TextColumn("left"), TimeRemainingColumn(), console=console,
        )  # fmt: skip
        self._task: Any = None
        self._live: Any = None
        self._began = self._told = 0.0
        self._asked = False
        self._before: Any = None

    def say(self, text: str) -> None:
        if not self._quiet or text.startswith("warning"):
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def stopped(self) -> bool:
        return self._asked

    def watch(self, watch: Watch) -> None:
        from time import perf_counter

        now = perf_counter()
        self._began = self._began or now
        rate = watch.done / (now - self._began) if now - self._began > 1.0 else 0.0
        if self._live is None:
            self._line(watch, rate, now)
            return
        if self._task is None:
            self._task = self._progress.add_task("", total=watch.total, rate="")
        self._progress.update(
            self._task, completed=watch.kept + watch.done, description=watch.where,
            rate=f"{rate:.3g} runs/s" if rate else "–",
        )  # fmt: skip
        if now - self._told > 0.2 or watch.kept + watch.done == watch.total:
            self._told = now
            self._live.update(self._drawn(watch))

    def _line(self, watch: Watch, rate: float, now: float) -> None:
        """Where there is no terminal: a line now and then."""
        done = watch.kept + watch.done
        if self._quiet or (now - self._told < 15.0 and done != watch.total):
            return
        self._told = now
        left = f", {(watch.total - done) / rate:.0f} s left" if rate else ""
        failed = f", {len(watch.failed)} failed" if watch.failed else ""
        self.say(f"{done} of {watch.total} runs on {watch.where}, {rate:.3g} runs/s{left}{failed}")

    def _drawn(self, watch: Watch) -> Any:
        from rich.console import Group
        from rich.table import Table

        from marsyard.campaign import grouped

        if not watch.failed:
            return self._progress
        table = Table("failed", "why", title=f"{len(watch.failed)} failed", title_justify="left")
        for reason, members in grouped(watch.failed)[:6]:
            table.add_row(str(len(members)), reason)
        return Group(table, self._progress)

    def _interrupt(self, *_: Any) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True

    def __enter__(self) -> Screen:
        import signal

        from rich.live import Live

        self._before = signal.signal(signal.SIGINT, self._interrupt)
        if self._console.is_terminal and not self._quiet:
            self._live = Live(self._progress, console=self._console, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        import signal

        signal.signal(signal.SIGINT, self._before)
        if self._live is not None:
            self._live.stop()
