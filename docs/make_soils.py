"""Write the tables of docs/physics/soils.md from the library, and draw its figure.

python docs/make_soils.py            write the tables and docs/images/soils.png
python docs/make_soils.py --check    exit code 1 if a table is out of date
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from marsyard import library
from marsyard.errors import InputError
from marsyard.ground.soil import Soil, load_soil, number_text, soil_table
from marsyard.ground.typical import TYPICAL

PAGE = Path(__file__).parent / "physics" / "soils.md"
PICTURE = Path(__file__).parent / "images" / "soils.png"
#: a wheel of the rover exomars on Mars: load [N], radius [m], width [m]
WHEEL = (310 * 3.71 / 6, 0.1425, 0.12)
DRAWN = (
    "krenn2008", "lunar_nominal", "lunar_loose", "mars_sand_zhou2023", "hit_lss1", "kls_1",
    "toyoura_ding2011", "dry_sand", "lete_sand", "clay", "snow_us",
)  # fmt: skip


def page(text: str) -> str:
    """The page with its tables renewed."""
    text = _renew(text, "soils", soil_table())
    text = _renew(text, "typical", typical_table())
    return _renew(text, "wheel", wheel_table())


def typical_table() -> str:
    """What stands in for missing numbers, by kind of soil."""
    lines = ["| kind | number | value | range | source |", "| --- | --- | --- | --- | --- |"]
    for kind, numbers in TYPICAL.items():
        for name, t in numbers.items():
            lines.append(
                f"| {kind or 'none'} | `{name}` | {number_text(name, t.value)} | "
                f"{t.low:g} to {t.high:g} | {t.source} |"
            )
    return "\n".join(lines) + "\n"


def wheel_table() -> str:
    """First estimates for one wheel, where a soil has the numbers for them."""
    lines = [
        "| soil | sinkage [mm] | resistance / load | grip / load |",
        "| --- | --- | --- | --- |",
    ]
    for name in library.names("soils"):
        soil = load_soil(name)
        try:
            sinkage, resistance, grip = wheel_estimate(soil, *WHEEL)
        except InputError:
            continue
        if sinkage > WHEEL[1]:
            lines.append(f"| `{name}` | deeper than the axle | – | – |")
            continue
        lines.append(f"| `{name}` | {sinkage * 1e3:.1f} | {resistance:.2f} | {grip:.2f} |")
    return "\n".join(lines) + "\n"


def wheel_estimate(soil: Soil, load: float, r: float, b: float) -> tuple[float, float, float]:
    """Sinkage [m], compaction resistance and shear strength per load of a rigid towed wheel.

    Bekker's closed forms, contact length √(2 r z): z^((2n+1)/2) = 3 W / ((3−n) b k √(2r)),
    R = b k z^(n+1)/(n+1), H = c b √(2 r z) + W tan φ.
    """
    n, k = soil.number("exponent"), soil.pressure_modulus(b)
    z = (3 * load / ((3 - n) * b * k * math.sqrt(2 * r))) ** (2 / (2 * n + 1))
    resistance = b * k * z ** (n + 1) / (n + 1)
    area = b * math.sqrt(2 * r * z)
    grip = soil.number("cohesion") * area + load * math.tan(soil.number("friction_angle"))
    return z, resistance / load, grip / load


def _renew(text: str, name: str, table: str) -> str:
    begin, end = f"<!-- {name}: docs/make_soils.py -->\n", f"<!-- end of {name} -->\n"
    head, _, rest = text.partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f"{PAGE.name}: the marks of the table '{name}' are missing")
    return head + begin + "\n" + table + "\n" + end + tail


def main() -> None:
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv:
        raise SystemExit(int(new != old))
    PAGE.write_text(new, encoding="utf-8")
    from marsyard.results.soil_figures import draw_soils

    draw_soils(DRAWN, PICTURE)


if __name__ == "__main__":
    main()
