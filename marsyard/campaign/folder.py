"""The folder of a campaign: checks, journal, the resolved study, a full disk.

A campaign says what its journal is of (`header`), and what has changed if the journal that is there
is of another study (`changed`: old and new header in, words out, empty for nothing).
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from marsyard.campaign.journal import Journal, read_header
from marsyard.campaign.resume import other_versions
from marsyard.errors import InputError
from marsyard.run_folder import check_folder, is_full
from marsyard.single_run import Say

JOURNAL = "finished.log"
Header = Mapping[str, Any]


def earlier_journal(
    folder: Path,
    header: Header,
    changed: Callable[[Header, Header], str],
    resume: bool,
    overwrite: bool,
    say: Say,
) -> Journal | None:
    """The journal of an earlier call to go on with, None for a new one; refuses a folder that
    cannot be used."""
    path = folder / JOURNAL
    if path.exists() and resume:
        return _resumed(path, header, changed, say)
    if path.exists() and not overwrite:
        raise InputError(
            f"--out: '{folder}' holds a study; continue it with --resume, replace it with "
            f"--overwrite, or give another folder"
        )
    check_folder(folder, JOURNAL)
    return None


def new_journal(folder: Path, header: Header, study: BaseModel, old: Iterable[str]) -> Journal:
    """Make the folder with its journal; `old` names what an earlier study may have left there."""
    try:
        journal = Journal.create(folder / JOURNAL, dict(header))
        for name in old:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name, ignore_errors=True)
            else:
                (folder / name).unlink(missing_ok=True)
        write_study(study, folder)
    except OSError as error:
        raise InputError(f"--out: '{folder}' cannot be written ({_why(error)})") from None
    return journal


def _resumed(
    path: Path, header: Header, changed: Callable[[Header, Header], str], say: Say
) -> Journal:
    old = read_header(path)
    if old is None:
        raise InputError(
            f"--resume: the head of '{path}' is damaged; start afresh with --overwrite"
        )
    difference = changed(old, header)
    if difference:
        raise InputError(
            f"--resume: the runs in '{path.parent}' are of another study: {difference}; change it "
            f"back, give another --out, or start afresh with --overwrite"
        )
    versions = other_versions(old, header)
    if versions:
        say(f"warning: finished runs were made by other versions: {versions}")
    journal = Journal.open(path)
    if journal.damaged:
        say(
            f"warning: {journal.damaged} damaged lines in {path} are ignored; their runs are "
            f"repeated"
        )
    return journal


def keep(journal: Journal, records: Iterable[dict[str, Any]], so_far: str) -> None:
    """Put finished runs into a journal; `so_far` says what stands there already ('12 runs')."""
    try:
        journal.append(records)
    except OSError as error:
        raise InputError(
            f"--out: '{journal.path}' cannot be written ({_why(error)}); {so_far} are kept; "
            f"continue with --resume"
        ) from None


@contextlib.contextmanager
def room_for(folder: Path) -> Iterator[None]:
    """Wrap the writing of results: a full disk is told, with what is not lost."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise InputError(
            f"--out: no space is left for '{folder}'; all runs are kept in its {JOURNAL}; free "
            f"some space and continue with --resume"
        ) from None


def _why(error: OSError) -> str:
    return "no space is left" if is_full(error) else str(error.strerror)


def write_study(study: BaseModel, folder: Path) -> None:
    """Write the study as it was read."""
    import yaml

    from marsyard.files.replacing import replacing

    data = study.model_dump(mode="json", exclude_defaults=True)
    with replacing(folder / "study.yaml") as part:
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
        part.write_text(text, encoding="utf-8")
