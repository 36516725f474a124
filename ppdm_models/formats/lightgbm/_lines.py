"""A LightGBM model file as lines: a header, one block per tree, and what follows; written back byte for byte."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.nodes import Numbers, Wholes

END = "end of trees"
IMPORTANCES = "feature_importances:"
SETTING = re.compile(r"\[(\w+): (.*)\]")


@dataclass(frozen=True, slots=True)
class TreeLines:
    """The lines of one tree: where they start and end, and the line of each key."""

    start: int
    end: int
    keys: Mapping[str, int]


@dataclass(slots=True)
class LightgbmLines:
    """The lines of a file, without their ends; ``settings`` are the lines of the training parameters."""

    source: str
    lines: list[str]
    header: Mapping[str, int]
    trees: list[TreeLines]
    settings: Mapping[str, int]

    def value_of(self, key: str, keys: Mapping[str, int] | None = None) -> str | None:
        """Return what stands behind a key of the header, or of a block; None where it is absent."""
        line = (self.header if keys is None else keys).get(key)
        return None if line is None else self.lines[line].partition("=")[2].rstrip("\r")

    def put(self, key: str, value: str, keys: Mapping[str, int]) -> None:
        """Change what stands behind a key that is there."""
        line = keys[key]
        end = "\r" if self.lines[line].endswith("\r") else ""
        self.lines[line] = f"{key}={value}{end}"

    def setting(self, key: str) -> str | None:
        """Return a training parameter as it is written; None where it is absent."""
        line = self.settings.get(key)
        found = None if line is None else SETTING.match(self.lines[line])
        return None if found is None else found[2]

    def refused(self, line: int | None, problem: str) -> TreeFormatError:
        """Return the error for a line."""
        place = self.source if line is None else f"{self.source}:{line + 1}"
        return TreeFormatError(place, problem)

    def drop(self, count: int) -> None:
        """Keep the first trees; the importances of features go too, as they count the splits of all."""
        start, end = self.trees[count].start, self.trees[-1].end
        told = self.importances
        self.lines = [
            line for at, line in enumerate(self.lines) if not (start <= at < end or at in told)
        ]
        self.trees = self.trees[:count]

    @property
    def importances(self) -> range:
        """The lines that say how often each feature was split on, or how much its splits gained."""
        first = next(
            (
                at
                for at in range(self.trees[-1].end, len(self.lines))
                if self.lines[at].startswith(IMPORTANCES)
            ),
            len(self.lines),
        )
        last = next(
            (at for at in range(first, len(self.lines)) if not self.lines[at].strip()), first
        )
        return range(first + 1, max(first + 1, last))

    def take_out(self, lines: Container[int]) -> None:
        """Take out some lines; those of the blocks stand elsewhere then."""
        kept = [line for at, line in enumerate(self.lines) if at not in lines]
        again = lines_of("\n".join(kept).encode(), self.source)
        self.lines, self.header, self.trees = again.lines, again.header, again.trees
        self.settings = again.settings

    def written(self) -> bytes:
        """Return the bytes, with the announced sizes of the trees as they now are."""
        if "tree_sizes" in self.header:
            sizes = [
                sum(len(line.encode()) + 1 for line in self.lines[block.start : block.end])
                for block in self.trees
            ]
            self.put("tree_sizes", " ".join(map(str, sizes)), self.header)
        return "\n".join(self.lines).encode()


def lines_of(data: bytes, source: str) -> LightgbmLines:
    """Return the file as lines.

    Raises:
        TreeFormatError: it is not UTF-8, has no end, or names a key twice.
    """
    if len(data) > limits.BYTES:
        raise TreeFormatError(
            source, f"larger than the limit of {limits.BYTES:,} bytes; train a smaller model"
        )
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise TreeFormatError(source, f"not UTF-8 text ({error})") from error
    starts = [number for number, line in enumerate(lines) if line.startswith("Tree=")]
    ends = [number for number, line in enumerate(lines) if line.rstrip("\r") == END]
    if not starts or len(ends) != 1 or ends[0] < starts[-1]:
        raise TreeFormatError(source, f"the file ends before the line {END!r}; copy it again")
    if len(starts) > limits.TREES:
        raise TreeFormatError(
            source,
            f"more than {limits.TREES:,} trees, which is the limit; train a model with fewer trees",
        )
    bounds = [*starts, ends[0]]
    for number, start in enumerate(starts):
        if lines[start].rstrip("\r") != f"Tree={number}":
            raise TreeFormatError(f"{source}:{start + 1}", f"this line must be Tree={number}")
    return LightgbmLines(
        source,
        lines,
        _keys(lines, 0, starts[0], source),
        [
            TreeLines(start, end, _keys(lines, start + 1, end, source))
            for start, end in zip(bounds, bounds[1:], strict=False)
        ],
        _settings(lines, ends[0]),
    )


def whole_numbers(document: LightgbmLines, key: str, block: TreeLines, size: int) -> Wholes:
    """Return the whole numbers behind a key of a tree.

    Raises:
        TreeFormatError: it is absent, has another number of them, or holds something else.
    """
    return np.asarray(_values(document, key, block, size, "q", int), dtype=np.int64)


def finite_numbers(
    document: LightgbmLines, key: str, block: TreeLines, size: int, *, may_be: float = 0.0
) -> Numbers:
    """Return the finite numbers behind a key of a tree, or ``may_be``; errors as for ``whole_numbers``."""
    found = np.asarray(_values(document, key, block, size, "d", float), dtype=np.float64)
    if not (np.isfinite(found) | (found == may_be)).all():
        raise document.refused(block.keys[key], f"{key} contains a number that is not finite")
    return found


def _values(
    document: LightgbmLines,
    key: str,
    block: TreeLines,
    size: int,
    code: str,
    number: Callable[[str], float],
) -> array[float]:
    said = document.value_of(key, block.keys)
    if said is None:
        raise document.refused(block.start, f"the tree has no {key}")
    try:
        found: array[float] = array(code, map(number, said.split()))
    except (ValueError, OverflowError) as error:
        raise document.refused(
            block.keys[key], f"{key} contains something that is not a number"
        ) from error
    if len(found) != size:
        raise document.refused(block.keys[key], f"{key} has {len(found)} entries, not {size}")
    return found


def _keys(lines: list[str], start: int, end: int, source: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for number in range(start, end):
        key, equals, _ = lines[number].partition("=")
        if equals:
            if key in found:
                raise TreeFormatError(f"{source}:{number + 1}", f"{key[:40]!r} occurs twice")
            found[key] = number
    return found


def _settings(lines: list[str], start: int) -> dict[str, int]:
    found = {}
    for number in range(start, len(lines)):
        setting = SETTING.match(lines[number])
        if setting:
            found[setting[1]] = number
    return found
