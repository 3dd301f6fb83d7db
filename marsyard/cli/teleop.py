"""`marsyard teleop`: drive a rover from a web page, under the delay of a radio link."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from marsyard.cli import _complete

if TYPE_CHECKING:
    from marsyard.operations.desk import Desk
    from marsyard.operations.link import Duplex
    from marsyard.operations.teleop.session import Session
    from marsyard.operations.teleop.worlds import Worlds
    from marsyard.scenario.schema import Scenario

SCENARIO = "teleop/slalom"
SCRIPTS = ("slalom",)


def teleop(
    scenario: str = typer.Argument(
        SCENARIO, help="The world as the operator believes it to be: a scenario with a drive, or "
                       "its file.",
        autocompletion=_complete.scenarios,
    ),
    delay: str = typer.Option(
        None, metavar="TIME", help="Round trip, e.g. 2.6s [default: that of --link]."
    ),
    jitter: str = typer.Option(
        None, metavar="TIME", help="Mean one-way jitter, e.g. 100ms."
    ),
    loss: str = typer.Option(
        None, metavar="SHARE", help="Share of messages lost in each direction, e.g. 5%."
    ),
    bandwidth: str = typer.Option(None, metavar="RATE", help="Data rate in each direction, e.g. "
                                                             "2kbit/s."),
    link: str = typer.Option(
        None, metavar="NAME|FILE",
        help="local, moon, moon_south_pole, mars_near, mars_far, or a YAML file with preset, up, "
        "down (docs/how-to/link.md) [default: moon; local with --delay].",
    ),
    truth: list[str] = typer.Option(
        [], metavar="same|SCENARIO|PATH=VALUE",
        help="The true world: the same scenario, another one, or changed values [default: looser "
             "soil and rougher ground, drawn from --seed].",
    ),
    set_: list[str] = typer.Option(
        [], "--set", "-s", metavar="PATH=VALUE", help="Change a value of the scenario and of the "
                                                      "true world. May be given several times.",
        autocompletion=_complete.settings,
    ),
    seed: int = typer.Option(0, min=0, help="Seed of the link's random losses and of the true "
                                            "world."),
    script: str = typer.Option(
        None, metavar="NAME", help="Drive by a script, without a page. slalom: compares driving "
                                   "with the predictor, by move and wait, and naively.",
    ),
    edit: bool = typer.Option(
        False, "--edit", help="Start in the editor: change the scenario's ground, rover and soil, "
                              "then drive there.",
    ),
    runs: int = typer.Option(60, min=1, help="Number of runs of a validation from the page."),
    port: int = typer.Option(8080, help="Port of the page; 0: any free port."),
    host: str = typer.Option(
        "127.0.0.1", help="Address of the page; 0.0.0.0: from other machines, too."
    ),
    token: str = typer.Option(None, help="Token in the printed address [default: a random one]."),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address without opening the page in the browser."
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for the recordings [default: runs/SCENARIO-session]."
    ),
) -> None:  # fmt: skip
    """Drive a rover under delay by keyboard, gamepad, joystick, goals set by clicks, and sequences.

    The page shows the rover by delayed telemetry, and its predicted pose when a command given now
    arrives, with the uncertainty. The tab Environment edits the ground and starts a new session
    there. Ctrl-c ends the session and writes its report.

    \b
    Examples:
      marsyard teleop                       the Moon, 2.6 s round trip
      marsyard teleop --link mars_near      6 minutes: send sequences
      marsyard teleop --delay 5s --jitter 300ms --loss 10%
      marsyard teleop control/goal --delay 2.6s --truth friction=0.4
      marsyard teleop --edit control/goal   edit the ground first
      marsyard teleop --script slalom       predictor against move and wait

    On another machine:  ssh -L 8080:localhost:8080 far-machine marsyard teleop
    """
    from marsyard.errors import InputError
    from marsyard.operations.teleop.records import check_folder
    from marsyard.operations.teleop.worlds import Worlds
    from marsyard.scenario import parse_setting

    if edit and script is not None:
        raise InputError("--edit: a script drives without a page; remove one of the two options")
    settings = dict(parse_setting(text) for text in set_)
    ways = link_of(link, delay, jitter, loss, bandwidth, seed)
    if script is not None:
        _check_script(script)
    else:
        _check_page(host, port, token)
    other, changes = _truth(truth)
    worlds = Worlds(
        scenario, lambda: link_of(link, delay, jitter, loss, bandwidth, seed), settings=settings,
        truth=changes, other=other, seed=seed, folder=out or _folder(scenario, script),
    )  # fmt: skip
    true = None
    if not edit:
        true, drawn = worlds.first_truth()
    if script is not None and true is not None:
        _run_script(worlds.scenario, true, drawn, ways, seed, worlds.folder)
        return
    check_folder(worlds.folder)
    _drive(worlds, true, ways, (host, port, token), runs, browser=not no_browser)


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
        if not all(isinstance(s, dict) and all(isinstance(k, str) for k in s) for s in (up, down)):
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


def _truth(given: list[str]) -> tuple[str | None, dict[str, Any] | None]:
    """Another scenario that is the truth, and settings of the truth; none: it is drawn."""
    from marsyard.errors import InputError
    from marsyard.scenario import parse_setting

    changes = [text for text in given if "=" in text]
    names = [text for text in given if "=" not in text]
    if len(names) > 1:
        raise InputError(
            f"--truth: '{names[0]}' and '{names[1]}' are two different worlds; give only one"
        )
    other = names[0] if names and names[0] != "same" else None
    drawn = not changes and (not given or other is not None)
    return other, None if drawn else dict(parse_setting(t, "--truth") for t in changes)


# --- driving


def _check_page(host: str, port: int, token: str | None) -> None:
    """Refuse what the page cannot have before the worlds are built."""
    from marsyard.web.server import check_token, free_port

    check_token(token)
    free_port(host, port)


def _folder(scenario: str, script: str | None) -> Path:
    from marsyard.run_folder import default_folder

    usual = default_folder(scenario)
    return usual.with_name(f"{usual.name}-{script or 'session'}")


def _drive(
    worlds: Worlds, true: Scenario | None, ways: Duplex, page: tuple[str, int, str | None],
    runs: int, browser: bool = False,
) -> None:  # fmt: skip
    """Show the page until ctrl-c; without a truth it begins in the editor."""
    from marsyard.cli._ending import Ending
    from marsyard.operations.desk import Desk
    from marsyard.operations.desk.validation import validator
    from marsyard.operations.teleop.teleoperation import Teleoperation
    from marsyard.web.browser import open_page

    host, port, token = page
    believed, seed, folder = worlds.scenario, worlds.seed, worlds.folder
    session: Teleoperation | None = None
    desk: Desk | None = None

    def here() -> Path:
        present = None if desk is None or not desk.has_session else desk.session
        return getattr(present, "folder", None) or folder

    with _log(folder), Ending() as ending:
        try:
            if true is not None:
                trip = f"round trip {ways.round_trip:.3g} s"
                print(f"{trip}; building both worlds …", flush=True)
                session = Teleoperation(
                    believed, true, ways, process=True, folder=folder, seed=seed
                )
                ending.check()
            desk = Desk(
                session, host, port, token=token, worlds=worlds,
                validate=validator(here, runs),
            )  # fmt: skip
            ending.check()
            print(f"teleoperation: {desk.url}  (press ctrl-c to stop)", flush=True)
            if browser:
                open_page(desk.url)
            if session is not None:
                session.start(lambda: ending.asked)
            desk.wait(lambda: ending.asked)
        finally:
            with ending.saving():
                kept = _end(desk, session)
    for one in kept:
        print(f"session: {one}", flush=True)


def _end(desk: Desk | None, session: Session | None) -> list[Path]:
    """End the page and the session it shows; folders of all sessions that began."""
    kept = []
    if desk is not None:
        desk.stop()
        kept += desk.editing.kept
        session = desk.session if desk.has_session else None
    last = None if session is None else session.close()
    return [*kept, *([] if last is None else [last])]


@contextlib.contextmanager
def _log(folder: Path) -> Any:
    """What happens at the desk goes to desk.log, and what is wrong to the terminal, too."""
    import logging
    import sys

    from marsyard.cli._repeats import CollapseRepeats
    from marsyard.operations.teleop.records import make_folder

    make_folder(folder)
    log = logging.getLogger("marsyard")
    file = logging.FileHandler(folder / "desk.log", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setLevel(logging.WARNING)
    terminal.setFormatter(logging.Formatter("%(message)s"))
    before = log.level
    log.setLevel(logging.INFO)
    handlers = [CollapseRepeats(file), CollapseRepeats(terminal)]
    for handler in handlers:
        log.addHandler(handler)
    try:
        yield
    finally:
        log.setLevel(before)
        for handler in handlers:
            log.removeHandler(handler)
            handler.close()
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
