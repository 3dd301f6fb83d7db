"""Traction maps: what they hold, verdicts, borders, figures, mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from marsyard.analysis.traction_map import VerdictLimits, path_profile, save_figures, traction_map
from marsyard.analysis.traction_map.maps import GO, HARD, NO_GO, OUTSIDE
from marsyard.analysis.traction_map.rover_tables import rover_tables
from marsyard.errors import InputError
from marsyard.ground.terrain import build_terrain
from marsyard.robot import Robot
from marsyard.scenario import load_terrain, validate_terrain
from marsyard.scenario.soil import TerrainGround


def _terrain(*layers, **more):
    return validate_terrain({"title": "t", "layers": list(layers), **more}, "t")


@pytest.fixture(scope="module")
def dip():
    """Level ground with a deep, steep dip in its middle, bounded to 12 m."""
    spec = _terrain(
        {"kind": "bump", "centre": [0, 0], "radius": 2.0, "height": -1.5},
        bounds=[[-6, 6], [-6, 6]],
    )
    return traction_map("exomars", spec, friction=0.5, spacing=1.0, headings=4)


def test_a_map_is_labelled(dip):
    assert dict(dip.sizes) == {
        "y": 12, "x": 12, "heading": 4, "wheel": 6, "ground_x": 400, "ground_y": 400,
    }  # fmt: skip
    assert dip.heading.to_numpy() == pytest.approx(np.arange(4) * np.pi / 2)
    assert dip.x.to_numpy() == pytest.approx(np.arange(-5.5, 6))
    for name in dip.data_vars:
        assert dip[name].attrs["units"] and dip[name].attrs["long_name"], name
    assert dip.verdict.attrs["flag_meanings"] == "go hard no-go outside"
    assert dip.attrs["robot"] == "exomars" and dip.attrs["weight"] == pytest.approx(310 * 9.81)
    assert np.allclose(dip.traction, dip.traction_ratio * dip.attrs["weight"], equal_nan=True)


def test_a_pose_is_the_same_in_every_map_and_on_every_path():
    terrain = build_terrain(*load_terrain("fractal_mild"))
    settings = {"friction": 0.5, "gravity": 3.72}
    whole = traction_map("exomars", terrain, bounds=(0, 4, 0, 4), headings=2, **settings)
    part = traction_map("exomars", terrain, bounds=(1, 3, 1, 2), headings=2, **settings)
    y, x = part.y.values, part.x.values
    same = whole.sel(x=x, y=y, method="nearest")
    assert np.allclose(same.x, x) and np.allclose(same.y, y)
    along = path_profile("exomars", terrain, np.array([[x[1], y[1], 0.0]]), **settings)
    for name in ("height", "pitch", "traction", "friction_demand"):
        assert np.allclose(same[name], part[name], rtol=1e-6, atol=1e-6, equal_nan=True)
        assert float(along[name][0]) == pytest.approx(float(part[name][1, 1, 0]), rel=1e-6)


def test_a_map_can_be_saved_and_read_again(dip, tmp_path):
    import xarray

    dip.to_netcdf(tmp_path / "map.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "map.nc", engine="h5netcdf") as read:
        assert np.array_equal(read.verdict, dip.verdict)
        assert read.attrs["friction"] == 0.5


def test_what_reaches_over_the_border_is_outside(dip):
    verdict = dip.verdict.to_numpy()
    edge = np.ones(verdict.shape, bool)
    edge[1:-1, 1:-1] = False
    assert (verdict[edge] == OUTSIDE).all() and (verdict[~edge] != OUTSIDE).all()
    assert dip.traction.isnull().to_numpy()[edge].all()
    assert dip.height.notnull().to_numpy()[~edge].all()


def test_verdicts_follow_the_numbers(dip):
    inside = dip.where(dip.verdict != OUTSIDE, drop=True).stack(pose=["y", "x", "heading"])
    limits = VerdictLimits()
    seen = set()
    for k in range(inside.sizes["pose"]):
        at = inside.isel(pose=k)
        demand = float(at.friction_demand) / 0.5
        possible = at.traction_ratio >= 0 and demand <= 1
        possible = possible and at.tilt <= limits.tilt and at.margin >= limits.margin
        easy = at.traction_ratio >= 0.1 and demand <= 0.8
        easy = easy and at.tilt <= limits.hard_tilt and at.margin >= limits.hard_margin
        expected = (GO if easy else HARD) if possible else NO_GO
        assert at.verdict == expected
        seen.add(expected)
    assert seen == {GO, HARD, NO_GO}


def test_limits_can_be_changed():
    ground = build_terrain(_terrain({"kind": "plane", "slope": "12 deg"}))
    here = np.array([[0.0, 0.0, 0.0]])
    for limits, verdict in (
        (VerdictLimits(), GO),
        (VerdictLimits(hard_tilt=np.radians(10)), HARD),
        (VerdictLimits(hard_traction=0.5), HARD),
        (VerdictLimits(hard_demand=0.3), HARD),
        (VerdictLimits(tilt=np.radians(10)), NO_GO),
        (VerdictLimits(margin=np.radians(80)), NO_GO),
    ):
        assert path_profile("exomars", ground, here, limits=limits).verdict == verdict


def test_grounds_of_every_kind_are_the_same(tmp_path):
    """A name, a file, a terrain, its description, the ground of a scenario."""
    at = np.arange(-4, 4.01, 0.5)
    heights = 0.1 * np.sin(at)[None, :] + 0.05 * np.cos(at)[:, None]
    np.save(tmp_path / "map.npy", heights)
    layer = {"kind": "file", "file": str(tmp_path / "map.npy"), "spacing": 0.5}
    spec = _terrain(layer)
    path = tmp_path / "ground.yaml"
    path.write_text(
        f"title: t\nlayers: [{{kind: file, file: {tmp_path / 'map.npy'}, spacing: 0.5}}]"
    )
    grounds = [spec, build_terrain(spec), str(path), path,
               TerrainGround(kind="terrain", terrain=spec)]  # fmt: skip
    xmin, xmax, ymin, ymax = build_terrain(spec).bounds
    middle = [(xmin + xmax) / 2, (ymin + ymax) / 2, 0.0]
    poses = np.array([[0.2, 0.1, 0.4], [-0.5, 0.3, 2.0]]) + middle
    found = [path_profile("exomars", ground, poses) for ground in grounds]
    assert np.isfinite(found[0].traction).all()
    for other in found[1:]:
        assert np.array_equal(found[0].traction, other.traction)


def test_a_path_has_its_own_headings():
    along = path_profile("exomars", "flat", [[0, 0], [2, 2], [2, 4]], step=0.5)
    assert along.distance[-1] == pytest.approx(2 * np.sqrt(2) + 2)
    assert along.heading[0] == pytest.approx(np.pi / 4)
    assert along.heading[-1] == pytest.approx(np.pi / 2)
    poses = np.column_stack([along.x, along.y, along.heading])
    again = path_profile("exomars", "flat", poses)
    # straight from pose to pose, so the corner is cut
    assert np.allclose(again.distance[:6], along.distance[:6])
    assert along.distance[-1] - 0.2 < again.distance[-1] < along.distance[-1]
    assert np.array_equal(again.verdict, along.verdict)


def test_progress_is_told():
    told = []
    settings = {"bounds": (-2, 2, -2, 2), "spacing": 0.5, "headings": 2}
    traction_map("exomars", "flat", progress=lambda done, of: told.append((done, of)), **settings)
    assert told == [(64, 128), (128, 128)]


def test_figures_are_drawn(dip, tmp_path):
    from matplotlib.image import imread

    from marsyard.analysis.traction_map.figures import COLOURS, draw_profile

    figures = save_figures(dip, tmp_path)
    assert [f.path.name for f in figures] == [
        "verdicts.png", "headings.png", "pull-and-tilt.png", "roses.png",
    ]  # fmt: skip
    # roses are nearly opaque: their colours are seen, that of no-go too
    picture = imread(figures[-1].path)[..., :3]
    for colour in COLOURS[:3]:
        wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        assert (np.abs(picture - wanted).max(axis=2) < 0.15).sum() > 50, colour
    along = path_profile("exomars", "flat", [[0, 0], [2, 0]], step=0.5)
    assert len(draw_profile(along).axes) == 3


def test_tables_of_a_differential():
    """Rocker and bogie of each side; the rockers' angles are opposite."""
    tables, names = rover_tables("curiosity_like")
    assert len(names.joints) == 4 and tables.limits.basis.shape == (4, 3)
    rockers = [k for k in range(4) if tables.chain.parent[k] == 0]
    assert len(rockers) == 2 and np.allclose(tables.limits.basis[rockers].sum(axis=0), 0)
    assert tables.chain.mass.sum() == pytest.approx(tables.chain.carried[0])
    held, fewer = rover_tables("curiosity_like", joints={names.joints[1]: 0.1})
    assert len(fewer.joints) == 3


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"friction": 0.0}, "friction: must be above 0"),
        ({"spacing": -1.0}, "spacing: must be above 0"),
        ({"resolution": 0.0001}, "resolution: a grid of"),
        ({"spacing": 1e-4}, "spacing: .* poses"),
        ({"headings": 0}, "headings: must be 1 or more"),
        ({"bounds": (1, 0, 0, 1)}, "bounds: .* must be xmin < xmax"),
        ({"torque": {"LF": 1.0}}, "torque: exomars has no wheel 'LF'"),
        ({"torque": -1.0}, "torque: must be 0"),
        ({"joints": {"knee": 1.0}}, "joints: exomars has no joint 'knee'"),
        ({"ground": "falt"}, "unknown ground 'falt'.*flat"),
        ({"ground": 3}, "ground: must be a terrain"),
        ({"robot": "single_wheel_rig"}, "no free joint"),
        ({"robot": "hexapod"}, "no wheels"),
    ],
)
def test_mistakes_are_one_sentence(more, text):
    asked = {"robot": "exomars", "ground": "flat", **more}
    with pytest.raises(InputError, match=text) as caught:
        traction_map(**asked)
    assert "\n" not in str(caught.value)


def test_bounds_beside_the_ground():
    spec = _terrain({"kind": "plane"}, bounds=[[0, 10], [0, 10]])
    with pytest.raises(InputError, match="the ground reaches from x = 0 to 10 m"):
        traction_map("exomars", spec, bounds=(20, 30, 0, 10))


def test_closed_loops_are_refused(tmp_path):
    wheels = "".join(
        f'<body name="w{k}" pos="{x} {y} 0"><joint name="j{k}" axis="0 1 0"/>'
        '<geom size="0.1" mass="1"/></body>'
        for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 0)])
    )
    path = tmp_path / "loop.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1" mass="5"/>'
        f"{wheels}</body></worldbody><equality>"
        '<connect body1="w0" body2="w1" anchor="0 0 0"/></equality></mujoco>'
    )
    robot = Robot.model_validate(
        {
            "name": "looped",
            "model": path,
            "base": "b",
            "wheels": {
                f"w{k}": {"body": f"w{k}", "joint": f"j{k}", "radius": 0.1, "width": 0.1,
                          "shape": "disc"}
                for k in range(3)
            },
        }
    )  # fmt: skip
    with pytest.raises(InputError, match="looped has a closed loop .*connect"):
        traction_map(robot, "flat")
