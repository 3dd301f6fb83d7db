"""The modelDescription.xml of an exported FMU (FMI 2.0.4, section 2.2).

A unit is told by its name, spelled as Modelica and other tools read it (N.m, m/s2), and, where it
is a product of powers of the SI's base units, by the exponents (`BaseUnit`).
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from marsyard.fmi.interface import Interface, Variable

#: exponents of base units
BASE_UNITS: dict[str, dict[str, int]] = {
    "m": {"m": 1}, "rad": {"rad": 1}, "s": {"s": 1}, "kg": {"kg": 1}, "A": {"A": 1}, "K": {"K": 1},
    "m/s": {"m": 1, "s": -1}, "rad/s": {"rad": 1, "s": -1}, "m/s²": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2}, "N·m": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3}, "J": {"kg": 1, "m": 2, "s": -2}, "m²": {"m": 2},
    "Pa": {"kg": 1, "m": -1, "s": -2}, "kg/m³": {"kg": 1, "m": -3},
    "Pa/m": {"kg": 1, "m": -2, "s": -2}, "Pa·s/m": {"kg": 1, "m": -2, "s": -1},
    "N·m/rad": {"kg": 1, "m": 2, "s": -2, "rad": -1}, "N·m²": {"kg": 1, "m": 3, "s": -2},
    "N·m·s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
    "K/W": {"kg": -1, "m": -2, "s": 3, "K": 1}, "J/K": {"kg": 1, "m": 2, "s": -2, "K": -1},
}  # fmt: skip
#: what the packed program can do
_ABILITIES = {
    "needsExecutionTool": "true", "canHandleVariableCommunicationStepSize": "true",
    "canInterpolateInputs": "false", "canBeInstantiatedOnlyOncePerProcess": "false",
    "canNotUseMemoryManagementFunctions": "true", "canGetAndSetFMUstate": "true",
    "canSerializeFMUstate": "true",
}  # fmt: skip
_LOG = {
    "logStatusWarning": "Information.",
    "logStatusDiscard": "Reason why a step was not performed.",
    "logStatusError": "Description of an error.",
    "logStatusFatal": "Description of a fatal error.",
    "logAll": "Everything.",
}


def model_description(interface: Interface, identifier: str, guid: str) -> bytes:
    """The file's text."""
    root = ET.Element(
        "fmiModelDescription", fmiVersion="2.0", modelName=interface.model, guid=guid,
        description=interface.text, generationTool=f"marsyard {interface.version}",
        variableNamingConvention="structured",
    )  # fmt: skip
    ET.SubElement(root, "CoSimulation", {"modelIdentifier": identifier, **_ABILITIES})
    units = sorted({v.unit for v in interface.variables if _unit(v)})
    if units:
        definitions = ET.SubElement(root, "UnitDefinitions")
        for name in units:
            unit = ET.SubElement(definitions, "Unit", name=_spelled(name))
            if name in BASE_UNITS:
                ET.SubElement(unit, "BaseUnit", {k: str(e) for k, e in BASE_UNITS[name].items()})
    categories = ET.SubElement(root, "LogCategories")
    for name, text in _LOG.items():
        ET.SubElement(categories, "Category", name=name, description=text)
    ET.SubElement(
        root, "DefaultExperiment", startTime="0.0", stopTime=repr(interface.duration),
        stepSize=repr(interface.period),
    )  # fmt: skip
    variables = ET.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(interface.variables):
        _add_variable(variables, reference, variable)
    structure = ET.SubElement(root, "ModelStructure")
    for part in ("Outputs", "InitialUnknowns"):
        listed = ET.SubElement(structure, part)
        for k, variable in enumerate(interface.variables):
            if variable.causality == "output":
                ET.SubElement(listed, "Unknown", index=str(k + 1))
    ET.indent(root)
    return ET.tostring(root, encoding="UTF-8", xml_declaration=True)


def _spelled(unit: str) -> str:
    """A unit without signs that are not ASCII: N·m² → N.m2."""
    return unit.translate(str.maketrans("·²³", ".23"))


def _unit(variable: Variable) -> str:
    """The unit to tell; pure numbers have none."""
    return "" if variable.unit == "1" else variable.unit


def _add_variable(into: ET.Element, reference: int, v: Variable) -> None:
    about = {"name": v.name, "valueReference": str(reference), "description": v.text}
    about["causality"] = v.causality
    if v.causality == "parameter":
        about |= {"variability": "fixed", "initial": "exact"}
    elif v.causality == "output":
        about |= {"variability": "continuous", "initial": "calculated"}
    else:
        about["variability"] = "continuous"
    element = ET.SubElement(into, "ScalarVariable", about)
    kind: dict[str, str] = {}
    if v.start is not None:
        kind["start"] = _text(v.start)
    if _unit(v):
        kind["unit"] = _spelled(_unit(v))
    ET.SubElement(element, v.type, kind)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
