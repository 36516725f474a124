"""Tries the check of splits on trees of learners with and without privacy: false alarms, and power.

    python -m tests.judges.run_splits --trees 20 --seed 0

Each tree claims an epsilon of 1, by labels of which a fifth is spent on labels. Private ones come from
``PrivateTreeClassifier``, with their own file or as a text that names no learner; others from the same learner without
noise, or with less of it, and from scikit-learn, with its thresholds or whole numbers. Prints of how many trees the
claim is open or refuted. The exit code is 1 where that is so of more than one in 100 private trees.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, export_text

import treewarden as tw
from treewarden.learn import PrivateTreeClassifier
from treewarden.ppdm_models.learn import private_growth

POLICY = {
    "name": "epsilon",
    "version": "1",
    "title": "epsilon",
    "check": [{"id": "epsilon", "measure": "epsilon", "rule": "at_most", "limit": 1}],
}
CLAIM = "epsilon=1, mechanism=permute-and-flip-monotonic, label_epsilon=0.2, splits=private, bounds=public"
BOUNDS = {"sex": (0, 1), "grade": (0, 9), "age": (0, 120), "income": (0, 50_000)}
DEPTHS = (1, 2, 3, 4, 6)
SIZES = (800, 3000)
MOST_ALARMS = 0.01
DRAWN = private_growth.permute_and_flip


def people(seed: int, size: int) -> pd.DataFrame:
    """Return a table of so many people, of whole numbers and one fine column."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": random.integers(0, 2, size),
            "grade": random.integers(0, 9, size),
            "age": random.integers(18, 90, size),
            "income": random.gamma(2, 2000, size).round(1),
        }
    )
    odds = np.exp(table.sex + (table.age > 50) - table.income / 4000)
    return table.assign(ill=(random.random(size) < odds / (1 + odds)).astype(int))


def private(table: pd.DataFrame, depth: int, times: float = 1) -> PrivateTreeClassifier:
    """Return a private tree, or one whose splits are drawn with less noise: so many times less, or none at all."""

    def drawn(scores, scale, below):  # type: ignore[no-untyped-def]  # as the learner calls it
        if len(scores) == 2 or times == 1:
            return DRAWN(scores, scale, below)
        return scores.index(max(scores)) if times == 0 else DRAWN(scores, scale * times, below)

    private_growth.permute_and_flip = drawn  # type: ignore[assignment]  # it takes the same
    try:
        tree = PrivateTreeClassifier(1.0, bounds=BOUNDS, classes=[0, 1], max_depth=depth)
        return tree.fit(table[list(BOUNDS)], table.ill)
    finally:
        private_growth.permute_and_flip = DRAWN


def written(tree: DecisionTreeClassifier, file: Path, end: str = "") -> Path:
    """Return the text of a tree, with another end of the thresholds of whole numbers where one is given."""
    text = export_text(tree, feature_names=list(BOUNDS), decimals=9, max_depth=10)
    file.write_text(re.sub(r"(\d+)\.500000000", rf"\1.{end}", text) if end else text)
    return file


def plain(table: pd.DataFrame, depth: int) -> DecisionTreeClassifier:
    """Return a tree without privacy."""
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(
        table[list(BOUNDS)], table.ill
    )


Trained = Callable[[pd.DataFrame, int, Path], tuple[object, str | None]]
KINDS: dict[str, Trained] = {
    "private, own file": lambda table, depth, _: (private(table, depth), None),
    "private, as text": lambda table, depth, file: (written(private(table, depth), file), CLAIM),
    "own, a third of the noise": lambda table, depth, _: (private(table, depth, 3), None),
    "own, a tenth of the noise": lambda table, depth, _: (private(table, depth, 10), None),
    "own, without noise": lambda table, depth, _: (private(table, depth, 0), None),
    "scikit-learn": lambda table, depth, file: (written(plain(table, depth), file), CLAIM),
    "scikit-learn, whole numbers": lambda table, depth, file: (
        written(plain(table, depth), file, "000000000"),
        CLAIM,
    ),
}
HONEST = 2
"""So many kinds, the first ones, keep what they claim."""


def is_refused(kind: str, seed: int, size: int, depth: int, file: Path) -> bool:
    """Return whether the claim of one tree is open or refuted."""
    while True:
        table = people(seed, size)
        model, claims = KINDS[kind](table, depth, file)
        if not isinstance(model, Path) or {"class: 0", "class: 1"} <= set(
            re.findall("class: .", file.read_text())
        ):
            break
        seed += 100_000  # the text of a tree names no class that no leaf predicts
    found = tw.audit(model, table, sensitive="ill", policy=POLICY, claims=claims).to_dict()
    return bool(found["claims"][0]["outcome"] != "not refuted")


def main() -> int:
    """Try all kinds, sizes and depths, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tree.txt"
        for size in SIZES:
            print(f"{size:,} people, refused of {options.trees} trees", *DEPTHS, sep=" | ")
            for place, kind in enumerate(KINDS):
                counts = [
                    sum(
                        is_refused(kind, options.seed * 1000 + seed, size, depth, file)
                        for seed in range(options.trees)
                    )
                    for depth in DEPTHS
                ]
                alarms += sum(counts) if place < HONEST else 0
                print(kind, *counts, sep=" | ", flush=True)
    tried = HONEST * len(SIZES) * len(DEPTHS) * options.trees
    print(f"{alarms} of {tried} private trees are refused")
    return int(alarms > MOST_ALARMS * tried)


if __name__ == "__main__":
    sys.exit(main())
