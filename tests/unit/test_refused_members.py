"""Members of a study, and values of a sweep, that cannot run are refused all at once."""

from __future__ import annotations

import pytest

from marsyard import run
from marsyard.campaign import prepared
from marsyard.errors import InputError, refuse_all

#: without the strength that every law of soft ground asks for
WEAK = "title: weak\nkind: sand\nnumbers: {exponent: 1.0, k_c: 0, k_phi: 1.0e6}\n"
STUDY = """
extends: exomars/drawbar-pull
run: {{duration: 0.1}}
study:
  vary: {vary}
  values: {values}
  outputs: [{{name: height, of: position_base.z}}]
"""
SWEEP = """
scenario: exomars/drawbar-pull
set: {{duration: 0.1}}
vary: {vary}
outputs: [{{name: height, of: position_base.z}}]
"""


def study(folder, vary, values):
    path = folder / "study.yaml"
    path.write_text(STUDY.format(vary=vary, values=values), encoding="utf-8")
    return path


def test_one_mistake_is_said_as_it_is_and_several_with_how_many():
    refuse_all([], 3, "study")
    with pytest.raises(InputError, match=r"^study at a = 1: too small$"):
        refuse_all([("a = 1", "too small")], 3, "study")
    with pytest.raises(
        InputError, match=r"^study: 2 of 3 runs cannot start: a = 1 \(small\); a = 2 \(large\)$"
    ):
        refuse_all([("a = 1", "small."), ("a = 2", "large")], 3, "study")


def test_all_of_many_mistakes_are_named_though_reasons_are_long():
    mistakes = [(f"soil = s{k}", f"no strength {'x' * 80}") for k in range(12)]
    with pytest.raises(InputError) as error:
        refuse_all(mistakes, 20, "study")
    text = str(error.value)
    assert all(f"soil = s{k}," in text or f"soil = s{k};" in text for k in range(12))
    assert "12 of 20 runs cannot start" in text and "the first: no strength" in text


def test_a_study_names_all_soils_that_are_not_there_before_any_run(tmp_path):
    said: list[str] = []
    file = study(tmp_path, "ground.0.soil", "[dry_sand, nosuch, lunar_nominl, lunar_nominal]")
    with pytest.raises(InputError) as error:
        run(file, say=said.append)
    text = str(error.value)
    assert "2 of 4 runs cannot start" in text and "did you mean 'lunar_nominal'" in text
    assert "soil = nosuch (" in text and "soil = lunar_nominl (" in text
    assert not said


def test_a_study_names_all_soils_that_a_law_cannot_take(tmp_path):
    for name in ("weak_a", "weak_b"):
        (tmp_path / f"{name}.yaml").write_text(WEAK, encoding="utf-8")
    names = [str(tmp_path / f"{name}.yaml") for name in ("weak_a", "weak_b")]
    file = study(tmp_path, "ground.0.soil", f"[dry_sand, {', '.join(names)}]")
    with pytest.raises(InputError) as error:
        run(file)
    text = str(error.value)
    assert "2 of 3 runs cannot start" in text and "cohesion" in text
    assert "weak_a" in text and text.count("soil = ") == 2


def test_a_study_names_all_numbers_out_of_range(tmp_path):
    file = study(tmp_path, "interaction.soil.width", "[0.1, -0.1, -0.2]")
    with pytest.raises(InputError) as error:
        run(file)
    assert str(error.value).count("must be above 0") == 2


def test_a_sweep_names_all_values_that_cannot_be_taken(tmp_path):
    file = tmp_path / "sweep.yaml"
    vary = "{ground.0.soil: [dry_sand, nosuch, nowhere], friction: [0.5, -1]}"
    file.write_text(SWEEP.format(vary=vary), encoding="utf-8")
    with pytest.raises(InputError) as error:
        prepared(file)
    text = str(error.value)
    assert "3 of 5 values are invalid" in text
    for part in ("vary.ground.0.soil: nosuch", "nowhere", "vary.friction: -1"):
        assert part in text


def test_a_sweep_takes_worlds_as_gravity(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP.format(vary="{gravity: [moon, Mars, earth]}"), encoding="utf-8")
    ready = prepared(file)
    assert [ready.settings(k)["gravity"] for k in range(3)] == ["moon", "Mars", "earth"]
