"""Tries proofs of records from forests whose seeds are published, against every small table that fits.

    python -m tests.judges.run_drawn_reconstruction --files 300 --seed 0

A case draws a table of up to eight records over a domain of up to 24 points, and scikit-learn grows a forest on
bootstrap samples of it, which is saved by skops and read back. Each record is put at every point with every class, as
the library itself draws the samples and walks the trees, and the tables whose leaves have the draws and the records of
the file are what may hold: what all of them have is what may be proved. In the smallest cases the forest is grown again
on every table of as many records, in every order, and each table that gives an equal file must have what was proved.
Prints the seed of every miss, and how much of what every table has was proved; the exit code is 1 after a miss.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import skops.io
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.ensemble._forest import _generate_sample_indices

from tests.judges.run_reconstruction import stop_of
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_model import SAMPLED, reconstruct
from treewarden.audit.reconstruction.result import Reconstruction
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import Model, trees_of

SECONDS = 20.0
MOST_LOOKED_AT = 300_000
"""Tables, and parts of them, that are looked at: files of which there are more are left out."""
CLASSES = ("no", "yes")
Forest = RandomForestClassifier | ExtraTreesClassifier


@dataclass
class DrawnTally:
    """What was tried and what missed, in words."""

    files: int = 0
    left_out: int = 0
    undetermined: int = 0
    every: int = 0
    proved: int = 0
    regrown: int = 0
    equal: int = 0
    misses: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DrawnCase:
    """The values of each column, a table (points by number, and classes), and how the forest is grown."""

    sizes: tuple[int, ...]
    points: tuple[int, ...]
    codes: tuple[int, ...]
    settings: dict[str, object]
    is_extra: bool
    weights: tuple[float, ...] | None = None

    @property
    def domain(self) -> np.ndarray:
        """All points, (D, columns)."""
        values = itertools.product(*(range(size) for size in self.sizes))
        return np.array(list(values), dtype=np.float64)


def drawn_case(seed: int) -> DrawnCase:
    """Return a case by its seed."""
    random = np.random.default_rng(seed)
    is_small = random.random() < 0.15
    sizes: list[int] = []
    most = 4 if is_small else 24
    while not sizes or (random.random() < 0.75 and math.prod(sizes) * 2 <= most):
        sizes.append(int(random.integers(2, min(5, most // math.prod(sizes)) + 1)))
    records = 3 if is_small else int(random.integers(2, 9))
    points = random.integers(0, math.prod(sizes), size=records)
    codes = random.integers(0, 2, size=records)
    codes[:2] = 0, 1
    settings: dict[str, object] = {
        "n_estimators": int(random.choice([1, 2, 3, 6, 12])),
        "max_depth": random.choice([None, None, 1, 2, 3]),
        "min_samples_leaf": int(random.choice([1, 1, 1, 2])),
        "max_features": random.choice(["sqrt", None]),
        "random_state": int(random.integers(0, 1000)),
        "max_samples": random.choice([None, None, None, 0.5, max(1, records - 1)]),
        "oob_score": False,
        "bootstrap": True,
    }
    if settings["max_samples"] is not None and float(settings["max_samples"]) >= 1:  # type: ignore[arg-type]
        settings["max_samples"] = int(settings["max_samples"])  # type: ignore[call-overload]
    return DrawnCase(
        tuple(sizes), tuple(points), tuple(codes), settings, bool(random.random() < 0.2)
    )


def grow(case: DrawnCase, points: Sequence[int], codes: Sequence[int]) -> Forest:
    """Return the forest that grows on a table."""
    learner = (ExtraTreesClassifier if case.is_extra else RandomForestClassifier)(**case.settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learner.fit(
            case.domain[list(points)], np.array(CLASSES)[list(codes)], sample_weight=case.weights
        )


def saved(forest: Forest) -> Model:
    """Return a forest as its file says it."""
    return open_model(skops.io.dumps(forest), "forest.skops").model


@dataclass(frozen=True)
class LeafCounts:
    """Of each tree what each leaf has: draws by class, and different records; and how often each record was drawn."""

    draws: list[dict[tuple[int, int], int]]
    records: list[dict[int, int]]
    often: np.ndarray
    leaves: np.ndarray


def counts_in(forest: Forest, case: DrawnCase) -> LeafCounts:
    """Return what leaves have, as scikit-learn itself holds, draws and walks it."""
    size, domain = len(case.points), case.domain.astype(np.float32)
    draws, records, often, leaves = [], [], [], []
    for learner in forest.estimators_:
        tree = learner.tree_
        ends = np.flatnonzero(tree.children_left < 0).tolist()
        shares, weights = tree.value[:, 0, :], tree.weighted_n_node_samples
        draws.append(
            {(n, c): round(shares[n, c] * weights[n]) for n in ends for c in range(shares.shape[1])}
        )
        records.append({n: int(tree.n_node_samples[n]) for n in ends})
        drawn = round(float(weights[0]))
        chosen = _generate_sample_indices(learner.random_state, size, drawn, None)
        often.append(np.bincount(chosen, minlength=size))
        leaves.append(tree.apply(domain))
    return LeafCounts(draws, records, np.array(often), np.array(leaves))


def fitting_tables(counts: LeafCounts, case: DrawnCase) -> np.ndarray | None:
    """Return how many records each point-class has in each table that fits, (K, cells, 2), cells by equal leaves.

    None where too many would have to be looked at. Records that no tree drew are left out.
    """
    kinds = sorted({tuple(column) for column in counts.leaves.T.tolist()})
    drawn = [i for i in range(counts.often.shape[1]) if counts.often[:, i].any()]
    drawn.sort(key=lambda i: tuple(counts.often[:, i]), reverse=True)
    found: set[tuple[int, ...]] = set()
    looked = [0]
    number = len(kinds) * len(CLASSES)
    draws, records = [dict(d) for d in counts.draws], [dict(r) for r in counts.records]

    def put(place: int, earlier: int, table: list[int]) -> bool:
        looked[0] += 1
        if looked[0] > MOST_LOOKED_AT:
            return False
        if place == len(drawn):
            rest = [*(d.values() for d in draws), *(r.values() for r in records)]
            if not any(any(values) for values in rest):
                found.add(tuple(table))
            return True
        often = counts.often[:, drawn[place]]
        is_same = place > 0 and (often == counts.often[:, drawn[place - 1]]).all()
        for choice in range(earlier if is_same else 0, number):
            kind, code = divmod(choice, len(CLASSES))
            used = [(t, kinds[kind][t], int(n)) for t, n in enumerate(often) if n]
            if all(draws[t][leaf, code] >= n and records[t][leaf] for t, leaf, n in used):
                for t, leaf, n in used:
                    draws[t][leaf, code] -= n
                    records[t][leaf] -= 1
                table[choice] += 1
                is_whole = put(place + 1, choice, table)
                table[choice] -= 1
                for t, leaf, n in used:
                    draws[t][leaf, code] += n
                    records[t][leaf] += 1
                if not is_whole:
                    return False
        return True

    if not put(0, 0, [0] * number):
        return None
    return np.array(sorted(found)).reshape(len(found), len(kinds), len(CLASSES))


def declared_of(case: DrawnCase) -> DeclaredDomain:
    """Return the domain as a user declares it."""
    return DeclaredDomain(
        {
            f"x{n}": DeclaredColumn(tuple(map(float, range(size))))
            for n, size in enumerate(case.sizes)
        }
    )


def judge_drawn(seed: int) -> DrawnTally:
    """Judge one file."""
    case, tally, where = drawn_case(seed), DrawnTally(), f"seed {seed}"
    forest = grow(case, case.points, case.codes)
    counts = counts_in(forest, case)
    tables = fitting_tables(counts, case)
    if tables is None:
        tally.left_out += 1
        return tally
    tally.files += 1
    model = saved(forest)
    found = reconstruct(model, clock(SECONDS), _named(case, model))
    if isinstance(found, Undetermined):
        tally.undetermined += 1
        if found is SAMPLED:
            tally.misses.append(f"{where}: the seeds were not used")
        return tally
    _hold_tables(case, counts, model, found, tables, tally, where)
    if len(case.points) == 3 and math.prod(case.sizes) <= 4 and len(forest.estimators_) <= 3:
        _grow_again(case, (forest, model), found, tally, where)
    return tally


def _named(case: DrawnCase, model: Model) -> DeclaredDomain:
    names = [feature.name for feature in model.features]
    columns = declared_of(case).columns
    return DeclaredDomain(dict(zip(names, columns.values(), strict=True)))


def _cell_of_point(case: DrawnCase, model: Model, found: Reconstruction) -> list[int]:
    """Return the cell of each point of the domain, by the judge's own way down."""
    names = [feature.name for feature in model.features]
    cell_of = {tuple(stops): cell for cell, stops in enumerate(found.cells.stops.T.tolist())}
    trees = list(trees_of(model))
    records = [dict(zip(names, map(float, point), strict=True)) for point in case.domain]
    return [cell_of[tuple(stop_of(tree, record) for tree in trees)] for record in records]  # type: ignore[misc]


def _hold_tables(
    case: DrawnCase,
    counts: LeafCounts,
    model: Model,
    found: Reconstruction,
    tables: np.ndarray,
    tally: DrawnTally,
    where: str,
) -> None:
    """Hold what was proved against all tables."""
    kinds = sorted({tuple(column) for column in counts.leaves.T.tolist()})
    cells = _cell_of_point(case, model, found)
    cell_of_kind = np.zeros(len(kinds), dtype=int)
    for point, column in enumerate(counts.leaves.T.tolist()):
        cell_of_kind[kinds.index(tuple(column))] = cells[point]
    if len(set(cell_of_kind.tolist())) != len(kinds) or len(kinds) != len(found.counts.low):
        tally.misses.append(f"{where}: other cells")
        return
    undrawn = int((~counts.often.any(axis=0)).sum())
    least, most = tables.min(axis=0), tables.max(axis=0) + undrawn
    low, high = found.counts.low[cell_of_kind], found.counts.high[cell_of_kind]
    tally.every += int(least.sum())
    tally.proved += int(low.sum())
    if (low > least).any() or (high < most).any():
        tally.misses.append(f"{where}: a wrong proof")
    shown = found.counts.shown_low[cell_of_kind], found.counts.shown_high[cell_of_kind]
    if (shown[0] < least).any() or (shown[1] > most).any():
        tally.misses.append(f"{where}: a table was shown that is none")


def _grow_again(
    case: DrawnCase,
    published: tuple[Forest, Model],
    found: Reconstruction,
    tally: DrawnTally,
    where: str,
) -> None:
    """Grow the forest on every table of three records; where the file is equal, the table has what was proved."""
    key, cells = _file_key(published[0]), _cell_of_point(case, published[1], found)
    choices = itertools.product(range(len(cells)), range(len(CLASSES)))
    for rows in itertools.product(list(choices), repeat=len(case.points)):
        codes = [code for _, code in rows]
        if len(set(codes)) < 2:
            continue
        points = [point for point, _ in rows]
        tally.regrown += 1
        if _file_key(grow(case, points, codes)) != key:
            continue
        tally.equal += 1
        table = np.zeros_like(found.counts.low)
        for point, code in rows:
            table[cells[point], code] += 1
        if (found.counts.low > table).any() or (found.counts.high < table).any():
            tally.misses.append(f"{where}: a wrong proof, of a table that grows the same file")


def _file_key(forest: Forest) -> str:
    """Return all that a file says of the nodes."""
    return repr([learner.tree_.__getstate__() for learner in forest.estimators_])


def main() -> None:
    """Judge files until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    total, seed = DrawnTally(), given.seed
    while total.files < given.files:
        one = judge_drawn(seed)
        for name in vars(total):
            setattr(total, name, getattr(total, name) + getattr(one, name))
        seed += 1
    for miss in total.misses:
        print("MISS", miss)
    share = total.proved / max(total.every, 1)
    print(
        f"{total.files:,} files ({total.undetermined} undetermined, {total.left_out} left out: too many tables fit), "
        f"{len(total.misses)} misses; of {total.every:,} records that every table has {total.proved:,} were proved "
        f"({share:.1%}); {total.regrown:,} forests grown again, {total.equal:,} with an equal file"
    )
    sys.exit(bool(total.misses))


if __name__ == "__main__":
    main()
