"""`marsyard analyze energy RUN`: power and energy of a run, from its folder."""

from __future__ import annotations

from pathlib import Path

import typer

from marsyard.cli import _complete


def energy(
    run: Path = typer.Argument(
        help="The folder of a run, or its results.nc.", autocompletion=_complete.runs
    ),
    start: str = typer.Option("", help="Start of the evaluated interval, e.g. 5s [default: the "
                                       "start of the run]."),
    end: str = typer.Option("", help="End of the evaluated interval [default: the end of the "
                                     "run]."),
    along: str = typer.Option(
        "", metavar="X,Y[,Z]",
        help="Direction of travel in the world [default: the robot's heading at the start, which "
             "is uphill on a slope it faces].",
    ),
    regeneration: bool = typer.Option(
        None, "--regeneration/--no-regeneration",
        help="Whether braking charges the battery [default: as the scenario's motors say; not "
             "without a motor model].",
    ),
    json_: bool = typer.Option(False, "--json", help="Print JSON instead of tables."),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder for figures, energy.csv and energy.json [default: "
        "energy/ in the run's folder].",
    ),
) -> None:  # fmt: skip
    """Energy of a run: by motor, per metre, cost of transport, and by cause.

    Mechanical energy of each motor, spent and returned; electrical energy and losses in copper and
    gear where the scenario has `motors`; energy by metre and by weight; and the balance: work of
    the motors = lifting + kinetic energy + springs + soil (compaction, shear) + damping + rest.

    \b
    Examples:
      marsyard run marsokhod/rolling && marsyard analyze energy runs/marsokhod-rolling
      marsyard analyze energy runs/control-goal --start 5s --regeneration --json
    """
    from marsyard.analysis.options import quantity_of
    from marsyard.results.dataset import open_results
    from marsyard.results.energy import energy_account

    ds = open_results(run)
    account = energy_account(
        ds,
        start=quantity_of(start, "time", "--start") if start else None,
        end=quantity_of(end, "time", "--end") if end else None,
        along=_direction(along),
        regeneration=regeneration,
    )
    if json_:
        import json

        typer.echo(json.dumps(account.as_dict(), indent=2, ensure_ascii=False))
        if out is None:
            return
    else:
        from rich.console import Console

        from marsyard.results.energy_figures import balance_words, energy_tables

        console = Console(width=max(Console().width, 140))
        for table in energy_tables(account):
            console.print(table, highlight=False)
        console.print(balance_words(account), highlight=False)
    folder = out or (run if run.is_dir() else run.parent) / "energy"
    names = _save(ds, account, folder)
    if not json_:
        typer.echo(f"written to {folder}: {', '.join(names)}")


def _direction(text: str) -> tuple[float, ...] | None:
    from marsyard.errors import InputError

    if not text:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--along: '{text}' must be two or three numbers, e.g. --along 1,0"
        ) from None


def _save(ds, account, folder: Path) -> list[str]:  # type: ignore[no-untyped-def]
    import json

    from marsyard.errors import InputError
    from marsyard.results.energy_figures import save_energy_figures, write_energy_csv

    try:
        folder.mkdir(parents=True, exist_ok=True)
        figures = save_energy_figures(ds, account, folder)
        table = write_energy_csv(account, folder / "energy.csv")
        text = json.dumps(account.as_dict(), indent=2, ensure_ascii=False)
        (folder / "energy.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({error.strerror})") from None
    return [*(f.path.name for f in figures), table.name, "energy.json"]
