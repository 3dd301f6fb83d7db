"""FMUs for tests, made without a compiler: those of examples/fmu, and broken ones."""

from __future__ import annotations

import zipfile
from pathlib import Path

from pythonfmu.builder import FmuBuilder

EXAMPLES = Path(__file__).parents[1] / "examples" / "fmu"

#: fails from t = 0.2 s on, with words of its own
FAILING = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Real


class Failing(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.torque = 0.1
        self.register_variable(Real("torque", causality=Fmi2Causality.output))

    def do_step(self, current_time, step_size):
        if current_time > 0.195:
            raise RuntimeError("the winding melts")
        return True
"""

#: a law by FMI 3.0: torque = gain (wanted - rate)
LAW_3 = """
from pythonfmu3 import Float64, Fmi3Causality, Fmi3Slave, Fmi3Variability


class Law(Fmi3Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.time, self.wanted, self.rate, self.torque, self.gain = 0.0, 0.0, 0.0, 0.0, 1.0
        independent = Fmi3Causality.independent
        self.register_variable(Float64("time", causality=independent))
        self.register_variable(Float64("wanted", causality=Fmi3Causality.input))
        self.register_variable(Float64("rate", causality=Fmi3Causality.input))
        self.register_variable(Float64("torque", causality=Fmi3Causality.output))
        self.register_variable(
            Float64(
                "gain", causality=Fmi3Causality.parameter, variability=Fmi3Variability.tunable
            )
        )

    def do_step(self, current_time, step_size):
        self.torque = self.gain * (self.wanted - self.rate)
        return True
"""


def example_fmu(name: str, folder: Path) -> Path:
    """An FMU of examples/fmu that can save its state."""
    return FmuBuilder.build_FMU(
        EXAMPLES / f"{name}.py", dest=folder, canGetAndSetFMUstate=True, canSerializeFMUstate=True
    )


def fmu_of(text: str, name: str, folder: Path) -> Path:
    """An FMU of a slave given as text."""
    script = folder / f"{name}.py"
    script.write_text(text)
    return FmuBuilder.build_FMU(script, dest=folder)


def changed(fmu: Path, target: Path, rename=None, description=None) -> Path:
    """A copy with files renamed (None: left out) and another description."""
    with zipfile.ZipFile(fmu) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "modelDescription.xml" and description is not None:
                data = description(data.decode()).encode()
            called = rename(name) if rename is not None else name
            if called is not None:
                new.writestr(called, data)
    return target
