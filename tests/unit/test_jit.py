"""Fingerprints of the compiled kernels: what makes a cached one stale."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.core.errors import TypingError

import marsyard
from marsyard import kernel_cache
from marsyard.jit import F1, F2, I1, Packed, by_reference, inner, kernel, law_callback, reference
from marsyard.kernel_cache import fingerprint

PACKAGE = Path(marsyard.__file__).parent
KERNELS = "from marsyard.jit import kernel\n"
FILES = {
    "engine/__init__.py": "from marsyard.engine.step import step\n",
    "engine/step.py": KERNELS + "from marsyard.engine import sizes\n",
    "engine/sizes.py": "from marsyard.plain.reading import read\nMOST = 3\n",
    "law/kernel.py": KERNELS + "from marsyard.law.parts import (\n    part,\n)\n",
    "law/parts.py": KERNELS,
    "plain/reading.py": "import os\n",
    "analysis/map.py": KERNELS
    + "from marsyard.engine import step\n    from marsyard.law import parts\n",
}


REMEMBERED = ("_read", "_file", "_package", "_imported")


@pytest.fixture(autouse=True)
def _forget():
    yield
    _clear()


def _clear() -> None:
    for each in (fingerprint, *(getattr(kernel_cache, name) for name in REMEMBERED)):
        each.cache_clear()


def _stamps(folder: Path) -> dict[str, str]:
    _clear()
    return {name: fingerprint(folder / name, folder) for name in FILES}


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        # its own file, and what is imported by kernels, also through a package or for a number
        ("law/parts.py", {"law/parts.py", "law/kernel.py"}),
        ("law/kernel.py", {"law/kernel.py"}),
        ("engine/sizes.py", {"engine/sizes.py", "engine/step.py", "engine/__init__.py",
                             "analysis/map.py"}),
        # what files without kernels import is not called by kernels
        ("plain/reading.py", {"plain/reading.py"}),
        ("analysis/map.py", {"analysis/map.py"}),
    ],
)  # fmt: skip
def test_a_change_makes_stale_what_could_call_it(tmp_path, changed, stale):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    before = _stamps(tmp_path)
    (tmp_path / changed).write_text(FILES[changed] + "changed = 2\n")
    after = _stamps(tmp_path)
    assert {name for name in FILES if before[name] != after[name]} == stale


def test_a_kernel_carries_the_fingerprint_of_its_file():
    def nothing():
        return 0

    cache = kernel(nothing).compiled._cache
    assert cache._cache_file._source_stamp == fingerprint(Path(__file__))


def _changed_with(path: str) -> set[str]:
    """Files with callbacks or the loop whose kernels are compiled again when `path` changes."""
    made = [f"{name}.py" for name in COMPILED]
    _clear()
    before = {name: fingerprint(PACKAGE / name) for name in made}
    file = str(PACKAGE / path)
    _, follows, names = kernel_cache._read(file)
    real = kernel_cache._read
    try:
        fingerprint.cache_clear()
        kernel_cache._read = lambda p: (b"other", follows, names) if p == file else real(p)
        return {n.removesuffix(".py") for n in made if fingerprint(PACKAGE / n) != before[n]}
    finally:
        kernel_cache._read = real


LOOP, SCM = "simulation/loop", "interaction/soil_contact/kernels"
COLUMNS, WHEELS = "interaction/soil_columns/kernels", "interaction/wheel_models/kernels"
FLOW, AVALANCHES = (f"interaction/{law}/flow_kernels" for law in ("soil_contact", "soil_columns"))
POLYGONAL, COMPLIANT = "interaction/polygonal/kernels", "interaction/compliant/kernels"
GEOMETRY, SOLVER = "interaction/contact_geometry/callbacks", "interaction/nonsmooth/callback"
SOIL = (SCM, COLUMNS, WHEELS, FLOW, AVALANCHES)
COMPILED = (LOOP, *SOIL, POLYGONAL, COMPLIANT, GEOMETRY, SOLVER)


@pytest.mark.parametrize(
    ("path", "again"),
    [
        ("interaction/soil_columns/triaxial.py", {COLUMNS}),
        ("interaction/soil_columns/surface.py", {AVALANCHES}),
        ("interaction/wheel_models/ding.py", {WHEELS}),
        ("interaction/soil_kernels.py", {*SOIL}),
        ("interaction/polygonal/law.py", {POLYGONAL}),
        ("interaction/compliant/finding.py", {COMPLIANT}),
        ("interaction/nonsmooth/newton.py", {SOLVER}),
        ("interaction/contact_geometry/edge.py", {GEOMETRY, POLYGONAL}),
        ("simulation/moreau_jean.py", {LOOP}),
        ("robot/robot.py", set()),
        ("jit.py", {*COMPILED}),
        ("kernel_cache.py", set()),
        ("scenario/schema.py", set()),
    ],
)
def test_an_edit_compiles_what_it_must_and_no_more(path, again):
    """A law's kernels behind addresses cost the loop nothing."""
    assert _changed_with(path) == again


def test_files_with_kernels_under_another_name_say_so():
    """Decorators made of `kernel` elsewhere: the fingerprint looks for the words marsyard.jit."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^@(kernel|inlined|allocating|inner|inner_vector|merged)\b", text, re.M):
            assert "marsyard.jit" in text, path


@by_reference
class Inner(NamedTuple):
    """A tuple in another."""

    weights: np.ndarray


@by_reference
class Given(NamedTuple):
    """What a kernel takes as one pointer."""

    rows: np.ndarray
    count: int
    step: float
    doubled: bool
    inner: Inner


@kernel
def add_up(given, k):
    given.inner.weights[k] += given.step
    return given.rows[k, 0] * (2.0 if given.doubled else 1.0)


@kernel
def total_of(given):
    total = float(given.count)
    for k in range(given.rows.shape[0]):
        total += add_up(given, k)
        given.rows[k, 1] = total
    return total


def test_a_tuple_is_taken_by_reference():
    """Arrays, numbers and tuples in it are read, items written; other numbers, the same kernel."""
    given = Given(np.arange(6.0).reshape(3, 2), 10, 0.5, False, Inner(np.zeros(3)))
    assert total_of(given) == 10 + 0 + 2 + 4
    assert np.array_equal(given.rows[:, 1], [10, 12, 16])
    assert np.array_equal(given.inner.weights, [0.5, 0.5, 0.5])
    assert total_of(given._replace(doubled=True, count=0)) == 12
    (signature,) = total_of.compiled.signatures
    assert [type(each).__name__ for each in signature] == ["Reference"]


def test_a_field_that_is_not_there_is_named():
    with pytest.raises(TypingError, match="nowhere"):
        kernel(lambda given: given.nowhere)(Inner(np.zeros(1)))


def test_fields_in_another_order_are_another_type():
    """A cached kernel must not take one field for another of the same type."""

    def reference(names):
        kind = by_reference(NamedTuple("Same", [(n, np.ndarray) for n in names]))
        return typeof(kind(np.zeros(1), np.zeros(1)))

    assert reference(["a", "b"]) == reference(["a", "b"]) != reference(["b", "a"])


@by_reference
class Inside(NamedTuple):
    """A tuple in the next one, all of one type."""

    a: F1
    b: F1


@by_reference
class Told(NamedTuple):
    """A tuple whose types are known from its annotations."""

    x: F2
    first: bool
    second: bool
    factor: float
    inside: Inside
    count: I1


@law_callback(Told, Inside)
def read_all(told, other, time, h, theta, flag):
    """Reads every field, and writes two."""
    told.x[0, 1] = told.factor * told.x[1, 0] + told.inside.b[1] + other.a[0] + time + h + theta
    told.count[0] = 7 if told.second and not told.first else 3
    return told.inside.a.shape[0] + flag


def _told() -> Told:
    inside = Inside(np.zeros(3), np.array([0.0, 100.0]))
    return Told(np.array([[0.0, 0.0], [2.0, 3.0]]), False, True, 10.0, inside, np.zeros(1, int))


def test_compiled_code_reads_a_packed_tuple():
    call = ctypes.CFUNCTYPE(
        ctypes.c_int64, *(ctypes.c_int64,) * 2, *(ctypes.c_double,) * 3, ctypes.c_int64
    )(read_all.address)
    told, other = _told(), Inside(np.array([1000.0]), np.zeros(0))
    packed, second = Packed(told), Packed(other)
    assert call(packed.address, second.address, 0.5, 0.25, 0.125, 2) == 5
    assert told.x[0, 1] == 1120.875 and told.count[0] == 7
    # in place: what has the address sees the new arrays
    again = told._replace(second=False, inside=Inside(np.zeros(1), np.array([0.0, 200.0])))
    packed.replace(again)
    assert call(packed.address, second.address, 0.0, 0.0, 0.0, 0) == 1
    assert told.x[0, 1] == 1220.0 and told.count[0] == 3


def test_types_of_annotations_are_those_of_the_tuples():
    assert typeof(_told()) == reference(Told)


@pytest.mark.parametrize("wrong", [np.zeros(2), np.zeros((2, 2), int), np.zeros((4, 4))[:, ::2]])
def test_an_array_of_another_kind_is_refused(wrong):
    with pytest.raises(TypeError, match=r"Told\.x: must be a contiguous array of float64 with 2"):
        Packed(_told()._replace(x=wrong))


def test_a_field_that_kernels_do_not_know_is_refused():
    class Wrong(NamedTuple):
        name: str

    with pytest.raises(TypeError, match=r"Wrong\.name: kernels do not know"):
        reference(Wrong)


def test_a_package_of_others_has_fingerprints_too(tmp_path):
    """What it imports of its own, absolutely or not, and what it imports of marsyard."""
    package = tmp_path / "dunes"
    (package / "parts").mkdir(parents=True)
    files = {
        "__init__.py": "", "parts/__init__.py": "", "numbers.py": "MOST = 1\n",
        "parts/near.py": KERNELS, "unused.py": KERNELS,
        "law.py": KERNELS + "from dunes.numbers import MOST\nfrom .parts import near\n"
        "from marsyard.ground.soil_nodes import SIDE\nimport numpy as np\n",
    }  # fmt: skip
    for name, text in files.items():
        (package / name).write_text(text)

    def stamp() -> str:
        _clear()
        return fingerprint(package / "law.py")

    before = stamp()
    (package / "unused.py").write_text(KERNELS + "more = 1\n")
    assert stamp() == before
    for name in ("numbers.py", "parts/near.py"):
        (package / name).write_text(files[name] + "more = 1\n")
        after = stamp()
        assert after != before, name
        before = after
    nodes, law = PACKAGE / "ground" / "soil_nodes.py", package / "law.py"
    found = kernel_cache._found("marsyard.ground.soil_nodes", str(law), str(PACKAGE))
    assert found == str(nodes)


@inner
def squared(x):
    return x * x


@kernel
def summed_squares(values):
    total = 0.0
    for value in values:
        total += squared(value)
    return total


@kernel
def mean_square(values):
    return summed_squares(values) / values.size


def test_what_a_kernel_calls_is_part_of_its_code():
    """Parts have no machine code of their own; a kernel that another calls is one there, and
    still a kernel for Python."""
    values = np.array([1.0, 2.0, 4.0])
    mean_square.compiled._cache.flush()  # from the cache it would come without its parts
    assert mean_square(values) == 7.0
    (made,) = summed_squares.part.overloads.values()
    assert not made.library.codegen._engine.is_symbol_defined(made.fndesc.llvm_func_name)
    assert summed_squares(values) == 21.0
    with pytest.raises(TypeError, match=r"squared\(\) is part of a kernel"):
        squared(2.0)
