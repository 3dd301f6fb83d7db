"""`marsyard ground` as a user meets it: pictures, numbers, and one sentence for wrong input."""

from __future__ import annotations

import re
import urllib.error
from pathlib import Path

import numpy as np
import pytest
from command import run_aside
from command import run_here as marsyard
from fetching import fetch

FILES = {
    "heights.npz", "index.html", "map.png", "profile.png", "relief.png", "roughness.png",
    "slope.png",
}  # fmt: skip


def names_in(folder):
    return {p.name for p in Path(folder).iterdir()}


def test_a_ground_of_the_library_in_a_process(tmp_path):
    done = run_aside(["ground", "rocks_sparse", "--size", "6m", "--spacing", "5cm", "--profile",
                      "-3,0:3,1"], tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "ground-rocks_sparse"
    assert names_in(folder) == FILES
    assert names_in(tmp_path) == {"runs"}
    for row in ("extent", "heights", "RMS slope", "steepest slope", "RMS height difference",
                "rock coverage", "soils by area"):  # fmt: skip
        assert row in done.stdout
    assert "6 m × 6 m" in done.stdout
    assert "121 × 121 points" in done.stdout
    assert "drawing map.png" in done.stderr
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "Golombek" in page
    for source in re.findall(r'\bsrc="([^"]*)"', page):
        assert source.startswith("data:")


def test_pictures_show_something(tmp_path):
    from PIL import Image

    done = marsyard(["ground", "sand_trap", "--size", "5m", "--spacing", "5cm", "--centre", "4,0",
                     "--out", "here"], tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "lunar_loose" in done.stdout
    for name in FILES:
        if name.endswith(".png"):
            pixels = np.asarray(Image.open(tmp_path / "here" / name).convert("RGB"))
            assert min(pixels.shape[:2]) > 300
            assert len(set(map(tuple, pixels[::4, ::4].reshape(-1, 3)))) > 30, name
    # what was drawn can be read again as an elevation file, and is the same ground
    with np.load(tmp_path / "here" / "heights.npz") as data:
        heights = data["z"]
    again = marsyard(["ground", "here/heights.npz", "--out", "again", "--spacing", "5cm"], tmp_path)
    assert again.returncode == 0, again.stderr
    with np.load(tmp_path / "again" / "heights.npz") as data:
        assert data["z"] == pytest.approx(heights, abs=1e-9)


def test_yaml_and_bare_files(tmp_path):
    from trimesh.creation import box

    (tmp_path / "mine.yaml").write_text(
        "title: mine\nsoil: a\nlayers: [{kind: plane, slope: 10 deg}]\n"
        "places: [{kind: circle, soil: b, radius: 1}]\n"
    )
    done = marsyard(["ground", "mine.yaml", "--size", "4m,2m", "--spacing", "5cm"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 m × 2 m" in done.stdout and "10° over 0.1 m" in done.stdout
    assert names_in(tmp_path / "runs" / "ground-mine") == FILES
    np.savetxt(tmp_path / "grid.csv", np.add.outer(np.arange(8.0), np.zeros(6)), delimiter=",")
    done = marsyard(["ground", "grid.csv", "--grid", "2m", "--spacing", "20cm"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "10 m × 14 m" in done.stdout and "26.6°" in done.stdout
    box(extents=(2, 2, 0.5)).export(tmp_path / "box.stl")
    done = marsyard(["ground", "box.stl", "--spacing", "5cm"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0.25 to 0.25 m" in done.stdout


def test_seed_changes_the_terrain(tmp_path):
    heights = {}
    for name, seed in (("own", ()), ("zero", ("--seed", 0)), ("other", ("--seed", 1))):
        done = marsyard(["ground", "fractal_mild", "--size", "4m", "--spacing", "10cm", *seed,
                         "--out", name], tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        with np.load(tmp_path / name / "heights.npz") as data:
            heights[name] = data["z"]
    assert (heights["own"] == heights["zero"]).all()
    assert not (heights["own"] == heights["other"]).all()


def test_geotiff(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    values = np.add.outer(np.linspace(0, 5, 20), np.linspace(0, 3, 30))
    with rasterio.open(
        tmp_path / "dem.tif", "w", driver="GTiff", height=20, width=30, count=1, dtype="float64",
        crs="EPSG:32633", transform=rasterio.Affine(2, 0, 5000, 0, -2, 8000),
    ) as data:  # fmt: skip
        data.write(values, 1)
    done = marsyard(["ground", "dem.tif", "--spacing", "50cm"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "58 m × 38 m" in done.stdout and "0 to 8 m" in done.stdout


def test_list_and_show(tmp_path):
    listed = marsyard(["list", "grounds"], tmp_path)
    assert listed.returncode == 0
    assert "rocks_pathfinder" in listed.stdout and "exomars" not in listed.stdout
    shown = marsyard(["show", "rocks_pathfinder"], tmp_path)
    assert shown.returncode == 0
    assert "Golombek and Rapp 1997" in shown.stdout and "coverage: 0.19" in shown.stdout


WRONG = {
    "unknown ground": (["rocks_pathfindr"], "did you mean 'rocks_pathfinder'"),
    "missing file": (["none.tif"], "no such file"),
    "folder": (["full"], "is a folder"),
    "broken yaml": (["broken.yaml"], "not valid YAML"),
    "unknown key": (["key.yaml"], "did you mean 'layers'"),
    "bad layer": (["layer.yaml"], "layers.0.coverage"),
    "missing layer file": (["lost.yaml"], "layers.0 (file): file: 'lost.csv' does not exist"),
    "no spacing": (["grid.csv"], "spacing"),
    "not a map": (["note.pdf"], "cannot be read as a map"),
    "size": (["flat", "--size", "abc"], "--size"),
    "size unit": (["flat", "--size", "3 kg"], "unit of mass"),
    "negative size": (["flat", "--size", "-3"], "--size"),
    "spacing": (["flat", "--spacing", "0"], "--spacing"),
    "fine spacing": (["flat", "--spacing", "0.001mm"], "points"),
    "centre": (["flat", "--centre", "3"], "--centre"),
    "profile": (["flat", "--profile", "0,0"], "--profile"),
    "profile without length": (["flat", "--profile", "0,0:0,0"], "no length"),
    "grid of a yaml": (["flat", "--grid", "1"], "--grid"),
    "out is a file": (["flat", "--out", "note.pdf"], "is a file"),
    "out is full": (["flat", "--out", "full"], "holds other files"),
    "out below a file": (["flat", "--out", "note.pdf/under"], "--out"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_sentence(tmp_path, case):
    arguments, says = WRONG[case]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    (tmp_path / "broken.yaml").write_text("layers: [")
    (tmp_path / "key.yaml").write_text("layer: []")
    (tmp_path / "layer.yaml").write_text("layers: [{kind: rocks, coverage: 19}]")
    (tmp_path / "lost.yaml").write_text("layers: [{kind: file, file: lost.csv, spacing: 1}]")
    (tmp_path / "grid.csv").write_text("1,2,3,4\n1,2,3,4\n")
    (tmp_path / "note.pdf").write_text("no map")
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    done = marsyard(["ground", *arguments], tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert says in lines[0]
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before


def test_view_is_served(tmp_path):
    from marsyard.ground.terrain import build_terrain, survey
    from marsyard.results.terrain_view import serve_terrain, terrain_mesh
    from marsyard.scenario import load_terrain

    seen = survey(build_terrain(*load_terrain("rocks_sparse")), (4.0, 3.0), spacing=0.05)
    mesh = terrain_mesh(seen)
    assert len(mesh.vertices) == seen.z.size
    assert mesh.area == pytest.approx(np.sum(np.sqrt(1 + seen.gradient**2)) * 0.05**2, rel=0.1)
    assert (mesh.face_normals[:, 2] > 0).all()  # seen from above
    running = serve_terrain(seen, port=0, block=False)
    try:
        assert b"<html" in fetch(running.url).lower()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            fetch(running.url.partition("?")[0])
    finally:
        running.stop()
