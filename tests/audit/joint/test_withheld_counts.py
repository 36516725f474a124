"""Forests that withhold the class counts of some leaves: against all labellings, by every way of breaking ties."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.rows import rows
from tests.kit.small_audits import flat_tree
from tests.kit.tiers import seeds
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.joint.draws import LabelTies, label_ends
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature

OPTIONS = AuditOptions(worlds_budget=4.0, time_limit=20.0, levels=False, jobs=1)
CLASSES = ("a", "b", "c")


def voting(seed):
    """Return a forest of two or three trees, of whose leaves half withhold their counts, and its people's labels."""
    draw = np.random.default_rng(seed)
    classes = 3 if draw.random() < 0.3 else 2
    people, trees = int(draw.integers(3, 7 if classes == 3 else 9)), int(draw.integers(2, 4))
    labels = draw.integers(0, classes, people)
    places = draw.integers(0, 3, (trees, people))
    members = []
    for number, place in enumerate(places):
        feature, values = f"f{number}", [str(value) for value in sorted(set(place.tolist()))]
        counts = [
            [int(((place == int(v)) & (labels == k)).sum()) for k in range(classes)] for v in values
        ]
        tree = flat_tree(counts, classes=CLASSES[:classes])
        nodes = [replace(tree.nodes[0], class_counts=None, score=None, records=float(people))]
        for node, value, of in zip(tree.nodes[1:], values, counts, strict=True):
            best = draw.choice(np.flatnonzero(np.array(of) == max(of)))
            kept = None if draw.random() < 0.5 else tuple(map(float, of))
            nodes.append(
                replace(
                    node,
                    test=CategoryTest(feature, (value,)),
                    score=CLASSES[best],
                    records=float(sum(of)),
                    class_counts=kept,
                )
            )
        features = (Feature(feature, False, tuple(values)),)
        members.append(Member(replace(tree, nodes=tuple(nodes), features=features, target="ill")))
    features = tuple(f for member in members for f in member.model.features)
    model = Ensemble(tuple(members), Combination.MAJORITY_VOTE, features, "ill", CLASSES[:classes])
    return model, people_of(model, places, labels), places, labels


def people_of(model, places, labels):
    """Return each person as a profile of its own, or with those who share all its leaves."""
    keys, profile = np.unique(places, axis=1, return_inverse=True)
    profile = profile.reshape(-1)
    truth = np.zeros((keys.shape[1], len(model.classes)))
    np.add.at(truth, (profile, labels), 1)
    columns = {}
    for number, member in enumerate(model.members):
        values = member.model.features[0].values
        codes = np.array([values.index(str(value)) for value in keys[number]])
        columns[f"f{number}"] = CategoricalColumn(codes, values)
    nowhere = np.full(len(truth), -1)
    return Population(
        tuple(columns), columns, truth.sum(axis=1), nowhere, truth, sensitive="ill"
    ), profile


def agreeing(model, places, size, chosen):
    """Yield labellings that agree with all leaves; ``chosen`` says which label a leaf of some counts may have."""
    classes = len(model.classes)
    for labelling in itertools.product(range(classes), repeat=size):
        if all(
            _agrees(
                node,
                np.bincount(
                    np.array(labelling)[place == int(node.test.values[0])], minlength=classes
                ),
                chosen,
            )
            for member, place in zip(model.members, places, strict=True)
            for node in member.model.nodes[1:]
        ):
            yield labelling


def _agrees(node, counts, chosen):
    if node.class_counts is not None:
        return tuple(counts) == node.class_counts
    return chosen(CLASSES.index(node.score), counts)


def orders(classes):
    """Yield ways of breaking ties: none is known, no tie occurs, or the first of an order is taken."""
    yield lambda label, counts: counts[label] == counts.max()
    yield lambda label, counts: (counts < counts[label]).sum() == len(counts) - 1
    for order in itertools.permutations(range(classes)):
        yield (
            lambda label, counts, order=order: (
                next(k for k in order if counts[k] == counts.max()) == label
            )
        )


@pytest.mark.parametrize("seed", seeds(300, quick=range(25)))
def test_what_is_proved_and_shown_of_withheld_counts_holds_however_ties_are_broken(seed):
    model, (people, profile), places, labels = voting(seed)
    evidence = run(model, people, Knowledge(split=SplitLevel.NONE), options=OPTIONS).full.evidence
    worlds = evidence.worlds
    assert isinstance(worlds, ConsistentTables), worlds.reason
    for number, chosen in enumerate(orders(len(model.classes))):
        fitting = list(agreeing(model, places, len(labels), chosen))
        if tuple(labels) not in fitting:
            continue
        tables = np.zeros((len(fitting), *people.truth.shape), dtype=int)
        for table, labelling in zip(tables, fitting, strict=True):
            np.add.at(table, (profile, np.array(labelling)), 1)
        least, most = tables.min(axis=0), tables.max(axis=0)
        assert (worlds.low <= least).all()
        assert (worlds.high >= most).all()
        is_certain = (least == people.counts[:, None]).any(axis=1)
        assert not (is_certain & ~worlds.certain & ~worlds.open_profiles).any()
        if number == 0:
            assert not (worlds.certain & ~is_certain).any()


def test_almost_all_is_decided():
    open_, decided = 0, 0
    for seed in range(25):
        model, (people, _), _, _ = voting(seed)
        evidence = run(
            model, people, Knowledge(split=SplitLevel.NONE), options=OPTIONS
        ).full.evidence
        open_ += int(evidence.worlds.open_profiles.sum())
        decided += int((~evidence.worlds.open_profiles).sum())
        assert isinstance(evidence.posterior, Undetermined) <= (len(model.classes) > 2)
    assert open_ <= decided / 10


@rows(
    ("label", "counts", "ties", "low", "high"),
    [
        (1, [2, 4], LabelTies.EITHER, [0, 3], [3, 6]),
        (1, [2, 4], LabelTies.ANY_RULE, [0, 4], [2, 6]),
        (1, [3, 3], LabelTies.ANY_RULE, [0, 3], [3, 6]),
        (0, [3, 3, 1], LabelTies.ANY_RULE, [3, 0, 0], [7, 3, 2]),
    ],
)
def test_the_ends_of_a_label(label, counts, ties, low, high):
    ends = label_ends(label, np.array(counts), ties)
    assert [end.tolist() for end in ends] == [low, high]
