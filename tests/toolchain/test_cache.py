"""The cache on disk: damage, sharing, bounds and refusal of the disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from warplens.toolchain.cache import Cache, default_cache, key_of


def only_file(directory: Path) -> Path:
    """The one entry of a cache."""
    (path,) = (path for path in directory.rglob("*") if path.is_file())
    return path


def test_get_gives_what_put_stored(tmp_path: Path) -> None:
    """An entry is found again under its kind and key only."""
    cache = Cache(tmp_path)
    cache.put("cubin", "key", b"data")

    assert cache.get("cubin", "key") == b"data"
    assert cache.get("cubin", "other") is None
    assert cache.get("listing", "key") is None


@pytest.mark.parametrize("damage", [b"", b"x", b"warplens-cache-1\n" + bytes(40)])
def test_damaged_entries_are_ignored_and_rewritten(tmp_path: Path, damage: bytes) -> None:
    """A truncated or altered file is a miss; the next put repairs it."""
    cache = Cache(tmp_path)
    cache.put("cubin", "key", b"data" * 100)
    only_file(tmp_path).write_bytes(damage)

    assert cache.get("cubin", "key") is None
    cache.put("cubin", "key", b"new")
    assert cache.get("cubin", "key") == b"new"


def test_flipped_bit_is_noticed(tmp_path: Path) -> None:
    """Any changed byte of the payload makes the entry a miss."""
    cache = Cache(tmp_path)
    cache.put("cubin", "key", bytes(100))
    path = only_file(tmp_path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    assert cache.get("cubin", "key") is None


def test_prune_keeps_what_was_used_last(tmp_path: Path) -> None:
    """Above the limit, the entries unused for longest go first."""
    cache = Cache(tmp_path, limit_bytes=5000)
    for number in range(10):
        cache.put("cubin", str(number), bytes(1000))
    for age, path in enumerate(sorted(p for p in tmp_path.rglob("*") if p.is_file())):
        os.utime(path, (1000 + age, 1000 + age))
    cache.get("cubin", "3")
    cache.prune()

    assert cache.get("cubin", "3") == bytes(1000)
    assert cache.info().size_bytes <= 5000


def test_info_and_clear(tmp_path: Path) -> None:
    """The cache tells what it holds and can be emptied; foreign files stay."""
    cache = Cache(tmp_path)
    cache.put("cubin", "a", b"1")
    cache.put("listing", "b", b"22")
    (tmp_path / "notes.txt").write_text("mine")

    assert cache.info().entries == 2
    assert cache.info().kinds == {"cubin": 1, "listing": 1}
    assert cache.clear() == 2
    assert cache.info().entries == 0
    assert (tmp_path / "notes.txt").exists()


def test_unusable_directory_is_said_once_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing can be written a temporary directory takes over, private to the user."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    blocker = tmp_path / "file"
    blocker.write_text("")
    cache = Cache(blocker / "below")
    cache.put("cubin", "key", b"data")
    cache.put("cubin", "other", b"more")

    assert (cache.get("cubin", "key"), cache.get("cubin", "other")) == (b"data", b"more")
    assert capsys.readouterr().err.count("cannot be written") == 1
    assert cache.directory is not None and cache.directory.parent == tmp_path
    assert cache.directory.stat().st_mode & 0o777 == 0o700


def test_a_temporary_directory_of_others_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that others may write to could hold machine code of theirs."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    open_to_all = tmp_path / f"warplens-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    blocker = tmp_path / "file"
    blocker.write_text("")
    cache = Cache(blocker / "below")
    cache.put("cubin", "key", b"data")

    assert cache.get("cubin", "key") is None and not any(open_to_all.iterdir())


def test_environment_moves_and_disables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """WARPLENS_CACHE_DIR names the directory; `off` or nothing switches the cache off."""
    monkeypatch.setenv("WARPLENS_CACHE_DIR", str(tmp_path))
    assert default_cache().directory == tmp_path
    for off in ("", "off", "0"):
        monkeypatch.setenv("WARPLENS_CACHE_DIR", off)
        assert default_cache().directory is None
    monkeypatch.delenv("WARPLENS_CACHE_DIR")
    assert default_cache().directory is not None


def test_processes_share_a_cache(tmp_path: Path) -> None:
    """Writers of the same entries in several processes never produce a torn one."""
    program = (
        "import sys; from pathlib import Path; from warplens.toolchain.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "for i in range(200):\n"
        "    cache.put('k', str(i % 5), bytes([i % 5]) * 50000)\n"
        "    found = cache.get('k', str(i % 5))\n"
        "    assert found == bytes([i % 5]) * 50000, i\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    writers = [subprocess.Popen(command) for _ in range(3)]

    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert Cache(tmp_path).info().entries == 5


def test_keys_of_parts_are_unambiguous() -> None:
    """Moving a byte from one part to the next changes the key."""
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of("ab") != key_of("ab", "")
