"""Identification against known answers: closed forms, parameters put in and found again, coverage.

Synthetic wheels: a model with known parameters gives forces at many slips, noise is added, and the
search must find the parameters within the intervals it states itself, as often as it says.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from wheel_reference import published

from marsyard.analysis import WheelData, identification, identify
from marsyard.analysis.fit import certainty
from marsyard.analysis.fit_covariance import conditional
from marsyard.analysis.fit_files import save_fit
from marsyard.analysis.parameters import default_free, find, parameters, searchable
from marsyard.errors import InputError
from marsyard.ground.soil import load_soil
from marsyard.interaction.wheel_models import MODELS, Exit, Wheel

SOIL = {
    "exponent": 1.1, "k_c": 0, "k_phi": 2.5e6, "cohesion": 250, "friction_angle": "30 deg",
    "shear_modulus": "1.1 cm", "exponent_slip": 0.4, "exponent_side": 0.3, "density": 1600,
}  # fmt: skip
TRUE = {"phi": np.radians(30), "K": 0.011, "k": 2.5e6, "n1": 0.4}
SIDE = {"n2": 0.3, "Ky": 0.011}
NOISE = {"pull": 0.5, "side": 0.5, "torque": 0.1, "sinkage": 5e-4}
EXIT = Exit("height", 0.2)
OWN = {
    "wong_reece": {"peak_0": 0.4, "peak_1": 0.15},
    "ishigami": {"peak_0": 0.4, "peak_1": 0.15},
    "ding": {"c_P1": -0.2, "c_P2": 0.3},
    "magic_formula": {
        "nominal_load": 80.0, "peak_x": 0.4, "stiff_x": 3.0, "offset_x": -0.08, "peak_y": 0.5,
        "stiff_y": 1.5, "torque_0": 0.1,
    },
    "rigid_slip": {"friction": 0.5, "slip_stiffness": 4.0, "rolling": 0.1, "stiffness": 1e4},
}  # fmt: skip


def synthetic(model="wong_reece", seed=None, angles=(0.0,), loads=(80.0,), lugs=0.0, offset=0.0):
    """Measurements of a model with known parameters, with noise where a seed is given."""
    slip, angle, load = (
        a.ravel() for a in np.meshgrid(np.linspace(0.02, 0.8, 12), np.radians(angles), loads)
    )
    wheel = Wheel(0.15, 0.16, EXIT, lugs)
    made = published(model, wheel, load_soil(SOIL), OWN[model])
    forces = made.under_load(load, slip, angle)
    measured = {
        "pull": forces.drawbar_pull, "torque": forces.torque, "sinkage": forces.sinkage + offset,
    }  # fmt: skip
    if np.any(angle):
        measured["side"] = forces.side_force
    if seed is not None:
        rng = np.random.default_rng(seed)
        measured = {q: v + rng.normal(0, NOISE[q], len(slip)) for q, v in measured.items()}
    return WheelData(
        "synthetic", 0.15, 0.16, lugs, load, slip, angle, measured, relative_sinkage=offset != 0
    )


def search(data, model="wong_reece", free=tuple(TRUE), starts=1, fix=None, **options):
    fixed = {**{k: v for k, v in OWN[model].items() if k not in free}, **(fix or {})}
    options = {"soil": "hit_lss1", "exit": EXIT, "errors": NOISE, **options}
    return identify(data, model, free=list(free), fix=fixed, starts=starts, **options)


# --- exact


@pytest.mark.parametrize(
    ("model", "free"),
    [
        ("wong_reece", ("phi", "K", "k", "n1", "exit")),
        ("ishigami", ("phi", "K", "k", "n1", "Ky", "n2")),
        ("ding", ("phi", "K", "k", "n1", "c_P1", "c_P2")),
        ("magic_formula", ("k", "n1", "n2", "peak_x", "stiff_x", "offset_x", "peak_y", "stiff_y")),
        ("rigid_slip", ("friction", "slip_stiffness", "rolling", "stiffness")),
    ],
)
def test_parameters_put_in_are_found_again(model, free):
    data = synthetic(model, angles=(0.0, 8.0, 16.0))
    fix = {"n": 1.1} if model == "magic_formula" else {"n": 1.1, "c": 250.0, "density": 1600.0}
    fix = {"n2": 0.3, **fix} if "n2" not in free else fix
    fit = search(data, model, free, starts=5, fix=fix if model != "rigid_slip" else {})
    true = {**TRUE, **SIDE, **OWN[model], "exit": 0.2}
    for f in fit.found:
        assert f.value == pytest.approx(true[f.name], rel=2e-3, abs=1e-4), f.name
    assert all(fit.after[q] < 1e-2 * NOISE[q] for q in fit.after)


def test_the_search_does_not_hang_on_its_start():
    data = synthetic(seed=1)
    # the fixed numbers of the two soils differ, so they are given
    fix = {"n": 1.1, "c": 250.0}
    fits = [
        search(data, soil=soil, starts=6, seed=s, fix=fix)
        for s, soil in enumerate(("clay", "fjs_1"))
    ]
    for a, b in zip(fits[0].found, fits[1].found, strict=True):
        assert a.value == pytest.approx(b.value, rel=1e-3)
    assert fits[0].cost == pytest.approx(fits[1].cost, rel=1e-6)


def test_the_same_seed_gives_the_same_bits():
    data = synthetic(seed=3)
    a, b = (search(data, starts=3, seed=5, bootstrap=3) for _ in range(2))
    assert a.as_dict() == b.as_dict()
    assert np.array_equal(a.samples, b.samples)


def test_the_zero_of_the_sinkage_is_found():
    fit = search(synthetic(seed=2, offset=-0.012), fix={"n": 1.1})
    assert fit["sinkage_offset"].low < -0.012 < fit["sinkage_offset"].high
    assert fit.before["sinkage"] < 0.01


def test_a_row_with_a_large_deviation_of_its_own_weighs_less():
    data = synthetic()
    off = data.measured["pull"].copy()
    off[3] += 8.0
    spread = np.full(len(data), 0.5)
    results = []
    for own in (0.5, 8.0):
        spread[3] = own
        wrong = replace(data, measured={**data.measured, "pull": off}, spread={"pull": spread})
        results.append(search(wrong, errors={"torque": 0.1, "sinkage": 5e-4})["phi"].value)
    assert abs(results[1] - TRUE["phi"]) < 0.3 * abs(results[0] - TRUE["phi"])


def test_rows_that_repeat_one_another_tell_the_error():
    # twelve slips four times over
    sets = [synthetic(seed=s) for s in range(4)]
    data = WheelData(
        "repeats", 0.15, 0.16, 0, 80, np.tile(sets[0].slip, 4), 0,
        {q: np.concatenate([s.measured[q] for s in sets]) for q in ("pull", "torque", "sinkage")},
    )  # fmt: skip
    fit = search(data, errors={})
    for name, error in fit.stated.items():
        # 36 degrees of freedom: within three standard errors
        assert error == pytest.approx(NOISE[name], rel=3 / np.sqrt(72))


def test_loads_that_differ_tell_k_and_n_apart():
    fit = search(synthetic(seed=8, loads=(40.0, 80.0, 160.0)), free=("phi", "K", "k", "n", "n1"))
    assert fit["n"].low < 1.1 < fit["n"].high and fit["n"].high - fit["n"].low < 0.15
    assert not any("do not distinguish" in w for w in fit.warnings)
    # at one load they go together
    one = search(synthetic(seed=8), free=("phi", "K", "k", "n", "n1"))
    assert any("k and n" in w or "k, n" in w for w in one.warnings)
    by_itself = identify(synthetic(loads=(40.0, 160.0)), "ding", soil=load_soil(SOIL), starts=1)
    assert by_itself["n"].value == pytest.approx(1.1, abs=0.2)


def test_a_misfit_beyond_the_scatter_of_the_measurements_is_said():
    # a wheel that sinks with slip, fitted without slip sinkage
    data = replace(synthetic(seed=9), spread={"sinkage": np.full(12, 5e-4)})
    fits = [search(data, free=free, errors={}) for free in (tuple(TRUE), ("phi", "K", "k"))]
    said = [any("the model misses sinkage by" in w for w in fit.warnings) for fit in fits]
    assert said == [False, True]


def test_the_exit_rule_is_given_found_or_said():
    data = synthetic(seed=4, lugs=0.01)
    assumed = identify(data, "wong_reece", soil="hit_lss1", free=["phi"], starts=1)
    said = next(w for w in assumed.warnings if "exit rule is assumed" in w)
    # the numbers in the sentence are those of the model
    low, high = (
        published(
            "wong_reece", Wheel(0.15, 0.16, Exit("height", v), 0.01), load_soil("hit_lss1"),
            OWN["wong_reece"],
        ).under_load(80.0, data.slip).drawbar_pull
        for v in (0.0, 1.2)
    )  # fmt: skip
    at = np.argmax(np.abs(high - low))
    assert f"from {low[at]:.3g} to {high[at]:.3g} N" in said and "height:1.1" in said
    given = identify(data, "wong_reece", soil="hit_lss1", free=["phi"], starts=1, exit=EXIT)
    assert not any("exit" in text for text in (*given.warnings, *given.notes))
    found = identify(data, "wong_reece", soil="hit_lss1", free=["phi", "exit"], starts=1)
    assert any("exit value is fitted, starting from height:1.1" in n for n in found.notes)
    ding = identify(data, "ding", soil="hit_lss1", free=["phi"], starts=1)
    assert any("exit rule is assumed, angle:0" in n for n in ding.notes)


def test_a_hypercube_has_a_point_in_every_slice():
    from marsyard.analysis.identification import hypercube

    cube = hypercube(20, 3, np.random.default_rng(0))
    assert cube.shape == (20, 3)
    for column in cube.T:
        assert sorted(np.floor(20 * column)) == list(range(20))


def test_the_search_finds_what_differential_evolution_finds():
    from scipy.optimize import differential_evolution

    from marsyard.analysis.fit_problem import make_problem

    data = synthetic(seed=6)
    free = ("phi", "K", "k", "exit")
    fit = search(data, free=free, starts=6, exit=EXIT)
    problem = make_problem(
        data, "wong_reece", "hit_lss1", free, OWN["wong_reece"], {}, EXIT, NOISE, 9.81
    )
    other = differential_evolution(
        lambda u: float(np.sum(problem.residuals(u) ** 2)), [(0, 1)] * 4, seed=1, popsize=8,
        maxiter=40, tol=1e-6, polish=True,
    )  # fmt: skip
    assert fit.cost == pytest.approx(other.fun, rel=1e-3)


# --- intervals


def test_covariance_of_a_straight_line():
    # y = a + b x: s²/n and s²/Σ(x − x̄)² for centred x
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 21)
    jacobian = np.stack([np.ones(21), x], axis=1)
    residuals = rng.normal(0, 1, 21)
    residuals -= jacobian @ np.linalg.lstsq(jacobian, residuals, rcond=None)[0]
    sure = certainty(jacobian, np.zeros(2), float(residuals @ residuals), np.zeros(2, bool))
    s2 = residuals @ residuals / 19
    assert np.diag(sure.covariance) == pytest.approx([s2 / 21, s2 / np.sum(x**2)])
    assert sure.freedom == 19 and sure.correlation[0, 1] == pytest.approx(0, abs=1e-12)
    assert sure.condition == pytest.approx(1.0) and not sure.groups


def test_a_prior_adds_what_it_knows():
    # one parameter, n values of unit error and a prior of σ: 1/(n + 1/σ²) where s² = 1
    jacobian = np.ones((10, 1))
    sure = certainty(jacobian, np.array([4.0]), chi_square=10.0, bound=np.zeros(1, bool))
    assert sure.freedom == 10 and sure.scatter == 1.0
    assert sure.covariance[0, 0] == pytest.approx(1 / 14)


def test_a_strong_prior_wins_and_a_weak_one_does_not():
    data = synthetic(seed=4)
    free = search(data)["phi"]
    weak = search(data, prior={"phi": (np.radians(40), np.radians(30))})["phi"]
    strong = search(data, prior={"phi": (np.radians(33), 1e-6)})["phi"]
    assert weak.value == pytest.approx(free.value, abs=0.05 * free.error)
    assert strong.value == pytest.approx(np.radians(33), abs=1e-5)
    assert strong.error < 1e-4
    # by logarithm: K known to 1 %
    K = search(data, prior={"K": (0.02, 0.0002)})["K"]
    assert free.value != weak.value and 0.011 < K.value < 0.0205


def test_intervals_cover_the_truth_as_often_as_they_say():
    hits = []
    for seed in range(50):
        fit = search(synthetic("ding", seed=seed), "ding", fix={"n": 1.1, "c": 250.0})
        hits += [f.low <= TRUE[f.name] <= f.high for f in fit.found]
    # 95 % of 200, not independent: 0.95 ± 0.04 at two and a half sigma of the binomial
    assert len(hits) == 200
    assert 0.90 <= np.mean(hits) <= 0.99


def test_bootstrap_agrees_with_the_jacobian():
    fit = search(synthetic(seed=6, loads=(60.0, 100.0)), bootstrap=120)
    for i, f in enumerate(fit.found):
        # 95 % half width and standard deviation of the samples
        scatter = fit.samples[:, i].std(ddof=1)
        assert 1.98 * scatter == pytest.approx(f.error, rel=0.35), f.name
        assert f.boot[0] < f.value < f.boot[1]


# --- what cannot be told


def test_moduli_of_one_width_cannot_be_told_apart():
    # only k_c/b + k_φ acts on a wheel of one width
    fit = search(synthetic(seed=7), free=("phi", "K", "k_c", "k_phi"), fix={"n1": 0.4})
    text = [w for w in fit.warnings if "do not distinguish" in w]
    assert len(text) == 1 and "k_c and k_phi" in text[0], fit.warnings
    assert "correlation −1.000" in text[0]
    assert fit.collinearity > 1e3
    # and nothing is claimed about either
    assert fit["k_c"].high - fit["k_c"].low > 1e6
    assert fit["phi"].low < TRUE["phi"] < fit["phi"].high


def test_modulus_and_exponent_at_one_load():
    fit = search(synthetic(seed=8, loads=(80.0,)), free=("phi", "K", "k", "n", "n1", "exit"))
    assert any(
        w.startswith(("the data do not distinguish k, n", "the data do not distinguish k and n"))
        for w in fit.warnings
    ), fit.warnings
    assert abs(fit.correlation[2, 3]) > 0.95
    good = search(synthetic(seed=8), fix={"n": 1.1})
    assert good.warnings == ()


def test_a_parameter_without_influence():
    # no side slip: K across the wheel does nothing
    fit = search(synthetic(seed=9), free=("phi", "K", "Ky"), fix={"k": 2.5e6, "n1": 0.4})
    assert any("do not depend on Ky" in w for w in fit.warnings)
    assert fit["Ky"].value == pytest.approx(fit["Ky"].start)
    assert fit["phi"].low < TRUE["phi"] < fit["phi"].high


def test_a_parameter_at_its_bound():
    # data of a soil without cohesion, made weaker still: the best c would be negative
    data = synthetic()
    weaker = {
        **data.measured,
        "pull": data.measured["pull"] - 20,
        "torque": data.measured["torque"] * 0.5,
    }
    fit = search(WheelData("weak", 0.15, 0.16, 0, data.load, data.slip, 0, weaker), free=("c", "k"))
    assert fit["c"].at_bound == "low" and fit["c"].value == 0 and fit["c"].low is None
    assert any("c ended at its lower bound" in w for w in fit.warnings)


def test_a_wheel_that_sinks_to_its_axle_is_no_crash():
    heavy = synthetic()
    data = WheelData("heavy", 0.15, 0.16, 0, 1e6, heavy.slip, 0, heavy.measured)
    fit = search(data, free=("phi", "K"), fix={"k": 1e4})
    assert any("sinks to its axle" in w for w in fit.warnings)


# --- parameters and input


@pytest.mark.parametrize("model", MODELS)
def test_every_coefficient_of_every_model_can_be_set(model):
    known = parameters(model)
    assert set(MODELS[model][1]) <= set(known)
    for p in known.values():
        for u in (0.0, 0.3, 1.0):
            assert p.to_unit(p.from_unit(u)) == pytest.approx(u, abs=1e-12)
        assert p.slope(0.4) == pytest.approx(
            (p.from_unit(0.4 + 1e-6) - p.from_unit(0.4 - 1e-6)) / 2e-6, rel=1e-6
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "wong_rice"}, "did you mean 'wong_reece'"),
        ({"free": ["phii"]}, "did you mean 'phi'"),
        ({"free": ["peak_x"]}, "wong_reece does not use it"),
        ({"model": "magic_formula", "free": ["phi"]}, "magic_formula does not use it"),
        ({"model": "ding", "free": ["mean_load"]}, "only scales"),
        ({"free": ["phi", "friction_angle"]}, "appears twice"),
        ({"free": ["k", "k_c"]}, "either k or k_c and k_phi"),
        ({"free": ["shear_share"]}, "needs a wheel with lugs"),
        ({"free": ["phi"], "fix": {"phi": 0.5}}, "both free and fixed"),
        ({"free": ["phi"], "fix": {"c": -5.0}}, "c = -5 Pa: from 0"),
        ({"free": ["phi"], "prior": {"K": (0.01, 0.001)}}, "'K' is not free"),
        ({"free": ["phi"], "prior": {"phi": (0.5, 0.0)}}, "above 0"),
        ({"free": ["phi"], "prior": {"phi": (3.0, 0.1)}}, "from 1 to 60 deg"),
        ({"free": ["phi"], "errors": {"pul": 1.0}}, "did you mean 'pull'"),
        ({"free": ["phi"], "errors": {"pull": 0, "torque": 0, "sinkage": 0}}, "there is "
                                                                              "nothing to"),
        ({"free": ["phi"], "starts": 0}, "starts must be 1"),
        ({"free": ["phi"], "soil": "sannd"}, "unknown soil"),
    ],
)  # fmt: skip
def test_wrong_input_is_said_in_one_sentence(options, said):
    options = {"model": "wong_reece", **options}
    with pytest.raises(InputError, match=said) as error:
        identify(synthetic(), **options)
    assert "\n" not in str(error.value)


def test_more_parameters_than_values():
    data = WheelData("one", 0.15, 0.16, 0, 80, np.array([0.2]), 0, {"pull": np.array([10.0])})
    with pytest.raises(InputError, match="2 free parameters, but only 1 measured"):
        identify(data, "wong_reece", free=["phi", "K"])


def test_what_is_searched_for_by_default_suits_the_data():
    assert default_free("ding", ("pull",)) == ("phi", "K")
    assert default_free("wong_reece", ("pull", "side")) == ("phi", "K", "exit", "Ky")
    assert "c_P1" in default_free("ding", ("pull", "torque"))
    assert "torque_0" not in default_free("magic_formula", ("pull", "sinkage"))
    assert "n2" not in default_free("ding", ("pull", "side", "sinkage"))
    assert "n2" in default_free("ding", ("pull", "side", "sinkage"), sinkage_aside=True)
    assert "stiffness" not in default_free("rigid_slip", ("pull", "sinkage"), True)
    for model in MODELS:
        for name in default_free(model, ("pull", "side", "torque", "sinkage")):
            searchable(model, name)


def test_names_of_soil_files_are_understood():
    assert find("ding", "friction_angle").name == "phi"
    assert searchable("ding", "shear_modulus").name == "K"


# --- files


def test_the_soil_file_gives_the_fitted_model_back(tmp_path):
    fit = search(
        synthetic("ding", seed=11), "ding", free=("phi", "K", "k", "n1", "c_P1"), bootstrap=3
    )
    page = save_fit(fit, tmp_path)
    soil = load_soil(str(tmp_path / "soil.yaml"))
    again = published("ding", fit.models[0].wheel, soil)
    slip = np.linspace(-0.5, 0.9, 9)
    for name in ("drawbar_pull", "torque", "sinkage"):
        got = getattr(again.under_load(80.0, slip), name)
        assert got == pytest.approx(getattr(fit.models[0].under_load(80.0, slip), name), rel=1e-9)
    import yaml

    numbers = yaml.safe_load((tmp_path / "soil.yaml").read_text())["numbers"]
    assert numbers["friction_angle"]["provenance"] == "derived"
    assert "synthetic" in numbers["friction_angle"]["source"]
    assert numbers["density"]["provenance"] == "published"
    assert {p.name for p in tmp_path.iterdir()} == {
        "soil.yaml", "fit.json", "points.csv", "fit.png", "residuals.png", "correlation.png",
        "report.html",
    }  # fmt: skip
    assert page.name == "report.html" and page.stat().st_size > 50_000


def test_points_are_written_as_computed(tmp_path):
    fit = search(synthetic(seed=12))
    save_fit(fit, tmp_path)
    table = np.genfromtxt(tmp_path / "points.csv", delimiter=",", names=True)
    off = table["pull_fitted"] - table["pull_measured"]
    assert np.sqrt(np.mean(off**2)) == pytest.approx(fit.after["pull"], rel=1e-6)


class Plateau:
    """Residuals that do not depend on the first parameter but for a step away from its start."""

    def __init__(self, step):
        self.step = step

    def residuals(self, u, measured=None):
        return np.array([100.0 if u[0] < 0.5 and self.step else 0.0, 3.0 * (u[1] - 0.7)])

    data_residuals = residuals

    def prepare(self, points):
        pass


@pytest.mark.parametrize(("step", "first"), [(True, 0.8), (False, 0.2)])
def test_what_has_no_influence_goes_back_only_where_that_costs_nothing(step, first):
    """The cost went from 0 to 10,000 when a parameter on a plateau was put back to its start."""
    problem, start, best = Plateau(step), np.array([0.2, 0.1]), np.array([0.8, 0.7])
    kept = identification._settled(problem, start, best)
    assert kept == pytest.approx([first, 0.7])
    assert np.sum(problem.residuals(kept) ** 2) < 1e-12


def test_a_search_that_ends_worse_than_it_began_gives_the_start():
    start = np.array([0.8, 0.7])
    assert (identification._settled(Plateau(True), start, np.array([0.2, 0.4])) == start).all()


def test_several_wheels_and_loads_tell_the_moduli_and_the_exponent_apart():
    """Two widths under two loads, in data of their own; k_c/b + k_φ is negative for the narrow
    wheel in a part of the bounds, which carries nothing there."""
    soil, slip = load_soil({**SOIL, "k_c": 3e4}), np.linspace(0.05, 0.7, 6)
    rng = np.random.default_rng(4)
    parts = []
    for width, load in ((0.06, 40.0), (0.06, 100.0), (0.16, 40.0), (0.16, 100.0)):
        wheel = Wheel(0.15, width, Exit("angle", 0))
        f = published("ding", wheel, soil, OWN["ding"]).under_load(load, slip)
        measured = {"pull": f.drawbar_pull, "torque": f.torque, "sinkage": f.sinkage}
        measured = {q: v + rng.normal(0, 0.4 * NOISE[q], 6) for q, v in measured.items()}
        parts.append(
            WheelData(f"b{width}", 0.15, width, 0.0, np.full(6, load), slip, 0 * slip, measured)
        )
    options = {"soil": "hit_lss1", "errors": NOISE, "fix": {"c": 250.0, **OWN["ding"]}}
    fit = identify(parts, "ding", free=["phi", "K", "n", "k_c", "k_phi", "n1"], **options)
    for name, true in (("n", 1.1), ("k_c", 3e4), ("k_phi", 2.5e6), ("n1", 0.4)):
        assert fit[name].low < true < fit[name].high, name
    assert len(fit.models) == 2 and fit.data.name == "b0.06, b0.06, b0.16, b0.16"
    # by default, too
    names = {f.name for f in identify(parts, "ding", starts=1, **options).found}
    assert {"n", "k_c", "k_phi"} <= names and "k" not in names


def test_the_covariance_of_the_soil_is_that_of_the_fit(tmp_path):
    fit = search(synthetic("ding", seed=3), "ding", free=("phi", "K", "k", "n1", "c_P1"))
    save_fit(fit, tmp_path)
    soil = load_soil(str(tmp_path / "soil.yaml"))
    assert soil.covariance.names == (
        "friction_angle", "shear_modulus", "k_phi", "exponent_slip", "c_P1",
    )  # fmt: skip
    assert soil.covariance.correlation == pytest.approx(fit.correlation, abs=1e-8)
    quantile = stats.t.ppf(0.975, fit.freedom)
    for f, (_, spread) in zip(fit.found, soil.covariance.spreads, strict=True):
        half = math.log(f.high / f.value) if spread.log else f.high - f.value
        assert quantile * spread.sd == pytest.approx(half, rel=1e-6), f.name
    assert [s.sd for _, s in fit.soil.covariance.spreads] == pytest.approx(
        [s.sd for _, s in soil.covariance.spreads]
    )


def test_the_covariance_is_that_of_the_tread_found():
    """Given the exit, the numbers' variances fall by Schur's complement; the zero of the sinkage
    drops out, and a number at its bound is known."""
    names = ("phi", "exit", "K", "sinkage_offset", "n1")
    found = [find("ding", name) for name in names]
    root = np.random.default_rng(2).normal(size=(5, 5)) * 0.02
    matrix = root @ root.T
    matrix[4] = matrix[:, 4] = np.nan
    kept, given = conditional(matrix, found)
    assert [p.name for p in kept] == ["phi", "K"]
    # the inverse of the precision of those that belong together
    whole = np.linalg.inv(matrix[:3, :3])
    assert given == pytest.approx(np.linalg.inv(whole[np.ix_([0, 2], [0, 2])]), rel=1e-6)


def test_what_is_not_determined_scatters_no_wider_than_its_range():
    # two parameters of which only the sum is known: the difference may be anything
    matrix = np.array([[1.0, -0.99999], [-0.99999, 1.0]]) * 1e6
    _, given = conditional(matrix, [find("ding", "k"), find("ding", "n")])
    assert np.linalg.eigvalsh(given).max() == pytest.approx(1 / 12)
