"""Folders of runs, written to a temporary place and moved when complete.

Nothing half-written is left, an earlier run is replaced as a whole, and what somebody else put into
the folder stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from marsyard.errors import InputError, check_path

#: copies of the files that a scenario names, beside its scenario.yaml
INPUTS = "inputs"
#: what a run, a study or a comparison writes, and what is filmed of it
OWN = (
    "results.nc", "scenario.yaml", INPUTS, "model.mjb", "figures", "report.html", "ground.nc",
    "study.nc", "study.csv", "members", "compare.nc", "compare.csv", "laws", "ground", "movie.mp4",
    "movie.gif", "frame.png", "modes", "validation.nc", "validation.json", "sequence.yaml",
    "limits.yaml", "worst", "export", "run.json", "post",
)  # fmt: skip

#: those of them that tell an earlier run's folder
_RESULTS = ("results.nc", "study.nc", "compare.nc", "validation.nc")


@contextlib.contextmanager
def written_whole(target: Path | None) -> Iterator[Path | None]:
    """An empty folder that takes the target's place when the block ends without error.

    Refuses a target that is no run folder or cannot be written. Without a target gives None.
    """
    if target is None:
        yield None
        return
    made: list[Path] = []
    staging = _staging_folder(target, made)
    try:
        yield staging
        _move(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        # a run that could not start leaves no folders behind
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


class Placement:
    """A folder beside its target, which takes the target's place when told to."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder, self.target = folder, target
        self.placed = False

    def place(self) -> Path:
        """Move what was written to the target; where it is from now on."""
        if not self.placed:
            _move(self.folder, self.target)
            self.placed = True
        return self.target


@contextlib.contextmanager
def placed_early(target: Path | None) -> Iterator[Placement | None]:
    """As `written_whole`, for what is in place before all is written: the block says when, at its
    end at the latest."""
    if target is None:
        yield None
        return
    made: list[Path] = []
    placement = Placement(_staging_folder(target, made), target)
    try:
        yield placement
        placement.place()
    finally:
        if not placement.placed:
            shutil.rmtree(placement.folder, ignore_errors=True)
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def is_full(error: OSError) -> bool:
    """Whether something could not be written since no space is left for it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def write_or_keep(
    folder: Path,
    target: Path,
    write: Callable[[Path], None],
    write_all: Callable[[Path], None] | None = None,
) -> None:
    """Write into a folder that stands for `target`; where no space is left for it, into a temporary
    one (by `write_all`, where it differs), and raise the error that says so: what took long to
    compute is not lost."""
    try:
        write(folder)
    except OSError as error:
        if not is_full(error):
            raise
        raise _kept_elsewhere(target, write_all or write) from None


def _kept_elsewhere(target: Path, write: Callable[[Path], None]) -> InputError:
    """Write what has no room at `target` into a temporary folder; the error that says so."""
    lost = f"--out: no space is left for '{target}'"
    try:
        other = Path(tempfile.mkdtemp(prefix=f"marsyard-{target.name}-"))
        try:
            write(other)
        except BaseException:
            shutil.rmtree(other, ignore_errors=True)
            raise
    except OSError:
        return InputError(f"{lost}, nor for temporary files: the results could not be kept")
    return InputError(f"{lost}; the results were kept in '{other}'")


def check_folder(folder: Path, mark: str) -> Path:
    """A folder to write to; refuses a file, and a folder with files in it but not the one that
    marks an earlier result of the same kind."""
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--out: '{folder}' is a file; give a folder")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).exists():
            raise InputError(f"--out: '{folder}' holds other files; give a new folder")
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be used ({error.strerror})") from None
    return folder


def default_folder(name: str) -> Path:
    """Where a run goes when no folder is named: runs/<scenario>, slashes made dashes."""
    stem = Path(name).stem if name.endswith((".yaml", ".yml")) else name
    return Path("runs") / stem.replace("/", "-")


def _staging_folder(target: Path, made: list[Path]) -> Path:
    """An empty folder beside the target. Missing folders above it are made and noted in `made`."""
    check_path(target, "--out")
    try:
        if target.exists():
            if not target.is_dir():
                raise InputError(f"--out: '{target}' is a file; give a folder")
            earlier = any((target / n).exists() for n in _RESULTS)
            if any(target.iterdir()) and not earlier:
                raise InputError(
                    f"--out: '{target}' holds other files; give a new folder or an earlier run's"
                )
            if not os.access(target, os.W_OK):
                raise InputError(f"--out: '{target}' cannot be written; give a folder that can")
        made += [p for p in target.parents if not p.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise InputError(
            f"--out: '{target}' cannot be written ({error.strerror}); give a folder that can"
        ) from None


def _move(staging: Path, target: Path) -> None:
    staging.chmod(0o755)
    if target.exists():
        # what somebody else put into the folder stays there
        for item in target.iterdir():
            if item.name not in OWN:
                os.rename(item, staging / item.name)
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
        os.rename(target, old / "run")
        os.rename(staging, target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(staging, target)
