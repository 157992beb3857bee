"""Result files: a zip archive of JSON documents and nothing else.

`manifest.json` holds the format version; then there is one `launches/N.json` per launch, and a
`timeline.json` of a whole program. Reading a file never runs code from it.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from warplens.errors import ReportError
from warplens.result.launch import LaunchResult, Result
from warplens.result.plain import from_plain, to_plain
from warplens.result.system import SystemTimeline

FORMAT = "warplens-result"
VERSION = 1
SUFFIX = ".wlens"
_TIMELINE = "timeline.json"
_OLD_LINK = "docs/advice.md#"
_MAX_MEMBER_BYTES = 1 << 30  # a larger document is a damaged or hostile file


def save(result: Result, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Writes a result file; the suffix is appended if missing. Returns the path written."""
    target = Path(path)
    if target.suffix != SUFFIX:
        target = target.with_name(target.name + SUFFIX)
    if target.exists() and not overwrite:
        raise ReportError(f"{target} already exists", hint="Use -f to overwrite it.")
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "writer": result.writer,
        "launches": len(result.launches),
    }
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            _put(archive, "manifest.json", manifest)
            for index, launch in enumerate(result.launches):
                _put(archive, f"launches/{index}.json", to_plain(launch))
            if result.timeline is not None:
                _put(archive, _TIMELINE, to_plain(result.timeline))
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ReportError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def _put(archive: zipfile.ZipFile, name: str, document: Any) -> None:
    # A fixed date keeps the file a function of its content.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    archive.writestr(entry, text.encode("utf-8", "surrogatepass"))


def load(path: str | os.PathLike[str]) -> Result:
    """Reads a result file; damaged, foreign or newer files raise ReportError."""
    source = Path(path)
    if not source.exists() and source.suffix != SUFFIX:
        source = source.with_name(source.name + SUFFIX)
    if source.exists() and not source.is_file():  # opening a pipe waits for who never writes
        raise ReportError(f"{source} is not a file")
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _document(archive, "manifest.json")
            count = _check_manifest(manifest, source)
            launches = tuple(
                _explained(from_plain(LaunchResult, _document(archive, f"launches/{index}.json")))
                for index in range(count)
            )
            timeline = None
            if _TIMELINE in archive.namelist():
                timeline = from_plain(SystemTimeline, _document(archive, _TIMELINE))
    except FileNotFoundError as error:
        raise ReportError(f"{source}: no such file") from error
    except OSError as error:
        raise ReportError(f"cannot read {source}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, RecursionError) as error:
        raise ReportError(
            f"{source} is not a warplens result, or is damaged ({error})",
            hint="Write one with `warplens profile ... -o NAME`.",
        ) from error
    except (NotImplementedError, RuntimeError) as error:  # encrypted or odd compression
        raise ReportError(f"{source} is not a warplens result ({error})") from error
    writer = str(manifest.get("writer", ""))
    return Result(launches=launches, writer=writer, timeline=timeline)


def _check_manifest(manifest: Any, source: Path) -> int:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError("its manifest does not name the format")
    version, count = manifest.get("version"), manifest.get("launches")
    if not isinstance(version, int) or not isinstance(count, int) or count < 0:
        raise ValueError("its manifest is malformed")
    if version > VERSION:
        raise ReportError(
            f"{source} has format version {version}; this version reads up to {VERSION}",
            hint="Update the checkout of warplens, then `pip install .` there.",
        )
    return count


def _explained(launch: LaunchResult) -> LaunchResult:
    """Advice with the command that explains it, where 0.1 named a file of its sources."""
    if not any(r.link.startswith(_OLD_LINK) for s in launch.sections for r in s.rules):
        return launch
    sections = tuple(
        replace(section, rules=tuple(
            replace(rule, link=f"warplens explain {rule.identifier}") for rule in section.rules
        ))
        for section in launch.sections
    )  # fmt: skip
    return replace(launch, sections=sections)


def _document(archive: zipfile.ZipFile, name: str) -> Any:
    if archive.getinfo(name).file_size > _MAX_MEMBER_BYTES:
        raise ValueError(f"{name} is too large")
    try:
        data = archive.read(name)
    except Exception as error:  # zlib.error is not an OSError or ValueError
        raise ValueError(f"{name}: {error}") from error
    return json.loads(data.decode("utf-8", "surrogatepass"), parse_constant=_refuse_constant)


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")
