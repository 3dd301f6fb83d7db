"""The report: the answer first, complete, self-contained, and loud about what went wrong."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import io
import json
import re

import mujoco
import numpy as np
import pytest
import xarray as xr
from rich.console import Console
from synthetic import XML, dataset

from marsyard.drawing.page import number
from marsyard.results import check_table, evaluate_all, save_figures, write_report
from marsyard.scenario.schema import Scenario

EVIL = '<script>alert("x")</script> & <img src=http://example.org/a.png>'


def scenario(**changes) -> Scenario:
    return Scenario.model_validate(
        {
            "title": "Drop & drive",
            "description": "Falls from 1 m,\nthen drives.",
            "sources": ["RT-0448, section 3"],
            "robot": {"name": "exomars_rt0448", "position": [0, 0, 1], "springs": {"steering": {}}},
            "ground": [
                {"kind": "plane", "slope": "10 deg"},
                {"kind": "sphere", "centre": [3, 0, -0.8], "radius": 1.0},
                {"kind": "box", "centre": [5, 0, 0], "size": [1, 1, 0.2]},
                {"kind": "mesh", "triangles": [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]},
            ],
            "interaction": {
                "friction": 0.65,
                "restitution": 0.21,
                "surfaces": {"sphere": {"friction": 0.3}},
            },
            "control": [{"joints": "drives", "torque": "0.1*t", "start": 5.0, "end": 8.0}],
            "run": {"duration": 8.0, "step": 0.001, "record_period": 0.02},
            "report": {
                "figures": [
                    {"title": "Height", "panels": [["position_base.z"]], "note": "Figure 4."}
                ],
                "checks": [
                    {
                        "name": "impact time",
                        "of": "impact",
                        "take": "impact_time",
                        "expected": 0.7352,
                        "tolerance": 0.001,
                        "unit": "s",
                        "source": "√(2h/g)",
                    },
                    {"name": "too high", "of": "speed", "expected": 9.0, "tolerance": 0.1},
                    {"name": "missing", "of": "sinkage", "expected": 0.0, "tolerance": 1.0},
                ],
            },
            **changes,
        }
    )


@pytest.fixture(scope="module")
def ds() -> xr.Dataset:
    return dataset(period=0.02, duration=8.0)


def page(folder, ds, given, info=None, figures=(), model=None) -> str:
    checks = evaluate_all(ds, given.report.checks)
    path = write_report(folder, ds, given, checks, figures, info, model=model)
    assert path == folder / "report.html"
    return path.read_text(encoding="utf-8")


class Reader(html.parser.HTMLParser):
    """Collects tags, what they refer to, and the text."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        #: of each element `script` its type and text
        self.scripts: list[list[str]] = []
        self.inside = False
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        own = dict(attrs)
        if tag == "script":
            self.scripts.append([own.get("type") or "", ""])
            self.inside = True
        if own.get("http-equiv") == "Content-Security-Policy":
            self.policy = own["content"]
        wanted = ("src", "href", "srcset", "data", "action")
        self.references += [str(v) for k, v in attrs if k in wanted]

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1][1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def assert_stands_alone(reader: Reader) -> None:
    """Nothing is loaded, and no program may run but those of the report."""
    assert reader.references
    assert all(r.startswith(("data:", "#part-")) for r in reader.references), reader.references
    assert not {"iframe", "object", "embed", "base", "form"} & {*reader.tags}
    allowed = re.findall(r"'sha256-([^']+)'", reader.policy)
    programs = [text for kind, text in reader.scripts if kind != "application/json"]
    own = [base64.b64encode(hashlib.sha256(p.encode()).digest()).decode() for p in programs]
    assert sorted(own) == sorted(allowed) and 1 <= len(own) <= 2
    assert reader.policy.startswith("default-src 'none'")
    assert "script-src 'unsafe-inline'" not in reader.policy
    for kind, text in reader.scripts:
        if kind == "application/json":
            assert "<" not in text and json.loads(text)


def test_stands_alone(ds, tmp_path):
    text = page(tmp_path, ds, scenario(), model=mujoco.MjModel.from_xml_string(XML))
    reader = Reader(text)
    assert_stands_alone(reader)
    assert not re.search(r"url\(|@import", text)
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert not list(tmp_path.glob(".*"))


def test_pictures_are_carried_inside(ds, tmp_path):
    figures = save_figures(ds, scenario().report.figures, tmp_path / "figures", dpi=50)
    text = page(tmp_path, ds, scenario(), figures=figures)
    assert Reader(text).tags.count("img") == len(figures) == 3
    assert_stands_alone(Reader(text))


def test_answer_replay_key_plots_contents_in_this_order(ds, tmp_path):
    text = page(tmp_path, ds, scenario(), model=mujoco.MjModel.from_xml_string(XML))
    marks = ('<h1 id="answer">', 'id="replay"', 'data-plot="0"', '<nav class="contents"',
             '<details class="part"')  # fmt: skip
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    # every part is in the contents, and every link leads to a part
    links = re.findall(r'<a href="#(part-[a-z-]+)">', text)
    assert links == re.findall(r'<details class="part" id="(part-[a-z-]+)"', text)
    for title in ("checks", "figures", "scenario-and-parameters", "solver-health", "versions"):
        assert f"part-{title}" in links
    # what fails is not folded away
    assert re.search(r'id="part-checks" open>', text)
    assert not re.search(r'id="part-figures" open>', text)


def test_headline_has_the_numbers_of_the_data_set(ds, tmp_path):
    text = page(tmp_path, ds, scenario())
    said = re.search(r'<h1 id="answer">(.*?)</h1>', text)[1].replace("\u00a0", " ")
    base = ds["position_base"].transpose("time", "axis").values
    distance = np.linalg.norm(np.diff(base, axis=0), axis=1).sum()
    metres, seconds = re.search(r"([\d.]+) m .*in ([\d.]+) s", said).groups()
    assert float(metres) == pytest.approx(distance, rel=0.05)
    assert float(seconds) == pytest.approx(8.0)
    assert "2 of 3 checks fail" in said


def test_plots_carry_the_curves_of_the_data_set(ds, tmp_path):
    reader = Reader(page(tmp_path, ds, scenario()))
    (data,) = [json.loads(t) for kind, t in reader.scripts if kind == "application/json"]
    arrays = [np.frombuffer(base64.b64decode(a), dtype="<f4") for a in data["arrays"]]
    height = next(p for p in data["plots"] if p["title"] == "Height")
    (curve,) = height["panels"][0]["curves"]
    np.testing.assert_allclose(arrays[curve["x"]], ds["time"], rtol=1e-6)
    z = ds["position_base"].sel(axis="z")
    np.testing.assert_allclose(arrays[curve["y"]], z, rtol=1e-6, atol=1e-7)
    assert height["linked"] and height["panels"][0]["label"].endswith("[m]")
    track = next(p for p in data["plots"] if p["title"] == "Track")
    assert track["equal"] and not track["linked"]


def test_tells_what_was_run_and_what_came_out(ds, tmp_path):
    info = {
        "scenario": "rt0448/test-1",
        "overrides": ["interaction.friction=0.65"],
        "steps": 8000,
        "wall_time": 0.5,
        "compile_time": 1.25,
        "versions": {"marsyard": "9.9.9"},
        "laws": [("Nonsmooth contact", [("friction μ on sphere", 0.3, "")])],
    }
    text = Reader(page(tmp_path, ds, scenario(), info)).text
    for said in (
        "Drop & drive", "rt0448/test-1", "then drives.", "RT-0448, section 3",
        "0.65", "0.21", "1 ms", "20 ms", "Moreau-Jean", "slope 10°", "sphere, radius 1 m",
        "friction μ on sphere 0.3", "torque 0.1*t N·m from 5 s to 8 s", "interaction.friction=0.65",
        "Figure 1: Height. Figure 4.", "Figure 2: Track.",
        "16 000", "16 ×", "62.5 µs", "1.25 s", "9.9.9", "mujoco", "numba", "numpy", "python",
        "largest residual", "largest penetration", "dissipated", "work of the motors",
    ):  # fmt: skip
        assert said in text, said


def test_every_check_is_there_with_its_verdict(ds, tmp_path):
    text = Reader(page(tmp_path, ds, scenario())).text
    assert "checks passed 1 of 3" in text or "1 of 3 checks passed" in text
    for said in ("impact time", "✓ pass", "√(2h/g)", "too high", "✗ fail", "missing"):
        assert said in text, said
    assert "– not computed" in text and "no variable 'sinkage'" in text


def test_unconverged_steps_are_loud(ds, tmp_path):
    assert "alarm" not in re.sub(
        r"<style>.*?</style>", "", page(tmp_path, ds, scenario()), flags=re.S
    )
    bad = ds.copy(deep=True)
    bad["unconverged"][10] = 3
    text = page(tmp_path, bad, scenario())
    assert text.count('class="alarm"') == 2
    assert "3 steps did not converge" in text and "t = 0.2 s" in text


def test_text_of_users_is_escaped(ds, tmp_path):
    given = scenario(
        title=EVIL,
        description=EVIL,
        sources=[EVIL],
        robot={"name": EVIL},
        interaction={},
        control=[{"joints": EVIL, "torque": EVIL}],
        report={
            "figures": [{"title": EVIL, "panels": [["gap"]], "note": EVIL}],
            "checks": [
                {"name": EVIL, "of": EVIL, "expected": 1, "tolerance": 1, "unit": EVIL,
                 "source": EVIL}
            ],
        },
    )  # fmt: skip
    info = {"scenario": EVIL, "overrides": [EVIL], "versions": {EVIL: EVIL}, "started": EVIL}
    text = page(tmp_path, ds, given, info)
    reader = Reader(text)
    assert_stands_alone(reader)
    assert "img" not in reader.tags
    assert reader.text.count("alert") >= 10


def test_a_bare_data_set_is_enough(tmp_path):
    ds = xr.Dataset(
        {"position_base": (("time", "axis"), [[0.0, 0, 0], [0.0, 0, 1]])},
        coords={"time": [0.0, 1.0], "axis": list("xyz")},
    )
    given = scenario(ground=[], interaction={}, control=[], report={})
    text = Reader(write_report(tmp_path, ds, given, [], []).read_text(encoding="utf-8")).text
    assert "This scenario lists no checks" in text and "not recorded" in text


def test_check_table_for_the_terminal(ds):
    out = io.StringIO()
    checks = evaluate_all(ds, scenario().report.checks)
    Console(file=out, width=160).print(check_table(checks))
    text = out.getvalue()
    for said in ("impact time", "0.7352", "pass", "too high", "fail", "not computed"):
        assert said in text, said


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (float("nan"), "–"), (0.0, "0"), (-1.5, "−1.5"), (1e-10, "10⁻¹⁰"),
     (-2.5e7, "−2.5·10⁷"), (12345.0, "12345")],
)  # fmt: skip
def test_numbers_are_written_for_reading(value, text):
    assert number(value) == text


def test_parameters_motors_tethers_and_soil_are_told(tmp_path, ds):
    given = scenario(
        parameters={"slip": "40 %", "pull": "2 kN"},
        control=[{"joints": "drives", "speed": "2*slip", "limit": 5, "start": 1}],
        tethers=[{"name": "rope", "stiffness": 1000, "behind": "3 m"}],
        ground=[
            {"kind": "terrain", "name": "bed", "terrain": {"layers": []},
             "soil": {"name": "krenn2008", "friction_angle": "30 deg"}},
        ],
        interaction={},
    )  # fmt: skip
    text = page(tmp_path, ds, given)
    for words in (
        '<td class="key">slip</td><td>0.4</td>', '<td class="key">pull</td><td>2000</td>',
        "speed 2*slip, gain 10⁵, within ± 5, from 1 s to the end",
        "to 3 m behind, stiffness 1000 N/m",
        "terrain level, soil krenn2008 (friction angle 30 deg), grid 0.02 m",
    ):  # fmt: skip
        assert words in text, words


def test_layers_of_polygonal_contact_are_told(tmp_path, ds):
    soft = {"materials": [{"modulus": "3 MPa", "poisson": 0, "thickness": "3 mm"}], "slip": 0.2}
    polygonal = {
        "layer": {"stiffness": 2e9, "stick": 0.8},
        "pairs": [
            {"faces": "nozzle", "against": "bolt"},
            {"name": "pad", "faces": "ring", "against": "bracket", "layer": soft},
        ],
    }
    given = scenario(interaction={"law": "polygonal", "friction": 0.6, "polygonal": polygonal})
    text = Reader(page(tmp_path, ds, given)).text
    hard = "stiffness 2·10⁹ Pa/m, damping 2·10⁶ Pa·s/m, friction 0.6, sticking 0.8"
    for words in (
        f"layer on the ground {hard}",
        f"pair nozzle-bolt faces of nozzle against bolt, {hard}",
        "pair pad faces of ring against bracket, stiffness 10⁹ Pa/m, damping 10⁶ Pa·s/m, "
        "friction 0.2",  # E/b, for ν = 0
    ):
        assert words in text, words


def test_layers_are_not_told_where_none_is(tmp_path, ds):
    assert "layer on the ground" not in Reader(page(tmp_path, ds, scenario())).text


def test_quantities_as_the_user_wrote_them(ds, tmp_path):
    from marsyard.run_record import written_quantities

    raw = {
        "run": {"step": "0.5 ms", "duration": 8}, "parameters": {"slip": "40 %"},
        "robot": {"name": "a 5 m", "joints": {"arm": "10 deg"}}, "gravity": "nine m/s²",
    }  # fmt: skip
    given = written_quantities(raw)
    assert given == {
        "run.step": "0.5 ms", "parameters.slip": "40 %", "robot.joints.arm": "10 deg"
    }  # fmt: skip
    made = scenario(parameters={"slip": "40 %"})
    text = page(tmp_path, ds, made, {"given": given})
    for words in ('<td class="key">step h</td><td>0.5 ms</td>',
                  '<td class="key">slip</td><td>40 %</td>',
                  '<td class="key">record period</td><td>20 ms</td>'):  # fmt: skip
        assert words in text, words


def test_the_law_that_acted_is_named(ds, tmp_path):
    text = Reader(page(tmp_path, ds, scenario())).text
    assert "contact law on hard ground" in text and "soil model" not in text
    soft = scenario(
        ground=[{"kind": "terrain", "name": "bed", "terrain": {"layers": []}, "soil": "dry_sand"}],
        interaction={"wheel": {"model": "ding"}},
    )
    text = Reader(page(tmp_path, ds, soft, {"hard_contact": False})).text
    assert "contact law on hard ground" not in text and "onsmooth" not in text
    assert "soil model" in text and "wheel model Ding" in text


def test_a_run_that_broke_down_still_has_its_report(ds, tmp_path):
    """Numbers that are not finite, or without bound, spoil neither plots nor page."""
    bad = ds.copy(deep=True)
    for name in ("position_base", "velocity_base", "wheel_rate", "coordinates", "contact_point"):
        bad[name][-20:] = np.nan
        bad[name][-40:-20] = 1e300
    model = mujoco.MjModel.from_xml_string(XML)
    text = page(tmp_path, bad, scenario(), {"stopped": "stopped at 7.6 s"}, model=model)
    assert "The run diverged and stopped at 7.6 s" in text
    assert "then the run diverged" in text
    for kind, content in Reader(text).scripts:
        if kind == "application/json":
            json.loads(content, parse_constant=lambda word: pytest.fail(word))
