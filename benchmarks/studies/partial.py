"""What who knows some columns only learns of published trees: heart, German credit and Adult.

    python -m benchmarks.studies.partial --data FOLDER

Writes docs/engineering/studies/partial.md.
scikit-learn grows the trees on all records; class counts are published, and the choice
of splits is left out. Each row is one adversary: what is certain, and what the estimate says of everybody's value.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sklearn.tree import DecisionTreeClassifier

from benchmarks.adult import adult, multiway
from benchmarks.machine import machine
from benchmarks.studies.ensembles_data import LABEL, data_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.partial.target_inference import TargetInference, infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.tree import Tree

PAGE = Path("docs/engineering/studies/partial.md")
NO_SPLITS = Knowledge(split=SplitLevel.NONE)
SURE = 0.9
TIE = 1e-9
Knows = tuple[str, ...] | str
ROWS: tuple[tuple[str, dict[str, int], Knows], ...] = (
    ("heart", {"max_depth": 3}, ("age", "sex")),
    ("heart", {"max_depth": 5}, ("age", "sex")),
    ("heart", {"max_depth": 5}, ("age", "sex", "cp", "exang")),
    ("heart", {"max_depth": 5}, "all but ca, thal"),
    ("heart", {}, "all but ca, thal"),
    ("german", {"min_samples_leaf": 10}, ("age", "personal_status_sex", "foreign_worker")),
    ("german", {}, ("age", "personal_status_sex", "foreign_worker", "job", "housing")),
    ("german", {}, "all but checking_status, savings, credit_history"),
    (
        "adult",
        {"max_leaf_nodes": 20},
        ("age", "sex", "race", "marital-status", "relationship", "native-country", "education"),
    ),
    ("adult", {"max_leaf_nodes": 500}, ("age", "sex", "race", "marital-status")),
    ("adult", {"max_leaf_nodes": 500}, "all but capital-gain, capital-loss"),
    ("adult", {}, ("age", "sex", "race", "marital-status")),
    ("adult", {}, "all but capital-gain, capital-loss"),
    ("education", {"gini": 100}, ("sex", "race", "marital-status", "native-country")),
    ("education", {"gini": 2}, "all but income"),
)
"""The data, how the tree is grown, and who knows what; Zhu & Du predict ``education`` from 8 columns of Adult."""
SECRETS: tuple[tuple[str, dict[str, int], str, Knows, bool], ...] = (
    ("education", {"gini": 1000}, "income", "all but income", True),
    (
        "education",
        {"gini": 100},
        "income",
        ("sex", "race", "marital-status", "native-country"),
        True,
    ),
    ("education", {"gini": 100}, "income", "all but income", True),
    ("education", {"gini": 100}, "race", "all but race", True),
    ("education", {"gini": 2}, "income", "all but income", True),
    ("heart", {}, "thal", "all but thal", True),
    ("heart", {}, "thal", "all but thal", False),
    ("heart", {"max_depth": 5}, "thal", ("age", "sex"), True),
    ("adult", {}, "capital-gain", "all but capital-gain", True),
    ("adult", {}, "race", "all but race", True),
    ("adult", {}, "sex", "all but sex", True),
)
"""The same, with the column that is secret, and whether everybody's class is known."""


BINS = {"capital-gain": (1.0,)}
"""Where numbers are parted: whether there was any gain."""


ABOUT = """\
Each row is one adversary ([What would a neighbour learn?](../../neighbour.md)). The choice of splits is left out.
In *education* the tree predicts that from 8 columns of Adult, grown by the gini index as in
[the study of Zhu & Du](zhu-du-2010.md). Shares are of the people: *certain*, whose value is proved; *excluded*,
of whom some value is ruled out; *mean* and *surest* of the probability that the estimate gives its best guess;
*>= .9*, of whom it is so sure; *right*, of whom the guess is true. What known columns give away of others is known
too; what they say of the secret itself is not in these figures (audits span both)."""


@dataclass(frozen=True)
class Grown:
    """A tree and its people."""

    tree: Tree
    population: Population
    leaves: int


def grown(folder: Path, name: str, settings: dict[str, int]) -> Grown:
    """Return the tree of a data set, grown with these settings."""
    if name == "education":
        (criterion, least), *_ = settings.items()
        tree, population = multiway(adult(folder), criterion, least)
        return Grown(tree, population, sum(node.is_leaf for node in tree.nodes))
    data = data_of(name, folder)
    columns = list(data.columns)
    labels = data.labels.astype(str)
    fitted = DecisionTreeClassifier(random_state=0, **settings)
    fitted.fit(data.columns.to_numpy(dtype=float), labels)
    tree = from_sklearn(fitted, columns, fitted.classes_, target=LABEL)
    table = table_of(
        {**{each: data.columns[each].tolist() for each in columns}, LABEL: labels.tolist()}
    )
    return Grown(tree, build_population(tree, table, sensitive=LABEL), int(fitted.get_n_leaves()))


def knowing(population: Population, said: Sequence[str] | str) -> list[str]:
    """Return the columns that are known: those named, or all but those."""
    if not isinstance(said, str):
        return list(said)
    hidden = said.removeprefix("all but ").split(", ")
    assert set(hidden) <= set(population.qi)
    return [each for each in population.qi if each not in hidden]


def figures(seen: TargetInference) -> str:
    """Return the figures of a row: profiles, certain, excluded, mean, surest, of whom 90 % sure, guessed right."""
    people, worlds, estimate = seen.population.counts, seen.worlds, seen.posterior
    truth = seen.population.truth
    assert not isinstance(worlds, Undetermined)
    assert not isinstance(truth, Undetermined)
    certain = people[worlds.certain].sum() / people.sum()
    excluded = people[worlds.excluded.any(axis=1)].sum() / people.sum()
    if isinstance(estimate, Undetermined):
        return f"{len(people):,} | {certain:.3f} | {excluded:.3f} | not told | not told | not told | not told"
    best, size = estimate.values.max(axis=1), people.sum()
    is_best = estimate.values >= best[:, None] - TIE
    right = float((truth * is_best / is_best.sum(axis=1, keepdims=True)).sum())
    shares = (
        certain,
        excluded,
        float(best @ people) / size,
        float(best.max()),
        people[best >= SURE - TIE].sum() / size,
        right / size,
    )
    return " | ".join((f"{len(people):,}", *(f"{each:.3f}" for each in shares)))


def rows(folder: Path) -> Iterator[str]:
    """Yield the page, line by line."""
    yield "# What who knows some columns only learns"
    yield ""
    yield "Made by `python -m benchmarks.studies.partial --data FOLDER`, part of `make studies DATA=FOLDER`;"
    yield "scikit-learn grows the trees on all records, and their class counts are published."
    yield f"Machine: {machine()}."
    yield ""
    yield from ABOUT.splitlines()
    yield ""
    yield "## The class that the tree predicts"
    yield ""
    yield HEAD
    yield RULE
    trees: dict[str, Grown] = {}
    for name, settings, said in ROWS:
        own = trees.setdefault(f"{name} {settings}", grown(folder, name, dict(settings)))
        known, began = knowing(own.population, said), time.monotonic()
        seen = infer_target(TreeContext(own.tree, own.population, NO_SPLITS), known, clock(60.0))
        assert isinstance(seen, TargetInference)
        yield _row(name, own, said, seen, time.monotonic() - began)
    yield ""
    yield "## A column that is secret"
    yield ""
    yield HEAD
    yield RULE
    for name, settings, secret, said, knows_target in SECRETS:
        own = trees.setdefault(f"{name} {settings}", grown(folder, name, dict(settings)))
        known, began = knowing(own.population, said), time.monotonic()
        column = secret_of(own.population, secret, BINS.get(secret), "secret")
        seen = infer_attribute(
            TreeContext(own.tree, own.population, NO_SPLITS),
            column,
            known,
            knows_target=knows_target,
            until=clock(60.0),
        )
        assert isinstance(seen, TargetInference)
        told = said if isinstance(said, str) else ", ".join(said)
        told += ", and the class" if knows_target else ""
        yield _row(f"{name}, {secret}", own, told, seen, time.monotonic() - began)


HEAD = "| data | leaves | knows | profiles | certain | excluded | mean | surest | >= .9 | right | time |"
RULE = "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"


def _row(
    name: str, own: Grown, said: Sequence[str] | str, seen: TargetInference, seconds: float
) -> str:
    told = said if isinstance(said, str) else ", ".join(said)
    return f"| {name} | {own.leaves:,} | {told} | {figures(seen)} | {seconds:.1f} s |"


def main() -> None:
    """Write the page."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.studies.partial", description=__doc__)
    ask.add_argument("--data", type=Path, required=True)
    lines = []
    for line in rows(ask.parse_args().data):
        print(line, flush=True)
        lines.append(line)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
