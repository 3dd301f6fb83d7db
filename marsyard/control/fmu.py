"""External functional mock-up units (FMUs): opening, checking and stepping.

An FMU is a zip file with a model's description (modelDescription.xml) and its compiled code, by the
FMI standard (fmi-standard.org). Here FMUs for co-simulation by FMI 2.0 and 3.0 are used, through
FMPy. Over a step from t to t + h [s] its inputs hold; its outputs are read at t + h.

    file = FmuFile("pi.fmu")
    unit = FmuUnit(file, inputs=["wanted", "rate"], outputs=["torque"], parameters={"gain": 2.0})
    torque = unit.step(0.0, 0.01, [0.3, 0.0])
    unit.close()

An FMU is a program, which runs inside this process: use those you trust.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import shutil
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from marsyard.errors import InputError, few, suggest
from marsyard.files.archives import check_archive, read_member
from marsyard.files.xml_text import check_xml

_WHOLE = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")
#: types of numbers, by the name of the functions that read and write them
NUMBERS = {
    "Real": "Real", "Float64": "Float64", "Float32": "Float32", "Integer": "Integer",
    "Enumeration": "Integer", "Boolean": "Boolean", **{name: name for name in _WHOLE},
}  # fmt: skip
#: of an FMI call that went so wrong that nothing else may be called
_FATAL = 4
_WARNING = 1
#: where messages go that come while an FMU is called, of each thread
_hearing = threading.local()
#: what FMPy's logger calls: kept alive, since it knows that of the latest instance alone
_latest: list[Any] = []


def fmpy_or_explain(field: str) -> Any:
    """The package that runs FMUs, or one sentence."""
    try:
        import fmpy
    except ImportError:
        raise InputError(
            f"{field}: FMUs need the package FMPy: pip install 'marsyard[fmi]'"
        ) from None
    return fmpy


class FmuFile:
    """An FMU file, checked and unpacked into a temporary folder, which goes with the last user.

    `field` begins error sentences, e.g. "control.0".
    """

    def __init__(self, path: str | Path, field: str = "fmu") -> None:
        fmpy = fmpy_or_explain(field)
        self.path, self.field = Path(path), field
        self.where = f"{field}: {self.path.name}"
        self.description = self._read(fmpy)
        self._check(fmpy)
        self.folder = Path(tempfile.mkdtemp(prefix="marsyard-fmu-"))
        self._clean = weakref.finalize(self, _remove, self.folder)
        try:
            fmpy.extract(self.path, self.folder)
        except Exception as error:
            self._clean()
            raise self.error(f"cannot be unpacked ({_one_line(error)})") from None

    def close(self) -> None:
        """Delete the unpacked files, once no instance needs them."""
        self._clean()

    @property
    def version(self) -> str:
        """Of the standard: "2.0", "3.0"."""
        return str(self.description.fmiVersion)

    @property
    def can_save(self) -> bool:
        """Whether its state can be saved to bytes."""
        kind = self.description.coSimulation
        keys = ("canGetAndSetFMUstate", "canSerializeFMUstate")
        other = ("canGetAndSetFMUState", "canSerializeFMUState")
        return any(all(getattr(kind, k, False) for k in group) for group in (keys, other))

    def error(self, text: str) -> InputError:
        """A sentence about this file."""
        return InputError(f"{self.where}: {text}")

    def names(self, causality: str) -> list[str]:
        """Names of its inputs, outputs or parameters, numbers alone."""
        return [
            v.name for v in self.description.modelVariables
            if v.causality == causality and v.type in NUMBERS and not v.shape
        ]  # fmt: skip

    def variable(self, name: str, causality: str) -> Any:
        """The variable of this name, which must be an input, output or parameter."""
        known = {v.name: v for v in self.description.modelVariables}
        if name not in known:
            valid = [n for n, v in known.items() if v.causality == causality]
            raise self.error(f"has no variable '{name}'; {suggest(name, valid)}")
        found = known[name]
        allowed = (causality, "local") if causality == "output" else (causality,)
        if found.causality not in allowed:
            of = suggest(name, self.names(causality))
            raise self.error(f"'{name}' is of causality {found.causality}, not {causality}; {of}")
        if found.shape:
            raise self.error(f"'{name}' is an array; single values are supported")
        if found.type not in NUMBERS and not (found.type == "String" and causality == "parameter"):
            raise self.error(f"'{name}' is of type {found.type}; a number is needed")
        return found

    def check_step(self, period: float, name: str = "period") -> None:
        """Refuse a communication step [s] that the FMU says it cannot take."""
        fixed = getattr(self.description.coSimulation, "fixedInternalStepSize", None)
        if not fixed:
            return
        fixed = float(fixed)
        if round(period / fixed) < 1 or abs(round(period / fixed) * fixed - period) > 1e-9 * period:
            near = max(1, round(period / fixed)) * fixed
            raise self.error(
                f"steps by {fixed:g} s inside, and {name} = {period:g} s is not a whole multiple "
                f"of that; the nearest is {near:g} s"
            )

    def _read(self, fmpy: Any) -> Any:
        check_archive(self.path, "fmu", self.where, "an FMU, which is a zip file")
        text = read_member(self.path, "modelDescription.xml", "fmu", self.where)
        if text is None:
            raise self.error("is not an FMU: it holds no modelDescription.xml")
        wrong = check_xml(text)
        if wrong:
            raise self.error(f"its modelDescription.xml cannot be read ({wrong})")
        root = ElementTree.fromstring(text)
        version = root.get("fmiVersion", "")
        if root.tag != "fmiModelDescription" or not version:
            raise self.error("its modelDescription.xml is invalid: it has no fmiVersion")
        if not version.startswith(("2.", "3.")):
            raise self.error(f"is an FMU of FMI {version}; export it for FMI 2.0 or 3.0")
        try:
            return fmpy.read_model_description(str(self.path), validate=False)
        except Exception as error:
            said = f"its modelDescription.xml cannot be read ({_problem(fmpy, self.path, error)})"
            raise self.error(said) from None

    def _check(self, fmpy: Any) -> None:
        if self.description.coSimulation is None:
            raise self.error("is for model exchange only; export it for co-simulation")
        if not self.description.coSimulation.modelIdentifier:
            raise self.error("its modelDescription.xml names no modelIdentifier for co-simulation")
        have = fmpy.supported_platforms(str(self.path))
        binaries = [p for p in have if p != "c-code"]
        if fmpy.platform not in binaries:
            held = f"binaries for {few(binaries)} only" if binaries else "no binaries"
            if have == ["c-code"]:
                held = "C code and no binaries (`fmpy compile` makes some)"
            raise self.error(f"holds {held}; this machine is {fmpy.platform}")


class FmuUnit:
    """An instance of an FMU, initialised at time 0 and ready to be stepped."""

    def __init__(
        self,
        file: FmuFile,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.file = file
        self._inputs = _Group([file.variable(name, "input") for name in inputs])
        self._outputs = _Group([file.variable(name, "output") for name in outputs])
        settings = _settings(file, parameters or {})
        #: what the FMU said last
        self.messages: deque[str] = deque(maxlen=5)
        self._fmu = self._instance()
        # frees the instance also where nobody closes it
        self._fatal = [False]
        self._free = weakref.finalize(self, _free, self._fmu, self._fatal)
        self._guarded("cannot be initialised", self._initialise, settings)

    def step(self, time: float, step: float, values: Sequence[float]) -> np.ndarray:
        """The outputs at time + step [s], for inputs that hold from `time` on."""
        return self._guarded("its step failed", self._step, time, step, values)

    def outputs(self) -> np.ndarray:
        """The outputs now."""
        return self._guarded("cannot be read", self._outputs.get, self._fmu)

    def state(self) -> bytes:
        """Its whole state, for `restore`."""
        if not self.file.can_save:
            raise self.file.error("cannot save its state, so that a run with it cannot be branched")
        return self._guarded("cannot save its state", self._save)

    def restore(self, saved: bytes) -> None:
        """Go back to a saved state."""
        self._guarded("cannot restore a saved state", self._recall, saved)

    def close(self) -> None:
        """End and free the instance; it cannot be stepped after that."""
        self._free()

    # --- calls

    def _instance(self) -> Any:
        from fmpy import instantiate_fmu

        _prepare_python(self.file.folder / "resources")
        _hearing.messages = self.messages
        try:
            with _same_folder():
                fmu = instantiate_fmu(
                    str(self.file.folder), self.file.description, "CoSimulation",
                    debug_logging=True, logger=_listen,
                )  # fmt: skip
        except Exception as error:
            raise self.file.error(f"cannot be started ({self._said(error)})") from None
        _latest[:] = [fmu.callbacks]
        return fmu

    def _initialise(self, settings: Sequence[tuple[str, int, Any]]) -> None:
        fmu = self._fmu
        two = self.file.version == "2.0"
        if two:
            fmu.setupExperiment(startTime=0.0)
        for kind, reference, value in settings:
            getattr(fmu, f"set{kind}")([reference], [value])
        fmu.enterInitializationMode(**({} if two else {"startTime": 0.0}))
        fmu.exitInitializationMode()

    def _step(self, time: float, step: float, values: Sequence[float]) -> np.ndarray:
        self._inputs.set(self._fmu, values)
        done = self._fmu.doStep(currentCommunicationPoint=time, communicationStepSize=step)
        # of FMI 3.0: event, terminate, early return, last time
        if done is not None and (done[1] or done[2]):
            raise RuntimeError(f"it asked to stop at t = {done[3]:.6g} s")
        return self._outputs.get(self._fmu)

    def _save(self) -> bytes:
        state = self._fmu.getFMUState()
        try:
            return self._fmu.serializeFMUState(state)
        finally:
            self._fmu.freeFMUState(state)

    def _recall(self, saved: bytes) -> None:
        state = self._fmu.deserializeFMUState(saved)
        try:
            self._fmu.setFMUState(state)
        finally:
            self._fmu.freeFMUState(state)

    def _guarded(self, what: str, call: Any, *given: Any) -> Any:
        if not self._free.alive:
            raise self.file.error("is closed already")
        if self._fatal[0]:
            raise self.file.error("has failed permanently and cannot be used any more")
        self.messages.clear()
        _hearing.messages = self.messages
        try:
            return call(*given)
        except InputError:
            raise
        except Exception as error:
            self._fatal[0] = getattr(error, "status", 0) == _FATAL
            raise self.file.error(f"{what} ({self._said(error)})") from None

    def _said(self, error: Exception) -> str:
        """What went wrong, in the FMU's words where it said some."""
        said = _one_line("; ".join(self.messages) or error).rstrip(".")
        return said.replace(f"{self.file.folder}{os.sep}", "")


class _Group:
    """Variables that are read or written together, by type."""

    def __init__(self, variables: Sequence[Any]) -> None:
        self.names = [v.name for v in variables]
        kinds = dict.fromkeys(NUMBERS[v.type] for v in variables)
        self._of = [
            (kind, [k for k, v in enumerate(variables) if NUMBERS[v.type] == kind],
             [v.valueReference for v in variables if NUMBERS[v.type] == kind])
            for kind in kinds
        ]  # fmt: skip

    def set(self, fmu: Any, values: Sequence[float]) -> None:
        for kind, at, references in self._of:
            given = [_as(kind, float(values[k]), self.names[k]) for k in at]
            getattr(fmu, f"set{kind}")(references, given)

    def get(self, fmu: Any) -> np.ndarray:
        out = np.zeros(len(self.names))
        for kind, at, references in self._of:
            out[at] = getattr(fmu, f"get{kind}")(references)
        return out


def _as(kind: str, value: float, name: str) -> float | int | bool:
    """A number as the FMU's type takes it."""
    if not np.isfinite(value):
        raise ValueError(f"its input '{name}' would be {value}")
    if kind in ("Real", "Float64", "Float32"):
        return value
    return value != 0.0 if kind == "Boolean" else round(value)


def _settings(file: FmuFile, parameters: Mapping[str, Any]) -> list[tuple[str, int, Any]]:
    """Type, reference and value of each parameter, checked."""
    out = []
    for name, value in parameters.items():
        found = file.variable(name, "parameter")
        kind = NUMBERS.get(found.type, found.type)
        if isinstance(value, str) != (kind == "String"):
            raise file.error(f"parameter '{name}' is of type {found.type}, but is given {value!r}")
        if kind == "Boolean":
            value = bool(value)
        elif kind != "String" and kind not in ("Real", "Float64", "Float32"):
            if value != int(value):
                raise file.error(f"parameter '{name}' is of type {found.type}, and is {value}")
            value = int(value)
        out.append((kind, found.valueReference, value))
    return out


def _listen(*given: Any) -> None:
    """Keep what the FMU warns of that is called; by FMI 2.0 (five arguments) or 3.0 (four).

    FMPy hands the messages of all instances by FMI 2.0 to the logger of the latest one.
    """
    status, text = given[-3], given[-1]
    messages = getattr(_hearing, "messages", None)
    if messages is not None and status >= _WARNING and text:
        messages.append(_one_line(text.decode("utf-8", "replace")))


@contextlib.contextmanager
def _same_folder() -> Iterator[None]:
    """Stay in the present folder; FMPy does not go back where a library cannot be loaded."""
    here = os.getcwd()
    try:
        yield
    finally:
        os.chdir(here)


def _problem(fmpy: Any, path: Path, error: Exception) -> str:
    """What the standard's schema says of a description, where it says something."""
    try:
        fmpy.read_model_description(str(path))
    except Exception as told:
        return _one_line((getattr(told, "problems", None) or [error])[0]).rstrip(".")
    return _one_line(error)


def _free(fmu: Any, fatal: Sequence[bool]) -> None:
    # after a fatal error the standard allows no further call
    if not fatal[0]:
        with contextlib.suppress(Exception):
            fmu.terminate()
        with contextlib.suppress(Exception):
            fmu.freeInstance()


def _prepare_python(resources: Path) -> None:
    """Have the module of an FMU made by pythonfmu loaded as it should be.

    Its library takes a module that is loaded already for its own if it has the same name, and (up
    to 0.7) gives back a reference to the module's names that it never took, for each instance.
    """
    marker = resources / "slavemodule.txt"
    if not marker.is_file():
        return
    name = marker.read_text(encoding="utf-8").strip()
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is not None and not Path(file).is_relative_to(resources):
        del sys.modules[name]
    sys.path.insert(0, str(resources))
    # what is wrong with it, the FMU says itself
    with contextlib.suppress(Exception):
        names = vars(importlib.import_module(name))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(names))


def _remove(folder: Path) -> None:
    """Delete an unpacked FMU; those written in Python leave modules and places to look for some."""
    sys.path[:] = [p for p in sys.path if not p.startswith(str(folder))]
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
    shutil.rmtree(folder, ignore_errors=True)


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())
