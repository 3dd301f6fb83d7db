"""Cases in a process of their own, which may hang, run out of memory or crash without harm.

    parent → worker    one line of JSON: the case
    worker → parent    one line of JSON: {"outcome": …, "text": …}

A worker has a limit of memory above what it needs itself, and each case one of time; faulthandler
ends the process that exceeds it. Outcomes: accepted, refused, traceback, sentence (a refusal that
is not one short line), memory, check (files were left behind, or what is absurd is unsaid),
slow, hang, crash.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSED = ("accepted", "refused")
#: times the limit of time of the processor, on the clock
_PATIENCE = 4
#: characters of a refusal
LONGEST = 400
#: cases of a worker: the limit of memory is for one case, not for what many leave behind
_MOST_CASES = 200


@dataclass(frozen=True)
class Outcome:
    """What became of a case; `text` is the sentence of a refusal, or tells of a failure."""

    case: dict[str, Any]
    kind: str
    text: str
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.kind in PASSED


def run_cases(
    script: Path, cases: Iterable[dict[str, Any]], seconds: float, folder: Path
) -> Iterator[Outcome]:
    """The outcome of each case, by a worker that runs `script`; a new one after each that died, and
    after `_MOST_CASES`."""
    worker: _Worker | None = None
    try:
        for count, case in enumerate(cases):
            if worker is not None and count % _MOST_CASES == 0:
                worker.close()
                worker = None
            if worker is None:
                worker = _Worker(script, seconds, folder)
            outcome = worker.run(case)
            if outcome.kind in ("hang", "crash", "memory"):
                worker.close()
                worker = None
            if not outcome.passed:
                print(outcome.kind, case, flush=True)
            yield outcome
    finally:
        if worker is not None:
            worker.close()


class _Worker:
    def __init__(self, script: Path, seconds: float, folder: Path) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, str(script), "--worker", str(seconds), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
        )  # fmt: skip

    def run(self, case: dict[str, Any]) -> Outcome:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(case) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            told = json.loads(answer)
            return Outcome(case, told["outcome"], told["text"], told["seconds"])
        code = self._process.wait()
        self._log.seek(0)
        said = self._log.read().decode(errors="replace")
        kind = "hang" if "Timeout (" in said else "crash"
        return Outcome(case, kind, f"exit code {code}\n{said[-1500:]}")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()


# --- inside of a worker


def serve(use: Callable[[dict[str, Any]], Any], seconds: float, memory: int = 3 * 2**30) -> None:
    """Answer cases from stdin by `use`, with so many bytes of memory more than there are now."""
    import time

    # what libraries print goes to the log
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for line in sys.stdin:
        began = time.process_time()
        # a busy machine may take its time
        faulthandler.dump_traceback_later(_PATIENCE * seconds, exit=True)
        kind, text = _judge(use, json.loads(line))
        faulthandler.cancel_dump_traceback_later()
        spent = time.process_time() - began
        if spent > seconds and kind in PASSED:
            kind, text = "slow", f"{spent:.0f} s; {text}"
        answers.write(json.dumps({"outcome": kind, "text": text, "seconds": spent}) + "\n")
        answers.flush()


def _judge(use: Callable[[dict[str, Any]], Any], case: dict[str, Any]) -> tuple[str, str]:
    from marsyard.errors import InputError

    try:
        return "accepted", str(use(case) or "")
    except InputError as error:
        text = str(error)
        if len(text) >= LONGEST or len(text.splitlines()) != 1 or not text.isprintable():
            return "sentence", ascii(text[: 2 * LONGEST])
        return "refused", text
    except MemoryError:
        return "memory", "".join(traceback.format_exc()[-1500:])
    except AssertionError as error:
        return "check", str(error)
    except Exception:
        text = traceback.format_exc()
        return "traceback", text if len(text) < 4000 else text[:1000] + " … " + text[-3000:]


def describe(outcomes: list[Outcome], command: Callable[[dict[str, Any]], str]) -> str:
    """Counts, and each failure with the command that repeats it."""
    counts = Counter(o.kind for o in outcomes)
    lines = [", ".join(f"{n} {kind}" for kind, n in counts.most_common())]
    for o in outcomes:
        if not o.passed:
            lines += ["", f"{o.kind}: {command(o.case)}", o.text.strip()]
    return "\n".join(lines)


@contextlib.contextmanager
def empty_folder() -> Iterator[Path]:
    """A temporary folder that is also the current one."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as made:
        os.chdir(made)
        try:
            yield Path(made)
        finally:
            os.chdir(here)
