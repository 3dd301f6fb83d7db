"""Write the table of peers' analytic cases into validation.md: python docs/make_peer_cases.py"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "verification"))

from peer_cases import CASES  # noqa: E402

PAGE = DOCS / "validation.md"
BEGIN, END = "<!-- peer cases -->", "<!-- end of peer cases -->"


def table() -> str:
    """Every quantity of every case, computed now."""
    lines = [
        "| of | case | quantity | exact | computed | difference |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for row in case.compute(Path(folder)):
                off = abs(row.computed - row.exact)
                unit = "" if row.unit == "1" else f" [{row.unit}]"
                computed = "below 1e-9" if row.exact == 0 and off < 1e-9 else f"{row.computed:.6g}"
                away = "below 1e-9" if off < 1e-9 else f"{off:.1e}"
                lines.append(
                    f"| {case.peer} | {case.title} | {row.quantity}{unit} | {row.exact:.6g} | "
                    f"{computed} | {away} |"
                )
    return "\n".join(lines)


def sources() -> str:
    """Where each case stands with its peer."""
    found = dict.fromkeys((c.peer, c.source) for c in CASES)
    return "\n".join(f"- {peer}: {source}" for peer, source in found)


def main() -> None:
    """Replace what stands between the marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = f"{BEGIN}\n\n{table()}\n\nSources:\n\n{sources()}\n\n{END}"
    PAGE.write_text(before + made + after, encoding="utf-8")


if __name__ == "__main__":
    main()
