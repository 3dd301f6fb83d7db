"""Write docs/validation-overview.md: every published number and measured curve beside ours.

    python docs/make_validation.py            what is stale or missing, then page and figure
    python docs/make_validation.py NAME …     these parts, whatever their state
    python docs/make_validation.py --page     page and figure from what was kept

Numbers: the checks of the scenarios in the library, which the tests run, too. Curves: the wheel
tests of tests/validation/wheel_tests.py, with the soil contact model and the wheel models, none of
them fitted; they need the measured data beside the checkout. What was computed is kept in
docs/validation-data.json with a stamp (`stamps`) that a test compares.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from stamps import entries, stamp

HERE = Path(__file__).parent
TESTS = HERE.parent / "tests" / "validation"
DATA = HERE / "validation-data.json"
PAGE = HERE / "validation-overview.md"
FIGURE = HERE / "images" / "validation-overview.png"
sys.path.insert(0, str(TESTS))

import wheel_tests as wt  # noqa: E402

#: groups of scenarios with published or exact numbers
GROUPS = (
    "rt0448", "roburoc", "vehicle2001", "leg2001", "compliant", "docking", "tracked", "walker",
    "marsokhod", "hylos", "curiosity", "sojourner", "yutu2", "rashid", "control", "exomars",
    "eldorado2", "soil",
)  # fmt: skip
#: groups whose checks are aims of a drive, not published or exact
AIMS = ("learning", "teleop")
#: why a scenario with numbers is not run for this page
LEFT_OUT = {
    "docking/misalignment": "a study of 35 runs whose one check, the locking force in line, "
    "repeats that of `docking/smart-olev`",
}
#: [deg]; at 90° the slip does not say how fast the rim turns, as the rig and the models ask
PAVLOV_ANGLES = (0.0, 15.0, 30.0, 45.0, 60.0, 75.0)
OWN = {
    "wong_reece": {},
    "ishigami": {},
    "ding": {},
}
UNITS = {"pull": ("N", 1.0), "torque": ("N·m", 1.0), "sinkage": ("mm", 1e3), "side": ("N", 1.0)}

Row = dict[str, Any]


# --- numbers


def scenarios() -> list[str]:
    """Scenarios of the groups that have checks."""
    return [
        name for name, text in sorted(entries().items())
        if name.split("/")[0] in GROUPS and "/" in name and name not in LEFT_OUT
        and "expected:" in text
    ]  # fmt: skip


def run_checks(name: str) -> list[Row]:
    import marsyard
    from marsyard.scenario import load_scenario

    # of a study that checks nothing in its single runs, the checks of the whole
    result = marsyard.run(name, study=not load_scenario(name).report.checks)
    return [
        {
            "name": c.name, "unit": c.unit, "expected": c.expected, "tolerance": c.tolerance,
            "computed": float(f"{c.computed:.8g}"), "ok": bool(c.ok), "source": c.source,
        }
        for c in result.checks
    ]  # fmt: skip


# --- curves


def measured(which: str) -> list[Row]:
    """Rows of a set: slip, slip angle [deg], quantity, measured value, SI."""
    rows: list[Row] = []
    if which.startswith("ding"):
        for row in wt.ding("lug10" if which == "ding-lugs" else "smooth"):
            rows += [_row(row["slip"], 0.0, q, row[q]) for q in ("pull", "torque", "sinkage")]
    elif which == "ishigami":
        for quantity, name in (("Fx_N", "pull"), ("Fy_N", "side")):
            for angle in (4.0, 8.0, 12.0, 16.0):
                rows += [_row(s, angle, name, v) for s, v in wt.ishigami(quantity, angle)]
    else:
        for angle in PAVLOV_ANGLES:
            for row in wt.pavlov(angle):
                sides = ("pull", "side", "sinkage") if angle else ("pull", "sinkage")
                rows += [_row(row["slip"], angle, q, row[q]) for q in sides]
    return [row for row in rows if np.isfinite(row["measured"])]


def _row(slip: float, angle: float, quantity: str, value: float) -> Row:
    return {"slip": round(float(slip), 4), "angle": angle, "of": quantity, "measured": float(value)}


SETS: dict[str, tuple[str, wt.Bench]] = {
    "ding-lugs": ("Ding 2011, lugs of 10 mm", wt.DING_LUGS),
    "ding-smooth": ("Ding 2011, smooth", wt.DING_SMOOTH),
    "ishigami": ("Ishigami 2005, smooth, 4° to 16°", wt.ISHIGAMI),
    "pavlov": ("Pavlov, smooth, 0° to 75° (not their soil)", wt.PAVLOV),
}


def by_grid(bench: wt.Bench, rows: list[Row]) -> list[float]:
    """The soil contact model at all slips of an angle; of more than nine, at eight with straight
    lines between them."""
    out = []
    for row in rows:
        slips = sorted({r["slip"] for r in rows if r["angle"] == row["angle"]})
        if len(slips) > 9:
            slips = list(np.linspace(slips[0], slips[-1], 8).round(4))
        got = [wt.steady(bench, s, row["angle"])[row["of"]] for s in slips]
        out.append(float(np.interp(row["slip"], slips, got)))
    return out


def by_model(model: str) -> Callable[[wt.Bench, list[Row]], list[float]]:
    """A wheel model with the soil's published numbers."""

    def compute(bench: wt.Bench, rows: list[Row]) -> list[float]:
        from marsyard.ground.soil import load_soil
        from marsyard.interaction.wheel_models import Wheel, WheelModel

        wheel = Wheel(
            bench.radius, bench.width, lug_height=bench.grousers, lug_count=bench.count or None,
            lug_thickness=0.002,
        )  # fmt: skip
        own = OWN[model] | ({"mean_load": bench.load} if model == "ding" else {})
        asked = WheelModel(model, wheel, load_soil(bench.soil), own)
        names = {"pull": "drawbar_pull", "side": "side_force", "torque": "torque",
                 "sinkage": "sinkage"}  # fmt: skip
        out = []
        for row in rows:
            found = asked.under_load(bench.load, row["slip"], np.radians(row["angle"]))
            value = float(getattr(found, names[row["of"]]))
            out.append(abs(value) if row["of"] == "side" else value)
        return out

    return compute


LAWS: dict[str, Callable[[wt.Bench, list[Row]], list[float]]] = {
    "scm": by_grid, **{model: by_model(model) for model in OWN},
}  # fmt: skip


def run_curves(name: str) -> list[Row]:
    """Measured rows of a set with what a law makes of them; `name` is "SET LAW"."""
    which, law = name.split()
    rows = measured(which)
    computed = LAWS[law](SETS[which][1], rows)
    return [r | {"computed": float(f"{c:.6g}")} for r, c in zip(rows, computed, strict=True)]


# --- problems of contact

PROBLEMS = wt.FOLDER.parent / "friction-contact"


def run_problems(name: str) -> list[Row]:
    """The friction-contact problems of Siconos' authors: what our solver leaves."""
    from marsyard.interaction.nonsmooth import solve_friction_contact

    rows = []
    for file in sorted(PROBLEMS.glob("*.npz")):
        problem = np.load(file)
        found = solve_friction_contact(problem["W"], problem["q"], problem["mu"])
        rows.append({
            "problem": file.stem, "contacts": int(problem["mu"].size), "method": found.method,
            "residual": float(f"{found.residual:.2g}"), "converged": bool(found.converged),
        })  # fmt: skip
    return rows


# --- what is kept


def parts() -> dict[str, tuple[str, Callable[[str], list[Row]]]]:
    """Every part of the page: its name, what its stamp is made of, and how it is computed."""
    out: dict[str, tuple[str, Callable[[str], list[Row]]]] = {}
    for name in scenarios():
        out[name] = (entries()[name], run_checks)
    out["problems"] = ("friction-contact", run_problems)
    for which, (_, bench) in SETS.items():
        for law in LAWS:
            text = "soil/wheel" if law == "scm" else law
            out[f"{which} {law}"] = (f"{text} {bench.soil} {bench}", run_curves)
    return out


def kept() -> dict[str, Any]:
    return json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}


def stale() -> list[str]:
    """Names of the parts that must be computed again."""
    have = kept()
    return [n for n, (text, _) in parts().items() if have.get(n, {}).get("stamp") != stamp(text)]


def keep(name: str, text: str, rows: list[Row]) -> None:
    have = kept() | {name: {"stamp": stamp(text), "rows": rows}}
    known = [n for n in parts() if n in have]
    lines = []
    for n in known:
        inner = ",\n".join("  " + json.dumps(r, ensure_ascii=False) for r in have[n]["rows"])
        lines.append(f' "{n}": {{"stamp": "{have[n]["stamp"]}", "rows": [\n{inner}\n ]}}')
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


# --- the page

HEAD = """# Validation: all numbers

Every published number and every measured point that marsyard is compared with, and what it gives:
good or bad, nothing fitted. [Validation](validation.md) explains the tests and what follows from
them, [wheel models against measured wheels](validation-wheels.md) has the fitted models. What
cannot stand here is there, too: Ishigami's sinkages, whose zero is arbitrary, and Pavlov's wheel at
90°. Masses, inertias and Jacobians of the rover, and whole trajectories of Siconos, are compared by
`tests/validation` ([what comes out](validation.md#the-model)). This page is made by
`python docs/make_validation.py` from the checks of the scenarios and from the data of the tests.
"""


def number(value: float) -> str:
    return "0" if value == 0 else f"{value:.5g}".replace("-", "−")


def summary(data: dict[str, Any]) -> str:
    lines = [
        "| set | law | of | points | mean error | RMS error | largest | RMS, share of the span |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for which, (title, _) in SETS.items():
        for law in LAWS:
            rows = data.get(f"{which} {law}", {}).get("rows", [])
            for quantity in dict.fromkeys(r["of"] for r in rows):
                unit, factor = UNITS[quantity]
                mine = [r for r in rows if r["of"] == quantity]
                off = factor * np.array([r["computed"] - r["measured"] for r in mine])
                span = factor * np.ptp([r["measured"] for r in mine])
                rms = float(np.sqrt(np.mean(off**2)))
                worst = off[np.argmax(np.abs(off))]
                lines.append(
                    f"| {title} | `{law}` | {quantity} [{unit}] | {len(mine)} | "
                    f"{off.mean():+.2f} | {rms:.2f} | {worst:+.2f} | {100 * rms / span:.0f} % |"
                )
    return re.sub(r"\| -(?=\d)", "| −", "\n".join(lines))


def every_row(data: dict[str, Any]) -> str:
    out = []
    for which, (title, bench) in SETS.items():
        have = {law: data[f"{which} {law}"]["rows"] for law in LAWS if f"{which} {law}" in data}
        if not have:
            continue
        size = f"radius {1e3 * bench.radius:g} mm, width {1e3 * bench.width:g} mm, {bench.load:g} N"
        out += [f"### {title}", "", f"{size}, soil `{bench.soil}`.", ""]
        out += ["<details>", "<summary>All rows</summary>", ""]
        names = " | ".join(f"`{law}`" for law in have)
        out += [f"| slip | slip angle | of | measured | {names} |",
                "| --- | --- | --- | --- |" + " --- |" * len(have)]  # fmt: skip
        for rows in zip(*have.values(), strict=True):
            unit, factor = UNITS[rows[0]["of"]]
            cells = " | ".join(f"{factor * r['computed']:.1f}" for r in rows)
            out.append(
                f"| {rows[0]['slip']:g} | {rows[0]['angle']:g}° | {rows[0]['of']} [{unit}] | "
                f"{factor * rows[0]['measured']:.1f} | {cells} |"
            )
        out += ["", "</details>", ""]
    return re.sub(r"\| -(?=\d)", "| −", "\n".join(out))


def all_problems(data: dict[str, Any]) -> str:
    lines = ["| problem | contacts | residual | converged to 1e-10 | method |",
             "| --- | --- | --- | --- | --- |"]  # fmt: skip
    for row in data.get("problems", {}).get("rows", []):
        ok = "converged" if row["converged"] else "**not converged**"
        lines.append(
            f"| {row['problem']} | {row['contacts']} | {row['residual']:.1e} | {ok} | "
            f"{row['method']} |"
        )
    return "\n".join([*lines, ""])


def all_checks(data: dict[str, Any]) -> str:
    lines = []
    for name in [n for n in scenarios() if n in data]:
        lines += [f"### {name}", "",
                  "| number | published or exact | computed | error | allowed | ok | source |",
                  "| --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
        for row in data[name]["rows"]:
            off = row["computed"] - row["expected"]
            source = str(row["source"] or "").replace("|", "∣").replace("\n", " ")
            lines.append(
                f"| {row['name']} [{row['unit'] or '1'}] | {number(row['expected'])} | "
                f"{number(row['computed'])} | {off:+.2g} | ± {number(row['tolerance'])} | "
                f"{'yes' if row['ok'] else '**no**'} | {source} |"
            )
        lines.append("")
    return "\n".join(lines)


CURVES = """## Measured wheels in soil

Errors are computed less measured. All laws have their defaults, one set for all wheels; treads are
of metal ([tread and soil](physics/tread.md)), each soil has its published numbers. Straight on,
`ishigami` is `wong_reece`, whose points it hides.

![Computed against measured](images/validation-overview.png)
"""


SOLVER = """## The contact solver on published problems

Friction-contact problems dumped by the authors of Siconos, solved alone
([what the residual is](physics/friction-contact.md#residual)).
"""


def page() -> str:
    data = kept()
    done = [n for n in scenarios() if n in data]
    checks = [r for n in done for r in data[n]["rows"]]
    good = sum(r["ok"] for r in checks)
    count = sum(len(data.get(f"{which} ding", {}).get("rows", [])) for which in SETS)
    said = (
        f"{len(checks)} published or exact numbers in {len(done)} scenarios, {good} of them within "
        f"what their source allows; {count} measured values of wheels in soil. Not run for this "
        f"page: {'; '.join(f'`{name}`, {why}' for name, why in LEFT_OUT.items())}.\n"
    )
    whole = [
        HEAD, said, CURVES, summary(data), "", every_row(data), SOLVER, all_problems(data),
        "## Published and exact numbers\n", all_checks(data),
    ]  # fmt: skip
    return "\n".join(whole).rstrip() + "\n"


def draw() -> None:
    """Computed against measured, a panel for each set, as share of the load or of load × radius."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    data = kept()
    fig, axes = plt.subplots(1, len(SETS), figsize=(12, 3.8), layout="constrained")
    marks = {"pull": "o", "torque": "s", "side": "^"}
    colours = dict(zip(LAWS, ("C0", "C1", "C3", "C2"), strict=True))
    for ax, (which, (title, bench)) in zip(axes, SETS.items(), strict=True):
        for law in LAWS:
            for row in data.get(f"{which} {law}", {}).get("rows", []):
                if row["of"] in marks:
                    size = bench.load * (bench.radius if row["of"] == "torque" else 1.0)
                    ax.plot(row["measured"] / size, row["computed"] / size, marks[row["of"]],
                            color=colours[law], ms=3.5, alpha=0.7, mew=0)  # fmt: skip
        low, high = ax.get_xlim()
        ax.plot([low, high], [low, high], color="0.5", lw=1)
        ax.set_title(title.split(" (")[0], fontsize=9)
        ax.set_xlabel("measured, per load")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("computed, per load")
    for law, colour in colours.items():
        axes[0].plot([], [], "o", color=colour, label=law)
    for name, mark in marks.items():
        axes[0].plot([], [], mark, color="0.4", label=name)
    fig.legend(loc="outside lower center", ncols=len(colours) + len(marks), fontsize=9)
    fig.savefig(FIGURE, dpi=90)
    plt.close(fig)


def main(names: list[str]) -> None:
    known = parts()
    if not wt.there():
        known = {n: p for n, p in known.items() if p[1] is run_checks}
        print("the measured data are not beside this checkout: curves are kept as they were")
    todo = [] if names == ["--page"] else names or [n for n in stale() if n in known]
    for name in todo:
        print(name, flush=True)
        text, compute = known[name]
        keep(name, text, compute(name))
    PAGE.write_text(page(), encoding="utf-8")
    draw()


if __name__ == "__main__":
    main(sys.argv[1:])
