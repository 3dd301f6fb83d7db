"""What constraints.txt pins installs on every Python that pyproject.toml allows."""

import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]


def test_each_package_is_pinned_once_to_one_version():
    names = [pin.name.lower().replace("_", "-") for pin in pins()]
    assert len(set(names)) == len(names)
    assert all(str(pin.specifier).startswith("==") for pin in pins())


def test_no_pin_needs_a_newer_python():
    """A pin that wants 3.11.5 cannot be installed on Debian 12, whose Python is 3.11.2."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    wrong, seen = {}, 0
    for pin in pins():
        try:
            found = metadata(pin.name)
        except PackageNotFoundError:  # of another platform
            continue
        seen += 1
        needs = found.get("Requires-Python") or ""
        if found["Version"] in pin.specifier and oldest not in SpecifierSet(needs):
            wrong[pin.name] = needs
    assert not wrong and seen > 100
