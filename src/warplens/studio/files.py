"""The files that the studio may read and write: those below one folder, of a few kinds."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from warplens.errors import InputError
from warplens.studio.requests import MOST_SOURCE

KINDS = frozenset({".cu", ".cuh", ".h", ".hpp", ".py"})
_MOST_FILES = 500


class Workspace:
    """A folder with sources, or a single file of it; None if nothing was given."""

    def __init__(self, folder: Path | None, only: Path | None = None) -> None:
        self.folder = None if folder is None else folder.resolve()
        self._only = None if only is None else only.resolve()

    @classmethod
    def of(cls, target: Path | None) -> Workspace:
        """What the command line names: a folder, a source, or nothing.

        Raises:
            InputError: it is not there, or no source.
        """
        if target is None:
            return cls(None)
        if target.is_dir():
            return cls(target)
        if not target.is_file():
            raise InputError(f"{target}: no such file or folder")
        if target.suffix not in KINDS:
            raise InputError(f"{target}: not one of {', '.join(sorted(KINDS))}")
        return cls(target.parent, target)

    def names(self) -> list[str]:
        """The sources, relative to the folder."""
        if self.folder is None:
            return []
        if self._only is not None:
            return [self._only.name]
        found: list[str] = []
        for place, folders, files in os.walk(self.folder):
            folders[:] = sorted(f for f in folders if not f.startswith((".", "__")))
            for name in sorted(files):
                if Path(name).suffix in KINDS:
                    found.append((Path(place) / name).relative_to(self.folder).as_posix())
            if len(found) >= _MOST_FILES:
                break
        return found[:_MOST_FILES]

    def path(self, name: str) -> Path:
        """The file of that name.

        Raises:
            InputError: it is outside the folder, of another kind, or not there.
        """
        if self.folder is None:
            raise InputError("no folder is open")
        given = PurePosixPath(name)
        is_plain = not given.is_absolute() and ".." not in given.parts and "\\" not in name
        full = (self.folder / name).resolve() if is_plain and name else self.folder
        if not full.is_relative_to(self.folder) or full.suffix not in KINDS:
            raise InputError(f"{name!r} is not a source of the open folder")
        if self._only is not None and full != self._only:
            raise InputError(f"{name!r} is not the open file")
        if not full.is_file():
            raise InputError(f"{name!r} is not there")
        return full

    def read(self, name: str) -> str:
        """The text of a source."""
        path = self.path(name)
        if path.stat().st_size > 4 * MOST_SOURCE:
            raise InputError(f"{name!r} is too large to edit")
        return path.read_text(encoding="utf-8", errors="surrogateescape")

    def write(self, name: str, text: str) -> None:
        """Replaces the text of a source that is there, at once or not at all."""
        path = self.path(name)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
            temporary.chmod(path.stat().st_mode)
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise InputError(f"cannot write {name!r}: {error.strerror or error}") from error
