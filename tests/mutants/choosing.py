"""The mutants that are tried: a fixed number of each area, the same ones as long as their code is the same."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tests.mutants.switching import sites_of


@dataclass(frozen=True)
class Area:
    """Modules in which a fault changes what an audit says, and how many mutants they get."""

    number: int
    folders: tuple[str, ...]


AREAS = {
    "measures": Area(75, ("audit/measures",)),
    "rules": Area(20, ("policies/rules",)),
    "judging": Area(65, ("policies/judging",)),
    "constraints": Area(60, ("audit/constraints",)),
    "bounds": Area(
        90,
        (
            "audit/bounds.py",
            "audit/consistent_tables/proofs",
            "audit/engine",
            "audit/joint/ensemble_inference.py",
            "audit/regression",
        ),
    ),
    "readers": Area(
        80,
        (
            "ppdm_models/formats/pmml",
            "ppdm_models/formats/xgboost",
            "ppdm_models/formats/lightgbm",
            "ppdm_models/formats/sklearn",
            "ppdm_models/tables/read_table.py",
            "ppdm_models/tables/matching.py",
        ),
    ),
}
MOST_OF_A_FUNCTION = 3


@dataclass(frozen=True)
class Mutant:
    """One mutation, and where it is."""

    number: int
    area: str
    path: str
    function: str
    place: int
    line: int
    text: str
    ordinal: int = 1
    """Which one it is of the mutations of its function that read alike."""

    @property
    def key(self) -> str:
        """What stays the same while the rest of its module changes."""
        which = f" ({self.ordinal})" if self.ordinal > 1 else ""
        return f"{self.path}:{self.function}:{self.text}{which}"


def chosen(root: Path) -> list[Mutant]:
    """Return the mutants of all areas, numbered from 1 in the order of their names."""
    picked = [mutant for name, area in AREAS.items() for mutant in of_area(root, name, area)]
    return [replace(mutant, number=number) for number, mutant in enumerate(picked, start=1)]


def of_area(root: Path, name: str, area: Area) -> list[Mutant]:
    """Return the mutants whose keys have the smallest digests, few of each function."""
    taken, of_function = [], Counter[str]()
    for mutant in sorted(candidates(root, name, area), key=_digest):
        function = f"{mutant.path}:{mutant.function}"
        if len(taken) < area.number and of_function[function] < MOST_OF_A_FUNCTION:
            taken.append(mutant)
            of_function[function] += 1
    return sorted(taken, key=lambda mutant: (mutant.path, mutant.place))


def candidates(root: Path, name: str, area: Area) -> Iterator[Mutant]:
    """Yield every mutant of an area, without a number."""
    for folder in area.folders:
        path = root / folder
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            where = file.relative_to(root).as_posix()
            yield from _of_file(name, where, file.read_text(encoding="utf-8"))


@cache
def _of_file(name: str, where: str, source: str) -> tuple[Mutant, ...]:
    """Return the mutants of a file of an area; the same file is asked for again and again."""
    found, alike = [], Counter[tuple[str, str]]()
    for place, (function, mutation) in enumerate(sites_of(ast.parse(source))):
        text, line = str(mutation), mutation.original.lineno
        alike[function, text] += 1
        found.append(Mutant(0, name, where, function, place, line, text, alike[function, text]))
    return tuple(found)


def _digest(mutant: Mutant) -> str:
    name = f"{mutant.path}:{mutant.function}:{mutant.text}:{mutant.place}"
    return hashlib.sha256(name.encode()).hexdigest()
