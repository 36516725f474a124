"""What Agrawal & Srikant (2000) found, and whether it comes again: each by a rule written before the full run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from benchmarks.studies.agrawal_srikant_runs import FUNCTIONS, NOISES, Cell, Recovered
from treewarden.ppdm_models.methods.randomised.residual_privacy import ResidualPrivacy

Mark = Literal["repeated", "in part", "not repeated", "not run"]
CORRECTED = ("ByClass", "Local")
CLOSE, WITHIN, FAR_WITHIN = 5.0, 5.0, 15.0
"""Points of accuracy: what "very close" is taken to mean, and the paper's own limits."""
SLIGHTLY = 3.0
"""Points of accuracy that are taken for slightly worse, and beyond them for far worse."""


@dataclass(frozen=True, slots=True)
class Study:
    """All that was found: accuracies in per cent by cell and algorithm, and what else was measured."""

    train: int
    test: int
    runs: int
    originals: Mapping[int, float]
    cells: Mapping[Cell, Mapping[str, float]]
    recovered: tuple[Recovered, ...]
    lefts: Mapping[tuple[str, float], ResidualPrivacy]
    attacks: Mapping[float, tuple[float, float]]

    def down(self, cell: Cell, algorithm: str) -> float:
        """Return by how many points an algorithm is below the tree of true values."""
        return self.originals[cell.function] - self.cells[cell][algorithm]

    def at(self, levels: Iterable[float], functions: Iterable[int] = FUNCTIONS) -> list[Cell]:
        """Return the cells there are at some levels, of some functions."""
        levels, functions = set(levels), set(functions)
        return [cell for cell in self.cells if cell.level in levels and cell.function in functions]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of the paper, how it came out here, and the figures."""

    said: str
    mark: Mark
    figures: str


def findings(found: Study) -> list[Finding]:
    """Return every finding."""
    return [
        Finding(said, *judged(found))
        for said, judged in (
            ("Section 5.2: ByClass and Local at 25 % are very close to Original", _near(0.25)),
            ("and at 50 %", _near(0.50)),
            ("At 100 %: within 5 % (absolute) of Original on F1, F4 and F5", _within((1, 4, 5), WITHIN)),
            ("and within 15 % on F2 and F3", _within((2, 3), FAR_WITHIN)),
            ("Reconstruction pays: ByClass and Local beat Randomized", _beats_randomized),
            ("Global performs worse than ByClass and Local", _global_worse),
            ("Randomized is quite close to Original on F4 and F5 (at 25 and 100 %)", _diagonal),
            ("Local performs marginally better than ByClass", _local_better),
            ("Uniform noise hurts Randomized far more than Gaussian at the same level", _uniform_hurts),
            ("but after correction only slightly more", _uniform_corrected),
            ("Section 3: reconstructed distributions are near the true ones, noisy ones are not", _nearer),
        )
    ]  # fmt: skip


Judged = tuple[Mark, str]


def _near(level: float) -> Callable[[Study], Judged]:
    def judged(found: Study) -> Judged:
        cells = found.at([level])
        downs = {(cell, name): found.down(cell, name) for cell in cells for name in CORRECTED}
        return _share(downs, CLOSE)

    return judged


def _within(functions: tuple[int, ...], points: float) -> Callable[[Study], Judged]:
    def judged(found: Study) -> Judged:
        cells = found.at([1.0], functions)
        downs = {(cell, name): found.down(cell, name) for cell in cells for name in CORRECTED}
        return _share(downs, points)

    return judged


def _share(downs: Mapping[tuple[Cell, str], float], limit: float) -> Judged:
    if not downs:
        return "not run", "–"
    held = sum(down <= limit for down in downs.values())
    (worst, name), most = max(downs.items(), key=lambda each: each[1])
    least = min(downs.values())
    said = (
        f"{least:.1f} to {most:.1f} points below; {held} of {len(downs)} within {limit:g} "
        f"(furthest: {name}, F{worst.function}, {worst.noise})"
    )
    return _mark(held, len(downs)), said


def _mark(held: int, of: int) -> Mark:
    """All: repeated; at least half: in part."""
    return "repeated" if held == of else "in part" if 2 * held >= of else "not repeated"


def _beats_randomized(found: Study) -> Judged:
    pairs = [
        (found.cells[cell][name] - found.cells[cell]["Randomized"])
        for cell in found.at([0.1, 0.25, 0.5, 1.0, 1.5, 2.0])
        for name in CORRECTED
    ]
    return _by_pairs(pairs, "points above Randomized")


def _global_worse(found: Study) -> Judged:
    pairs = [
        found.cells[cell][name] - found.cells[cell]["Global"]
        for cell in found.at([0.25, 0.5, 1.0])
        for name in CORRECTED
    ]
    return _by_pairs(pairs, "points above Global at 25, 50 and 100 %")


def _diagonal(found: Study) -> Judged:
    downs = {
        (cell, "Randomized"): found.down(cell, "Randomized")
        for cell in found.at([0.25, 1.0], (4, 5))
    }
    return _share(downs, CLOSE)


def _local_better(found: Study) -> Judged:
    pairs = [
        found.cells[cell]["Local"] - found.cells[cell]["ByClass"]
        for cell in found.at([0.25, 0.5, 1.0])
    ]
    return _by_pairs(pairs, "points above ByClass at 25, 50 and 100 %")


def _by_pairs(pairs: list[float], what: str) -> Judged:
    if not pairs:
        return "not run", "–"
    held = sum(each > 0 for each in pairs)
    said = f"{min(pairs):.1f} to {max(pairs):.1f} {what}; {held} of {len(pairs)} above"
    return _mark(held, len(pairs)), said


def _gaps(found: Study, algorithm: str) -> list[float]:
    """Return by how many points Gaussian noise leaves an algorithm better off than uniform noise."""
    return [
        found.cells[cell][algorithm]
        - found.cells[Cell(cell.function, NOISES[1], cell.level)][algorithm]
        for cell in found.at([1.0])
        if cell.noise == NOISES[0]
    ]


def _uniform_hurts(found: Study) -> Judged:
    gaps = _gaps(found, "Randomized")
    if not gaps:
        return "not run", "–"
    held = sum(gap > SLIGHTLY for gap in gaps)
    said = f"{min(gaps):.1f} to {max(gaps):.1f} points between them at 100 %"
    return _mark(held, len(gaps)), f"{said}; {held} of {len(gaps)} more than {SLIGHTLY:g}"


def _uniform_corrected(found: Study) -> Judged:
    gaps = [gap for name in CORRECTED for gap in _gaps(found, name)]
    if not gaps:
        return "not run", "–"
    held = sum(gap <= SLIGHTLY for gap in gaps)
    said = f"{min(gaps):.1f} to {max(gaps):.1f} points between them at 100 %"
    return _mark(held, len(gaps)), f"{said}; {held} of {len(gaps)} at most {SLIGHTLY:g}"


def _nearer(found: Study) -> Judged:
    held = sum(each.reconstructed < each.noisy / 2 for each in found.recovered)
    said = "; ".join(
        f"{each.shape}, {each.noise} {round(100 * each.level)} %: {each.noisy:.2f} to {each.reconstructed:.2f}"
        for each in found.recovered
    )
    return _mark(
        held, len(found.recovered)
    ), f"share of records elsewhere, noisy to reconstructed: {said}"
