"""What trees with differential privacy are worth: the private learner, and diffprivlib where that is installed.

    python -m benchmarks.private_trees --data FOLDER [--seeds 5] [--learner NAME] [--set NAME] [--depth 4]

FOLDER holds the public tables of the studies. Adult is trained on its training part and measured on its test part; of
the others each seed parts 70 % to train on and 30 % to measure on. Categories are numbered; bounds of numbers are those
of ``BOUNDS``, which were not read from the parts. Intervals are those of Student's t over the seeds, 95 %. diffprivlib
0.6.6 needs scikit-learn 1.5, so that it has an environment of its own: ``--learner diffprivlib-tree`` there.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

EPSILONS = (0.01, 0.1, 1.0)
T_OF_SEEDS = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 10: 2.262}
TARGETS = {
    "adult": ("adult_train", "income"),
    "nursery": ("nursery", None),
    "nursery-binary": ("nursery", None),
    "german": ("german_credit", None),
    "heart": ("heart_cleveland", "num"),
    "cmc": ("cmc", None),
}
"""The file of each table and its target, None for its last column."""
BOUNDS = {
    "adult": {
        "age": (0, 120),
        "fnlwgt": (0, 2_000_000),
        "education-num": (1, 16),
        "capital-gain": (0, 100_000),
        "capital-loss": (0, 10_000),
        "hours-per-week": (0, 100),
    }
}
"""What is known of numbers without any table; of other tables all numbers are codes or lie in ``WIDE``."""
WIDE = (0.0, 600.0)
CODES_AT_MOST = 12
"""A column of so many different numbers at most is taken for one of codes, which their domain lists."""
DEPTH = 4


@dataclass(frozen=True)
class Part:
    """What is trained on and measured on, with the bounds of the columns, the classes, and the depth of our trees."""

    train: tuple[Any, Any]
    test: tuple[Any, Any]
    bounds: tuple[Any, Any]
    classes: list[Any]
    depth: int = DEPTH


Fit = Callable[[Part, float], Any]


def fit_private(part: Part, epsilon: float) -> Any:  # noqa: ANN401  # an estimator
    """Return the private learner with its defaults."""
    from treewarden.learn import PrivateTreeClassifier

    learner = PrivateTreeClassifier(
        epsilon, bounds=part.bounds, classes=part.classes, max_depth=part.depth
    )
    return learner.fit(*part.train)


def fit_diffprivlib_tree(part: Part, epsilon: float) -> Any:  # noqa: ANN401  # as above
    """Return a single tree of diffprivlib with its default depth."""
    learner = import_module("diffprivlib.models.forest").DecisionTreeClassifier
    return learner(epsilon=epsilon, bounds=part.bounds, classes=part.classes).fit(*part.train)


def fit_diffprivlib_forest(part: Part, epsilon: float) -> Any:  # noqa: ANN401  # as above
    """Return a forest of diffprivlib with its defaults: ten trees on a tenth of the records each."""
    forest = import_module("diffprivlib.models").RandomForestClassifier(
        epsilon=epsilon, bounds=part.bounds, classes=part.classes, shuffle=True
    )
    return forest.fit(*part.train)


def fit_plain(part: Part, epsilon: float) -> Any:  # noqa: ANN401  # as above
    """Return a tree without any privacy, as deep as the private one."""
    return DecisionTreeClassifier(max_depth=part.depth, random_state=0).fit(*part.train)


LEARNERS: dict[str, Fit] = {
    "private": fit_private,
    "diffprivlib-tree": fit_diffprivlib_tree,
    "diffprivlib-forest": fit_diffprivlib_forest,
    "plain": fit_plain,
}


def parts_of(folder: Path, name: str, seeds: int) -> Iterator[Part]:
    """Yield a table as it is parted by each seed."""
    file, target = TARGETS[name]
    table = pd.read_csv(folder / f"{file}.csv", skipinitialspace=True)
    size = len(table)
    if name == "adult":
        test = pd.read_csv(folder / "adult_test.csv", skipinitialspace=True)
        table = pd.concat([table, test], ignore_index=True)
    target = target or str(table.columns[-1])
    labels = table.pop(target).astype(str).str.strip(". ")
    if name == "nursery-binary":  # as in PrivaTree's paper
        labels = labels.where(labels == "not_recom", "recommended")
    if name == "heart":
        labels = (labels.astype(float) > 0).map({True: "ill", False: "well"})
    columns, ends = {}, []
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce")
        is_coded = numbers.isna().mean() > 0.2 or numbers.nunique() <= CODES_AT_MOST
        if is_coded:
            codes = table[column].astype("category").cat.codes
            columns[column] = codes.astype(float)
            ends.append((-1.0, float(codes.max())))
        else:
            ends.append(BOUNDS.get(name, {}).get(column, WIDE))
            columns[column] = numbers.fillna(ends[-1][0]).astype(float)
    frame = pd.DataFrame(columns)
    low, high = np.array(ends, dtype=float).T
    # Numbers from 0, as the forests of diffprivlib count no record whose class is a text.
    codes_of_labels = labels.astype("category").cat.codes.astype(int)
    classes = list(range(int(codes_of_labels.max()) + 1))
    for seed in range(seeds):
        if name == "adult":
            train, test = np.arange(size), np.arange(size, len(frame))
        else:
            train, test = train_test_split(np.arange(len(frame)), test_size=0.3, random_state=seed)
        values, found = frame.to_numpy(), codes_of_labels.to_numpy()
        yield Part((values[train], found[train]), (values[test], found[test]), (low, high), classes)


def interval(scores: list[float]) -> str:
    """Return a mean in percent, and half of its interval."""
    half = (
        T_OF_SEEDS.get(len(scores), 1.96) * float(np.std(scores, ddof=1)) / math.sqrt(len(scores))
    )
    return f"{np.mean(scores):.1%} ± {100 * half:.1f}"


def main() -> None:
    """Print the accuracy of each learner on each table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--learner", choices=LEARNERS, action="append")
    parser.add_argument("--set", choices=TARGETS, action="append")
    parser.add_argument("--depth", type=int, default=DEPTH)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in asked.set or TARGETS:
        parts = [
            replace(part, depth=asked.depth) for part in parts_of(asked.data, name, asked.seeds)
        ]
        known = [np.mean(part.test[1] == pd.Series(part.train[1]).mode()[0]) for part in parts]
        print(f"{name}: {len(parts[0].train[1]):,} to train on, most common {np.mean(known):.1%}")
        for learner in asked.learner or ("private", "plain"):
            for epsilon in EPSILONS if learner != "plain" else (math.inf,):
                models = [LEARNERS[learner](part, epsilon) for part in parts]
                scores = [
                    float(np.mean(model.predict(part.test[0]) == part.test[1]))
                    for model, part in zip(models, parts, strict=True)
                ]
                print(f"  {learner:18} epsilon {epsilon:<5g} {interval(scores)}", flush=True)


if __name__ == "__main__":
    main()
