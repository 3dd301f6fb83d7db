"""The one reader of files: what is not regular, too large, too deep, or damaged is one sentence."""

from __future__ import annotations

import ast
import os
import re
import socket
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import marsyard
from marsyard import files
from marsyard.errors import InputError, clip, one_line, quote
from marsyard.files import regular, yaml_text
from marsyard.files.archives import check_archive
from marsyard.files.arrays import load_arrays
from marsyard.files.meshes import parse_mesh
from marsyard.files.netcdf import checksum_line, load_netcdf
from marsyard.files.pictures import load_picture
from marsyard.files.xml_text import check_xml

# --- regular files


def irregular(folder: Path) -> dict[str, Path]:
    """Everything that stands where a file should and is none, and links to it."""
    out = {name: folder / name for name in ("pipe", "folder", "socket", "loop")}
    os.mkfifo(out["pipe"])
    out["folder"].mkdir()
    out["loop"].symlink_to("loop")
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as end:
        # the path of a socket is short
        os.chdir(folder)
        end.bind("socket")
        os.chdir(here)
    for name, target in (("zero", "/dev/zero"), ("to_pipe", "pipe"), ("to_folder", "folder")):
        out[name] = folder / name
        out[name].symlink_to(target)
    return out


def test_only_regular_files_are_opened(tmp_path):
    began = time.process_time()
    for name, path in irregular(tmp_path).items():
        with pytest.raises(InputError, match="is a|cannot be read") as caught:
            files.read_bytes(path, "yaml")
        assert len(str(caught.value)) < 400, name
    with pytest.raises(InputError, match="no such file"):
        files.read_bytes(tmp_path / "nothing", "yaml")
    with pytest.raises(InputError, match="NUL"):
        files.read_bytes("a\0b", "yaml")
    with pytest.raises(InputError, match="not UTF-8"):
        files.read_bytes("a\udcffb", "yaml")
    with pytest.raises(InputError, match="cannot be read"):
        files.read_bytes("x" * 5000, "yaml")
    assert time.process_time() - began < 2.0


def test_files_have_a_size_by_kind(tmp_path):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(regular.LARGEST["yaml"] + 1)
    with pytest.raises(InputError, match=r"holds 16 MB; at most 16 MB are read"):
        files.read_bytes(path, "yaml")
    assert len(files.read_bytes(path, "table")) == regular.LARGEST["yaml"] + 1


def test_files_of_the_system_that_say_they_are_empty_are_read_to_their_end():
    assert b"MemTotal" in files.read_bytes("/proc/meminfo", "yaml")


def test_other_text_than_utf_8(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"title: \xff\n")
    with pytest.raises(InputError, match="not UTF-8"):
        files.read_yaml(path)
    path.write_bytes(b"title: a\r\nb: 1\rc: 2\n")
    assert files.read_yaml(path) == {"title": "a", "b": 1, "c": 2}


def test_names_that_no_file_can_have_are_of_none():
    for name in ("a\0b", "x" * 5000, "/etc/passwd/x"):
        assert not files.exists(name) and not files.is_file(name)


# --- YAML and JSON


def bomb(levels: int = 9) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, levels)]
    return "\n".join(lines)


NASTY = {
    "bomb": (bomb(), "more than 100000 values"),
    "merged bomb": ("a: &a {x: 1}\nb: {<<: [" + "*a, " * 9 + "*b]}", "undefined alias"),
    "deep list": ("a: " + "[" * 5000, "nested more than 60"),
    "deep mapping": ("a: " + "{a: " * 500 + "}" * 500, "nested more than 60"),
    "itself": ("a: &a [*a]", "stands in itself"),
    "digits": ("a: " + "9" * 20_000, "number of 20000 characters"),
    "digits and a word": ("a: " + "9" * 300_000 + "moon", "number of 300004 characters"),
    "sexagesimal": ("a: " + ":".join(["59"] * 300), "characters"),
    "long text": ("a: " + "x" * 200_000, "text of 200000 characters"),
    "surrogate": ('a: "\\ud800"', "lone surrogate"),
    "date": ("a: 2001-99-99", "not a value of type 'timestamp'"),
    "binary": ("a: !!binary x", "not valid YAML"),
    "float": ("a: !!float abc", "not a value of type 'float'"),
    "int": ("a: !!int ''", "not a value of type 'int'"),
    "object": ("a: !!python/object:os.system {}", "could not determine a constructor"),
    "list as key": ("? [a, b]\n: c", "where a key should"),
    "set as key": ("? !!set {a}\n: c", "where a key should|unhashable"),
    "control": ("a: \x07", "not valid YAML"),
    "twice": ("a: 1\na: 2", "appears twice"),
}


@pytest.mark.parametrize("text, said", NASTY.values(), ids=list(NASTY))
def test_yaml_that_does_harm_is_one_sentence(text, said):
    began = time.process_time()
    with pytest.raises(InputError, match=said) as caught:
        files.read_yaml_text(text, "a.yaml")
    message = str(caught.value)
    assert message.startswith("a.yaml") and len(message) < 400 and "\n" not in message
    assert time.process_time() - began < 1.0


def test_yaml_as_it_should_be():
    text = "a: &a {x: 1e-3, y: [1, 2]}\nb: *a\nc: {<<: *a, x: 5}\nd: 123456789012345678901234\n"
    data = files.read_yaml_text(text, "a.yaml")
    assert data["a"] == data["b"] == {"x": 1e-3, "y": [1, 2]}
    assert data["c"] == {"x": 5, "y": [1, 2]}
    assert isinstance(data["d"], float)  # as 1.2e23 is
    # who gets it may change it
    data["a"]["x"] = 2
    assert files.read_yaml_text(text, "a.yaml")["a"]["x"] == 1e-3


def test_references_count_as_what_they_stand_for():
    loader = yaml_text.Loader("a: &a [1, 2]\nb: [*a, *a]")
    loader.get_single_data()
    # the mapping, two keys, a's list and its values, b's list and twice what a stands for
    assert loader._nodes == 1 + 2 + 3 + 1 + 2 * 3


@pytest.mark.parametrize(
    "text, said",
    [
        ("[" * 100_000, "nested too deeply|Expecting"),
        ("9" * 20_000, "20000 digits"),
        ('"\\ud800"', "half of a character"),
        (b"\xff{}", "half of a character|not valid"),
        ("{", "not valid JSON"),
    ],
)
def test_json_that_does_harm_is_one_sentence(text, said):
    with pytest.raises(InputError, match=said):
        files.parse_json(text, "a.json")
    assert files.parse_json('{"a": [1, 2.5, null]}', "a.json") == {"a": [1, 2.5, None]}


# --- XML, archives, arrays


def test_xml_without_entities_and_of_limited_depth():
    laughs = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><a>&y;</a>'
    assert "entity 'x'" in check_xml(laughs.encode())
    outside = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    assert "entity 'x'" in check_xml(outside.encode())
    assert "stand in each other" in check_xml(b"<a>" * 5000)
    assert check_xml(b"<a><b/></a>") == ""
    assert check_xml(b"<a>") != ""


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_archives_are_complete_and_stay_in_their_folder(tmp_path):
    good = archive(tmp_path / "good.zip", a=b"x" * 5000)
    check_archive(good, "fmu", "good.zip")
    data = bytearray(good.read_bytes())
    data[40] ^= 255
    (tmp_path / "bad.zip").write_bytes(data)
    with pytest.raises(InputError, match="damaged|not complete"):
        check_archive(tmp_path / "bad.zip", "fmu", "bad.zip")
    (tmp_path / "cut.zip").write_bytes(good.read_bytes()[:50])
    with pytest.raises(InputError, match="not complete"):
        check_archive(tmp_path / "cut.zip", "fmu", "cut.zip")
    archive(tmp_path / "out.zip", **{"../evil": b"x"})
    with pytest.raises(InputError, match="outside of its folder"):
        check_archive(tmp_path / "out.zip", "fmu", "out.zip")


def test_an_archive_that_claims_more_than_it_can_hold(tmp_path):
    data = bytearray(archive(tmp_path / "a.zip", a=b"x" * 500).read_bytes())
    at = data.find(b"PK\x01\x02")
    data[at + 24 : at + 28] = (10**9).to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(InputError, match="smaller than it can be"):
        check_archive(tmp_path / "a.zip", "fmu", "a.zip")


def npy(shape: str, descr: str = "<f8", values: bytes = b"\0" * 80) -> bytes:
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values


@pytest.mark.parametrize(
    "content, said",
    [
        (npy("(100000000000,)"), "claims 800000000000 bytes of values, but there are 80"),
        (npy("(10**9,)"), "cannot be read"),
        (npy("(-1,)"), "cannot be read"),
        (npy("(10,)", "|O"), "Python objects"),
        (npy("(10,)", "<f8", b""), "but there are 0"),
        (npy("(10,)")[:50], "cannot be read"),
        (npy("(10,"), "cannot be read"),  # a bracket that is not closed
        (b"", "cannot be read"),
        (b"PK\x03\x04 broken", "cannot be read"),
    ],
)
def test_arrays_whose_heads_lie_are_one_sentence(tmp_path, content, said):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        load_arrays(path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_as_they_were(tmp_path, order):
    given = np.array(np.arange(24.0).reshape(2, 3, 4), order=order)
    np.save(tmp_path / "a.npy", given)
    assert np.array_equal(load_arrays(tmp_path / "a.npy"), given)
    np.savez_compressed(tmp_path / "a.npz", x=given, y=np.array(3), z=np.zeros((0, 2), int))
    back = load_arrays(tmp_path / "a.npz")
    assert isinstance(back, dict) and list(back) == ["x", "y", "z"]
    assert np.array_equal(back["x"], given) and back["y"].shape == () and back["y"] == 3
    assert back["z"].shape == (0, 2) and back["z"].flags.writeable


# --- data sets, meshes, pictures


def test_a_damaged_data_set_is_one_sentence(tmp_path):
    import xarray as xr

    path = tmp_path / "a.nc"
    xr.Dataset({"a": ("time", np.arange(500.0))}).to_netcdf(path, engine="h5netcdf")
    assert load_netcdf(path, "a file of results")["a"].size == 500
    good = path.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(30):
        data = bytearray(good)
        for at in rng.integers(0, 600, 8):
            data[at] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        try:
            load_netcdf(path, "a file of results")
        except InputError as error:
            assert "\n" not in str(error) and len(str(error)) < 400


def test_a_saved_data_set_ends_with_its_checksum(tmp_path):
    import h5py
    import xarray as xr

    from marsyard.results import save

    path = save(xr.Dataset({"a": ("time", np.arange(500.0))}, {"time": np.arange(500.0)}), tmp_path)
    good = path.read_bytes()
    assert load_netcdf(path, "a file of results")["a"].size == 500
    with h5py.File(path) as file:
        assert file["a"].shape == (500,)
    rng = np.random.default_rng(3)
    for _ in range(50):
        data = bytearray(good)
        data[int(rng.integers(0, len(data) - 30))] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        with pytest.raises(InputError, match="is damaged: its content does not have its checksum"):
            load_netcdf(path, "a file of results")
    # the line alone lost
    path.write_bytes(good[: -len(checksum_line(b""))])
    assert load_netcdf(path, "a file of results")["a"].size == 500


def test_a_data_set_that_claims_more_than_the_file_can_hold(tmp_path):
    import h5py

    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("a", (10**11,), "f8", chunks=(1000,))
    with pytest.raises(InputError, match="claims more values than the file can hold"):
        load_netcdf(path, "a file of results")


def test_meshes_name_nothing_beside_them():
    good = b"mtllib /dev/zero\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    assert len(parse_mesh(good, "obj").faces) == 1
    for bad in (b"", b"v 0 0 0\nf 1 2 3\n", b"\0" * 100):
        with pytest.raises(ValueError):
            parse_mesh(bad, "obj")


def test_pictures_of_a_size(tmp_path):
    from PIL import Image

    path = tmp_path / "a.png"
    Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4)).save(path)
    mode, values = load_picture(path)
    assert mode == "L" and values.shape == (3, 4)
    # a head that claims 60000 × 60000 points
    data = bytearray(path.read_bytes())
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    path.write_bytes(data)
    with pytest.raises(InputError, match="more than 100 million|cannot be read"):
        load_picture(path)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 30)
    with pytest.raises(InputError, match="cannot be read as a picture"):
        load_picture(path)


# --- sentences


def test_refusals_are_one_short_printable_line():
    for text in ("a\nb\tc", "x" * 10_000, "bell \x07 half \ud800", "word " * 500, "\x1b[2J"):
        said = str(InputError(text))
        assert len(said) < 400 and said.isprintable() and said == str(InputError(said))
    assert str(InputError("run.step = 3: must be at most 1")) == "run.step = 3: must be at most 1"
    assert one_line("a  b\n c") == "a b c"
    assert len(clip("y" * 500)) == 80 and clip("short") == "short"
    assert len(quote([["x" * 1000] * 1000] * 1000)) <= 80


# --- nobody else opens files

#: functions and methods that open a file, whatever they belong to
OPENING = {
    "open", "read_text", "read_bytes", "load_dataset", "open_dataset", "ZipFile", "from_file",
    "from_binary_path", "from_xml_path", "loadtxt", "genfromtxt", "fromfile", "memmap", "read_csv",
    "make_reader", "ParserCreate", "File",
}  # fmt: skip
#: those of modules that read files or take their contents apart
MODULES = {"np", "numpy", "yaml", "json", "trimesh", "ET", "ElementTree", "pickle", "tifffile"}
TAKING_APART = {"load", "loads", "safe_load", "load_all", "parse", "fromstring", "iterparse"}
WORDS = re.compile(rf"\b({'|'.join(OPENING | TAKING_APART)})\(")

#: places that may, with the reason; what is written there is no file that a user hands over
ALLOWED = {
    "marsyard/kernel_cache.py": "reads marsyard's own sources, and what its wheel brought",
    "marsyard/cli/bench.py": "reads marsyard's own benchmarks",
    "marsyard/compile_watch.py": "reads its own counts",
    "marsyard/drawing/page.py": "reads marsyard's own scripts, embeds figures just drawn",
    "marsyard/operations/desk/pages.py": "serves marsyard's own pages and what the session drew",
    "marsyard/results/terrain_figures.py": "writes, and embeds figures that were just drawn",
    "marsyard/operations/teleop/records.py": "writes its own records",
    "marsyard/operations/teleop/remote.py": "writes its own records",
    "marsyard/operations/editor/writing.py": "writes",
    "marsyard/campaign/journal.py": "locks and appends, after check_file",
    "marsyard/campaign/data.py": "writes",
    "marsyard/campaign/folder.py": "opens a Journal, which is no file",
    "marsyard/campaign/optimize/data.py": "writes",
    "marsyard/comparison/run_files.py": "writes",
    "marsyard/comparison/mode_files.py": "writes",
    "marsyard/comparison/wheel_files.py": "writes",
    "marsyard/comparison/runs.py": "rewrites what was just written",
    "marsyard/simulation/world.py": "a mesh's method, which reads through marsyard.files",
    "marsyard/study/data.py": "writes",
    "marsyard/results/energy_figures.py": "writes",
    "marsyard/results/export/bag.py": "writes, and copies the scenario that it read before",
    "marsyard/results/export/tables.py": "writes",
    "marsyard/results/movie/encode.py": "writes",
    "marsyard/results/replay.py": "MuJoCo opens model.mjb, after check_file",
    "marsyard/results/dataset.py": "writes, and opens zarr folders of a campaign's own",
    "marsyard/results/bags/reading.py": "reads a recording that open_file opened",
    "marsyard/robot/model_file.py": "MuJoCo opens MJCF, after check_named_files",
    "marsyard/robot/flat_model.py": "takes apart what MuJoCo wrote",
    "marsyard/ground/terrain/files.py": "rasterio opens a map, after check_file",
    "marsyard/control/fmu.py": "after check_archive and check_xml; reads what was unpacked",
    "marsyard/fmi/export.py": "packs its own files and those of pythonfmu",
    "marsyard/cli/edit.py": "opens an Environment, which is no file",
    "marsyard/operations/rover_side.py": "opens a message",
    "marsyard/operations/operator_side.py": "opens a message",
    "marsyard/web/browser.py": "opens a page in the browser",
    "marsyard/operations/desk/compose.py": "counts references in a text of the desk",
}


def opening(path: Path) -> list[int]:
    """Lines of a module that open a file."""
    text = path.read_text(encoding="utf-8")
    if not WORDS.search(text):
        return []
    tree = ast.parse(text)
    out = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in ("open", "ZipFile", "make_reader"):
            out.append(node.lineno)
        if isinstance(called, ast.Attribute):
            owner = getattr(called.value, "id", "")
            if called.attr in OPENING or (owner in MODULES and called.attr in TAKING_APART):
                out.append(node.lineno)
    return out


def test_no_other_module_opens_files():
    package = Path(marsyard.__file__).parent
    found = {}
    for path in sorted(package.rglob("*.py")):
        name = f"marsyard/{path.relative_to(package).as_posix()}"
        lines = opening(path)
        if lines and not name.startswith("marsyard/files/"):
            found[name] = lines
    others = {k: v for k, v in found.items() if k not in ALLOWED}
    assert not others, f"read these through marsyard.files, or say why not: {others}"
    assert set(ALLOWED) <= set(found), f"open nothing any more: {set(ALLOWED) - set(found)}"
    assert opening(package / "files" / "regular.py"), "the test finds what opens files"
