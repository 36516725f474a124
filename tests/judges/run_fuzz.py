"""Damages model files at random and looks for a reader that fails otherwise than by refusing the file.

    python -m tests.judges.run_fuzz --seconds 60 --models ../shared/models

Each reader gets an equal share of the time. What makes one fail is kept under tests/data/fuzz, once for each line of
code that fails, with the message beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import random
import re
import signal
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.formats import Format, Strippable
from treewarden.ppdm_models.tree.side_channels import LeakKind

FIXTURES = Path("tests/data/formats")
KEPT = Path("tests/data/fuzz")
LARGEST_SEED = 200_000
SLOW_SECONDS = 20
NUMBERS = (
    *(b"NaN", b"-NaN", b"Infinity", b"1e999", b"-1e999", b"-1", b"0", b"-0.0", b"1e308", b"5e-324"),
    *(b"99999999999999999999", b"2147483648", b"1.5", b"", b"null", b"true", b'""', b"[]", b"{}"),
)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
PIECE = re.compile(rb"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]|\"[^\"\n]*\"(?:\s*:)?|[^\n]*\n|,")


class SlowError(Exception):
    """A reader that takes too long for a small file."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=Path, default=Path("../shared/models"))
    parser.add_argument("--only", help="one reader")
    asked = parser.parse_args()
    signal.signal(signal.SIGALRM, _too_slow)
    readers = {name: it for name, it in formats().items() if asked.only in (None, name)}
    found = 0
    for name, reader in readers.items():
        seeds = list(_seeds(name, reader, asked.models))
        counts = _fuzzed(name, reader, seeds, asked.seed, asked.seconds / len(readers))
        found += counts["crashes"]
        print(f"{name}: {len(seeds)} seeds, {dict(counts)}", flush=True)
    raise SystemExit(found > 0)


def _seeds(name: str, reader: Format, models: Path) -> Iterator[bytes]:
    own = sorted(path for path in (FIXTURES / name).rglob("*") if path.is_file())
    foreign = sorted(path for path in models.rglob("*") if path.is_file())
    for path in [*own, *foreign]:
        if path.stat().st_size <= LARGEST_SEED:
            data = path.read_bytes()
            if reader.sniff(data):
                yield data


def _fuzzed(
    name: str, reader: Format, seeds: list[bytes], seed: int, seconds: float
) -> Counter[str]:
    draw = random.Random(f"{seed} {name}")
    counts: Counter[str] = Counter(crashes=0)
    places: set[str] = set()
    end = time.monotonic() + seconds
    while seeds and time.monotonic() < end:
        data = damaged(draw.choice(seeds), seeds, draw)
        try:
            counts[outcome(reader, data)] += 1
        except Exception as error:  # any other failure is what is looked for
            place = _place(error)
            counts["failures"] += 1
            if place not in places:
                places.add(place)
                counts["crashes"] += 1
                _keep(name, data, error)
    return counts


def outcome(reader: Format, data: bytes) -> str:
    """Do with the bytes all that a reader does with hostile ones; return what became of them."""
    signal.alarm(SLOW_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if not reader.sniff(data):
                return "not recognised"
            try:
                opened = reader.open(data, "damaged")
            except TreeFormatError:
                return "refused"
            assert isinstance(opened.leaks, tuple)
            try:
                if isinstance(opened, Strippable):
                    opened.without(frozenset(LeakKind))
            except OutputError:
                return "read, not cleaned"
            return "read"
    finally:
        signal.alarm(0)


def damaged(data: bytes, seeds: list[bytes], draw: random.Random) -> bytes:
    """Return bytes with one to four things wrong; those of an archive mostly inside its files."""
    if data.startswith(b"PK") and draw.random() < 0.8:
        return _inside_archive(data, seeds, draw)
    for _ in range(draw.randint(1, 4)):
        data = draw.choice(WAYS)(data, draw) or data
    return data


def _inside_archive(data: bytes, seeds: list[bytes], draw: random.Random) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError):
        return _byte(data, draw)
    chosen = draw.choice(sorted(files))
    files[chosen] = damaged(files[chosen], seeds, draw) if files[chosen] else b"0"
    if draw.random() < 0.1:
        del files[draw.choice(sorted(files))]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def _byte(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(1, len(data) + 1)]


def _number(data: bytes, draw: random.Random) -> bytes:
    """Put a strange number where one is; looking from a random place, and going round."""
    found = _piece(NUMBER, data, draw)
    if found is None:
        return data
    return data[: found.start()] + draw.choice(NUMBERS) + data[found.end() :]


def _drop(data: bytes, draw: random.Random) -> bytes:
    found = _piece(PIECE, data, draw)
    return data if found is None else data[: found.start()] + data[found.end() :]


def _twice(data: bytes, draw: random.Random) -> bytes:
    found = _piece(PIECE, data, draw)
    return data if found is None else data[: found.end()] + found.group() + data[found.end() :]


def _swap(data: bytes, draw: random.Random) -> bytes:
    one, two = _piece(PIECE, data, draw), _piece(PIECE, data, draw)
    if one is None or two is None:
        return data
    one, two = sorted((one, two), key=re.Match.start)
    if one.end() > two.start():
        return data
    middle = data[one.end() : two.start()]
    return data[: one.start()] + two.group() + middle + one.group() + data[two.end() :]


def _word(data: bytes, draw: random.Random) -> bytes:
    """Put one name or value of the file where another is."""
    words = re.compile(rb"\"[^\"\n]*\"|[A-Za-z_]\w*")
    one, two = _piece(words, data, draw), _piece(words, data, draw)
    if one is None or two is None:
        return data
    return data[: one.start()] + two.group() + data[one.end() :]


def _stretch(data: bytes, draw: random.Random) -> bytes:
    """Nest or repeat a piece many times."""
    found = _piece(PIECE, data, draw)
    if found is None or len(found.group()) > 200:
        return data
    return data[: found.end()] + found.group() * draw.choice((10, 300)) + data[found.end() :]


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_byte, _cut, _drop, _drop, _twice, _swap, _swap, _stretch),
    *(_number, _number, _number, _word, _word),
)


def _piece(pattern: re.Pattern[bytes], data: bytes, draw: random.Random) -> re.Match[bytes] | None:
    at = draw.randrange(len(data) + 1)
    return pattern.search(data, at) or pattern.search(data)


def _place(error: Exception) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "ppdm_models" in f.filename]
    last = frames[-1] if frames else None
    return f"{type(error).__name__} {last.filename}:{last.lineno}" if last else repr(error)


def _keep(name: str, data: bytes, error: Exception) -> None:
    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.bin"
    path.write_bytes(data)
    where = _place(error).rpartition("ppdm_models/")[2]
    path.with_suffix(".txt").write_text(
        f"{type(error).__name__} at {where}: {str(error)[:300]}\n", encoding="utf-8"
    )
    print(f"{path}: {type(error).__name__} at {where}: {str(error)[:200]}", flush=True)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise SlowError(f"more than {SLOW_SECONDS} s")


if __name__ == "__main__":
    main()
