"""Times the sum of a paper's outputs, blame and the least to withhold: ``python -m benchmarks.withholding [CASE ...]``.

Tables are drawn. Each case has a goal in seconds of one idle core; seconds of the processor are compared with it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from benchmarks.joint import Task, made_up
from benchmarks.machine import machine
from benchmarks.studies.ensembles_data import data_of
from benchmarks.studies.joint_outputs import characteristics, people_of
from treewarden.audit.blame.certainty import CertaintyOracle, PublishedNumbers
from treewarden.audit.blame.withholding import reasons_of_all, withhold_least
from treewarden.audit.engine.problem import Problem
from treewarden.audit.progress import clock

LABEL = "ill"


@dataclass(frozen=True)
class Timed:
    """What came of a case, in words, and how long the part took that has the goal, in seconds."""

    words: str
    processor: float
    clock: float


def drawn(people: int, columns: int, seed: int = 0, values: int = 40) -> pd.DataFrame:
    """Return people with whole numbers, and a class that depends on two of them."""
    random = np.random.default_rng(seed)
    names = [f"x{column}" for column in range(columns)]
    found = pd.DataFrame(random.integers(0, values, (people, columns)), columns=names)
    score = found["x0"] + found["x1"] - values + random.normal(0, values / 4, people)
    return found.assign(**{LABEL: np.where(score > 0, "yes", "no")})


def means(people: pd.DataFrame, decimals: int = 1) -> pd.DataFrame:
    """Return a table of characteristics: means and standard deviations of all columns by class."""
    groups = {each: people[people[LABEL] == each] for each in ("no", "yes")}
    rows = [
        [
            f"{name}, mean (SD)",
            *(
                f"{g[name].mean():.{decimals}f} ({g[name].std():.{decimals}f})"
                for g in groups.values()
            ),
        ]
        for name in people.columns.drop(LABEL)
    ]
    return pd.DataFrame(rows, columns=["characteristic", *groups])


def regression(people: pd.DataFrame) -> pd.DataFrame:
    """Return a logistic regression of the class on all columns, with six significant digits."""
    inputs = sm.add_constant(people.drop(columns=LABEL).astype(float))
    fitted = sm.Logit((people[LABEL] == "yes").astype(float), inputs).fit(disp=0, maxiter=100)
    names = ["(Intercept)", *people.columns.drop(LABEL)]
    estimates = [f"{each:.6g}" for each in fitted.params]
    return pd.DataFrame({"term": names, "estimate": estimates}, dtype=str)


def leaves_of(people: pd.DataFrame, assigned: np.ndarray) -> PublishedNumbers:
    """Return the class counts of leaves as numbers; ``assigned`` (T, n) is the leaf of each person in each tree."""
    cells, of = np.unique(assigned, axis=1, return_inverse=True)
    truth = np.zeros((cells.shape[1], 2), dtype=np.int64)
    np.add.at(truth, (of.reshape(-1), (people[LABEL] == "yes").to_numpy().astype(int)), 1)
    pairs = [(t, leaf) for t, row in enumerate(cells) for leaf in np.unique(row).tolist()]
    rows = [np.flatnonzero(cells[tree] == leaf) for tree, leaf in pairs]
    ends = np.cumsum([0, *map(len, rows)])
    ones = np.ones(int(ends[-1]), dtype=np.int64)
    shape = (len(rows), cells.shape[1])
    return numbers_of(sparse.csr_array((ones, np.concatenate(rows), ends), shape=shape), truth)


def numbers_of(inside: sparse.csr_array, truth: np.ndarray) -> PublishedNumbers:
    """Return one number for each row over groups, (R, C), exactly as it is in truth, (C, 2)."""
    exact, rows = np.asarray(inside @ truth[:, 1]), inside.shape[0]
    problem = Problem(
        matrix=inside,
        low=exact,
        high=exact,
        output=np.ones(rows, dtype=np.intp),
        trees=np.zeros(rows, dtype=np.intp),
        nodes=np.arange(rows),
        sizes=truth.sum(axis=1),
        classes=2,
    )
    costs = np.ones(rows, dtype=np.int64)
    return PublishedNumbers(problem, np.arange(rows), tuple(map(str, range(rows))), costs, truth)


def grown(
    people: pd.DataFrame, trees: int, least: int, most_leaves: int | None = None
) -> np.ndarray:
    """Return the leaf of each person in each tree of a forest without bootstrap, (T, n)."""
    inputs = people.drop(columns=LABEL)
    settings = {"min_samples_leaf": least, "max_leaf_nodes": most_leaves, "bootstrap": False}
    model = RandomForestClassifier(trees, random_state=0, **settings)
    return model.fit(inputs, people[LABEL]).apply(inputs).T


def paper() -> Timed:
    """Audit 300 people with a tree, a table of characteristics and a logistic regression, with proofs (goal 30 s)."""
    people = drawn(300, 12)
    inputs = people.drop(columns=LABEL)
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(inputs, people[LABEL])
    beside = [means(people), regression(people)]
    return timed(lambda: audited(model, people, beside))


def heart() -> Timed:
    """Prove what a tree and a table of characteristics of heart tell together, without splits (goal 30 s)."""
    if not DATA:
        return Timed("give the folder of the public tables with --data", 0.0, 0.0)
    people = people_of(data_of("heart", DATA[0]))
    inputs = people.drop(columns=people.columns[-1])
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    model.fit(inputs, people[people.columns[-1]])
    searched = {"split": "none", "worlds_budget": 40.0, "worlds_all": True}
    return timed(lambda: audited(model, people, [characteristics(people)], **searched))


def many_people() -> Timed:
    """Estimate 30,000 people by a tree of 32 leaves and 30 numbers (goal 10 s)."""
    return by_tree(max_leaf_nodes=32)


def many_leaves() -> Timed:
    """Estimate 30,000 people by a tree with leaves of 50 or more, and 30 numbers (goal 10 s)."""
    return by_tree(min_samples_leaf=50)


def by_tree(**settings: int) -> Timed:
    """Audit 30,000 people with a tree of some settings and their means, without proofs."""
    people = drawn(30_000, 15, values=30)
    inputs = people.drop(columns=LABEL)
    model = DecisionTreeClassifier(random_state=0, **settings).fit(inputs, people[LABEL])
    return timed(lambda: audited(model, people, [means(people)], worlds=False))


def audited(
    model: object, people: pd.DataFrame, beside: list[pd.DataFrame], **options: object
) -> str:
    """Audit a model with outputs; return how many people are proved and guessed right."""
    result = tw.audit(
        model,
        people,
        sensitive=people.columns[-1],
        qi=list(people.columns[:-1]),
        policy="standard",
        beside=beside,
        jobs=1,
        **options,
    )
    readings = result.readings
    names = ("guess_accuracy", "certain_disclosure")
    ends = (readings.loc[name] for name in names if name in readings.index)
    return "; ".join(f"{each.name} {each['low']} to {each['high']}" for each in ends)


def blame() -> Timed:
    """Find the reasons of 1,000 certain people and more of a tree of 500 leaves (goal 10 s)."""
    people = drawn(4_000, 6)
    inputs = people.drop(columns=LABEL)
    model = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(inputs, people[LABEL])
    numbers = leaves_of(people, model.apply(inputs)[None, :])
    oracle = CertaintyOracle(numbers, clock(60.0))

    def explain() -> str:
        found = oracle.certain_groups(numbers.everything)
        reasons, left = reasons_of_all(oracle, numbers.everything, found.is_certain)
        certain = int(numbers.problem.sizes[found.is_certain].sum())
        return f"{certain} certain people, {len(reasons)} reasons, {int(left.sum())} without one"

    return timed(explain)


def blame_command() -> Timed:
    """Audit a tree of 500 leaves with blame, whole (goal 10 s)."""
    people = drawn(4_000, 6)
    inputs = people.drop(columns=LABEL)
    model = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(inputs, people[LABEL])
    return timed(lambda: audited(model, people, [], blame=True))


def hundred_numbers_command() -> Timed:
    """Audit three trees that vote, of about 100 leaves, with blame and the least to withhold, whole (goal 30 s)."""
    people = drawn(300, 12)
    settings = {"min_samples_leaf": 5, "max_features": "sqrt"}
    trees = [
        (f"t{seed}", DecisionTreeClassifier(random_state=seed, **settings)) for seed in range(3)
    ]
    model = VotingClassifier(trees, voting="hard")
    model.fit(people.drop(columns=LABEL), people[LABEL])
    return timed(lambda: audited(model, people, [], blame=True))


def hundred_numbers() -> Timed:
    """Find the least to withhold of about 100 numbers: 3 trees over 300 people (goal 30 s)."""
    people = drawn(300, 12)
    return timed(lambda: withheld(leaves_of(people, grown(people, 3, 5)), 60.0))


def hundred_trees() -> Timed:
    """Bound the least to withhold of 100 trees over 30,000 people in a minute (goal 60 s)."""
    problem, truth = made_up(Task("30,000 people", 30_000, 100))
    keys = np.stack([problem.trees, problem.nodes], axis=1)
    of_row = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    count = int(of_row.max()) + 1
    names, costs = tuple(map(str, range(count))), np.ones(count, dtype=np.int64)
    return timed(lambda: withheld(PublishedNumbers(problem, of_row, names, costs, truth), 55.0))


def pure_trees() -> Timed:
    """Bound the least to withhold of 100 trees with small leaves over 30,000 people in a minute (goal 60 s)."""
    people = drawn(30_000, 12)
    return timed(lambda: withheld(leaves_of(people, grown(people, 100, 20, 200)), 55.0))


def withheld(numbers: PublishedNumbers, seconds: float) -> str:
    """Return what was found to withhold, and the bound."""
    least = withhold_least(CertaintyOracle(numbers, clock(seconds)))
    what = f"{len(least.withheld)} withheld" if least.is_safe else least.problem or "no set found"
    proof = "the least" if least.is_optimal else f"at least {least.lower_bound}"
    return f"{len(numbers.names)} numbers: {what}, {proof}, {least.reasons} reasons"


DATA = list[Path]()
"""The folder of the public tables, where it is given."""


def timed(work: Callable[[], str]) -> Timed:
    """Return what some work came to, and how long it took."""
    processor, wall = time.process_time(), time.perf_counter()
    words = work()
    return Timed(words, time.process_time() - processor, time.perf_counter() - wall)


CASES: Mapping[str, Callable[[], Timed]] = {
    "paper": paper,
    "heart": heart,
    "many-people": many_people,
    "many-leaves": many_leaves,
    "blame": blame,
    "blame-command": blame_command,
    "hundred-numbers": hundred_numbers,
    "hundred-numbers-command": hundred_numbers_command,
    "hundred-trees": hundred_trees,
    "pure-trees": pure_trees,
}


def main() -> None:
    """Print the seconds of each case that is named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    parser.add_argument("--data", type=Path, help="folder of the public tables of the studies")
    given = parser.parse_args()
    DATA.extend([given.data] if given.data else [])
    warnings.simplefilter("ignore")
    print(machine())
    for name in given.cases or CASES:
        done = CASES[name]()
        doing = (CASES[name].__doc__ or "").rstrip(".")
        print(f"{name}: {doing}")
        print(
            f"    {done.processor:.1f} s of the processor, {done.clock:.1f} s by the clock; {done.words}"
        )


if __name__ == "__main__":
    main()
