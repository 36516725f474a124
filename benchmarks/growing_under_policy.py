"""What a tree that passes `standard` is worth: grown under the policy, with larger leaves, or repaired.

    python -m benchmarks.growing_under_policy --data FOLDER [--set NAME] [--grown-only | --pruning] [--out FILE]

FOLDER holds the public tables of the studies (adult_train.csv, nursery.csv, german_credit.csv, heart_cleveland.csv);
cancer and wine are scikit-learn's. Each seed parts a table into 70 % to train on and 30 % to measure on. Of Adult 8,000
rows are drawn. Missing cells are filled, and categories numbered, in the pipeline. "Passes" is the verdict of
`treewarden.audit` on the whole pipeline and the training rows. Intervals are those of Student's t over the seeds, 95 %.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from treewarden.learn import PolicyTreeClassifier

ADULT_ROWS = 8000
LEAVES = (10, 20, 40, 80, 160, 320)
SETS = ("adult", "cancer", "nursery", "wine", "german", "heart")
T_OF_FIVE = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 10: 2.262}
FILES = {"adult": "adult_train", "nursery": "nursery", "german": "german_credit"}


@dataclass(frozen=True)
class Row:
    """One model of one seed: its accuracy and AUC on held-out rows, its leaves and its verdict."""

    way: str
    accuracy: float
    auc: float
    leaves: int
    verdict: str
    seconds: float


@dataclass(frozen=True)
class Ways:
    """Which ways are measured beside the policy tree; with ``pruning`` that tree pruned and whole, and not audited."""

    repair: bool = True
    grown_only: bool = False
    pruning: bool = False


def load(name: str, folder: Path) -> tuple[pd.DataFrame, str]:
    """Return a table and the column that is predicted."""
    if name in ("cancer", "wine"):
        function = datasets.load_breast_cancer if name == "cancer" else datasets.load_wine
        return function(as_frame=True).frame, "target"
    if name == "heart":
        table = pd.read_csv(folder / "heart_cleveland.csv", na_values="?")
        target = table.columns[-1]
        return table.assign(**{target: (table[target] > 0).astype(int)}), target
    missing = "?" if name == "adult" else None
    table = pd.read_csv(folder / f"{FILES[name]}.csv", na_values=missing)
    if name == "adult":
        table = table.sample(ADULT_ROWS, random_state=1)
    return table, "class" if name == "german" else table.columns[-1]


def pipeline(tree) -> Pipeline:
    """Return a tree behind what fills missing cells and numbers categories."""
    texts = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    )
    words = make_column_selector(dtype_include=["object", "string"])
    numbers = make_column_selector(dtype_include="number")
    return make_pipeline(
        ColumnTransformer([("texts", texts, words), ("numbers", SimpleImputer(), numbers)]), tree
    )


def rows_of(
    train: pd.DataFrame, test: pd.DataFrame, target: str, seed: int, ways: Ways
) -> Iterator[Row]:
    """Yield every way that is wanted on one part of a table."""
    inputs, values = train.drop(columns=target), train[target]

    def row(way: str, model, begun: float, verdict: str = "") -> Row:
        verdict = verdict or str(
            tw.audit(model, train, sensitive=target, levels=False, jobs=1).verdict
        )
        seconds = time.process_time() - begun
        leaves = int(model[-1].get_n_leaves())
        return Row(way, *measured(model, test, target), leaves, verdict, seconds)

    if ways.pruning:
        for folds, way in ((5, "pruned"), (0, "as grown")):
            begun = time.process_time()
            tree = PolicyTreeClassifier(folds=folds, audit=False)
            yield row(way, pipeline(tree).fit(inputs, values), begun, "-")
        return
    begun = time.process_time()
    tree = PolicyTreeClassifier()
    yield row("policy tree", pipeline(tree).fit(inputs, values), begun)
    if ways.grown_only:
        return
    begun = time.process_time()
    base = pipeline(DecisionTreeClassifier(max_depth=8, random_state=seed)).fit(inputs, values)
    yield row("depth 8", base, begun, "-")
    best = None
    for size in LEAVES:
        if 2 * size <= len(train):
            begun = time.process_time()
            tree = DecisionTreeClassifier(min_samples_leaf=size, random_state=seed)
            one = row("min_samples_leaf", pipeline(tree).fit(inputs, values), begun)
            is_better = one.verdict == "PASS" and one.leaves > 1
            best = one if best is None or is_better else best
            if is_better:
                break
    if best is not None:
        yield best
    if ways.repair:
        begun = time.process_time()
        found = tw.repair(base, train, sensitive=target, jobs=1, regrow_seconds=30)
        if found.estimator is not None:
            yield row("repair", found.estimator, begun, str(found.estimator_result.verdict))
        else:
            nothing = float("nan"), float("nan"), 0, "no change found"
            yield Row("repair", *nothing, time.process_time() - begun)


def measured(model, test: pd.DataFrame, target: str) -> tuple[float, float]:
    """Return the accuracy on held-out rows, and the area under the curve (of several classes: one against the rest)."""
    inputs, values = test.drop(columns=target), test[target]
    shares = model.predict_proba(inputs)
    accuracy = float((model.predict(inputs) == values).mean())
    try:
        if shares.shape[1] == 2:
            return accuracy, float(roc_auc_score(values, shares[:, 1]))
        return accuracy, float(
            roc_auc_score(values, shares, multi_class="ovr", labels=model.classes_)
        )
    except ValueError:  # a class that is not among the held-out rows
        return accuracy, float("nan")


def interval(values: list[float]) -> str:
    """Return the mean and half the width of its interval; the mean alone of one seed."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "-"
    if len(known) not in T_OF_FIVE:
        return f"{np.mean(known):.3f}"
    half = T_OF_FIVE[len(known)] * np.std(known, ddof=1) / math.sqrt(len(known))
    return f"{np.mean(known):.3f} ± {half:.3f}"


def table_of(name: str, seeds: list[list[Row]]) -> Iterator[str]:
    """Yield one line of the result for every way."""
    for way in dict.fromkeys(row.way for rows in seeds for row in rows):
        found = [row for rows in seeds for row in rows if row.way == way]
        passed = sum(row.verdict == "PASS" for row in found)
        is_audited = any(row.verdict != "-" for row in found)
        shown = "-" if not is_audited else f"{passed} of {len(found)}"
        leaves = [row.leaves for row in found if row.leaves]
        sizes = f"{min(leaves)}-{max(leaves)}" if leaves else "-"
        accuracy, auc = (
            interval([getattr(row, each) for row in found]) for each in ("accuracy", "auc")
        )
        seconds = np.mean([row.seconds for row in found])
        yield f"| {name} | {way} | {accuracy} | {auc} | {sizes} | {shown} | {seconds:.1f} |"


def main() -> None:
    """Measure what the command line says, and print or write the table."""
    ask = argparse.ArgumentParser(
        prog="python -m benchmarks.growing_under_policy", description=__doc__
    )
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--seeds", type=int, default=5)
    ask.add_argument("--set", choices=SETS, action="append")
    ask.add_argument("--without-repair", action="store_true")
    ask.add_argument("--grown-only", action="store_true", help="the policy tree and nothing else")
    ask.add_argument("--pruning", action="store_true", help="pruned or not, without an audit")
    ask.add_argument("--out", type=Path)
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    ways = Ways(not given.without_repair, given.grown_only, given.pruning)
    lines = [
        "| Table | Way | Accuracy | AUC | Leaves | Pass | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in given.set or SETS:
        table, target = load(name, given.data)
        seeds = []
        for seed in range(given.seeds):
            train, test = train_test_split(table, test_size=0.3, random_state=seed)
            seeds.append(list(rows_of(train, test, target, seed, ways)))
        found = list(table_of(name, seeds))
        lines += found
        print("\n".join(found), flush=True)
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
