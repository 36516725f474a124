"""How many records forests prove by themselves, and how long that takes: samples of a table, forests of all records.

    python -m benchmarks.reconstruction compas.csv --domain compas.toml --records 300 --trees 100 --seeds 5

The last column of the table is the class, all others are numbers. For each seed a sample is drawn and a forest of
scikit-learn grown on it, with ``--bootstrap`` on samples whose seeds it publishes. What is proved is held against the
sample: a proof that is wrong ends the run. Prints a row of a table for each seed: seconds, records proved, those with
every tested column, tables that fit, and whether all was decided.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import DeclaredDomain
from treewarden.audit.reconstruction.of_model import reconstruct
from treewarden.audit.reconstruction.people_rows import WrongProofError
from treewarden.audit.reconstruction.result import Reconstruction
from treewarden.jobs.further_files import load_public_domain
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    TreeSampling,
    trees_of,
)

HEADINGS = ("records", "trees", "seed", "seconds", "proved", "whole", "tables", "decided")


@dataclass(frozen=True)
class SampleSize:
    """So many records are drawn, and so many trees grown on them, with leaves of so many records at least.

    With ``bootstrap`` each tree sees a sample of them, and publishes its seed.
    """

    records: int
    trees: int
    min_leaf: int = 1
    seconds: float = 60.0
    bootstrap: bool = False


def grow_forest(frame: pd.DataFrame, size: SampleSize) -> Ensemble:
    """Return a forest that scikit-learn grows on a table."""
    learner = RandomForestClassifier(
        size.trees, bootstrap=size.bootstrap, random_state=0, min_samples_leaf=size.min_leaf
    )
    learner.fit(frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].astype(str))
    if not size.bootstrap:
        return model_of_forest(learner, frame)
    names = [str(name) for name in frame.columns]
    model = open_fitted(learner, target=names[-1], names=names[:-1]).model
    assert isinstance(model, Ensemble)
    return model


def model_of_forest(learner: RandomForestClassifier, frame: pd.DataFrame) -> Ensemble:
    """Return what a fitted forest publishes, with the names of a table's columns."""
    names = [str(name) for name in frame.columns[:-1]]
    classes = [str(name) for name in learner.classes_]
    trees = [
        from_sklearn(tree, names, classes, target=str(frame.columns[-1]))
        for tree in learner.estimators_
    ]
    return Ensemble(
        members=tuple(map(Member, trees)),
        combination=Combination.AVERAGE,
        features=trees[0].features,
        target=str(frame.columns[-1]),
        classes=tuple(classes),
        sampling=TreeSampling(bool(learner.bootstrap)),
    )


def hold_against(model: Ensemble, sample: pd.DataFrame, found: Reconstruction) -> None:
    """Hold what a model proves against the sample that it was trained on.

    Raises:
        WrongProofError: a proof is wrong.
    """
    columns = {str(name): NumericColumn(sample[name].to_numpy(float)) for name in sample.columns}
    stops = np.stack([route(tree, columns) for tree in trees_of(model)])
    cell_of = {tuple(stop): cell for cell, stop in enumerate(found.cells.stops.T.tolist())}
    codes = [model.classes.index(str(value)) for value in sample.iloc[:, -1]]
    table = np.zeros_like(found.counts.low)
    for stop, code in zip(stops.T.tolist(), codes, strict=True):
        table[cell_of[tuple(stop)], code if found.classes else 0] += 1
    if (found.counts.low > table).any() or (found.counts.high < table).any():
        raise WrongProofError("a proof of records is wrong")


def measure(
    frame: pd.DataFrame, size: SampleSize, domain: DeclaredDomain, seeds: int
) -> Iterator[tuple[object, ...]]:
    """Yield a row for each seed."""
    for seed in range(seeds):
        sample = frame.sample(size.records, random_state=seed)
        model = grow_forest(sample, size)
        begun = time.perf_counter()
        found = reconstruct(model, clock(size.seconds), domain)
        taken = time.perf_counter() - begun
        if isinstance(found, Undetermined):
            yield (size.records, size.trees, seed, f"{taken:.1f}", found.reason, "", "", "")
            continue
        hold_against(model, sample, found)
        tables = "unknown" if found.tables is None else f"{found.tables:.4g}"
        counts = (found.records_proved, found.whole_records, tables)
        yield (size.records, size.trees, seed, f"{taken:.1f}", *counts, found.is_decided)


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--domain", type=Path, required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--trees", type=int, required=True)
    parser.add_argument("--min-leaf", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--bootstrap", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    size = SampleSize(
        given.records, given.trees, given.min_leaf, given.seconds, bootstrap=given.bootstrap
    )
    print(f"| {' | '.join(HEADINGS)} |")
    print(f"|{'---|' * len(HEADINGS)}")
    frame = pd.read_csv(given.table)
    for row in measure(frame, size, load_public_domain(given.domain), given.seeds):
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
