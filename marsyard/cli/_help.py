"""Text of `marsyard --help`: commands grouped by purpose, with full summaries."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

#: commands by what they are for, with one line each
SUMMARIES = {
    "Look around": {
        "list": "List scenarios, rovers, soils, grounds and laws.",
        "show": "Show one of them: description, numbers and their sources.",
        "ground": "Look at a terrain: map, slopes, profile and roughness.",
    },
    "Build": {
        "edit": "Edit a scenario in 3D in the browser: rocks, craters, soils.",
        "import": "Import a robot from a URDF or MJCF file.",
    },
    "Run and watch": {
        "run": "Run a scenario: checks, figures and a report.",
        "report": "Rebuild the report of a run; write figures for papers.",
        "view": "Replay a run in 3D in the browser.",
        "movie": "Render a run as MP4 or GIF, without a display.",
        "export": "Write a run as ROS 2 bag, CSV or Parquet; a rover as URDF or FMU.",
    },
    "Many runs": {
        "compare": "Compare laws, settings or modes of locomotion.",
        "sweep": "Vary parameters over a grid or at random, on all cores.",
        "optimize": "Find the best wheels, track, mass or gains.",
    },
    "Operate a rover": {
        "validate": "Validate a command sequence before it is sent: go or no-go.",
        "teleop": "Drive a rover under the delay of a radio link.",
    },
    "Analyse": {
        "analyze": "Mobility, traction and energy, without a simulation.",
        "identify": "Fit soil parameters to measured wheels.",
        "bench": "Measure how fast marsyard is on this machine.",
    },
}

DESCRIPTION = """A virtual Mars yard: planetary rovers on rock and soft sand, with physics you can
check.

\b
Examples:
  marsyard list rovers                            list the rovers
  marsyard run exomars/drawbar-pull --open        run on sand, show the report
  marsyard view runs/exomars-drawbar-pull         replay that run in 3D
  marsyard run rt0448/test-4 --set friction=0.5   change one value
  marsyard compare eldorado2/rough --laws scm,ding
                                                  one drive, two models
"""


class Commands(TyperGroup):
    """Lists its commands in groups, with summaries that are never cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(len(name) for names in SUMMARIES.values() for name in names)
        for title, summaries in SUMMARIES.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in summaries.items()])
        formatter.write_paragraph()
        formatter.write_text("marsyard COMMAND --help has options and examples of each.")


class WholeSummaries(TyperGroup):
    """Lists its commands with the whole first paragraph of their help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        helps = [(name, command.help or "") for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, " ".join(text.partition("\n\n")[0].split())) for name, text in helps]
            )
