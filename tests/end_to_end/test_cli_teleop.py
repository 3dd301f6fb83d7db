"""`marsyard teleop` on the command line: mistakes, and the link that options make."""

from __future__ import annotations

import socket

import pytest
from command import run_here

from marsyard.cli.teleop import link_of
from marsyard.errors import InputError


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--delay", "-1s"], "--delay: -1s must be at least 0"),
        (["--delay", "2.6 kg"], "--delay: 'kg' in '2.6 kg'"),
        (["--jitter", "soon"], "--jitter: 'soon'"),
        (["--loss", "1.5"], "--loss: 1.5 must be at most 1"),
        (["--loss", "150%"], "--loss: 150% must be at most 1"),
        (["--bandwidth", "0"], "--bandwidth: 0 must be above 0"),
        (["--link", "mon"], "--link: unknown link 'mon'; did you mean 'moon'"),
        (["--link", "nothing.yaml"], "nothing.yaml: no such file"),
        (["--script", "slalon"], "--script: unknown script 'slalon'; did you mean 'slalom'"),
        (["--edit", "--script", "slalom"], "--edit: a script drives without a page"),
        (["--port", "0", "--edit", "control/gaol"], "did you mean 'control/goal'"),
        (["--token", "short"], "--token: must be 8 to 128"),
        (["--port", "70000"], "port 70000 is not between"),
        (["--port", "0", "teleop/slalon"], "did you mean 'teleop/slalom'"),
        (["--port", "0", "--truth", "same", "--truth", "control/goal"], "are two different worlds"),
        (["--port", "0", "--truth", "gravty=1"], "gravity"),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path, arguments, said):
    result = run_here(["teleop", *arguments], tmp_path)
    assert result.returncode == 2 and said in result.stderr
    assert result.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


def test_a_port_that_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run_here(["teleop", "--port", taken.getsockname()[1]], tmp_path)
    assert result.returncode == 2 and "cannot listen" in result.stderr


def test_the_delay_is_the_round_trip():
    ways = link_of(None, "2.6s", "100ms", "5%", "2kbit/s")
    assert ways.round_trip == pytest.approx(2.6)
    for way in (ways.up.settings, ways.down.settings):
        assert (way.jitter, way.loss, way.bandwidth) == pytest.approx((0.1, 0.05, 2000.0))
    assert link_of(None, None, None, None, None).round_trip == pytest.approx(2.6)
    assert link_of("mars_near", "10s", None, None, None).round_trip == pytest.approx(10.0)


def test_a_link_from_a_file(tmp_path):
    file = tmp_path / "link.yaml"
    file.write_text("preset: moon\nup: {loss: 20 %}\n")
    ways = link_of(str(file), None, None, None, None)
    assert ways.up.settings.loss == 0.2 and ways.down.settings.loss == 0.001
    file.write_text("upp: {}\n")
    with pytest.raises(InputError, match="unknown key 'upp'; did you mean 'up'"):
        link_of(str(file), None, None, None, None)
