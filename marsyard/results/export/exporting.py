"""`export`: a run in the formats asked for, each into one folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from marsyard.errors import InputError, suggest
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
    folder = target_folder(out, source.folder / "export")
    written: list[Path] = []
    for name in asked:
        written += FORMATS[name](source, folder)
    return written


def export_robot(robot: str, out: str | Path | None = None) -> list[Path]:
    """Write a robot of the library, or of a file, as URDF with its meshes [ROBOT-urdf]."""
    from marsyard.robot import load_robot

    found = load_robot(robot)
    folder = target_folder(out, Path(f"{found.name}-urdf"))
    return write_urdf(found.spec().compile(), found.base, folder, found.name)


def target_folder(out: str | Path | None, default: Path) -> Path:
    """The folder to write to, made where it is missing; refuses one that cannot be written."""
    folder = Path(out) if out is not None else default
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--out: '{folder}' is a file; give a folder")
        folder.mkdir(parents=True, exist_ok=True)
        # whether files can be made there, only the system can tell
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    return folder
