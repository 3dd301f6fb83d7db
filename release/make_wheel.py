"""Build a wheel with compiled kernels inside: `make wheel`.

    python release/make_wheel.py [--out dist] [GROUP …]

1. pip builds the plain wheel from a copy of the sources.
2. It is unpacked. `first_runs.py` compiles there for LEVEL into an empty cache, and collects in
   `marsyard/compiled/` what users will load. GROUPs choose some of it; all, if none is named.
3. It is packed again. Its tags are those of numba's own wheel: the kernels need the same Python and
   platform. It asks for no newer numba and llvmlite than those that compiled, so that in an empty
   environment the kernels fit.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution, version
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from llvmlite.binding import get_host_cpu_features

ROOT = Path(__file__).parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "marsyard")
#: AVX2 and FMA: Intel since 2013, AMD since 2015
LEVEL = "x86-64-v3"
FEATURES = (
    "cmov cx8 fxsr mmx sse sse2 "
    "cx16 crc32 popcnt sahf sse3 ssse3 sse4.1 sse4.2 "
    "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
)  # fmt: skip
PINNED = ("numba", "llvmlite")


def can_make() -> bool:
    """This machine runs what it compiles for the wheel."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return False
    has = get_host_cpu_features()
    return all(has.get(name) for name in FEATURES.split())


def build_plain(folder: Path) -> Path:
    """The wheel without kernels, from a copy: setuptools keeps old files in its build folder."""
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        given = ROOT / name
        if given.is_dir():
            shutil.copytree(given, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(given, source)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*pip, *options, str(source)], check=True)
    (made,) = folder.glob("*.whl")
    return made


def compile_into(tree: Path, cache: Path, groups: list[str]) -> None:
    """Compile the kernels of an unpacked wheel for LEVEL and put them into it."""
    here = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    features = ",".join(f"+{name}" for name in sorted(FEATURES.split()))
    there = {
        **here, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": features,
        # its functions would have to be there wherever the wheel is used
        "NUMBA_DISABLE_INTEL_SVML": "1",
    }  # fmt: skip
    script = [sys.executable, str(Path(__file__).with_name("first_runs.py"))]
    for what in (["compile"], ["collect", str(tree / "marsyard" / "compiled")]):
        subprocess.run([*script, *what, *groups], env=there, cwd=cache.parent, check=True)


def set_tags(info: Path) -> str:
    """Give an unpacked wheel the tags of numba's; returns them as file names have them."""
    numbas = distribution("numba").read_text("WHEEL") or ""
    tags = [line for line in numbas.splitlines() if line.startswith("Tag: ")]
    kept = [
        line for line in (info / "WHEEL").read_text().splitlines()
        if line and not line.startswith(("Tag: ", "Root-Is-Purelib: "))
    ]  # fmt: skip
    (info / "WHEEL").write_text("\n".join([*kept, "Root-Is-Purelib: false", *tags, ""]))
    parts = zip(*(tag.removeprefix("Tag: ").split("-") for tag in tags), strict=True)
    return "-".join(".".join(dict.fromkeys(part)) for part in parts)


def limit_versions(info: Path) -> None:
    """Have an unpacked wheel ask for no newer versions of PINNED than those here."""
    text = (info / "METADATA").read_text(encoding="utf-8")
    limits = "".join(f"Requires-Dist: {name}<={version(name)}\n" for name in PINNED)
    text = text.replace("Requires-Dist: ", f"{limits}Requires-Dist: ", 1)
    (info / "METADATA").write_text(text, encoding="utf-8")


def pack(tree: Path, info: Path, wheel: Path) -> None:
    """Pack an unpacked wheel, with a new list of its files."""
    record = info / "RECORD"
    record.unlink()
    rows = []
    with ZipFile(wheel, "w", ZIP_DEFLATED, compresslevel=9) as out:
        for path in sorted(each for each in tree.rglob("*") if each.is_file()):
            data, name = path.read_bytes(), path.relative_to(tree).as_posix()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            rows.append(f"{name},sha256={digest},{len(data)}")
            out.write(path, name)
        own = record.relative_to(tree).as_posix()
        out.writestr(own, "\n".join([*rows, f"{own},,", ""]))


def make_wheel(out: Path, groups: list[str]) -> Path:
    """The wheel, in a folder."""
    if not can_make():
        sys.exit(f"make wheel: kernels are for {LEVEL} on Linux, and made on such a machine")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, tree = build_plain(folder), folder / "tree"
        ZipFile(plain).extractall(tree)
        compile_into(tree, folder / "cache", groups)
        (info,) = tree.glob("*.dist-info")
        limit_versions(info)
        wheel = out / f"{info.name.removesuffix('.dist-info')}-{set_tags(info)}.whl"
        out.mkdir(parents=True, exist_ok=True)
        pack(tree, info, wheel)
    return wheel


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="Build a wheel with compiled kernels inside.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="of first_runs.py [all]")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder [dist]")
    given = parser.parse_args()
    wheel = make_wheel(given.out, given.groups)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
