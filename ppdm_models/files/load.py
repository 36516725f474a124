"""Reads a published tree from a file or from bytes, in whichever format it turns out to be."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath

from treewarden.ppdm_models import formats as formats_package
from treewarden.ppdm_models import gc_control, limits
from treewarden.ppdm_models.errors import TreeFormatError, reading_problem
from treewarden.ppdm_models.formats import Format, Opened, Strippable, Writer
from treewarden.ppdm_models.formats.common.json import DEPTH, nesting
from treewarden.ppdm_models.formats.common.origin import packing_leaks, unpacked
from treewarden.ppdm_models.limits import DAMAGED, archived, entries, is_archive
from treewarden.ppdm_models.plugins import PluginIndex, discover
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind, people_named, unread_rest
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.ppdm_models.unsupported_files import members_advice, model_advice, text_advice

PEEKED = 1 << 20
MOST_TRIED = 100
"""So many bytes of a file, and so many files of a folder, are looked at to say what they are."""
ADVICE_MARK = "; "
QUOTED = re.compile(r"'[^']*'")
LISTED = "for the formats: treewarden list formats; how to export a model: docs/formats.md"


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A model file that was read: the model under its file's name, and all leaks in the file's order.

    ``leaks`` end with whom the model names, and with what its reader may have passed over. ``opened`` is the file as
    its format holds it, to be changed where it is ``Rewritable`` or ``Strippable``.
    """

    model: Model
    leaks: tuple[Leak, ...]
    opened: Opened


WRITTEN_SUFFIXES = {"pmml": ".pmml", "treewarden_json": ".json"}
"""How files of the formats are named that models are written in."""


def formats() -> PluginIndex[Format]:
    """Return the formats by name, in name order."""
    return discover(formats_package, "FORMAT", Format)


def sniffed(data: bytes) -> dict[str, Format]:
    """Return the formats that the bytes look like, by name; a room that cannot hold them is not imported."""
    index = formats()
    rooms = {name: index.room(name) for name in index}
    open_rooms = {room.__name__ for room in set(rooms.values()) if room.may_hold(data)}
    names = [name for name, room in rooms.items() if room.__name__ in open_rooms]
    return {name: index[name] for name in names if index[name].sniff(data)}


def writers() -> dict[str, Writer]:
    """Return the formats that models are written in, by name."""
    return {name: plugin for name, plugin in formats().items() if isinstance(plugin, Writer)}


def read_model(path: Path) -> Model:
    """Read a tree or an ensemble from a file, or from a folder as Spark writes it; ``source`` is its name alone.

    Raises:
        TreeFormatError: the file is not there, cannot be read, is too large, or holds no tree that is understood.
    """
    return load_model(read_bytes(path), path.name)


def read_tree(path: Path) -> Tree:
    """Read a model that is a single tree.

    Raises:
        TreeFormatError: as for ``read_model``, or the file holds several trees.
    """
    return load_tree(read_bytes(path), path.name)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a model file; a folder becomes a zip archive of its files.

    Raises:
        TreeFormatError: it is not there, cannot be read, or is too large.
    """
    try:
        if path.is_dir():
            return _of_folder(path)
        if path.exists() and not path.is_file():
            raise TreeFormatError(path.name, "not a file; give the model file")
        size = path.stat().st_size
        data = path.read_bytes() if size <= limits.BYTES else b""
    except (OSError, ValueError) as error:
        raise TreeFormatError(path.name, reading_problem(error, "check the path")) from error
    if size > limits.BYTES:
        raise TreeFormatError(path.name, _too_large(size))
    return data


def _of_folder(path: Path) -> bytes:
    names = _names_in(path)
    is_of_spark = any(
        PurePosixPath(name).parent.name == "metadata" and PurePosixPath(name).name[:5] == "part-"
        for name in names
    ) and any(name.endswith(".parquet") for name in names)
    if is_of_spark:
        return archived(path)
    advice = members_advice(names, lambda name: _start_of(path / name))
    if not advice:
        advice = f"a folder, not the file of a model; {_give_one(path, names)}"
    raise TreeFormatError(path.name or str(path), advice)


def _names_in(folder: Path) -> list[str]:
    """Return the files of a folder and of those in it, without following links.

    Raises:
        TreeFormatError: they are too many.
    """
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        found += [(Path(root) / name).relative_to(folder).as_posix() for name in sorted(files)]
        if len(found) > limits.ARCHIVE_ENTRIES:
            problem = f"holds more than {limits.ARCHIVE_ENTRIES:,} files"
            raise TreeFormatError(folder.name, f"{problem}; give the model file")
    return found


def _give_one(folder: Path, names: Sequence[str]) -> str:
    for name in names[:MOST_TRIED]:
        place = folder / name
        if place.is_file() and 0 < place.stat().st_size <= PEEKED and _is_sniffed(_start_of(place)):
            return f"give the model file, for example {name!r} in it"
    return "give the model file"


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(PEEKED)


def load_tree(data: bytes, source: str) -> Tree:
    """Return the single tree in the bytes.

    Raises:
        TreeFormatError: as for ``load_model``, or the bytes hold several trees.
    """
    model = load_model(data, source)
    if isinstance(model, Tree):
        return model
    raise TreeFormatError(
        model.source,
        f"an ensemble of {sum(1 for _ in model.trees)} trees; give a single tree",
    )


def load_model(data: bytes, source: str) -> Model:
    """Return the model in the bytes, recognised by content; ``source`` names the file in messages.

    Raises:
        TreeFormatError: the bytes are no tree of any known format, or one that cannot be understood in full.
    """
    source = _file_name(source)
    name, opened = _opened(_content(data, source), source)
    return _named(opened.model, name, source)


def open_model(data: bytes, source: str) -> OpenedFile:
    """Return the model in the bytes with what else they give away; errors as for ``load_model``."""
    source = _file_name(source)
    name, opened = _opened(_content(data, source), source)
    model = _named(opened.model, name, source)
    is_told = any(leak.kind is LeakKind.PERSON for leak in opened.leaks)
    named = () if is_told else people_named(model)
    rest = () if formats()[name].accounts_for_all else (unread_rest(name),)
    packing = packing_leaks(data, removable=isinstance(opened, Strippable))
    return OpenedFile(model, (*opened.leaks, *packing, *named, *rest), opened)


def _named(model: Model, name: str, source: str) -> Model:
    return replace(model, source=_file_name(source), format=name)


def _file_name(source: str) -> str:
    return PurePath(source).name or source


def _content(data: bytes, source: str) -> bytes:
    """Return a file's bytes, unpacked where they are packed.

    Raises:
        TreeFormatError: they are too many, damaged, or what is never opened or read.
    """
    limits.check_settings()
    if len(data) > limits.BYTES:
        raise TreeFormatError(source, _too_large(len(data)))
    advice = model_advice(data, source)
    if advice:
        raise TreeFormatError(source, advice)
    plain = unpacked(data, source)
    if is_archive(plain):
        advice = _archive_advice(plain, source)
    if advice:
        raise TreeFormatError(source, advice)
    return plain


def _archive_advice(data: bytes, source: str) -> str:
    """Return what an archive is that holds no model as such; "" where that is not known, or it may be one."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if len(names) > limits.ARCHIVE_ENTRIES:
                return ""
            return members_advice(names, lambda name: _start_in(archive, name))
    except DAMAGED:  # which the format tells that reads it
        return ""


def _start_in(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        return file.read(PEEKED)


def _opened(data: bytes, source: str) -> tuple[str, Opened]:
    """Return the first format that understands the bytes, by name, and what it makes of them."""
    candidates = sniffed(data)
    if not candidates:
        raise TreeFormatError(source, _advice(data, source))
    refused: list[TreeFormatError] = []
    for name, plugin in candidates.items():
        try:
            with gc_control.paused():  # millions of nodes hold no cycles
                return name, plugin.open(data, source)
        except TreeFormatError as error:
            refused.append(error)
    if len(refused) == 1:
        raise _with_advice(refused[0], plugin)
    reasons = "; ".join(
        f"as {name}: {error}" for name, error in zip(candidates, refused, strict=True)
    )
    raise TreeFormatError(source, f"no format fits ({reasons})") from refused[0]


def _with_advice(error: TreeFormatError, plugin: Format) -> TreeFormatError:
    """Return an error that ends in what to do, if it names nothing to do itself."""
    if ADVICE_MARK in QUOTED.sub("", error.problem):
        return error
    advice = f"{plugin.how_to_export}, or give another format (docs/formats.md)"
    told = TreeFormatError(error.where, f"{error.problem}{ADVICE_MARK}{advice}", error.notes)
    told.__cause__ = error
    return told


def _too_large(size: int) -> str:
    return f"{size:,} bytes is more than the {limits.BYTES:,} that are read; give the tree alone"


def _advice(data: bytes, source: str) -> str:
    """Return what bytes are that no format recognises, and what to do."""
    known = text_advice(data)
    if known:
        return known
    if is_archive(data):
        inside = [name for name, held in entries(data, source).items() if _is_sniffed(held)]
        if inside:
            return f"a zip archive; unpack it, and give the file {inside[0]!r} of it"
        return f"a zip archive without a model that is read; {LISTED}"
    return f"{_likeness(data)}; {LISTED}"


def _is_sniffed(data: bytes) -> bool:
    return bool(sniffed(data))


def _likeness(data: bytes) -> str:
    """Say what bytes that no format recognises look like."""
    start = data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0")
    if not start:
        return "the file is empty"
    if start.startswith(b"<"):
        return "XML, but not PMML"
    if start.startswith((b"{", b"[")):
        deepest, *_ = nesting(data)
        if deepest > DEPTH:
            return (
                f"rejected for security: nested {deepest:,} levels deep, more than any real model"
            )
        return "JSON, but not a model format that treewarden can read"
    return "not a model format that treewarden can read"
