"""Sessions one after another: folders, truths, what is refused and leaves nothing behind."""

from __future__ import annotations

import pytest

from marsyard.cli.teleop import _truth, link_of
from marsyard.errors import InputError
from marsyard.operations.teleop.truth import truth_of
from marsyard.operations.teleop.worlds import Worlds
from marsyard.scenario import load_scenario, resolve


class Made:
    """A session that was asked for."""

    def __init__(self, believed, truth, link, folder, seed):
        if believed.title == "cannot run":
            folder.mkdir()
            (folder / "truth.jsonl").write_text("{}")
            raise InputError("it cannot run")
        folder.mkdir(exist_ok=True)
        self.believed, self.truth, self.link, self.folder = believed, truth, link, folder
        self.seed = seed


def worlds(folder, **more) -> Worlds:
    def link():
        return link_of(None, "2s", None, "5%", None, 3)

    return Worlds("control/goal", link, seed=3, folder=folder, make=Made, **more)


def test_each_session_has_the_edited_world_its_truth_and_a_folder(tmp_path):
    made = worlds(tmp_path / "run")
    made.first_truth()
    (tmp_path / "run").mkdir()
    environment = made.environment()
    environment.place_rock(2.0, 1.0, 0.4)
    file = environment.save(tmp_path / "mine.yaml")
    first = made.build(environment)
    assert first.folder == tmp_path / "run-2" and first.seed == 3
    # what is driven is what the file that was saved says, and so is its truth
    kept = load_scenario(first.folder / "scenario.yaml")
    assert resolve(first.believed) == load_scenario(file) == kept
    assert first.truth == truth_of(file, seed=3)[0] != first.believed
    # the next one begins with it, has a link of its own, and a folder that is not there yet
    (tmp_path / "run-3").mkdir()
    again = made.environment()
    assert again.scenario == first.believed and not again.changed and again.saved_as == file
    second = made.build(again)
    assert second.folder == tmp_path / "run-4" and second.truth == first.truth
    assert second.link is not first.link
    assert second.link.up.settings == first.link.up.settings


def test_settings_of_the_truth_hold_for_edited_ground_too(tmp_path):
    made = worlds(tmp_path / "run", settings={"gravity": "3 m/s^2"}, truth={"gravity": "2 m/s^2"})
    assert made.scenario.gravity == 3.0 and made.first_truth()[0].gravity == 2.0
    environment = made.environment()
    environment.place_crater(4.0, 0.0, 1.0)
    session = made.build(environment)
    assert (session.believed.gravity, session.truth.gravity) == (3.0, 2.0)
    assert resolve(session.believed).ground == session.truth.ground


def test_without_a_first_session_the_folder_is_the_one_given(tmp_path):
    made = worlds(tmp_path / "run")
    assert made.build(made.environment()).folder == tmp_path / "run"
    assert made.build(made.environment()).folder == tmp_path / "run-2"


def test_what_cannot_be_driven_is_refused_and_leaves_nothing(tmp_path):
    made = worlds(tmp_path / "run")
    made.first_truth()
    environment = made.environment()
    environment.choose_robot("hexapod")
    with pytest.raises(InputError, match="'hexapod' has no wheels"):
        made.build(environment)
    environment.undo()
    x, y, _ = environment.start
    environment.place_rock(x + 0.5, y + 0.4, 0.6)
    with pytest.raises(InputError, match="The start position is inside a rock at"):
        made.build(environment)
    environment.undo()
    environment.set_title("cannot run")
    with pytest.raises(InputError, match="it cannot run"):
        made.build(environment)
    assert list(tmp_path.iterdir()) == []
    # what is believed is what it was
    assert resolve(made.environment().scenario) == load_scenario("control/goal")


def test_which_truth_is_asked_for():
    assert _truth([]) == (None, None)
    assert _truth(["same"]) == (None, {})
    assert _truth(["gravity=2"]) == (None, {"gravity": 2})
    assert _truth(["control/goal"]) == ("control/goal", None)
