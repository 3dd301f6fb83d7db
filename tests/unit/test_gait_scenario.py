"""The key `gait` of a scenario: short forms, and what is wrong in one sentence."""

from __future__ import annotations

import pytest

from marsyard.errors import InputError
from marsyard.scenario import Scenario, load_scenario
from marsyard.scenario.gait import PeristalticMode, RollingMode, WalkingMode


def _gait(value):
    data = {"robot": {"name": "hexapod"}, "run": {"duration": 1}, "gait": value}
    return Scenario.model_validate(data).gait


def test_short_forms():
    one = _gait({"mode": "walking", "stride": "8 cm", "sample": "10 ms", "until": {"cycles": 2}})
    assert isinstance(one.modes[0], WalkingMode)
    assert (one.modes[0].stride, one.sample, one.modes[0].until.cycles) == (0.08, 0.01, 2)
    many = _gait([{"mode": "rolling", "speed": "5 cm/s"}, {"mode": "peristaltic"}])
    assert [type(m) for m in many.modes] == [RollingMode, PeristalticMode]
    assert _gait({"modes": [{"mode": "rolling"}], "repeat": True}).repeat


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("gait.modes.0.mode", "walkin", r"gait.modes.0.mode: 'walkin' is not .* 'walking'"),
        ("gait.modes.0.patern", "tripod", "unknown key 'patern' in gait.modes.0; .*'pattern'"),
        ("gait.modes.0.stride", "5 kg", "gait.modes.0.stride: 'kg' .* unit of mass"),
        ("gait.modes.0.period", 0.33, "0.33 s is not a whole multiple, .* nearest is 0.32 s"),
        ("gait.modes.0.speed", 0.1, "gait.modes.0.speed: is not a key of a walking mode"),
        ("gait.modes.0.until", {"slop": 1}, "'slop' in gait.modes.0.until; .*'slope'"),
        ("gait.modes.0.stride", 0, "gait.modes.0: stride and turn are both 0, .* no motion"),
        ("gait", {"mode": "peristaltic", "stride": 0}, "gait.modes.0: stride is 0, .* no motion"),
        ("gait", [], "gait.modes: holds 0; at least 1 needed"),
        ("gait", 5, "gait: 5 is not a mapping"),
        ("gait.sample", 0.005, "gait.sample = 0.005 s is not a whole multiple of run.control"),
    ],
)
def test_what_is_wrong_is_said(key, value, said):
    with pytest.raises(InputError, match=said) as error:
        load_scenario("walker/flat", {key: value})
    assert "\n" not in str(error.value)


def test_gait_or_drive():
    drive = {"commands": [{"rate": 1, "duration": 1}], "period": 0.1}
    with pytest.raises(InputError, match="either a gait or a drive"):
        load_scenario("hylos/modes", {"drive": drive})
