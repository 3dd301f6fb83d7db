"""Write access of the editor's page: one folder, and only files written by the session.

A page names a file relative to the folder of its session. Absolute paths, "..", and links are
refused, so that nothing is written elsewhere; a file that is there already is replaced only if it
was opened or written by the same session.
"""

from __future__ import annotations

from pathlib import Path

from marsyard.errors import InputError, check_path


class SaveFolder:
    """The folder of a session that began with a file: the working directory, or the folder of the
    file where that is elsewhere.

    Attributes:
        folder: absolute. first: the file it began with, as a page names it.
    """

    def __init__(self, file: str | Path, opened: Path | None = None) -> None:
        path = Path(file).absolute()
        here, parent = Path.cwd().resolve(), path.parent.resolve()
        self.folder = here if parent.is_relative_to(here) else parent
        self.first = (parent / path.name).relative_to(self.folder).as_posix()
        self._own: set[Path] = set()
        if opened is not None:
            self.add(opened)

    def add(self, path: Path) -> None:
        """A file that the session has opened or written: it may be replaced."""
        self._own.add(_place(path))

    def target(self, name: str) -> Path:
        """The file that a page means by a name; InputError if it may not be written."""
        check_path(name, "save")
        if not name:
            raise InputError("save: give the name of a file, e.g. mine.yaml")
        given = Path(name)
        if given.is_absolute() or given.drive or ".." in given.parts:
            raise InputError(f"save: '{name}' must be the name of a file in {self.folder}")
        path = self.folder / given
        try:
            self._check(name, path)
        except OSError as error:
            raise InputError(f"save: '{name}' cannot be written ({error.strerror})") from None
        except RuntimeError:
            raise InputError(f"save: '{name}' contains a loop of symbolic links") from None
        return path

    def _check(self, name: str, path: Path) -> None:
        if not path.parent.resolve().is_relative_to(self.folder):
            raise InputError(f"save: '{name}' is outside of {self.folder}; choose another name")
        if path.is_symlink():
            raise InputError(
                f"save: '{name}' is a symbolic link to another file; choose another name"
            )
        if path.exists() and _place(path) not in self._own:
            raise InputError(
                f"save: '{name}' already exists and was not opened or written in this editor; "
                f"choose another name"
            )


def _place(path: Path) -> Path:
    path = path.absolute()
    return path.parent.resolve() / path.name
