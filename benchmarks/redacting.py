"""Compares two ways of withholding class counts in a repair: the least, and those of ``redact``.

    python -m benchmarks.redacting --data FOLDER [--case NAME ...] [--policy NAME ...]

FOLDER holds the public tables of the studies. Each line is one repair to its end, by the least, by the greedy ways
alone, or as the command does it: what is recommended, what share of the class numbers it withholds, and seconds of the
processor. ``-`` says that nothing passes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.ensemble import VotingClassifier
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from benchmarks.machine import machine
from benchmarks.studies.ensembles_data import data_of
from benchmarks.studies.joint_outputs import characteristics, people_of
from treewarden.jobs.demo import survey
from treewarden.policies.remedies import redact, withhold_least
from treewarden.ppdm_models.errors import TreewardenError

PROOFS = "proofs"
POLICIES = (PROOFS, "standard", "health", "official-statistics", "open-data")
ONLY_PROOFS = """
name = "proofs"
version = "1"
title = "Nobody's value is proved"
[[check]]
id = "certain"
measure = "certain_disclosure"
rule = "at_most"
limit = 0
why = "A proved value is disclosed."
source = "the study"
"""
WAYS: Mapping[str, type | None] = {
    "greedy": withhold_least.WithholdLeast,
    "least": redact.Redact,
    "both": None,
}
"""What is left out of a repair, by the way that is left."""


@dataclass(frozen=True)
class Case:
    """A model, the table that it was trained on, what is published beside it, and options of its audit."""

    model: object
    people: pd.DataFrame
    beside: tuple[pd.DataFrame, ...] = ()
    split: str = ""


def tree_of(people: pd.DataFrame, least: int) -> object:
    """Return a tree of scikit-learn with leaves of at least so many people."""
    model = DecisionTreeClassifier(min_samples_leaf=least, random_state=0)
    return model.fit(people.iloc[:, :-1], people.iloc[:, -1])


def voting(people: pd.DataFrame, trees: int, least: int) -> object:
    """Return trees that vote, each on its own half of the columns."""
    members = [
        (
            f"t{seed}",
            DecisionTreeClassifier(min_samples_leaf=least, max_features=0.5, random_state=seed),
        )
        for seed in range(trees)
    ]
    return VotingClassifier(members, voting="hard").fit(people.iloc[:, :-1], people.iloc[:, -1])


def demo() -> Case:
    """Return the tree of ``treewarden demo``."""
    people = pd.read_csv(BytesIO(survey().csv))
    model = DecisionTreeClassifier(criterion="entropy", max_depth=6, random_state=0)
    return Case(model.fit(people.iloc[:, :-1], people.iloc[:, -1]), people)


def cases(folder: Path) -> Mapping[str, Callable[[], Case]]:
    """Return what makes each case, by name."""

    def people(name: str, most: int | None = None) -> pd.DataFrame:
        data = data_of(name, folder)
        if most is not None:
            rows = np.random.default_rng(0).permutation(len(data.labels))[:most]
            data = data.take(np.sort(rows))
        return people_of(data)

    def tree(name: str, least: int, split: str = "", *, beside: bool = False) -> Case:
        here = people(name)
        outputs = (characteristics(here),) if beside else ()
        return Case(tree_of(here, least), here, outputs, split)

    def forest(name: str, trees: int, least: int, most: int | None = None) -> Case:
        here = people(name, most).drop(columns="fnlwgt", errors="ignore")
        return Case(voting(here, trees, least), here)

    return {
        "demo": demo,
        "heart-20": lambda: tree("heart", 20),
        "heart-5-counts": lambda: tree("heart", 5, "none"),
        "heart-20-counts": lambda: tree("heart", 20, "none"),
        "heart-40-counts": lambda: tree("heart", 40, "none"),
        "heart-20-table": lambda: tree("heart", 20, "none", beside=True),
        "german-20": lambda: tree("german", 20),
        "german-20-counts": lambda: tree("german", 20, "none"),
        "german-50-table": lambda: tree("german", 50, "none", beside=True),
        "heart-3": lambda: forest("heart", 3, 20),
        "german-3": lambda: forest("german", 3, 20),
        "adult-3": lambda: forest("adult", 3, 100, 5_000),
        "adult-5": lambda: forest("adult", 5, 500, 30_000),
    }


@contextmanager
def without(remedy: type | None) -> Iterator[None]:
    """Leave a remedy out."""
    if remedy is None:
        yield
        return
    with (
        patch.object(remedy, "propose", lambda *given: iter(())),
        patch.object(remedy, "propose_all", lambda *given: iter(())),
    ):
        yield


def repaired(case: Case, policy: str, way: str) -> str:
    """Return what a repair recommends: the name, the share that is withheld, leaves lost, how many were audited."""
    begun = time.process_time()
    with without(WAYS[way]), tempfile.TemporaryDirectory() as folder:
        if policy == PROOFS:
            policy = str(Path(folder) / "proofs.toml")
            Path(policy).write_text(ONLY_PROOFS, encoding="utf-8")
        found = tw.repair(
            case.model,
            case.people,
            sensitive=case.people.columns[-1],
            qi=list(case.people.columns[:-1]),
            policy=policy,
            **({"split": case.split} if case.split else {}),
            beside=list(case.beside),
            regrow_seconds=0,
            to="pmml",
            jobs=1,
        )
    seconds = time.process_time() - begun
    tried = found.attempts
    best = tried[tried["is_recommended"]]
    audited = int((~tried["problem"].str.startswith("not audited")).sum())
    if best.empty:
        return f"-, {len(tried)} tried, {seconds:.0f} s ({nearest(tried)})"
    first = best.iloc[0]
    return (
        f"{first['name']} {first['numbers_withheld']:.1%} {first['leaves_lost']} leaves lost, "
        f"{audited} tried, {seconds:.0f} s"
    )


def nearest(tried: pd.DataFrame) -> str:
    """Return the verdicts of what was tried."""
    return "; ".join(
        f"{each['name']} {each['verdict']}: {each['failing']}" for _, each in tried.iterrows()
    )


def main() -> None:
    """Print a line for each case, policy and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--case", nargs="*")
    parser.add_argument("--policy", nargs="*", default=POLICIES)
    parser.add_argument("--way", nargs="*", default=list(WAYS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine())
    makers = cases(given.data)
    for name in given.case or makers:
        case = makers[name]()
        for policy in given.policy:
            for way in given.way:
                try:
                    words = repaired(case, policy, way)
                except TreewardenError as error:
                    words = f"error {error}"
                print(f"{name}, {policy}, {way}: {words}", flush=True)


if __name__ == "__main__":
    main()
