"""A content-addressed cache on disk for cubins, listings and compiled objects."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import platformdirs

_MAGIC = b"warplens-cache-1\n"
_DIGEST_BYTES = 32
_PUTS_BETWEEN_PRUNES = 64
_TEMPORARY = ".tmp"
DEFAULT_LIMIT_BYTES = 1 << 30
_ROOT = Path(__file__).parent.parent
SHIPPED = _ROOT / "ready"
OFF = ("", "0", "off", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """What `Cache.info` tells: where the cache is and how much it holds."""

    directory: Path | None
    entries: int
    size_bytes: int
    limit_bytes: int
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it lies in a cache, for another machine's: `name` is the digest of its key."""

    kind: str
    name: str
    data: bytes


class Cache:
    """Bytes on disk by kind and key; every failure of the disk only means a miss. What cannot be
    written goes to a temporary directory from then on, which is said once.

    Entries carry a digest of their payload: a truncated or altered file is a miss and is written
    anew. Writers go through a temporary file and a rename, so that processes may share a cache.

    Args:
        directory: where to keep entries; None caches nothing.
        limit_bytes: total size above which the entries unused for longest are removed.
    """

    def __init__(self, directory: Path | None, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self._puts = 0
        self._noted: list[Entry] | None = None

    def get(self, kind: str, key: str | bytes) -> bytes | None:
        """The stored bytes, or None."""
        path = self._path(kind, key)
        data = self._read(path)
        if path is not None and data is not None and self._noted is not None:
            self._noted.append(Entry(kind, path.name, data))
        return data

    def _read(self, path: Path | None) -> bytes | None:
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        start = len(_MAGIC) + _DIGEST_BYTES
        payload = content[start:]
        expected = _MAGIC + hashlib.sha256(payload).digest()
        if content[:start] != expected:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the modification time is the time of last use, for pruning
        return payload

    def put(self, kind: str, key: str | bytes, data: bytes) -> None:
        """Stores the bytes; silently does nothing when the disk refuses."""
        path = self._path(kind, key)
        if path is None:
            return
        if self._noted is not None:
            self._noted.append(Entry(kind, path.name, data))
        self._write(path, data)

    def _write(self, path: Path, data: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=_TEMPORARY)
        except OSError as error:
            if self._goes_elsewhere(error):
                assert self.directory is not None
                self._write(self.directory / Path(*path.parts[-3:]), data)
            return
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_MAGIC + hashlib.sha256(data).digest())
                stream.write(data)
            os.replace(name, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
            return
        if self._puts % _PUTS_BETWEEN_PRUNES == 0:
            self.prune()
        self._puts += 1

    @contextlib.contextmanager
    def noting(self) -> Iterator[list[Entry]]:
        """Collects what is put into the cache, or found there, meanwhile."""
        before, self._noted = self._noted, []
        try:
            yield self._noted
        finally:
            self._noted = before

    def entry(self, kind: str, name: str) -> Entry | None:
        """The entry of that kind and name, or None."""
        data = self._read(self._place(kind, name))
        return None if data is None else Entry(kind, name, data)

    def add(self, entry: Entry) -> None:
        """Stores an entry of another machine's cache, if it is not there."""
        path = self._place(entry.kind, entry.name)
        if path is not None and self._read(path) is None:
            self._write(path, entry.data)

    def _goes_elsewhere(self, error: OSError) -> bool:
        """Goes on in a temporary directory of this user where nothing can be kept, and says so."""
        elsewhere = _temporary_directory()
        if elsewhere is None or self.directory in (None, elsewhere):
            return False
        print(
            f"warplens: the cache {self.directory} cannot be written ({error.strerror}); using "
            f"{elsewhere}. WARPLENS_CACHE_DIR sets another directory.", file=sys.stderr,
        )  # fmt: skip
        self.directory = elsewhere
        return True

    def prune(self) -> None:
        """Removes the entries unused for longest until the cache is well below its limit."""
        entries = sorted((stat.st_mtime, stat.st_size, path) for path, stat in self._files())
        total = sum(size for _, size, _ in entries)
        if total <= self.limit_bytes:
            return
        for _, size, path in entries:
            if total <= self.limit_bytes * 4 // 5:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def info(self) -> CacheInfo:
        """Directory, number of entries and size."""
        kinds: dict[str, int] = {}
        size = 0
        for path, stat in self._files():
            if path.suffix != _TEMPORARY:
                kind = path.parent.parent.name
                kinds[kind] = kinds.get(kind, 0) + 1
            size += stat.st_size
        return CacheInfo(
            directory=self.directory,
            entries=sum(kinds.values()),
            size_bytes=size,
            limit_bytes=self.limit_bytes,
            kinds=dict(sorted(kinds.items())),
        )

    def clear(self) -> int:
        """Removes every entry; gives the number removed."""
        removed = 0
        for path, _ in self._files():
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
        return removed

    def _path(self, kind: str, key: str | bytes) -> Path | None:
        if self.directory is None:
            return None
        data = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key
        return self._place(kind, hashlib.sha256(_version().encode() + b"\0" + data).hexdigest())

    def _place(self, kind: str, name: str) -> Path | None:
        return None if self.directory is None else self.directory / kind / name[:2] / name

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Every file of the layout kind/two digits/name; others in the directory are not ours."""
        if self.directory is None:
            return
        for path in self.directory.glob("*/[0-9a-f][0-9a-f]/*"):
            try:
                stat = path.stat()
            except OSError:
                continue
            if path.suffix == _TEMPORARY or len(path.name) == 2 * _DIGEST_BYTES:
                yield path, stat


def _temporary_directory() -> Path | None:
    """A directory for temporary files that only this user can write; None if there is none."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    found = Path(tempfile.gettempdir()) / f"warplens-{user}"
    try:
        found.mkdir(mode=0o700, exist_ok=True)
        stat = found.lstat()
    except OSError:
        return None
    is_ours = not hasattr(os, "getuid") or (stat.st_uid == user and stat.st_mode & 0o7777 == 0o700)
    return found if is_ours and not found.is_symlink() else None


@lru_cache(maxsize=1)
def _version() -> str:
    try:
        return importlib.metadata.version("warplens")
    except importlib.metadata.PackageNotFoundError:
        return "uninstalled"


@lru_cache(maxsize=8)
def _cache_at(setting: str | None) -> Cache:
    if setting is None:
        return Cache(platformdirs.user_cache_path("warplens"))
    if setting.lower() in OFF:
        return Cache(None)
    return Cache(Path(setting))


def default_cache() -> Cache:
    """The user's cache; `WARPLENS_CACHE_DIR` moves it, or turns it off when empty or `off`."""
    return _cache_at(os.environ.get("WARPLENS_CACHE_DIR"))


@lru_cache(maxsize=1)
def shipped_cache() -> Cache:
    """What was compiled when the package was built or installed (`warplens cache prepare`)."""
    is_off = os.environ.get("WARPLENS_SHIPPED", "on").lower() in OFF
    return Cache(None if is_off else SHIPPED)


@lru_cache(maxsize=32)
def sources(*patterns: str) -> str:
    """A digest of the files of this package that match: part of the keys of what they make."""
    digest = hashlib.sha256()
    for path in source_files(*patterns):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def source_files(*patterns: str) -> list[Path]:
    """The files of this package that match."""
    return sorted({path for one in patterns for path in _ROOT.glob(one)})


def key_of(*parts: str | bytes) -> bytes:
    """One cache key of several parts; unambiguous, unlike their concatenation."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
