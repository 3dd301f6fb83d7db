"""Environments under edit: files, undo, shapes and sizes against their formulas, mistakes."""

from __future__ import annotations

import errno
import math
import os
import time
from pathlib import Path

import numpy as np
import pytest

from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.ground.terrain import build_terrain
from marsyard.interaction.soft_ground import soils_of, terrain_of
from marsyard.operations.editor import Environment, check
from marsyard.operations.editor.checking import rocks_of
from marsyard.scenario import load_scenario
from marsyard.scenario.resolving import resolve_ground


@pytest.fixture
def place():
    return Environment.new()


def _everything(e: Environment) -> None:
    """One edit of each kind."""
    e.generate("rough", seed=4, roughness=0.03)
    e.generate("slope", slope=math.radians(4), uphill=1.0)
    e.place_crater(4.0, 2.0, 3.0)
    e.generate("craters", seed=2, density=0.02, largest=2.0)
    e.place_mound(-3.0, -3.0, 1.0, -0.2)
    e.place_rock(2.0, -0.5, 0.35, height=0.2, elongation=1.5, heading=0.4)
    e.generate("rocks", seed=3, coverage=0.02)
    e.place_rock(2.5, -2.5, 0.2)
    e.soft_patch(3.0, -1.0, 0.9)
    e.paint_stroke([(-4.0 + 0.5 * k, 4.0) for k in range(6)], 0.8, "dry_sand")
    e.place_robot(-5.0, 0.5, 0.3)
    e.place_goal(5.0, -4.0)
    e.choose_soil("lunar_nominal")


# --- files


def test_a_saved_file_loads_as_the_same_ground(place, tmp_path):
    _everything(place)
    again = Environment.open(place.save(tmp_path / "mine.yaml"))
    assert again.scenario == place.scenario and not place.changed
    assert np.array_equal(again.relief.z, place.relief.z)
    assert np.array_equal(again.relief.soil, place.relief.soil)
    assert again.relief.soils == place.relief.soils
    assert [str(i) for i in again.items] == [str(i) for i in place.items]
    # the ground the engine builds is the one that was drawn
    ground = load_scenario(tmp_path / "mine.yaml").ground[0]
    x, y = np.meshgrid(place.relief.x, place.relief.y)
    assert np.array_equal(terrain_of(ground).height(x, y), place.relief.z)


def test_a_saved_file_is_for_people(place, tmp_path):
    _everything(place)
    text = place.save(tmp_path / "mine.yaml").read_text(encoding="utf-8")
    assert "- {place: [2 m, -0.5 m], diameter: 0.35 m, height: 0.2 m, elongation: 1.5, " in text
    assert "- {kind: crater, centre: [4 m, 2 m], diameter: 3 m}" in text
    assert "points: [[-4 m, 4 m], [-3.5 m, 4 m], [-3 m, 4 m], " in text
    assert len(text) < 5000 and max(map(len, text.splitlines())) < 160


def test_saving_is_whole_or_not_at_all(place, tmp_path, monkeypatch):
    file = place.save(tmp_path / "mine.yaml")
    before = file.read_text(encoding="utf-8")
    place.place_rock(1.0, 1.0, 0.3)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written \\(No space left on device\\)"):
        place.save(file)
    assert file.read_text(encoding="utf-8") == before and place.changed
    assert [p.name for p in tmp_path.iterdir()] == ["mine.yaml"]


def test_files_that_must_not_be_written(place, tmp_path):
    from marsyard import library

    (tmp_path / "there.yaml").write_text("mine: 1\n", encoding="utf-8")
    (tmp_path / "folder.yaml").mkdir()
    for path, said in (
        (tmp_path / "there.yaml", "already exists"),
        (tmp_path / "folder.yaml", "is a folder"),
        (tmp_path / "mine.txt", "must end with .yaml"),
        (library.FOLDER / "scenarios" / "mine.yaml", "belongs to the library"),
        (tmp_path / "there.yaml" / "mine.yaml", "cannot be"),
    ):
        with pytest.raises(InputError, match=said):
            place.save(path)
    assert (tmp_path / "there.yaml").read_text(encoding="utf-8") == "mine: 1\n"
    place.save(tmp_path / "there.yaml", overwrite=True)


def test_library_scenarios_come_back_unchanged(tmp_path):
    for name in ("control/goal", "exomars/rocks-and-sand", "rt0448/test-7", "eldorado2/rough"):
        e = Environment.open(name)
        file = e.save(tmp_path / f"{name.replace('/', '-')}.yaml")
        saved, given = load_scenario(file), load_scenario(name)
        assert saved.model_copy(update={"ground": ()}) == given.model_copy(update={"ground": ()})
        x, y = np.meshgrid(np.linspace(-3, 8, 40), np.linspace(-4, 4, 30))
        for one, other in zip(saved.ground, given.ground, strict=True):
            if one.kind == "terrain":
                # a terrain of the library is written out
                a, b = terrain_of(one), terrain_of(other)
                assert np.array_equal(a.height(x, y), b.height(x, y))
                assert soils_of(one, a) == soils_of(other, b)
            else:
                assert one == other


# --- undo


def test_undo_and_redo_are_exact(place):
    states = [(place.text(), place.relief.z, place.relief.soil)]
    edits = [
        lambda: place.generate("rough", seed=9),
        lambda: place.place_crater(1.0, 1.0, 2.0),
        lambda: place.place_rock(3.0, 0.0, 0.4),
        lambda: place.move(place.items[-1].key, 3.5, 1.0),
        lambda: place.soft_patch(3.0, 3.0, 1.0),
        lambda: place.soft_patch(3.2, 3.0, 0.4, strength=0.5),
        lambda: place.remove("ground.0.terrain.layers.1"),
        lambda: place.change("ground.0.terrain.layers.0", roughness="8 cm"),
        lambda: place.choose_robot("sojourner"),
        lambda: place.generate("rocks", seed=2, coverage=0.01),
        lambda: place.split("ground.2.field"),
        lambda: place.new_ground("sand_trap"),
        lambda: place.load("control/goal"),
    ]
    for edit in edits:
        edit()
        states.append((place.text(), place.relief.z, place.relief.soil))
    assert len({text for text, _, _ in states}) == len(states)

    def same(state):
        text, z, soil = state
        assert place.text() == text
        assert np.array_equal(place.relief.z, z) and np.array_equal(place.relief.soil, soil)

    for state in reversed(states[:-1]):
        assert place.undo()
        same(state)
    assert place.undo() is None and not place.changed
    for state in states[1:]:
        assert place.redo()
        same(state)
    assert place.redo() is None


def test_kept_sums_of_layers_change_no_bit(place):
    _everything(place)
    place.remove("ground.0.terrain.layers.2")
    place.undo()
    place.remove("ground.0.terrain.layers.4")
    place.place_crater(-6.0, 3.0, 1.2)
    fresh = build_terrain(place.scenario.ground[0].terrain)
    x, y = np.meshgrid(place.relief.x, place.relief.y)
    assert np.array_equal(fresh.height(x, y), place.relief.z)


def test_removing_a_layer_leaves_random_ones_as_they_are():
    e = Environment.open("control/goal")  # its fractal has no seed of its own
    e._edit("test", lambda data: data["ground"][0]["terrain"]["layers"].reverse())
    before = e.relief.z
    (crater,) = [i for i in e.items if i.kind == "crater"]
    e.remove(crater.key)
    e.place_crater(4.0, 0.2, 3.0)
    assert np.allclose(e.relief.z, before, atol=1e-12)


# --- shapes and sizes


def test_crater_has_the_profile_of_pike(place):
    place.place_crater(1.0, -2.0, 4.0)
    r = np.linspace(0.0, 9.0, 400)
    z = place.relief.height(1.0 + r * math.cos(0.7), -2.0 + r * math.sin(0.7))
    depth, rim, radius = 0.196 * 4, 0.036 * 4, 2.0
    bowl = rim - depth * (1 - (r / radius) ** 2)
    ejecta = rim * np.maximum(r / radius, 1.0) ** -3.0
    near = r < 6.0
    assert np.allclose(z[near], np.where(r <= radius, bowl, ejecta)[near], atol=1e-12)
    assert np.all(z[r >= 8.0] == 0) and z[0] == pytest.approx(rim - depth)


def test_crater_of_given_depth_and_rim(place):
    place.place_crater(0.0, 0.0, 3.0, depth=0.3, rim=0.06)
    assert float(place.relief.height(0.0, 0.0)) == pytest.approx(0.06 - 0.3)
    assert float(place.relief.height(1.5, 0.0)) == pytest.approx(0.06)


def test_field_of_rocks_covers_as_much_as_counted_on_mars(place):
    place.look((-30.0, 30.0, -30.0, 30.0))
    k, low, high = 0.2, 0.15, 1.5
    place.generate("rocks", seed=5, coverage=k, smallest=low, largest=high)
    rocks = rocks_of(place)
    area = math.pi / 4 * rocks[:, 2] * rocks[:, 3]
    q = 1.79 + 0.152 / k

    def beyond(d):
        return k * (math.exp(-q * d) - math.exp(-q * high))

    # the scatter of a Poisson process: √(Σ area²)
    for size in (low, 0.25, 0.5):
        larger = np.sqrt(rocks[:, 2] * rocks[:, 3]) >= size
        scatter = math.sqrt(float(np.sum(area[larger] ** 2))) / 3600
        free = 1 - math.pi * 1.5**2 / 3600  # around the start
        assert area[larger].sum() / 3600 == pytest.approx(beyond(size) * free, abs=4 * scatter)
    assert np.hypot(rocks[:, 0], rocks[:, 1]).min() > 1.5


def test_fields_taken_apart_stay_what_they_are(place):
    place.generate("craters", seed=2, density=0.03, largest=2.0)
    place.generate("rocks", seed=3, coverage=0.03)
    z, rocks = place.relief.z, rocks_of(place)
    craters = place.split("ground.0.terrain.layers.0")
    assert craters > 10 and np.abs(place.relief.z - z).max() < 2e-4
    count = place.split("ground.1.field")
    assert count == len(rocks) and sum(i.kind == "rock" for i in place.items) == count
    # to the millimetre and hundredth of a degree
    assert np.allclose(rocks_of(place), rocks, atol=1.1e-3, rtol=1e-3)


def test_soft_patch_carries_less_by_its_factors(place):
    place.soft_patch(2.0, 0.0, 1.0, stiffness=0.25, strength=0.6)
    place.soft_patch(2.0, 0.0, 0.5, stiffness=0.5)
    ground = place.scenario.ground[0]
    firm, soft, softer = soils_of(ground, place.relief.terrain)
    given = load_soil("mars_sand_zhou2023")
    assert firm == given
    for soil, share in ((soft, 0.25), (softer, 0.125)):
        assert soil.pressure(0.02, 0.1) == pytest.approx(share * given.pressure(0.02, 0.1), 1e-5)
        assert soil.shear_strength(5e3) == pytest.approx(0.6 * given.shear_strength(5e3), 1e-5)
    at = [place.relief.soil_at(x, 0.0) for x in (0.5, 1.2, 2.2)]
    assert at == [place.relief.soils[0], "soft_mars_sand_zhou2023", "soft_mars_sand_zhou2023_2"]


def test_painting_over_takes_hidden_circles_away(place):
    for k in range(5):
        place.paint_soil(0.1 * k, 0.0, 0.5, "dry_sand")
    place.paint_soil(0.2, 0.0, 1.0, "lunar_nominal")
    (item,) = place.items
    assert "lunar_nominal" in item.about and place.relief.soil_at(0.4, 0.0) == "lunar_nominal"


def test_a_stroke_covers_what_is_near_its_line(place):
    line = np.array([[-3.0, 1.0], [0.0, 2.0], [0.5, -2.0]])
    item = place.paint_stroke([tuple(p) for p in line], 0.4, "dry_sand")
    # the nearest of many points on the line, instead of the distance of segments
    fine = np.concatenate([np.linspace(line[k], line[k + 1], 4000) for k in range(2)])
    random = np.random.default_rng(3)
    x, y = random.uniform(-4, 2, 400), random.uniform(-3, 3, 400)
    away = np.sqrt(((np.stack([x, y], axis=1)[:, None] - fine) ** 2).sum(axis=2)).min(axis=1)
    sure = np.abs(away - 0.4) > 1e-3
    found = place.relief.terrain.soil(x, y) == 1
    assert np.array_equal(found[sure], (away < 0.4)[sure]) and 10 < found.sum() < 200
    place.move(item.key, 1.0, 2.5)
    assert place.relief.soil_at(1.5, -1.5) == "dry_sand" != place.relief.soil_at(0.5, -2.0)


def test_ray_meets_the_ground_where_geometry_says(place):
    slope, uphill = math.radians(12), 0.8
    place.generate("slope", slope=slope, uphill=uphill)
    normal = np.array(
        [-math.cos(uphill) * math.tan(slope), -math.sin(uphill) * math.tan(slope), 1.0]
    )
    random = np.random.default_rng(1)
    for _ in range(20):
        origin = random.uniform((-15, -15, 8), (15, 15, 15))
        target = np.array([*random.uniform(-9, 9, 2), 0.0])
        target[2] = -(normal[:2] @ target[:2])
        hit = place.relief.hit(origin, target - origin)
        assert hit is not None and np.allclose(hit, target, atol=1e-5)
    assert place.relief.hit((0, 0, 10), (0, 0, 1)) is None
    assert place.relief.hit((0, 0, 10), (1, 0, -0.1)) is None


# --- elevation maps


def _map(folder, hole=False):
    y, x = np.mgrid[0:21, 0:31]
    z = 0.1 * np.sin(x / 5.0) + 0.02 * y
    if hole:
        z[8:11, 12:14] = np.nan
    np.savez(folder / "dem.npz", x=x * 0.5, y=y * 0.5, z=z)
    return z


def test_a_map_beside_the_scenario_moves_with_it(place, tmp_path, monkeypatch):
    z = _map(tmp_path)
    place.load_dem(tmp_path / "dem.npz")
    file = place.save(tmp_path / "mine.yaml")
    assert "file: dem.npz" in file.read_text(encoding="utf-8")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("mine.yaml", "dem.npz"):
        (tmp_path / name).rename(moved / name)
    monkeypatch.chdir(tmp_path)
    again = Environment.open(moved / "mine.yaml")
    # its middle is the origin, and 0 there
    x, y = (np.arange(31) - 15) * 0.5, (np.arange(21) - 10) * 0.5
    found = again.relief.height(*np.meshgrid(x, y))
    assert np.allclose(found, z - z[10, 15], atol=1e-12)


def test_maps_that_cannot_be_used(place, tmp_path):
    before = place.text()
    _map(tmp_path, hole=True)
    (tmp_path / "bad.csv").write_text("1,2,3\n3,x,5\n", encoding="utf-8")
    (tmp_path / "empty.npy").write_bytes(b"")
    for name, said in (
        ("none.tif", "does not exist"),
        ("dem.npz", "6 of 651 points have no height"),
        ("bad.csv", "'x', which is not a number"),
        ("empty.npy", "cannot be read"),
    ):
        with pytest.raises(InputError, match=said):
            place.load_dem(tmp_path / name)
    assert place.text() == before and place.can_undo is None
    place.load_dem(tmp_path / "dem.npz", holes="fill")
    with pytest.raises(InputError, match="outside the ground, which is x -7.5 to 7.5"):
        place.soft_patch(9.0, 0.0, 1.0)
    place.generate("rocks", seed=1, coverage=0.02)


# --- mistakes

MISTAKES = [
    (lambda e: e.place_rock(0, 3, -0.2), "rock: diameter = -0.2 m: must be above 0"),
    (lambda e: e.place_rock(0, 3, 0.2, buried=1.2), "buried = 1.2: must be below 1"),
    (lambda e: e.place_rock(math.nan, 3, 0.2), "rock: its position must be two finite numbers"),
    (lambda e: e.place_crater(0, 3, 0.0), "crater: diameter = 0 m"),
    (lambda e: e.place_crater(0, 3, 1.0, depth=0.9), "depth_ratio = 0.9: must be at most 0.5"),
    (lambda e: e.soft_patch(0, 3, 1.0, stiffness=0), "stiffness = 0: must be above 0"),
    (lambda e: e.paint_soil(0, 3, 1.0, "dry_snad"), "did you mean 'dry_sand'"),
    (lambda e: e.choose_soil({"name": "dry_sand", "k_phy": 3}), "unknown number 'k_phy'"),
    (lambda e: e.choose_robot("exomras"), "did you mean 'exomars'"),
    (lambda e: e.generate("rough", roughness=-1.0), "from 0 to 1 m is allowed"),
    (lambda e: e.generate("rugh"), "did you mean 'rough'"),
    (lambda e: e.generate("rocks", size=1.0), "unknown number 'size'"),
    (lambda e: e.generate("rocks", seed=-1), "seed = -1"),
    (lambda e: e.generate("rocks", smallest=0.5, largest=0.4), "must be below largest"),
    (lambda e: e.remove("ground.0.terrain.layers.7"), "there is no"),
    (lambda e: e.load("rt0448/test-99"), "unknown scenario"),
    (lambda e: e.look((1.0, 0.0, 0.0, 1.0)), "must be lower"),
]


@pytest.mark.parametrize(("wrong", "said"), MISTAKES, ids=[s for _, s in MISTAKES])
def test_mistakes_are_one_sentence_and_change_nothing(place, wrong, said):
    before, z = place.text(), place.relief.z
    with pytest.raises(InputError) as error:
        wrong(place)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert place.text() == before and place.relief.z is z and place.can_undo is None


def test_hard_ground_takes_rocks_but_no_craters():
    e = Environment.open("rt0448/test-1")
    e.place_rock(2.0, 0.0, 0.2)
    with pytest.raises(InputError, match="this scenario has only hard ground"):
        e.place_crater(2.0, 0.0, 2.0)
    e.new_ground("flat")
    e.place_crater(2.0, 0.0, 2.0)
    assert [g.kind for g in e.scenario.ground] == ["terrain", "rocks"]


def test_softness_that_a_wheel_model_would_not_feel_is_refused():
    e = Environment.open("control/goal")
    e._edit("test", lambda d: d["interaction"].update(wheel={"model": "rigid_slip"}))
    with pytest.raises(InputError, match="rigid_slip takes no stiffness from the soil"):
        e.soft_patch(0.0, 0.0, 1.0)


def test_own_soil_must_not_hide_one_of_the_library(place):
    place.soft_patch(0.0, 0.0, 1.0)
    ground = place.scenario.ground[0]
    soils = {"dry_sand": ground.soils["soft_mars_sand_zhou2023"]}
    wrong = ground.model_copy(update={"soil": "dry_sand", "soils": soils})
    with pytest.raises(InputError, match="the library already has a soil of that name"):
        resolve_ground(wrong)


def test_another_rover_drops_what_was_said_of_the_former():
    e = Environment.open("exomars/drawbar-pull")
    dropped = e.choose_robot("sojourner")
    assert {"control", "tethers", "report"} <= set(dropped), dropped
    assert e.scenario.robot.name == "sojourner" and e.goal == pytest.approx((3.0, 0.0))
    assert check(e, full=False) == []


# --- running


def test_the_example_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "how-to" / "edit.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(code.replace("print(check(place, full=False))", ""), {})
    assert load_scenario("runs/mine.yaml").drive.commands[0].goal == (4.0, -3.0)


def test_start_in_a_rock_is_found(place):
    place.place_rock(0.6, 0.4, 0.5)
    place.place_rock(4.1, 0.0, 0.5)
    said = check(place, full=False)
    assert len(said) == 2 and "inside a rock at (0.60, 0.40)" in said[0] and "The goal" in said[1]
    place.move("ground.1.rocks.0", 0.6, 1.6)
    place.remove("ground.1.rocks.1")
    assert check(place, full=False) == []


def test_a_goal_that_the_run_has_no_time_for_is_found(place):
    # 5 cm/s for 120 s
    place.place_goal(5.9, 0.0)
    assert check(place, full=False) == []
    place.place_goal(6.1, 0.0)
    (said,) = check(place, full=False)
    assert "6.1 m away" in said and "122 s" in said and "after 120 s" in said


def test_saved_ground_runs_and_a_soft_patch_sinks_as_it_should(place, tmp_path):
    from marsyard.simulation import Simulation

    place.place_rock(3.0, 1.0, 0.3)
    place.place_crater(6.0, 3.0, 2.0)
    sinkage = []
    for factor in (1.0, 0.3):
        if factor < 1:
            place.soft_patch(0.0, 0.0, 2.0, stiffness=factor)
        sim = Simulation(load_scenario(place.save(tmp_path / f"{factor}.yaml")))
        wheels = sim.world.robot.wheels.values()
        height = [sim.data.xpos[sim.model.body(w.body).id][2] for w in wheels]
        sinkage += [np.mean([w.radius + w.lug_height for w in wheels]) - np.mean(height)]
        sim.step(20)
        assert np.isfinite(sim.qpos).all()
    # load of a rigid wheel ~ k √(2 r) z^(n + ½): the sinkage grows by s^(−1/(n + ½))
    assert sinkage[1] / sinkage[0] == pytest.approx(0.3 ** (-1 / (0.92 + 0.5)), rel=0.08)


# --- the page, without a browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    from marsyard.operations.editor import serve_editor

    file = tmp_path_factory.mktemp("session") / "mine.yaml"
    page = serve_editor(Environment.new(), port=0, block=False, file=file)
    yield page
    page.stop()


def test_a_click_uses_the_tool_where_its_ray_meets_the_ground(page):
    editor, panel = page.editor, page.editor.panel
    panel.tool.value = "rock"
    editor.click((-5.0, -5.0, 5.0), (7.0, 6.0, -5.0))
    (item,) = editor.environment.items
    assert item.kind == "rock" and item.place == pytest.approx((2.0, 1.0), abs=1e-3)
    panel.tool.value = "select"
    editor.click((2.0, 1.0, 9.0), (0.0, 0.0, -1.0))
    assert "Selected: rock" in panel._message.content
    panel.moving.value = True
    editor.click((3.0, 3.0, 9.0), (0.0, 0.0, -1.0))
    assert editor.environment.items[0].place == pytest.approx((3.0, 3.0), abs=1e-3)
    editor.delete()
    assert not editor.environment.items
    editor.delete()
    assert "nothing on the ground" in panel._message.content
    editor.undo()
    editor.undo()
    editor.undo()
    assert editor.environment.can_undo is None
    editor.click((0.0, 0.0, 9.0), (0.0, 0.0, 1.0))


def test_an_edit_sends_only_the_tiles_it_changes_and_is_quick(page):
    editor = page.editor
    editor.panel.tool.value = "crater"
    editor.panel._sizes["crater"]["diameter"].value = 1.0
    editor.use(5.0, 5.0)
    sent, took = editor.scene.sent, []
    for k in range(3):
        began = time.perf_counter()
        editor.use(-6.0, -6.0 + 0.1 * k)
        took.append(time.perf_counter() - began)
    assert editor.environment.relief.z.shape == (201, 201)
    # 40 cells of 10 cm are a tile; 4 m with the ejecta touch at most four, and their edges
    assert (editor.scene.sent - sent) / 3 <= 4
    assert min(took) < 0.3


def test_mistakes_are_said_on_the_page(page, tmp_path):
    editor, panel = page.editor, page.editor.panel
    panel.map.value = str(tmp_path / "none.tif")
    editor.load_map()
    assert "does not exist" in panel._message.content
    panel.file.value = "mine.txt"
    editor.save()
    assert "must end with .yaml" in panel._message.content
    panel.file.value = "mine.yaml"
    editor.save()
    assert "Saved" in panel._message.content
    load_scenario(editor.files.folder / "mine.yaml")


def test_a_page_writes_only_in_its_folder(page, tmp_path):
    """Whatever it is called from the page, nothing outside is written or replaced."""
    editor, panel, folder = page.editor, page.editor.panel, page.editor.files.folder
    (tmp_path / "foreign.yaml").write_text("mine: 1\n", encoding="utf-8")
    (folder / "there.yaml").write_text("mine: 2\n", encoding="utf-8")
    (folder / "out").symlink_to(tmp_path, target_is_directory=True)
    (folder / "link.yaml").symlink_to(tmp_path / "foreign.yaml")
    (folder / "dangling.yaml").symlink_to(tmp_path / "new.yaml")
    (folder / "loop.yaml").symlink_to(folder / "loop.yaml")
    for name, said in {
        str(tmp_path / "new.yaml"): "must be the name of a file in",
        str(folder / "new.yaml"): "must be the name of a file in",
        "../new.yaml": "must be the name of a file in",
        "a/../../new.yaml": "must be the name of a file in",
        "out/new.yaml": "is outside of",
        "out/foreign.yaml": "is outside of",
        "link.yaml": "is a symbolic link",
        "dangling.yaml": "is a symbolic link",
        "loop.yaml": "is a symbolic link",
        "there.yaml": "was not opened or written in this editor",
        "x\0.yaml": "NUL",
        "": "give the name of a file",
        "x" * 300 + ".yaml": "cannot be written",
    }.items():
        panel.file.value = name
        editor.save()
        assert said in panel._message.content.replace("\\", ""), name
    assert [p.name for p in tmp_path.iterdir()] == ["foreign.yaml"]
    assert (tmp_path / "foreign.yaml").read_text(encoding="utf-8") == "mine: 1\n"
    assert (folder / "there.yaml").read_text(encoding="utf-8") == "mine: 2\n"
    # its own files it may replace, in folders below, too
    for name in ("below/own.yaml", "below/own.yaml"):
        panel.file.value = name
        editor.save()
        assert "Saved" in panel._message.content
    # and what it has opened
    panel.other.value = str(folder / "mine.yaml")
    editor.load()
    panel.file.value = "mine.yaml"
    editor.save()
    assert "Saved" in panel._message.content


def test_the_folder_of_a_session(tmp_path, monkeypatch):
    from marsyard.operations.editor.save_folder import SaveFolder

    here, other = tmp_path / "here", tmp_path / "other"
    (here / "below").mkdir(parents=True)
    other.mkdir()
    monkeypatch.chdir(here)
    for file, folder, first in (
        ("environment.yaml", here, "environment.yaml"),
        ("below/a.yaml", here, "below/a.yaml"),
        (here / "below" / "a.yaml", here, "below/a.yaml"),
        (other / "a.yaml", other, "a.yaml"),
        ("../other/a.yaml", other, "a.yaml"),
    ):
        made = SaveFolder(file)
        assert (made.folder, made.first) == (folder, first)
    opened = here / "below" / "a.yaml"
    opened.write_text("", encoding="utf-8")
    assert SaveFolder(opened, opened).target("below/a.yaml") == opened
    with pytest.raises(InputError, match="not opened or written"):
        SaveFolder("environment.yaml").target("below/a.yaml")


def test_it_can_be_taken_away_and_put_back(page):
    editor, done = page.editor, []
    left = set(page.server.scene._handle_from_node_name)
    editor.stop()
    names = set(page.server.scene._handle_from_node_name)
    assert not any(n.startswith("/editor/") for n in names) and names < left
    editor._on_done = done.append
    editor.start()
    editor.finish()
    assert done == [editor.environment]
