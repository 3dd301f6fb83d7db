"""`export`: a run in the requested formats, in one folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from marsyard.errors import InputError, check_path, suggest
from marsyard.files import exists
from marsyard.results.export.bag import write_bag
from marsyard.results.export.netcdf import write_netcdf
from marsyard.results.export.source import Source
from marsyard.results.export.tables import write_csv, write_parquet
from marsyard.results.export.urdf import write_urdf


def _robot(source: Source, folder: Path) -> list[Path]:
    return write_urdf(source.model, source.robot.base, folder, source.robot.name)


#: what writes each format: of a run, into a folder; the files it wrote
FORMATS: dict[str, Callable[[Source, Path], list[Path]]] = {
    "csv": lambda source, folder: write_csv(source.data, folder),
    "parquet": lambda source, folder: write_parquet(source.data, folder),
    "netcdf": lambda source, folder: write_netcdf(source.data, folder),
    "mcap": write_bag,
    "urdf": _robot,
}


def export(run: str | Path, formats: Iterable[str], out: str | Path | None = None) -> list[Path]:
    """Write a run in some formats of `FORMATS` into the folder `out` [RUN/export]; the files.

    marsyard.results.export.export("runs/rt0448-test-1", ["parquet", "mcap"])
    """
    asked = list(formats)
    for name in asked:
        if name not in FORMATS:
            raise InputError(f"format '{name}'; {suggest(name, list(FORMATS))}")
    source = Source(run)
    with _written_whole(out, source.folder / "export") as (staging, written):
        for name in asked:
            written += FORMATS[name](source, staging)
    return written


def export_robot(robot: str, out: str | Path | None = None) -> list[Path]:
    """Write a robot of the library, or of a file, as URDF with its meshes [ROBOT-urdf]."""
    from marsyard.robot import load_robot

    found = load_robot(robot)
    model = found.compile()
    with _written_whole(out, Path(f"{found.name}-urdf")) as (staging, written):
        written += write_urdf(model, found.base, staging, found.name)
    return written


@contextlib.contextmanager
def _written_whole(out: str | Path | None, default: Path) -> Iterator[tuple[Path, list[Path]]]:
    """A temporary folder and the list of what is written into it; all of it goes to the folder
    `out` [default] when the block ends without error, else nothing is left behind."""
    folder = Path(out) if out is not None else default
    check_path(folder, "--out")
    made = [p for p in (folder, *folder.parents) if not exists(p)]
    written: list[Path] = []
    staging = None
    try:
        staging = _staging_folder(folder)
        yield staging, written
        for item in staging.iterdir():
            if item.is_dir():
                shutil.copytree(item, folder / item.name, dirs_exist_ok=True)
            else:
                os.replace(item, folder / item.name)
        written[:] = [folder / path.relative_to(staging) for path in written]
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        # what is still empty was made for nothing
        for place in made:
            with contextlib.suppress(OSError):
                place.rmdir()


def _staging_folder(folder: Path) -> Path:
    """A temporary folder in `folder`, which is made; refuses one that cannot be written."""
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--out: '{folder}' is a file; give a folder")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".export-", dir=folder))
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
