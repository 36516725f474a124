"""Tries proofs of records from boosted models against every table of the same size that grows the same file.

    python -m tests.judges.run_boosted_reconstruction --files 3000 --seed 0

A case draws a domain of three columns and settings of a library, and grows a model on every table of a few records over
the domain. Tables that give equal files are what an adversary cannot tell apart: what is proved must hold for all of
them. Some cases have more points and records, up to 24 and 8; of these one drawn table is grown, and has to hold.
Prints the seed of every miss, and how much of what all tables share was proved, by library; the exit code is 1 after a
miss.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tests.judges.inverter_learners import LEARNERS, Lesson, NotGrownError, Published, is_there
from tests.judges.run_boosted_membership import SAMPLING, file_key
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.boosted import KnownTraining
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_model import reconstruct
from treewarden.audit.reconstruction.result import Reconstruction
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, trees_of

SECONDS = 5.0
COLUMNS = ("a", "b", "c")
MOST_TABLES = 300
"""All tables of a case are grown where they are no more than this."""
MOST_PER_CASE = 60
TRIED = tuple(name for name in LEARNERS if name != "Spark")
WEIGHED = "XGBoost with scale_pos_weight"
WEIGHED_LIGHTGBM = "LightGBM with scale_pos_weight"
UNBALANCED = "LightGBM with is_unbalance"
XGBOOST = {"eta": 0.3, "lambda": 1.0, "alpha": 0.0, "max_delta_step": 0.0, "subsample": 1.0}
"""What an adversary is told of a training by XGBoost, whose files say none of it, and what its defaults are."""
Table = tuple[int, ...]
"""Records as numbers of points and classes: twice the point, and one more for the second class."""


@dataclass
class Tally:
    """What was tried and what missed, in words."""

    files: int = 0
    told: int = 0
    shared: int = 0
    proved: int = 0
    misses: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DomainCase:
    """The values of three columns, how many records a table has, and one table; whether all are grown."""

    values: tuple[tuple[float, ...], ...]
    records: int
    drawn: Table
    is_whole: bool

    @property
    def points(self) -> list[tuple[float, ...]]:
        """All points of the domain."""
        return list(itertools.product(*self.values))

    def tables(self) -> Iterator[Table]:
        """Yield each table that is grown."""
        if not self.is_whole:
            yield self.drawn
            return
        kinds = range(2 * len(self.points))
        yield from itertools.combinations_with_replacement(kinds, self.records)


def drawn_case(seed: int) -> DomainCase:
    """Return a case by its seed."""
    random = np.random.default_rng(seed)
    is_large = random.random() < 0.3
    while True:
        sizes = random.integers(1, 5, size=len(COLUMNS))
        points, records = int(np.prod(sizes)), int(random.integers(2, 9))
        tables = math.comb(2 * points + records - 1, records)
        if 2 <= points <= 24 and (is_large or tables <= MOST_TABLES):
            break
    values = tuple(tuple(float(v) for v in range(size)) for size in sizes)
    table = tuple(sorted(random.integers(0, 2 * points, size=records).tolist()))
    return DomainCase(values, records, table, not is_large)


def grown(case: DomainCase, learner: str, table: Table, seed: int) -> Published | None:
    """Return the model that a learner grows on a table, with settings drawn by the seed; None where it grows none."""
    codes = np.array(table)
    labels = codes % 2
    if len(np.unique(labels)) < 2:
        return None
    frame = pd.DataFrame(np.array(case.points)[codes // 2], columns=list(COLUMNS))
    lesson = Lesson(frame, labels, 2, may_weigh=False)
    if learner == WEIGHED:
        return weighed_xgboost(lesson, np.random.default_rng(seed))
    try:
        if learner in (WEIGHED_LIGHTGBM, UNBALANCED):
            return weighed_lightgbm(lesson, np.random.default_rng(seed), learner == UNBALANCED)
        return LEARNERS[learner][1](lesson, np.random.default_rng(seed))
    except (NotGrownError, ValueError):
        return None


def weighed_xgboost(lesson: Lesson, draw: np.random.Generator) -> Published:
    """Grow by XGBoost with a weight of the second class, and read what ``save_model`` writes."""
    library = importlib.import_module("xgboost")
    settings = {
        "objective": "binary:logistic",
        "scale_pos_weight": float(draw.choice([0.25, 0.7, 2.0, 3.0, 7.3, 20.0])),
        "eta": float(draw.choice([0.1, 0.3, 1.0])),
        "lambda": float(draw.choice([0.0, 1.0, 2.5])),
        "max_depth": int(draw.integers(1, 5)),
        "min_child_weight": float(draw.choice([0.0, 0.0, 1.0])),
        "tree_method": str(draw.choice(["exact", "hist", "approx"])),
        "nthread": 1,
        "verbosity": 0,
    }
    data = library.DMatrix(lesson.table, lesson.labels)
    booster = library.train(settings, data, int(draw.integers(1, 10)))
    model = open_model(bytes(booster.save_raw("json")), "model.json").model
    return Published(model, settings, is_plain=True)


def weighed_lightgbm(lesson: Lesson, draw: np.random.Generator, is_unbalanced: bool) -> Published:
    """Grow by LightGBM with weights of classes and without bundles, and read what it writes.

    The second class has a weight, or both one by how many records they have.
    """
    library = importlib.import_module("lightgbm")
    weight = float(draw.choice([0.25, 0.7, 2.0, 3.0, 7.3, 20.0]))
    settings = {
        "objective": "binary",
        **({"is_unbalance": True} if is_unbalanced else {"scale_pos_weight": weight}),
        "learning_rate": float(draw.choice([0.1, 0.3, 1.0])),
        "lambda_l2": float(draw.choice([0.0, 0.0, 1.0, 2.5])),
        "boost_from_average": bool(draw.random() < 0.5),
        "enable_bundle": False,
        "num_leaves": int(draw.integers(2, 9)),
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": float(draw.choice([0.0, 0.0, 0.5])),
        "num_threads": 1,
        "verbose": -1,
    }
    if is_unbalanced:
        settings["sigmoid"] = float(draw.choice([1.0, 1.0, 2.0]))
    data = library.Dataset(lesson.table, label=lesson.labels, params=settings)
    try:
        booster = library.train(settings, data, int(draw.integers(1, 10)))
    except library.basic.LightGBMError as error:  # it estimates how many records weights stand for
        raise NotGrownError from error
    model = open_model(booster.model_to_string().encode(), "model.txt").model
    return Published(model, settings, is_plain=True)


def judge(learner: str, seed: int) -> Tally:
    """Judge the files of one domain and learner."""
    case, tally = drawn_case(seed), Tally()
    alike: dict[bytes, list[Table]] = defaultdict(list)
    models: dict[bytes, Published] = {}
    settings = next(
        (s for s in range(seed, seed + 10**6, 10**5) if _splits(case, learner, s)), None
    )
    if settings is None:
        return tally
    for table in case.tables():
        published = grown(case, learner, table, settings)
        if published is None or not _is_judged(published):
            continue
        assert isinstance(published.model, Ensemble)
        key = file_key(published.model)
        models.setdefault(key, published)
        alike[key].append(table)
    chosen = list(alike)
    step = max(1, len(chosen) // MOST_PER_CASE)
    for key in chosen[::step][:MOST_PER_CASE]:
        _judge_file(case, models[key], alike[key], tally, f"{learner}, seed {seed}")
    return tally


def _is_judged(published: Published) -> bool:
    """Whether leaves hold sums, of settings that the file says, or that an adversary is told of here."""
    model = published.model
    if not isinstance(model, Ensemble) or model.growth is None:
        return False
    # A file by XGBoost does not say that its trees saw samples.
    is_seen = "tree_method" not in published.settings
    return published.is_plain or (is_seen and not SAMPLING.isdisjoint(published.settings))


def _splits(case: DomainCase, learner: str, seed: int) -> bool:
    """Whether settings by this seed are judged, and grow a tree with a split on the drawn table."""
    published = grown(case, learner, case.drawn, seed)
    if published is None or not _is_judged(published):
        return False
    return any(len(tree.nodes) > 1 for tree in trees_of(published.model))


def _judge_file(
    case: DomainCase, published: Published, tables: list[Table], tally: Tally, where: str
) -> None:
    model = published.model
    assert isinstance(model, Ensemble)
    asked = {feature.name for tree in trees_of(model) for feature in tree.used_features()}
    declared = {
        name: DeclaredColumn(values)
        for name, values in zip(COLUMNS, case.values, strict=True)
        if name in asked
    }
    tally.files += 1
    if not asked:
        return
    told = {
        name: float(published.settings.get(name, usual))
        for name, usual in XGBOOST.items()
        if published.settings.get("tree_method")
    }
    found = reconstruct(model, clock(SECONDS), DeclaredDomain(declared), KnownTraining(told))
    if isinstance(found, Undetermined):
        if "no table" in found.reason:
            tally.misses.append(f"{where}: {found.reason}")
        return
    tally.told += 1
    numbers = np.stack([_numbers(case, model, found, table) for table in tables])
    least, most = numbers.min(axis=0), numbers.max(axis=0)
    if (found.counts.low > least).any() or (found.counts.high < most).any():
        tally.misses.append(f"{where}: a wrong proof")
    if not all(found.rows.fits(table) for table in numbers):
        tally.misses.append(f"{where}: a table that grows the file does not fit")
    if case.is_whole:
        tally.shared += int(least.sum())
        tally.proved += int(found.counts.low.sum())


def _numbers(case: DomainCase, model: Ensemble, found: Reconstruction, table: Table) -> np.ndarray:
    """Return the records of a table by cell and class, (C, m)."""
    codes = np.array(table)
    values = np.array(case.points)[codes // 2]
    columns = {name: NumericColumn(values[:, n]) for n, name in enumerate(COLUMNS)}
    stops = np.stack([route(tree, columns) for tree in trees_of(model)])
    cell_of = {tuple(stop): cell for cell, stop in enumerate(found.cells.stops.T.tolist())}
    numbers = np.zeros_like(found.counts.low)
    for record, stop in enumerate(stops.T.tolist()):
        numbers[cell_of[tuple(stop)], codes[record] % 2 if numbers.shape[1] > 1 else 0] += 1
    return numbers


def main() -> None:
    """Judge files until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learners", nargs="+", default=[name for name in TRIED if is_there(name)])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    totals = {name: Tally() for name in given.learners}
    seed = given.seed
    while sum(tally.files for tally in totals.values()) < given.files:
        for name, total in totals.items():
            tally = judge(name, seed)
            for counted in ("files", "told", "shared", "proved"):
                setattr(total, counted, getattr(total, counted) + getattr(tally, counted))
            total.misses += tally.misses
            for miss in tally.misses:
                print("MISS", miss, flush=True)
        seed += 1
    for name, total in totals.items():
        print(
            f"{name}: {total.files:,} files, {len(total.misses)} misses; {total.told:,} told anything; "
            f"of {total.shared:,} records that all tables share {total.proved:,} were proved "
            f"({total.proved / max(total.shared, 1):.1%})"
        )
    sys.exit(any(total.misses for total in totals.values()))


if __name__ == "__main__":
    main()
