"""Functions of host libraries that a program is linked with and that ours do not know.

Without them the loader would end the program before its first line. What a program asks for is read
from the program itself, since headers that declare such functions need not be installed here. Each
says its name once and fails with its library's code for what is not supported.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from warplens.libcuda.build import compiled
from warplens.programs.libraries.table import LIBRARIES, Library
from warplens.programs.library import DRIVER, kept_folder
from warplens.toolchain.cache import key_of
from warplens.toolchain.elf import ElfError, ElfFile

_HEAD = """\
#include <stdatomic.h>
int warplens_missing(atomic_int *is_told, const char *name);
"""
_STUB = """\
__attribute__((visibility("default"))) int %(name)s(void) {
    static atomic_int is_told;
    return warplens_missing(&is_told, "%(name)s") ? %(code)d : 0;
}
"""


def library_of_undefined(program: ElfFile, folder: Path) -> Path | None:
    """A library to load before all others, with what `folder`'s lack; None: nothing is lacking."""
    wanted = [(name, one) for name in program.undefined() if (one := _owner(name)) is not None]
    names = _without_exported(wanted, folder)
    if not names:
        return None
    text = _HEAD + "".join(
        _STUB % {"name": name, "code": library.not_supported} for name, library in names
    )
    driver = (folder / DRIVER).read_bytes()
    path = kept_folder() / f"undefined-{key_of(text, driver).hex()[:32]}.so"
    if not path.exists():
        data = compiled(text, soname=path.name, options=[DRIVER], beside={DRIVER: driver})
        path.parent.mkdir(parents=True, exist_ok=True)
        building = path.with_suffix(".building")
        building.write_bytes(data)
        building.replace(path)
    return path


def _owner(name: str) -> Library | None:
    """The library whose functions are called so: that with the longest prefix."""
    fitting = [one for one in LIBRARIES.values() if name.startswith(one.prefix)]
    return max(fitting, key=lambda one: len(one.prefix), default=None)


def _without_exported(
    wanted: Iterable[tuple[str, Library]], folder: Path
) -> list[tuple[str, Library]]:
    exported: dict[str, frozenset[str]] = {}
    left = []
    for name, library in wanted:
        if library.name not in exported:
            try:
                file = ElfFile((folder / library.sonames[0]).read_bytes())
                exported[library.name] = frozenset(file.exported())
            except (OSError, ElfError):
                exported[library.name] = frozenset()
        if name not in exported[library.name]:
            left.append((name, library))
    return left
