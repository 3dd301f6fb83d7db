"""Pages are opened in the browser where somebody sits in front of one, and nowhere else."""

from __future__ import annotations

import sys
import webbrowser

import pytest
from typer.testing import CliRunner

from marsyard.cli import app
from marsyard.web.browser import open_page


class Window(webbrowser.BackgroundBrowser):
    def __init__(self):
        self.opened = []

    def open(self, url, new=0, autoraise=True):
        self.opened.append(url)
        return True


@pytest.fixture
def screen(monkeypatch):
    """A terminal before a display, with a browser that notes what it opens."""
    window = Window()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("SSH_CONNECTION", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(webbrowser, "get", lambda: window)
    return window


def test_addresses_and_files_are_opened(screen, tmp_path):
    page = tmp_path / "a report.html"
    assert open_page("http://localhost:8080/?token=abc") and open_page(page)
    assert screen.opened == ["http://localhost:8080/?token=abc", page.as_uri()]


@pytest.mark.parametrize("missing", ["terminal", "display", "near", "browser", "window", "person"])
def test_nothing_happens_where_nobody_would_see_it(screen, monkeypatch, missing):
    if missing == "terminal":
        monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    elif missing == "display":
        monkeypatch.delenv("DISPLAY")
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    elif missing == "near":
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 22 10.0.0.2 22")
    elif missing == "person":
        monkeypatch.setenv("CI", "true")
    elif missing == "browser":
        monkeypatch.setattr(webbrowser, "get", lambda: (_ for _ in ()).throw(webbrowser.Error()))
    else:  # one of the terminal, as w3m
        monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("w3m"))
    assert not open_page("http://localhost:8080/")
    assert screen.opened == []


def stopped(*_):
    """In place of a page that is served until ctrl-c."""


@pytest.mark.parametrize("options", [[], ["--no-browser"]])
def test_views_of_grounds_and_stances_open_their_page(monkeypatch, tmp_path, options):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("marsyard.web.server.open_page", opened.append)
    monkeypatch.setattr("marsyard.web.server.show_until_ctrl_c", stopped)
    # pictures take seconds and are not what is tested
    drawn = tmp_path / "report.html"
    monkeypatch.setattr("marsyard.results.terrain_figures.save_terrain", lambda *_: drawn)
    for command in (["ground", "flat"], ["analyze", "kinetostatics", "roburoc", "--json"]):
        done = CliRunner().invoke(app, [*command, "--view", "--port", "0", *options])
        assert done.exit_code == 0, done.output
    assert len(opened) == (0 if options else 2)
    assert all(address.startswith("http://") for address in opened)


@pytest.mark.parametrize("options", [["--open"], [], ["--open", "--no-browser"]])
def test_run_opens_its_report_when_asked(monkeypatch, tmp_path, options):
    opened = []
    monkeypatch.setattr("marsyard.web.browser.open_page", opened.append)
    folder = tmp_path / "run"
    command = ["run", "rt0448/test-1", "-q", "-s", "run.duration=0.1 s", "-o", str(folder)]
    CliRunner().invoke(app, [*command, *options])
    assert [str(path) for path in opened] == (
        [str(folder / "report.html")] if options == ["--open"] else []
    )
