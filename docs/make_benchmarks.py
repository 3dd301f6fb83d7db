"""Write docs/benchmarks.md and the costs of laws in other pages from `marsyard bench --json`.

    marsyard bench --json > bench.json
    python docs/make_benchmarks.py bench.json     takes its rows in, with this machine and date
    python docs/make_benchmarks.py                the pages again from what is kept

Rows of benchmarks that are not in the file stay as they were, each with the machine it ran on.
What is kept lies in docs/benchmarks.json. The costs stand in docs/choosing.md and, each between
`<!-- cost: LAW -->` and `<!-- end -->`, in the pages of docs/physics; values of other benchmarks
stand there between `<!-- bench: BENCHMARK: ROW -->` and `<!-- end -->`.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from marsyard.cli.bench import benchmarks
from marsyard.interaction import about

HERE = Path(__file__).parent
DATA = HERE / "benchmarks.json"
PAGE = HERE / "benchmarks.md"
CHOOSING = HERE / "choosing.md"
LAWS = HERE / "physics"
COST = re.compile(r"(<!-- cost: (\w+) -->).*?( µs<!-- end -->)")
BENCH = re.compile(r"(<!-- bench: (\w+): ([^>]*?) -->)[^<]*(<!-- end -->)")
PACKAGES = ("marsyard", "mujoco", "numba", "numpy")
HEAD = """# Benchmarks

What `marsyard bench` measured, with the machine it ran on. Ratios are measured in one run, the two
sides alternately; times are those of one core. Run it on yours: `marsyard bench`, or one of them,
`marsyard bench laws`. *Bar* is what the benchmark must reach. This page is made by
`marsyard bench --json > bench.json` and `python docs/make_benchmarks.py bench.json`.
"""


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.*)", info.read_text()) if info.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    """What the numbers depend on, without the machine's name."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{p} {version(p)}" for p in PACKAGES),
        "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip


def kept() -> list[dict[str, Any]]:
    """Rows with the number of their machine, and the machines, as stored."""
    return json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []


def take_in(file: Path) -> None:
    """Put the rows of a file in place of those of the same names."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    new = {row["benchmark"] for row in rows}
    runs = [
        run | {"rows": [row for row in run["rows"] if row["benchmark"] not in new]}
        for run in kept()
    ]
    for row in rows:
        if row["value"] is not None:
            row["value"] = float(f"{row['value']:.4g}")
    runs = [run for run in runs if run["rows"]] + [{"machine": machine(), "rows": rows}]
    DATA.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| benchmark | value | unit | bar | ok | |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        ok = {True: "yes", False: "**no**", None: ""}[row["ok"]]
        value = "–" if row["value"] is None else f"{row['value']:.3g}"
        note = str(row["note"]).replace("|", "∣")
        bar = (row["bar"] or "").replace(" ", "\u00a0")  # on one line
        lines.append(f"| {row['name']} | {value} | {row['unit']} | {bar} | {ok} | {note} |")
    return "\n".join(lines)


def page() -> str:
    parts, about = [HEAD], benchmarks()
    for run in kept():
        on = run["machine"]
        parts.append(f"## {on['processor']}, {on['cores']} cores, {on['date']}\n")
        parts.append(f"{on['system']}; {on['versions']}.\n")
        for name, rows in itertools.groupby(run["rows"], lambda row: row["benchmark"]):
            parts.append(f"### {name}\n\n{about[name]}\n\n{table(list(rows))}\n")
    return "\n".join(parts)


def of_laws() -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The machine on which the laws ran, and the row of each law."""
    for run in kept():
        rows = {row["name"]: row for row in run["rows"] if row["benchmark"] == "laws"}
        if rows:
            return run["machine"], rows
    raise SystemExit("marsyard bench laws was not run")


def costs() -> str:
    """Cost of the laws, cheapest first, for the page that helps to choose."""
    on, rows = of_laws()
    found = {law.name: law for law in about.all_laws()}
    lines = ["| law | a step of 1 ms takes | | valid for |", "| --- | --- | --- | --- |"]
    for law, row in sorted(rows.items(), key=lambda pair: pair[1]["value"]):
        page, words = found[law].page, found[law].guide.valid
        said = f"[{words}](physics/{page}.md#validity-and-cost)" if page else words
        lines.append(f"| `{law}` | {row['value']:.0f} µs | {row['note']} | {said} |")
    where = f"one core ({on['processor']}) on {on['date']}"
    return "\n".join([*lines, "", f"Measured on {where} by `marsyard bench laws`."])


def pages_of_laws() -> dict[Path, str]:
    """The pages that say what a law or a step costs, with what was measured last."""
    laws = of_laws()[1]
    rows = {(r["benchmark"], r["name"]): r["value"] for run in kept() for r in run["rows"]}
    found = {}
    for path in sorted(LAWS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if COST.search(text) or BENCH.search(text):
            text = COST.sub(lambda m: f"{m[1]}{laws[m[2]]['value']:.0f}{m[3]}", text)
            found[path] = BENCH.sub(
                lambda m: f"{m[1]}{float(f'{rows[m[2], m[3]]:.3g}'):g}{m[4]}", text
            )
    return found


def choosing() -> str:
    """docs/choosing.md with the costs that were measured last."""
    text = CHOOSING.read_text(encoding="utf-8")
    pattern = re.compile(r"(<!-- costs -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"no place for the costs in {CHOOSING.name}")
    return pattern.sub(lambda m: f"{m[1]}\n{costs()}\n\n{m[2]}", text)


def main() -> None:
    if len(sys.argv) > 1:
        take_in(Path(sys.argv[1]))
    PAGE.write_text(page(), encoding="utf-8")
    CHOOSING.write_text(choosing(), encoding="utf-8")
    for path, text in pages_of_laws().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
