"""A skops file written anew: no bytes outside its fields, objects counted from 1, without what is to be taken out.

Training leaves things in an estimator that no prediction needs: random generators, losses, the ends of bins. All of it
can be taken out: a copy without it (``without_training``) is what the rest of a file is compared with.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from treewarden.ppdm_models.formats.common.json import pointer
from treewarden.ppdm_models.formats.skops._parts import SCHEMA, Archive, Array, FilePart
from treewarden.ppdm_models.formats.skops._unread import clean_npy, is_size, npy_of
from treewarden.ppdm_models.limits import FIRST_MOMENT
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

CENTRAL_HEADER, END_HEADER = 46, 22
"""Bytes of a zip archive's records without their names."""
Raw = dict[str, Any]
EMPTIED = "bin_thresholds_"
"""The ends of bins: a list that must be there, and that no prediction looks into."""
NOTHING = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}
"""What takes the place of a seed that was no plain number."""


def written_anew(
    archive: Archive, removed: Collection[str], changed: Mapping[str, Array] | None = None
) -> bytes:
    """Return the archive in its plainest form: clean arrays, objects and files named by their order, no dates.

    ``removed`` are attributes that go; a ``random_state`` among them becomes null wherever it stands. ``changed`` are
    arrays that take the place of those in files, by the name of the file.

    Raises:
        TreeFormatError: an array is damaged.
    """
    root: Raw = copy.deepcopy(json.loads(archive.files[SCHEMA]))
    for part in objects_in(root):
        take_out(part, removed)
    numbers: dict[object, int] = {}
    arrays: dict[str, bytes] = {}
    for part in objects_in(root):
        if "__id__" in part:
            number = part["__id__"] if type(part["__id__"]) is int else object()
            part["__id__"] = numbers.setdefault(number, len(numbers) + 1)
        name = part.get("file")
        if isinstance(name, str) and name in archive.files:
            part["file"] = f"{part.get('__id__', len(arrays) + 1)}.npy"
            data = archive.files[name]
            if changed is not None and name in changed:
                data = npy_of(changed[name])
            arrays[part["file"]] = clean_npy(data, f"{archive.source}/{name}")
    schema = json.dumps(root, indent=2).encode()
    return _zipped({**arrays, SCHEMA: schema})


def objects_in(root: Raw) -> Iterator[Raw]:
    """Yield every described object, those outside before those inside, in the order of the file."""
    pending: list[object] = [root]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            pending.extend(reversed(part.values()))
        elif isinstance(part, list):
            pending.extend(reversed(part))


def is_counted(root: Mapping[str, Any]) -> bool:
    """Return whether objects are numbered by their order, and array files by these: no address of a memory."""
    seen: dict[object, int] = {}
    for part in objects_in(dict(root)):
        number = part.get("__id__", 0)
        if type(number) is not int:
            return False
        if "__id__" in part and number != seen.setdefault(number, len(seen) + 1):
            return False
        if "file" in part and part["file"] != f"{number}.npy":
            return False
    return True


def take_out(part: Raw, removed: Collection[str]) -> None:
    """Take attributes out of a described dictionary, and a seed's number out of its setting."""
    content = part.get("content")
    if part["__loader__"] != "DictNode" or not isinstance(content, dict):
        return
    for name in [name for name in content if name in removed]:
        if name == "random_state":
            if isinstance(content[name], dict):
                content[name] = NOTHING | {"__id__": object()}  # another number
            continue
        if name == EMPTIED and isinstance(content[name], dict):
            content[name]["content"] = []
            continue
        del content[name]
        types = part.get("key_types")
        if isinstance(types, dict) and isinstance(types.get("content"), list) and types["content"]:
            types["content"].pop()


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, FIRST_MOMENT)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


# What an archive holds between and around its files.


def is_dated(data: bytes) -> bool:
    """Return whether an archive says when its files were put into it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return any(info.date_time != FIRST_MOMENT for info in archive.infolist())


def has_room(data: bytes) -> bool:
    """Return whether an archive holds bytes of no file: comments, fields of its own, gaps, ends of packed data."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    at = 0
    for info in infos:
        header = info.FileHeader()
        start = at + len(header)
        is_next = info.header_offset == at and data[at:start] == header
        at = start + info.compress_size
        if not (is_next and _is_plain(info) and _is_whole(data[start:at], info.compress_type)):
            return True
    names = sum(len(info.filename.encode("utf-8", "surrogatepass")) for info in infos)
    return at + len(infos) * CENTRAL_HEADER + names + END_HEADER != len(data)


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Return whether the record of a file says nothing but what the file is called, its sizes, sum and date."""
    is_bare = not (info.extra or info.comment or info.internal_attr or info.volume)
    return is_bare and info.external_attr in (0, 0o600 << 16) and not info.is_dir()


def _is_whole(packed: bytes, kind: int) -> bool:
    """Return whether packed data are those of a file to their end."""
    if kind != zipfile.ZIP_DEFLATED:
        return kind == zipfile.ZIP_STORED
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    unpacker.decompress(packed)
    return unpacker.eof and not unpacker.unused_data


def is_printed_plainly(schema: bytes, root: Mapping[str, Any]) -> bool:
    """Return whether a description is printed as skops prints it: other blanks would be room for something else."""
    return schema == json.dumps(root, indent=2).encode()


LEFT_BY_TRAINING = (
    *("_random_seed", "_feature_subsample_rng", "train_score_", "validation_score_"),
    "n_bins_non_missing_",
    *("y_true_int", "y_true_one_hot", "class_indexing_offsets"),
    *("_rng", "oob_improvement_", "oob_scores_"),
    "named_estimators_",  # of votes: the same estimators once more
    *("n_samples_seen_", "var_"),  # of scalers; the variance is the square of the scale
)
"""What goes whenever unknown content goes: random generators, losses, sizes, and the targets that a loss may keep."""
SEED = "random_state"


def without_training(root: FilePart) -> FilePart:
    """Return a copy of a description without what the training left, without seeds, and with no ends of bins."""
    raw = copy.deepcopy(dict(root.raw))
    for part in objects_in(raw):
        take_out(part, (*LEFT_BY_TRAINING, EMPTIED, SEED))
    for part in objects_in(raw):
        if type(part.get("__id__")) is object:  # of what took the place of a seed
            part["__id__"] = 0
    return FilePart(root.archive, raw, root.steps)


def training_left(root: FilePart, estimator: FilePart) -> Iterator[Leak]:
    """Yield that estimators keep random generators and losses of their training, and seeds of their own.

    The seed of ``estimator`` is a leak of its own where it is a number.
    """
    generators: list[tuple[str | int, ...]] = []
    seeds: list[tuple[str | int, ...]] = []
    own = (*estimator.steps, "content", "content", SEED)
    for steps, content in _dictionaries(root.raw):
        kept = [name for name in LEFT_BY_TRAINING if name in content]
        if kept:
            what = f"left over from training: {', '.join(kept)}"
            yield Leak(LeakKind.UNKNOWN, pointer((*steps, kept[0])), what, removable=True)
        seed = content.get(SEED)
        if not isinstance(seed, dict):
            continue
        value = FilePart(root.archive, seed, (*steps, SEED))
        is_plain = value.loader == "JsonNode"
        if is_plain and "subsample" in content and "n_bins" in content and is_size(value.plain()):
            yield Leak(
                LeakKind.REPLAY, pointer(value.steps), "the seed of the bins", removable=True
            )
        elif not is_plain or not (value.plain() is None or is_size(value.plain())):
            generators.append(value.steps)
        elif is_plain and value.plain() is not None and value.steps != own:
            seeds.append(value.steps)
    if seeds:
        what = f"seeds of {len(seeds)} trees or steps: an adversary can repeat their sampling"
        yield Leak(LeakKind.REPLAY, pointer(seeds[0]), what, removable=True)
    if generators:
        more = "" if len(generators) == 1 else f", in {len(generators)} estimators"
        what = f"a seed that is not a number, or the state of a random generator{more}"
        yield Leak(LeakKind.UNKNOWN, pointer(generators[0]), what, removable=True)


def _dictionaries(
    root: Mapping[str, Any],
) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield the place and the entries of every described dictionary, those outside first."""
    pending: list[tuple[tuple[str | int, ...], object]] = [((), root)]
    while pending:
        steps, part = pending.pop()
        if isinstance(part, dict):
            content = part.get("content")
            if part.get("__loader__") == "DictNode" and isinstance(content, dict):
                yield (*steps, "content"), content
            pending += [((*steps, key), part[key]) for key in reversed(part)]
        elif isinstance(part, list):
            pending += [((*steps, at), part[at]) for at in reversed(range(len(part)))]
