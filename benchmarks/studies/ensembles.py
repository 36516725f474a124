"""Measures what published ensembles, and several releases, prove of the people they were grown on.

    python -m benchmarks.studies.ensembles --data FOLDER [--out docs/engineering/studies] [--quick]

Writes ensembles.md. Needs the libraries themselves; one that is not installed is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine
from benchmarks.studies.ensembles_data import ID, Data, data_of, diabetes
from benchmarks.studies.ensembles_models import LEARNERS, scikit, tree, xgboost
from benchmarks.studies.ensembles_runs import Shares, accuracy, judged, pinned, rounded, together
from benchmarks.tables import number, table
from treewarden.policies.remedies.round_leaves import DIGITS

SHOWN = (5, 10, 20, 50, 100)
NEEDS = {
    "XGBoost": "xgboost",
    "LightGBM": "lightgbm",
    "CatBoost": "catboost",
    "GradientBoosting": "sklearn",
    "HistGradientBoosting": "sklearn",
    "RandomForest": "sklearn",
}
LARGE = ("XGBoost", "LightGBM")
"""What is grown on Adult."""
SEED = 1


@dataclass(frozen=True)
class Size:
    """How much is run."""

    rounds: int = 100
    sets: tuple[str, ...] = ("heart", "german", "breast", "adult")
    budget: float = 10.0
    budget_of_releases: float = 2.0
    trials: int = 20


QUICK = Size(10, ("heart",), 2.0, 2.0, 2)


def main() -> None:
    """Run the study as the command line says."""
    ask = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.ensembles", description=__doc__
    )
    ask.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/studies"))
    ask.add_argument("--quick", action="store_true", help="heart alone, ten rounds")
    given = ask.parse_args()
    size = QUICK if given.quick else Size()
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "ensembles.md").write_text(document(given.data, size), "utf-8")


def document(folder: Path, size: Size) -> str:
    """Return the study in Markdown."""
    missing = sorted({name for name in NEEDS.values() if importlib.util.find_spec(name) is None})
    return TEXT.format(
        machine=machine(),
        missing=f" Not installed, and left out: {', '.join(missing)}." if missing else "",
        over_trees=_over_trees(folder, size),
        levers=_levers(folder, size),
        samples=_samples(folder, size),
        numbers=_numbers(size),
        releases=_releases(folder, size),
        newcomers=_newcomers(folder, size),
    )


def _installed() -> Iterator[str]:
    return (name for name in LEARNERS if importlib.util.find_spec(NEEDS[name]) is not None)


def _over_trees(folder: Path, size: Size) -> str:
    head = ["data, learner", "trees", "one leaf", "all", "guess", "model", "sums exact"]
    return table(head, _rows_over_trees(folder, size))


def _rows_over_trees(folder: Path, size: Size) -> Iterator[list[str]]:
    for name in size.sets:
        data = data_of(name, folder)
        for learner in _installed():
            if name == "adult" and learner not in LARGE:
                continue
            file = LEARNERS[learner](data, size.rounds)
            told, _ = judged(file, data, size.budget, over_trees=True)
            print(name, learner, told[-1])
            for each in told:
                if each.trees in SHOWN or each is told[-1]:
                    yield [f"{name}, {learner}", str(each.trees), *_shown(each)]


def _shown(found: Shares) -> list[str]:
    if found.problem:
        return ["–", "–", "–", "–", found.problem]
    values = (found.by_leaf, found.certain, found.guessed, found.predicted)
    return [*(number(each) for each in values), number(found.recovered)]


@dataclass(frozen=True)
class Lever:
    """Something that whoever publishes can change: settings of the training, or of the file."""

    name: str
    rounds: int = 50
    settings: Mapping[str, Any] = field(default_factory=dict)
    digits: int | None = None


LEVERS = (
    Lever("depth 3, 50 rounds"),
    Lever("20 rounds", 20),
    Lever("10 rounds", 10),
    Lever("5 rounds", 5),
    Lever("depth 2", settings={"max_depth": 2}),
    Lever("depth 2, 20 rounds", 20, {"max_depth": 2}),
    Lever("min_child_weight 5", settings={"min_child_weight": 5}),
    Lever("min_child_weight 20", settings={"min_child_weight": 20}),
    *(Lever(f"{each} binary digit{'s' * (each > 1)}", digits=each) for each in DIGITS),
)


def _levers(folder: Path, size: Size) -> str:
    head = ["lever", "certain", "guess", "model", "sums exact", "right of others"]
    return table(head, _rows_of_levers(folder, size))


def _rows_of_levers(folder: Path, size: Size) -> Iterator[list[str]]:
    if importlib.util.find_spec("xgboost") is None:
        return
    whole = data_of("german" if "german" in size.sets else size.sets[0], folder)
    order = np.random.default_rng(SEED).permutation(len(whole.labels))
    cut = 7 * len(order) // 10
    learnt, others = (whole.take(np.sort(part)) for part in (order[:cut], order[cut:]))
    for lever in LEVERS:
        file = xgboost(learnt, lever.rounds, **{"max_depth": 3, **lever.settings})
        training: dict[str, float] = {}
        if lever.digits is not None:
            file, training = rounded(file, learnt, lever.digits)
        (told,), _ = judged(file, learnt, size.budget, training=training)
        right = accuracy(file.model, others)
        print(lever.name, told, right)
        shown = [told.certain, told.guessed, told.predicted, told.recovered]
        yield [lever.name, *(number(each) for each in shown), number(right)]


@dataclass(frozen=True)
class Sampled:
    """A model whose trees see samples of the records."""

    name: str
    learner: str
    rounds: int
    settings: Mapping[str, Any]


SMALL = {"max_depth": 4, "min_samples_leaf": 20}
SAMPLED = (
    Sampled("random forest, depth 4, leaves of 20", "RandomForest", 100, SMALL),
    Sampled("random forest, full depth", "RandomForest", 30, {}),
    *(
        Sampled(
            f"LightGBM, bagging {share}",
            "LightGBM",
            100,
            {"bagging_fraction": share, "bagging_freq": 1},
        )
        for share in (0.95, 0.8, 0.5)
    ),
    Sampled("XGBoost, depth 3, subsample 0.8", "XGBoost", 50, {"max_depth": 3, "subsample": 0.8}),
    Sampled("GradientBoosting, subsample 0.5", "GradientBoosting", 100, {"subsample": 0.5}),
)
FOREST = scikit("RandomForest")


def _samples(folder: Path, size: Size) -> str:
    head = ["data, model", "order known", "guess", "order unknown", "model"]
    return table(head, _rows_of_samples(folder, size))


def _rows_of_samples(folder: Path, size: Size) -> Iterator[list[str]]:
    for name in ("heart", "german"):
        for each in SAMPLED:
            grow = {**LEARNERS, "RandomForest": FOREST}[each.learner]
            if name not in size.sets or importlib.util.find_spec(NEEDS[each.learner]) is None:
                continue
            data = data_of(name, folder)
            file = grow(data, min(each.rounds, size.rounds), **each.settings)
            (known,), _ = judged(file, data, size.budget)
            (unknown,), _ = judged(file, data, size.budget, seeds=None)
            print(name, each.name, known.certain, unknown.certain)
            told = (known.certain, known.guessed, unknown.certain, known.predicted)
            yield [f"{name}, {each.name}", *(number(share) for share in told)]


def _numbers(size: Size) -> str:
    data, rows = diabetes(), []
    for learner in (each for each in _installed() if each != "CatBoost"):  # not inverted
        for rounds in (5, 10, 20, 50):
            if rounds <= size.rounds:
                found = pinned(LEARNERS[learner](data, rounds), data, size.budget)
                shown = ["–", "–", found] if isinstance(found, str) else [number(x) for x in found]
                print(learner, rounds, shown)
                rows.append([learner, str(rounds), *shown])
    return table(["learner", "trees", "exact", "pinned, proved", "pinned, at most"], rows)


VERSIONS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("one level deeper", {"deeper": 1}),
    ("an entropy tree", {"criterion": "entropy"}),
    ("larger leaves", {"min_samples_leaf": 15}),
)
DEPTHS = (("heart", 3), ("heart", 4), ("heart", 5), ("german", 4), ("german", 6))


def _grown(data: Data, depth: int, **more: Any) -> Any:
    more = {"min_samples_leaf": 5, **more}
    return tree(data, max_depth=depth + int(more.pop("deeper", 0)), **more)


def _releases(folder: Path, size: Size) -> str:
    names = [name for name, _ in VERSIONS]
    head = ["data, depth", "the first alone", *(f"+ {name}" for name in names), "all of them"]
    rows = []
    for name, depth in DEPTHS:
        if name not in size.sets:
            continue
        data = data_of(name, folder)
        frame = data.table.assign(**{ID: np.arange(len(data.labels))})
        first = _grown(data, depth)
        others = [_grown(data, depth, **more) for _, more in VERSIONS]
        pairs = [
            together([first, each], [frame, frame], size.budget_of_releases) for each in others
        ]
        whole = together([first, *others], [frame] * (1 + len(others)), size.budget_of_releases)
        print(name, depth, whole)
        shares = [whole.alone[0], *(each.certain for each in pairs), whole.certain]
        rows.append([f"{name}, {depth}", *(number(each) for each in shares)])
    return table(head, rows)


def _newcomers(folder: Path, size: Size) -> str:
    head = ["data, depth", "trials", "certain by the later release alone", "certain by both"]
    rows = []
    for name, depth in (("heart", 4), ("german", 5), ("breast", 4)):
        if name not in size.sets:
            continue
        data, by_last, by_all = data_of(name, folder), 0, 0
        for trial in range(size.trials):
            gone = int(np.random.default_rng(trial).integers(len(data.labels)))
            before = data.take(np.delete(np.arange(len(data.labels)), gone))
            ids = np.arange(len(data.labels))
            frames = [
                before.table.assign(**{ID: np.delete(ids, gone)}),
                data.table.assign(**{ID: ids}),
            ]
            files = [_grown(each, depth) for each in (before, data)]
            found = together(files, frames, size.budget_of_releases)
            by_last, by_all = by_last + found.by_last, by_all + found.by_all
        print(name, depth, by_last, by_all)
        rows.append([f"{name}, {depth}", str(size.trials), str(by_last), str(by_all)])
    return table(head, rows)


TEXT = """# What published ensembles prove of the people behind them

Made by `python -m benchmarks.studies.ensembles --data FOLDER`, part of `make studies DATA=FOLDER`. The libraries
grow the models, write them, and treewarden reads them as anybody would. Machine: {machine}.{missing}

**Data.** Heart (Cleveland, 297 records, disease or none), German credit (1,000, bad or good), breast cancer (277,
recurrence or none), Adult (30,162, 14 columns, more than 50K or not). Categories are numbered in alphabetical
order. Records that lack a value are left out.

**Adversary.** Knows every column of every record but the label, and holds the file. All figures are shares of the
people of the training table: *one leaf*, proved by one leaf alone. *all*, proved by all leaves together. *guess*,
guessed right by the maximum-entropy estimate. *model*, predicted correctly by the model itself, which whoever uses it
knows anyway. *sums exact* is the share of leaves whose number of people of each class follows exactly from the
file.

## Over the number of trees

Each library with its own settings. Of the first trees the cheap proofs and the certificates are used; of all trees
an exact search too (10 s).

{over_trees}

## What publishers can do

German credit, 700 records learnt from, 300 others; XGBoost, depth 3, a rate of .3, 50 rounds unless said. *right of
others* is the share of the 300 predicted right. Rounding goes with withholding the other numbers of the file
(`round_leaves`), and the adversary knows all settings of the training.

{levers}

## Samples of the records

Each tree sees a sample. Where the seed is known (the file tells it, or it is the library's own) and the order of the
records too, the draws are repeated; else only bounds follow, and no estimate is made. *order known* and *order unknown*
are the shares of people who are certain.

{samples}

## Models that predict a number

Diabetes: 442 people, a whole number from 25 to 346. *exact*: the value is determined; *pinned*: its interval is at most
5 % of the range, by proof, and by what no other table that was found rules out (10 s).

{numbers}

## Several releases of one tree

scikit-learn, Gini, 5 records a leaf or more, class counts published: a first tree, and others of the same people.
Shares of people who are certain.

{releases}

## One person more

The same trees grown without one person and with everybody, people drawn at random. How often that person's label is
certain.

{newcomers}

The difference of the two totals is the newcomer's label.
"""


if __name__ == "__main__":
    main()
