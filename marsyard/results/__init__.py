"""Results of a run: data set, checks, figures, report and replay.

Names load when first used, so that importing this package brings neither matplotlib nor viser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from marsyard.lazy import lazy_names

if TYPE_CHECKING:
    from marsyard.drawing.sheet import FigureFile
    from marsyard.results.checks import CheckResult, Impact, evaluate, evaluate_all, impacts
    from marsyard.results.curves import default_figures
    from marsyard.results.dataset import Line, lines, names, open_results, save, series
    from marsyard.results.energy import EnergyAccount, MotorEnergy, energy_account
    from marsyard.results.export import to_dataframe
    from marsyard.results.ground_file import Ground, ground_of, load_ground, save_ground
    from marsyard.results.ground_section import draw_section
    from marsyard.results.ground_stress import draw_stress
    from marsyard.results.headline import Headline, headline_of
    from marsyard.results.movie import Movie, Shot, write_movie, write_still
    from marsyard.results.page_replay import Page3D, show
    from marsyard.results.plots import draw, draw_track, save_figures, save_ground_figures
    from marsyard.results.questions import Answer, answer_all, questions_text
    from marsyard.results.replay import (
        GroundMesh,
        Replay,
        Scene,
        build_scene,
        ground_meshes,
        open_scene,
        serve,
    )
    from marsyard.results.report import check_table, findings_of, write_report
    from marsyard.results.run_judgement import Finding, judge_run
    from marsyard.results.rut_map import draw_rut_map
    from marsyard.results.soil_figures import draw_soils, soil_canvas
    from marsyard.results.soil_report import WheelMean, wheel_means, wheel_table
    from marsyard.results.timeline import timeline_rows, timeline_table

_HOME = {
    "Answer": "questions",
    "CheckResult": "checks",
    "EnergyAccount": "energy",
    "FigureFile": "plots",
    "Finding": "run_judgement",
    "Ground": "ground_file",
    "GroundMesh": "replay",
    "Headline": "headline",
    "Impact": "checks",
    "Line": "dataset",
    "Movie": "movie",
    "MotorEnergy": "energy",
    "Page3D": "page_replay",
    "Replay": "replay",
    "Scene": "replay",
    "Shot": "movie",
    "WheelMean": "soil_report",
    "answer_all": "questions",
    "build_scene": "replay",
    "check_table": "report",
    "default_figures": "curves",
    "draw": "plots",
    "draw_rut_map": "rut_map",
    "draw_section": "ground_section",
    "draw_soils": "soil_figures",
    "draw_stress": "ground_stress",
    "draw_track": "plots",
    "energy_account": "energy",
    "evaluate": "checks",
    "evaluate_all": "checks",
    "findings_of": "report",
    "ground_meshes": "replay",
    "ground_of": "ground_file",
    "headline_of": "headline",
    "impacts": "checks",
    "judge_run": "run_judgement",
    "lines": "dataset",
    "load_ground": "ground_file",
    "names": "dataset",
    "open_results": "dataset",
    "open_scene": "replay",
    "questions_text": "questions",
    "save": "dataset",
    "save_figures": "plots",
    "save_ground": "ground_file",
    "save_ground_figures": "plots",
    "serve": "replay",
    "series": "dataset",
    "show": "page_replay",
    "soil_canvas": "soil_figures",
    "wheel_means": "soil_report",
    "timeline_rows": "timeline",
    "timeline_table": "timeline",
    "to_dataframe": "export",
    "wheel_table": "soil_report",
    "write_movie": "movie",
    "write_report": "report",
    "write_still": "movie",
}

__all__ = [
    "Answer",
    "CheckResult",
    "EnergyAccount",
    "FigureFile",
    "Finding",
    "Ground",
    "GroundMesh",
    "Headline",
    "Impact",
    "Line",
    "Movie",
    "MotorEnergy",
    "Page3D",
    "Replay",
    "Scene",
    "Shot",
    "WheelMean",
    "answer_all",
    "build_scene",
    "check_table",
    "default_figures",
    "draw",
    "draw_rut_map",
    "draw_section",
    "draw_soils",
    "draw_stress",
    "draw_track",
    "energy_account",
    "evaluate",
    "evaluate_all",
    "findings_of",
    "ground_meshes",
    "ground_of",
    "headline_of",
    "impacts",
    "judge_run",
    "lines",
    "load_ground",
    "names",
    "open_results",
    "open_scene",
    "questions_text",
    "save",
    "save_figures",
    "save_ground",
    "save_ground_figures",
    "serve",
    "series",
    "show",
    "soil_canvas",
    "wheel_means",
    "timeline_rows",
    "timeline_table",
    "to_dataframe",
    "wheel_table",
    "write_movie",
    "write_report",
    "write_still",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
