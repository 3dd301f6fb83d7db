"""`marsyard teleop`: drive a rover from a web page, under the delay of a radio link."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from marsyard.operations.link import Duplex
    from marsyard.scenario.schema import Scenario

SCENARIO = "teleop/slalom"
SCRIPTS = ("slalom",)


def teleop(
    scenario: str = typer.Argument(
        SCENARIO, help="What you believe the world to be: a scenario with a drive, or its file."
    ),
    delay: str = typer.Option(
        None, metavar="TIME", help="Round trip, e.g. 2.6s [default: that of --link]."
    ),
    jitter: str = typer.Option(
        None, metavar="TIME", help="Mean of what each way takes longer at random, e.g. 100ms."
    ),
    loss: str = typer.Option(
        None, metavar="SHARE", help="Of messages that are lost on each way, e.g. 5%."
    ),
    bandwidth: str = typer.Option(None, metavar="RATE", help="Of each way, e.g. 2kbit/s."),
    link: str = typer.Option(
        None, metavar="NAME|FILE",
        help="local, moon, moon_south_pole, mars_near, mars_far, or a YAML file with preset, up, "
        "down (docs/how-to/link.md) [default: moon; local with --delay].",
    ),
    truth: list[str] = typer.Option(
        [], metavar="same|SCENARIO|PATH=VALUE",
        help="What the world really is: the same, another scenario, or with values changed "
        "[default: looser soil and rougher ground, drawn from --seed].",
    ),
    set_: list[str] = typer.Option(
        [], "--set", "-s", metavar="PATH=VALUE", help="Change a value of the scenario, and of the "
        "truth. May be given several times.",
    ),
    seed: int = typer.Option(0, min=0, help="Of the link's luck and of the truth."),
    script: str = typer.Option(
        None, metavar="NAME", help="No page: a script drives. slalom: with predictor, by move and "
        "wait, and naively, compared.",
    ),
    runs: int = typer.Option(60, min=1, help="Of a validation at the page."),
    port: int = typer.Option(8080, help="Port of the page; 0 takes a free one."),
    host: str = typer.Option(
        "127.0.0.1", help="Of the page; other machines see it only with the token it prints."
    ),
    token: str = typer.Option(None, help="Token of the page [default: a random one]."),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for what is recorded [default: runs/SCENARIO-session]."
    ),
) -> None:  # fmt: skip
    """Drive a rover under delay: by keyboard, gamepad, stick, goals by clicks, and sequences.

    The page shows the rover as telemetry tells it, late, and where it will be when a command given
    now arrives, with the uncertainty of that. Ctrl-c ends the session and writes its report.

    Examples:

      marsyard teleop                        the Moon, 2.6 s there and back

      marsyard teleop --delay 5s --jitter 300ms --loss 10%

      marsyard teleop control/goal --delay 2.6s --truth interaction.friction=0.4

      marsyard teleop --link mars_near       6 minutes: send sequences

      marsyard teleop --script slalom        predictor against move and wait

    On another machine:  ssh -L 8080:localhost:8080 far-machine marsyard teleop
    """
    from marsyard.scenario import load_scenario, parse_setting

    settings = dict(parse_setting(text) for text in set_)
    ways = link_of(link, delay, jitter, loss, bandwidth, seed)
    if script is not None:
        _check_script(script)
    else:
        _check_page(host, port, token)
    believed = load_scenario(scenario, settings)
    true, drawn = _truth(scenario, truth, settings, seed)
    folder = out or _folder(scenario, script)
    if script is not None:
        _run_script(believed, true, drawn, ways, seed, folder)
        return
    _drive(believed, true, ways, seed, folder, (host, port, token), runs)


# --- the link


def link_of(
    name: str | None, delay: str | None, jitter: str | None, loss: str | None,
    bandwidth: str | None, seed: int = 0,
) -> Duplex:  # fmt: skip
    """Both ways of a link from the options of the command line."""
    changes: dict[str, Any] = {}
    if delay is not None:
        # half of it each way, whatever the distance of the preset
        changes |= {"distance": 0.0, "latency": _quantity("delay", delay, "time") / 2}
    if jitter is not None:
        changes["jitter"] = _quantity("jitter", jitter, "time")
    if loss is not None:
        changes["loss"] = _quantity("loss", loss, "number", most=1.0)
    if bandwidth is not None:
        changes["bandwidth"] = _quantity("bandwidth", bandwidth, "data_rate", above=True)
    return _named_link(name or ("moon" if delay is None else "local"), changes, seed)


def _named_link(name: str, changes: dict[str, Any], seed: int) -> Duplex:
    from marsyard.errors import InputError, suggest
    from marsyard.library import read_yaml
    from marsyard.operations.link import PRESETS, preset

    up: dict[str, Any] = {}
    down: dict[str, Any] = {}
    file, is_file = name, name.endswith((".yaml", ".yml"))
    if is_file:
        data = read_yaml(Path(name))
        unknown = sorted(set(data) - {"preset", "up", "down"})
        if unknown:
            near = suggest(unknown[0], ("preset", "up", "down"))
            raise InputError(f"{name}: unknown key '{unknown[0]}'; {near}")
        name, up, down = data.get("preset", "local"), data.get("up", {}), data.get("down", {})
        if not isinstance(up, dict) or not isinstance(down, dict):
            raise InputError(f"{file}: up and down hold settings of a link, e.g. latency: 1.3 s")
    if name not in PRESETS:
        what = f"{file}: preset" if is_file else "--link"
        raise InputError(f"{what}: unknown link '{name}'; {suggest(str(name), PRESETS)}")
    try:
        return preset(name, seed=seed, up={**up, **changes}, down={**down, **changes})
    except InputError as error:
        raise InputError(f"{file if is_file else '--link'}: {error}") from None


def _quantity(
    name: str, text: str, dimension: str, most: float | None = None, above: bool = False
) -> float:
    """An option's value in SI."""
    from marsyard.errors import InputError
    from marsyard.units import to_si

    try:
        value = to_si(text, dimension)
    except ValueError as error:
        raise InputError(f"--{name}: {error}") from None
    if value < 0 or (above and value == 0):
        raise InputError(f"--{name}: {text} must be {'above' if above else 'at least'} 0")
    if most is not None and value > most:
        raise InputError(f"--{name}: {text} must be at most {most:g}, or {100 * most:g} %")
    return value


# --- the truth


def _truth(
    scenario: str, given: list[str], settings: dict[str, Any], seed: int
) -> tuple[Scenario, dict[str, float]]:
    """What really is, and what was drawn for it."""
    from marsyard.errors import InputError
    from marsyard.operations.teleop.truth import truth_of
    from marsyard.scenario import parse_setting

    changes = [text for text in given if "=" in text]
    names = [text for text in given if "=" not in text]
    if len(names) > 1:
        raise InputError(f"--truth: '{names[0]}' and '{names[1]}' are two worlds; give one")
    other = names[0] if names and names[0] != "same" else None
    settings = settings | dict(parse_setting(text, "--truth") for text in changes)
    return truth_of(scenario, seed=None if given else seed, settings=settings, file=other)


# --- driving


def _check_page(host: str, port: int, token: str | None) -> None:
    """Refuse what the page cannot have before the worlds are built."""
    from marsyard.results._server import check_token, free_port

    check_token(token)
    free_port(host, port)


def _folder(scenario: str, script: str | None) -> Path:
    from marsyard.run_folder import default_folder

    usual = default_folder(scenario)
    return usual.with_name(f"{usual.name}-{script or 'session'}")


def _drive(
    believed: Scenario, true: Scenario, ways: Duplex, seed: int, folder: Path,
    page: tuple[str, int, str | None], runs: int,
) -> None:  # fmt: skip
    from marsyard.operations.desk import Desk
    from marsyard.operations.desk.validation import validator
    from marsyard.operations.teleop.teleoperation import Teleoperation

    host, port, token = page
    print(f"round trip {ways.round_trip:.3g} s; both worlds are being built …", flush=True)
    with _log(folder):
        session = Teleoperation(believed, true, ways, process=True, folder=folder, seed=seed)
        desk = None
        try:
            desk = Desk(session, host, port, token=token, validate=validator(folder, runs))
            print(f"teleoperation: {desk.url}  (press ctrl-c to end)", flush=True)
            session.start()
            with contextlib.suppress(KeyboardInterrupt):
                desk.wait()
        finally:
            if desk is not None:
                desk.stop()
            kept = session.close()
    if kept is not None:
        print(f"session: {kept}", flush=True)


@contextlib.contextmanager
def _log(folder: Path) -> Any:
    """What happens at the desk goes to desk.log, and what is wrong to the terminal, too."""
    import logging
    import sys

    folder.mkdir(parents=True, exist_ok=True)
    log = logging.getLogger("marsyard")
    file = logging.FileHandler(folder / "desk.log", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setLevel(logging.WARNING)
    terminal.setFormatter(logging.Formatter("%(message)s"))
    before = log.level
    log.setLevel(logging.INFO)
    for handler in (file, terminal):
        log.addHandler(handler)
    try:
        yield
    finally:
        log.setLevel(before)
        for handler in (file, terminal):
            log.removeHandler(handler)
        file.close()


# --- scripts


def _check_script(name: str) -> None:
    from marsyard.errors import InputError, suggest

    if name not in SCRIPTS:
        raise InputError(f"--script: unknown script '{name}'; {suggest(name, SCRIPTS)}")


def _run_script(
    believed: Scenario, true: Scenario, drawn: dict[str, float], ways: Duplex, seed: int,
    folder: Path,
) -> None:  # fmt: skip
    from marsyard.operations.teleop.study import draw_slalom, slalom_of, study_slalom, table_of

    found = study_slalom(
        believed, true, ways, difference=drawn, seed=seed,
        say=lambda text: print(text, flush=True),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    table = table_of([found])
    (folder / "slalom.txt").write_text(table + "\n", encoding="utf-8")
    picture = draw_slalom(found, slalom_of(believed)[0], folder / "slalom.png")
    print(table)
    print(f"picture: {picture}")
