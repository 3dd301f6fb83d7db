"""Writing an FMU: a rover and its ground for other tools.

The file holds

    modelDescription.xml        variables with units, what the FMU can do
    documentation/index.html    the same to read, and what it needs where it runs
    binaries/PLATFORM/…         pythonfmu's library for Linux and Windows, which loads Python
    resources/scenario.yaml     the scenario, and beside it the robot and all files it names
    resources/interface.json    what the variables stand for
    resources/pythonfmu/…       its Python part

pythonfmu (FMI 2.0) was chosen over pythonfmu3 (FMI 3.0), since far more tools read 2.0, and nothing
of 3.0 (arrays, clocks, early return) is needed for a rover that steps by whole control periods. The
same input gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import uuid
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marsyard.errors import InputError
from marsyard.files.replacing import replacing
from marsyard.fmi.contents import pack_scenario
from marsyard.fmi.description import model_description
from marsyard.fmi.interface import Interface, Variable, parameter, structured, with_inputs
from marsyard.fmi.page import documentation
from marsyard.fmi.paths import value_at
from marsyard.scenario import Scenario
from marsyard.scenario.short_names import full_path

_MODULE = "marsyard_rover"
#: the library looks for a class that is derived from one called Fmi2Slave
_SLAVE = '''"""A rover of marsyard as an FMU; see docs/how-to/fmi.md."""

import atexit
import ctypes
import gc
import platform
import sys

try:
    from marsyard.fmi.slave import RoverSlave as Fmi2Slave
except ImportError as error:
    raise ImportError(
        f"this FMU needs marsyard in the Python that loads it, {platform.python_version()} of "
        f"{sys.prefix} ({error}): pip install 'marsyard[fmi]' there, or let PYTHONPATH lead to it"
    ) from error


# pythonfmu's library runs this file for each instance, and then gives back a reference to its names
# that it never took; without one more of them Python would crash
ctypes.pythonapi.Py_IncRef(ctypes.py_object(globals()))
# a program that is not Python ends Python when its libraries are gone already: collect nothing then
atexit.register(gc.freeze)


class Rover(Fmi2Slave):
    """The rover."""
'''
#: of all files inside, so that the same input gives the same bytes
_DATE = (1980, 1, 1, 0, 0, 0)


def export_fmu(
    scenario: Scenario,
    out: str | Path,
    *,
    inputs: str = "speed",
    parameters: Mapping[str, str] | None = None,
    name: str = "",
) -> Path:
    """Write a scenario as an FMU for co-simulation, FMI 2.0, and return its path.

    `inputs`: speed, torque or none (`fmi.interface`). `parameters`: names in the FMU by path in the
    scenario, e.g. {"interaction.friction": "friction"}; an empty name stands for the path.
    `name`: of the model; default: the file's.
    """
    library = _pythonfmu()
    out = Path(out)
    if out.suffix != ".fmu":
        raise InputError(f"--out: '{out}' must end in .fmu")
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else f"'{out.parent}' is not a folder"
        raise InputError(f"--out: '{out}': {what}; give a file in a folder that exists")
    with tempfile.TemporaryDirectory(prefix="marsyard-export-") as temporary:
        folder = Path(temporary) / "resources"
        folder.mkdir()
        interface = _prepare(scenario, folder, inputs, parameters or {}, name or out.stem)
        files = {f"resources/{p.relative_to(folder).as_posix()}": p.read_bytes()
                 for p in sorted(folder.rglob("*")) if p.is_file()}  # fmt: skip
    files |= _program(library)
    identifier = re.sub(r"\W", "_", interface.model, flags=re.ASCII)
    identifier = identifier if identifier[:1].isalpha() else f"rover_{identifier}"
    digest = hashlib.sha256(b"".join(k.encode() + v for k, v in sorted(files.items()))).hexdigest()
    guid = str(uuid.UUID(digest[:32]))
    files["modelDescription.xml"] = model_description(interface, identifier, guid)
    files["documentation/index.html"] = documentation(interface)
    files |= _binaries(library, identifier)
    _write(out, files)
    return out


def _pythonfmu() -> Path:
    """Where the package lies that has the libraries."""
    try:
        import pythonfmu
    except ImportError:
        raise InputError(
            "--fmu: an FMU is made with the package pythonfmu: pip install 'marsyard[fmi]'"
        ) from None
    return Path(pythonfmu.__file__).parent


def _prepare(
    scenario: Scenario, folder: Path, inputs: str, parameters: Mapping[str, str], name: str
) -> Interface:
    """Fill the folder of resources, and find out what the FMU shows."""
    import marsyard
    from marsyard.fmi.slave import INTERFACE, packed_scenario
    from marsyard.simulation import Simulation
    from marsyard.simulation.readings import Readings

    paths = {
        full_path(path, {"parameters": scenario.parameters}, "--parameter"): called or path
        for path, called in parameters.items()
    }
    shown = [
        parameter(called, path, value_at(scenario, path, "--parameter"))
        for path, called in paths.items()
    ]
    # checks the whole scenario, and knows joints, start angles and readings
    simulation = Simulation(scenario)
    world = simulation.world
    at = simulation.qpos[simulation.facts.joint_qpos]
    angles = {joint: float(angle) for joint, angle in zip(world.joints, at, strict=True)}
    changed, commands = with_inputs(scenario, world.robot, world.joints, inputs, angles)
    readings = [
        Variable(structured(r.name), "output", unit=r.unit, text=r.text, source=r.name)
        for r in Readings(simulation).all
    ]
    simulation.close()
    _must_differ(shown, {v.name for v in [*commands, *readings]})
    interface = Interface(
        model=name, text=scenario.title or world.robot.title or world.robot.name,
        version=marsyard.__version__, period=float(scenario.run.control_period or 0.0),
        duration=scenario.run.duration, variables=(*commands, *shown, *readings),
    )  # fmt: skip
    pack_scenario(changed, folder)
    # what was packed can be read, without the files it came from
    packed_scenario(folder, {})
    text = json.dumps(interface.as_dict(), indent=1, ensure_ascii=False)
    (folder / INTERFACE).write_text(text, encoding="utf-8")
    return interface


def _must_differ(parameters: list[Variable], taken: set[str]) -> None:
    """Refuse a parameter whose name is taken."""
    for v in parameters:
        if v.name in taken:
            raise InputError(f"--parameter {v.source}: '{v.name}' is the name of another variable")
        taken.add(v.name)


def _program(library: Path) -> dict[str, bytes]:
    """The Python part: what the library loads, and pythonfmu itself."""
    files = {f"resources/pythonfmu/{p.name}": p.read_bytes() for p in sorted(library.glob("*.py"))}
    files[f"resources/{_MODULE}.py"] = _SLAVE.encode()
    files["resources/slavemodule.txt"] = _MODULE.encode()
    return files


def _binaries(library: Path, identifier: str) -> dict[str, bytes]:
    """The libraries of all platforms that pythonfmu has."""
    folder = library / "resources" / "binaries"
    found = {
        f"binaries/{p.parent.name}/{identifier}{p.suffix}": p.read_bytes()
        for p in sorted(folder.rglob("*")) if p.suffix in (".so", ".dll", ".dylib")
    }  # fmt: skip
    if not found:
        raise InputError("--fmu: pythonfmu came without its libraries; install it from its wheel")
    return found


def _write(out: Path, files: Mapping[str, bytes]) -> None:
    """The zip file, all of it or nothing."""
    with replacing(out) as part, zipfile.ZipFile(part, "w") as archive:
        for name in sorted(files):
            info: Any = zipfile.ZipInfo(name, _DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, files[name])
