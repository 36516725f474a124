"""Reads value hierarchies from files: CSV as ARX writes it, one attribute each, or TOML with a table per attribute.

CSV: one row per value, ``value;level 1;level 2;...``; the attribute is the file's name. TOML: under ``[attribute]`` one
line ``parent = [children]`` each, or for numbers ``cuts = [[20, 40, 60], [40]]``, finest level first.
"""

from __future__ import annotations

import csv
import io
import math
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TaxonomyError, reading_problem, toml_reason
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.tree import Feature

# Value hierarchies: which values of an attribute may be told apart less, and how far, level by level.

EVERYTHING = "*"
"""The label of the highest level where a file gives it none of its own."""


@dataclass(frozen=True, slots=True)
class Categories:
    """A hierarchy of categories.

    ``paths`` give each value's label on every level: itself first, then what it falls under, the same for all at last.
    All are ``height`` + 1 long; a value with fewer levels above it stays itself for longer.
    """

    attribute: str
    paths: Mapping[str, tuple[str, ...]]
    source: str = "taxonomy"

    @property
    def height(self) -> int:
        """The highest level; level 0 is the values themselves."""
        return len(next(iter(self.paths.values()))) - 1

    def label(self, value: str, level: int) -> str:
        """Return what a value is called on a level.

        Raises:
            TaxonomyError: the hierarchy lacks the value.
        """
        if value not in self.paths:
            raise TaxonomyError(
                f"{self.source}: {self.attribute!r}", f"lacks the value {value!r}; add it"
            )
        return self.paths[value][level]


@dataclass(frozen=True, slots=True)
class IntervalHierarchy:
    """A hierarchy of numeric intervals. ``cuts`` are those of each level from 1 up, each among those of the one below.

    An interval holds its lower cut and not its upper one; the highest level has no cuts.
    """

    attribute: str
    cuts: tuple[tuple[float, ...], ...]
    source: str = "taxonomy"

    @property
    def height(self) -> int:
        """The highest level; level 0 is the numbers themselves."""
        return len(self.cuts)

    def label(self, value: float, level: int) -> str:
        """Return what a number is called on a level: ``[20, 40)``, ``< 20``, ``≥ 60``."""
        if level == 0:
            return number_text(value)
        cuts = self.cuts[level - 1]
        place = bisect_right(cuts, value)
        if not cuts:
            return EVERYTHING
        if place == 0:
            return f"< {number_text(cuts[0])}"
        low = number_text(cuts[place - 1])
        return f"≥ {low}" if place == len(cuts) else f"[{low}, {number_text(cuts[place])})"

    def holds(self, low: float, high: float, level: int) -> int | None:
        """Return which interval of a level holds all numbers between two ends; None where a cut parts them."""
        cuts = self.cuts[level - 1]
        place = bisect_right(cuts, low)
        return place if place == len(cuts) or high <= cuts[place] else None


Taxonomy = Categories | IntervalHierarchy
Taxonomies = Mapping[str, Taxonomy]


def fitting(taxonomies: Taxonomies, features: Iterable[Feature]) -> None:
    """Check that hierarchies speak of these attributes, and of every category that is declared.

    Raises:
        TaxonomyError: there is no such attribute, it is of the other kind, or a declared value is not in its hierarchy.
    """
    known = {feature.name: feature for feature in features}
    for name, taxonomy in taxonomies.items():
        where = f"{taxonomy.source}: {name!r}"
        if name not in known:
            have = ", ".join(map(repr, list(known)[:12]))
            raise TaxonomyError(where, f"no such column; use {have}")
        if isinstance(taxonomy, IntervalHierarchy) != known[name].numeric:
            given, wanted = ("values", "cuts") if known[name].numeric else ("cuts", "values")
            raise TaxonomyError(where, f"gives {given}, but the column needs {wanted}")
        if isinstance(taxonomy, Categories):
            for value in known[name].values:
                taxonomy.label(value, 0)


CUTS = "cuts"
MOST_NAMED = 5


def load_taxonomies(paths: Iterable[Path]) -> dict[str, Taxonomy]:
    """Read hierarchies from files, each as TOML or CSV by the ending of its name.

    Raises:
        TaxonomyError: a file cannot be read or understood, or two speak of the same attribute.
    """
    taxonomies: dict[str, Taxonomy] = {}
    for path in paths:
        try:
            with path.open("rb") as file:
                data = file.read(limits.BYTES + 1)
        except OSError as error:
            problem = reading_problem(error, "give a TOML or CSV file")
            raise TaxonomyError(path.name, problem) from error
        if len(data) > limits.BYTES:
            raise TaxonomyError(path.name, f"larger than {limits.BYTES:,} bytes")
        read = read_toml if path.suffix.lower() == ".toml" else _read_named
        for name, taxonomy in read(data, path.name).items():
            if name in taxonomies:
                problem = f"{taxonomies[name].source} has a hierarchy of this column too; remove one of them"
                raise TaxonomyError(f"{path.name}: {name!r}", problem)
            taxonomies[name] = taxonomy
    return taxonomies


def _read_named(data: bytes, where: str) -> dict[str, Taxonomy]:
    name = Path(where).stem
    return {name: read_csv(data, where, name)}


def read_csv(data: bytes, where: str, attribute: str) -> Categories:
    """Read one attribute's hierarchy, one row per value; semicolons, else tabs or commas, part the levels.

    Raises:
        TaxonomyError: names the line: a cell is empty, rows differ in length, a value stands twice, a label has two
            parents or falls under itself.
    """
    text = _decoded(data, where)
    first = text.partition("\n")[0]
    delimiter = next((sign for sign in ";\t," if sign in first), ";")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    paths: dict[str, tuple[str, ...]] = {}
    above: dict[tuple[int, str], tuple[str, int]] = {}
    try:
        for row in rows:
            if row:
                _add_row([cell.strip() for cell in row], f"{where}:{rows.line_num}", paths, above)
    except csv.Error as error:
        raise TaxonomyError(f"{where}:{rows.line_num}", f"not CSV ({error})") from error
    if not paths:
        raise TaxonomyError(where, "holds no values; give one row per value")
    _refuse_cycles(above, where)
    return Categories(attribute, _rooted(paths), where)


def _add_row(
    cells: Sequence[str],
    where: str,
    paths: dict[str, tuple[str, ...]],
    above: dict[tuple[int, str], tuple[str, int]],
) -> None:
    """Check one row against those before it; ``above`` holds each label's parent and the row that named it first."""
    if "" in cells:
        raise TaxonomyError(where, f"the cell of level {cells.index('')} is empty; fill it in")
    if len(cells) > limits.TAXONOMY_LEVELS or len(paths) >= limits.TAXONOMY_VALUES:
        raise TaxonomyError(where, "too many levels or values")
    if cells[0] in paths:
        raise TaxonomyError(where, f"the value {cells[0]!r} has a row already; leave one out")
    width = len(next(iter(paths.values()), cells))
    if len(cells) != width:
        raise TaxonomyError(where, f"has {len(cells)} levels, the rows before it {width}")
    for level, (label, parent) in enumerate(zip(cells, cells[1:], strict=False)):
        if parent != label and parent in cells[:level]:
            raise TaxonomyError(
                where, f"{parent!r} is above {label!r} and also below it; remove one of them"
            )
        known, row = above.setdefault((level, label), (parent, len(paths) + 1))
        if known != parent:
            problem = f"{label!r} is under {parent!r} here, but under {known!r} in row {row}"
            raise TaxonomyError(where, f"{problem}; write the same parent in both rows")
    paths[cells[0]] = tuple(cells)


def _refuse_cycles(above: Mapping[tuple[int, str], tuple[str, int]], where: str) -> None:
    """Refuse names that fall under each other by way of several rows, whatever their levels."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for (_, label), (parent, _) in above.items():
        if label != parent:
            order.add(label, parent)
    try:
        order.prepare()
    except CycleError as error:
        found = error.args[1][1:]
        names = " and ".join(map(repr, found[:MOST_NAMED])) + (" ..." if found[MOST_NAMED:] else "")
        problem = f"a cycle: {names} fall under each other"
        raise TaxonomyError(where, f"{problem}; give the groups names of their own") from error


def read_toml(data: bytes, where: str) -> dict[str, Taxonomy]:
    """Read hierarchies, one table per attribute.

    Raises:
        TaxonomyError: names the line: not TOML, not a table of lists, a value has two parents or falls under itself.
    """
    text = _decoded(data, where)
    try:
        said = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TaxonomyError(
            where, f"not valid TOML ({toml_reason(error)}); correct the file"
        ) from error
    taxonomies: dict[str, Taxonomy] = {}
    for name, table in said.items():
        place = _TomlLine(where, text, name)
        if not isinstance(table, dict) or not table:
            example = 'region = ["town 1", "town 2"]'
            raise place.wrong(
                name, f"not a hierarchy; write a section [{name}] with lines such as {example}"
            )
        taxonomies[name] = (
            _intervals(name, table, place) if set(table) == {CUTS} and _is_nested(table[CUTS])
            else _categories(name, table, place)
        )  # fmt: skip
    if not taxonomies:
        raise TaxonomyError(where, "holds no hierarchy; write [attribute] and its values")
    return taxonomies


class _TomlLine:
    """Finds the line that an error is about: TOML's reader keeps none."""

    def __init__(self, where: str, text: str, attribute: str) -> None:
        self.where, self.attribute = where, attribute
        self._lines = text.splitlines()

    def wrong(self, key: str, problem: str) -> TaxonomyError:
        header = self._line(0, lambda line: line.startswith("[") and self.attribute in line)
        named = self._line(header, lambda line: line.split("=")[0].strip().strip("\"'") == key)
        line = named or header
        return TaxonomyError(
            f"{self.where}{f':{line}' if line else ''}: {self.attribute!r}", problem
        )

    def _line(self, after: int, fits: Callable[[str], bool]) -> int:
        numbered = enumerate(self._lines[after:], start=after + 1)
        return next((number for number, line in numbered if fits(line.strip())), 0)


def _is_nested(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(level, list) for level in value)


def _intervals(name: str, table: Mapping[str, object], place: _TomlLine) -> IntervalHierarchy:
    levels = table[CUTS]
    assert isinstance(levels, list)
    if len(levels) > limits.TAXONOMY_LEVELS or sum(map(len, levels)) > limits.TAXONOMY_VALUES:
        raise place.wrong(CUTS, "too many levels or cuts")
    below: set[float] | None = None
    kept = []
    for number, level in enumerate(levels, start=1):
        if any(isinstance(cut, bool) or not isinstance(cut, int | float) for cut in level):
            raise place.wrong(CUTS, f"level {number} has an entry that is not a number")
        cuts = [float(cut) for cut in level]
        if not all(map(math.isfinite, cuts)) or sorted(set(cuts)) != cuts:
            raise place.wrong(CUTS, f"the cuts of level {number} must be finite and rising")
        if below is not None and not set(cuts) <= below:
            odd = min(set(cuts) - below)
            problem = f"{odd:g} is a cut of level {number}, but not of the level below it"
            raise place.wrong(CUTS, f"{problem}, so an interval would have two parents")
        below = set(cuts)
        kept.append(tuple(cuts))
    return IntervalHierarchy(
        name, tuple(kept if kept and not kept[-1] else [*kept, ()]), place.where
    )


def _categories(name: str, table: Mapping[str, object], place: _TomlLine) -> Categories:
    parent: dict[str, str] = {}
    for above, children in table.items():
        if not isinstance(children, list) or not all(isinstance(c, str) and c for c in children):
            raise place.wrong(
                above,
                f'{above!r} must be a list of texts; write for example {above!r} = ["x", "y"]',
            )
        for child in children:
            if child in parent:
                problem = f"{child!r} is under {parent[child]!r} and under {above!r}"
                raise place.wrong(above, f"{problem}; remove it from one of them")
            parent[child] = above
    values = [child for child in parent if child not in table]
    if len(parent) > limits.TAXONOMY_VALUES:
        raise place.wrong(name, f"more than {limits.TAXONOMY_VALUES:,} values")
    for label in table:
        _climb(label, parent, place)
    if not values:
        raise place.wrong(name, "holds no values; every parent's list is empty")
    return Categories(
        name, _levelled([_climb(value, parent, place) for value in values]), place.where
    )


def _climb(value: str, parent: Mapping[str, str], place: _TomlLine) -> list[str]:
    path = [value]
    while path[-1] in parent:
        above = parent[path[-1]]
        if above in path:
            raise place.wrong(above, f"a cycle: {above!r} falls under itself")
        if len(path) > limits.TAXONOMY_LEVELS:
            raise place.wrong(above, f"more than {limits.TAXONOMY_LEVELS} levels")
        path.append(above)
    return path


def _levelled(paths: Sequence[list[str]]) -> dict[str, tuple[str, ...]]:
    """Make all paths equally long, counted from the top: a value with fewer levels stays itself for longer."""
    if len({path[-1] for path in paths}) > 1:
        paths = [[*path, EVERYTHING] for path in paths]
    height = max(map(len, paths))
    return _rooted({path[0]: (path[0],) * (height - len(path)) + tuple(path) for path in paths})


def _rooted(paths: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Add a level that holds everything where the highest does not."""
    if len({path[-1] for path in paths.values()}) == 1 and len(next(iter(paths.values()))) > 1:
        return paths
    return {value: (*path, EVERYTHING) for value, path in paths.items()}


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaxonomyError(where, f"not UTF-8 ({error})") from error
