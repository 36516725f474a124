"""The same case under other names, in another order, and with profiles cut in two: nothing of it may matter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tests.judges.estimate.cases import Fact, Sample
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate


@dataclass(frozen=True)
class Disguise:
    """A case and where it came from: profile q of it was ``profiles[q]``, class c was ``classes[c]``."""

    sample: Sample
    profiles: np.ndarray
    classes: np.ndarray

    def undone(self, values: np.ndarray) -> np.ndarray:
        """Return the original's values (profile by profile here) in the disguise's order."""
        return values[self.profiles][:, self.classes]


def renamed(sample: Sample, draw: np.random.Generator) -> Disguise:
    """Return the case with classes, categories and attributes renamed and shuffled, and profiles in another order."""
    tree, population = sample.tree, sample.population
    profiles = draw.permutation(len(population.counts))
    classes = draw.permutation(len(tree.classes))
    klass = {tree.classes[old]: f"k{new:03}" for new, old in enumerate(classes)}
    names = {name: f"q{i}" for i, name in enumerate(draw.permutation(list(population.qi)))}
    words: dict[str, dict[str, str]] = {name: {} for name in population.qi} | {
        name: {word: f"w{i}" for i, word in enumerate(draw.permutation(column.categories))}
        for name, column in population.columns.items()
        if isinstance(column, CategoricalColumn)
    }
    order = sorted(population.qi, key=lambda name: names[name])
    features = tuple(
        replace(feature, name=names[name], values=_words(words[name], feature.values))
        for name in order
        for feature in tree.features
        if feature.name == name
    )
    nodes = tuple(
        replace(
            node,
            test=_test(node.test, names, words),
            score=klass[str(node.score)],
            class_counts=tuple(node.class_counts[old] for old in classes),
        )
        for node in tree.nodes
    )
    columns = {
        names[name]: _column(population.columns[name], words[name]).take(profiles) for name in order
    }
    facts = tuple(_fact(fact, names, words, klass) for fact in sample.facts)
    changed = Sample(
        replace(tree, nodes=nodes, features=features, classes=tuple(sorted(klass.values()))),
        replace(
            population,
            qi=tuple(columns),
            columns=columns,
            counts=population.counts[profiles],
            leaf=population.leaf[profiles],
            truth=population.truth[profiles][:, classes],
        ),
        sample.knowledge,
        facts,
        sample.learner,
    )
    return Disguise(changed, profiles, classes)


def cut(sample: Sample, draw: np.random.Generator) -> Disguise:
    """Return the case with some profiles cut in two by a column that the tree knows nothing of."""
    population = sample.population
    is_cut = draw.random(len(population.counts)) < 0.5
    part = np.where(is_cut, draw.uniform(0.2, 0.8, size=len(is_cut)), 1.0)
    profiles = np.concatenate([np.arange(len(is_cut)), np.flatnonzero(is_cut)])
    share = np.concatenate([part, 1 - part[is_cut]])
    columns = {name: column.take(profiles) for name, column in population.columns.items()}
    codes = np.concatenate([np.zeros(len(is_cut)), np.ones(is_cut.sum())]).astype(np.int64)
    columns["extra"] = CategoricalColumn(codes=codes, categories=("one", "other"))
    changed = replace(
        population,
        qi=(*population.qi, "extra"),
        columns=columns,
        counts=population.counts[profiles] * share,
        leaf=population.leaf[profiles],
        truth=population.truth[profiles] * share[:, None],
    )
    classes = np.arange(population.truth.shape[1])
    return Disguise(replace(sample, population=changed), profiles, classes)


def _words(words: dict[str, str], values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(words[value] for value in values if value in words))


def _test(test: Predicate, names: dict[str, str], words: dict[str, dict[str, str]]) -> Predicate:
    if isinstance(test, CategoryTest):
        return CategoryTest(names[test.feature], _words(words[test.feature], test.values))
    if isinstance(test, NumericTest):
        return replace(test, feature=names[test.feature])
    return test


def _column(column: Column, words: dict[str, str]) -> Column:
    if isinstance(column, NumericColumn):
        return column
    categories = tuple(sorted(words.values()))
    place = np.array([categories.index(words[word]) for word in column.categories])
    return CategoricalColumn(codes=place[column.codes], categories=categories)


def _fact(
    fact: Fact,
    names: dict[str, str],
    words: dict[str, dict[str, str]],
    klass: dict[str, str],
) -> Fact:
    conditions = tuple(
        (names[name], words[name][value] if isinstance(value, str) else value)
        for name, value in fact.conditions
    )
    return replace(fact, conditions=conditions, klass=klass[fact.klass])
