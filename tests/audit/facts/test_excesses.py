"""Families of one node held against its split together come to what each comes to alone."""

from __future__ import annotations

import numpy as np
import pytest

from treewarden.audit.facts import impurity_rows as together
from treewarden.audit.facts.impurity_rows import excess, excesses
from treewarden.audit.facts.rows import Grouping, Origin, SplitFamily
from treewarden.ppdm_models.tree.tree import Criterion

PROFILES = 40


def families_of(draw, criterion, node):
    """Return families of one node: of several groupings, with two bins to one for every profile."""
    profiles = np.sort(draw.choice(PROFILES, size=25, replace=False))
    chosen = np.concatenate([[0, 1], draw.integers(2, size=23)])
    shapes = {
        Grouping.THRESHOLD: (2, 3, 3, 9, 25),
        Grouping.ONE_AGAINST_REST: (3, 4, 8),
        Grouping.SUBSET: (4,),
        Grouping.MULTIWAY: (3,),
    }
    for grouping, sizes in shapes.items():
        for bins in sizes:
            candidates = {Grouping.SUBSET: 2 ** (bins - 1) - 1, Grouping.MULTIWAY: 1}
            count = candidates.get(grouping, bins - 1)
            codes = np.arange(count) + (grouping is Grouping.SUBSET)
            yield SplitFamily(
                node=node,
                attribute=f"x{bins}",
                criterion=criterion,
                grouping=grouping,
                profiles=profiles,
                chosen=chosen,
                bins=draw.permutation(np.arange(25) % bins),
                admissible=codes[draw.random(count) < 0.8],
                bin_names=tuple(map(str, range(bins))),
                origin=Origin("split_choice", "a node", node),
                weights=None,
            )


@pytest.mark.parametrize("criterion", list(Criterion))
@pytest.mark.parametrize("classes", [2, 5])
def test_many_families_together_come_to_what_each_comes_to(criterion, classes):
    draw = np.random.default_rng(classes)
    families = [one for node in range(3) for one in families_of(draw, criterion, node)]
    for mass in (
        draw.dirichlet(np.ones(classes), size=PROFILES) * draw.integers(1, 9, size=(PROFILES, 1)),
        draw.integers(0, 3, size=(PROFILES, classes)).astype(float),
    ):
        found = dict(excesses(enumerate(families), mass))
        assert sorted(found) == list(range(len(families)))
        for number, family in enumerate(families):
            np.testing.assert_allclose(found[number], excess(family, mass), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("cells", "many"), [(60, 2000), (2**20, 25), (60, 25)])
def test_how_many_are_looked_at_together_changes_nothing(cells, many, monkeypatch):
    draw = np.random.default_rng(3)
    families = [
        one for node in range(4) for one in families_of(draw, list(Criterion)[node % 2], node)
    ]
    mass = draw.dirichlet(np.ones(2), size=PROFILES)
    found = dict(excesses(enumerate(families), mass))
    monkeypatch.setattr(together, "MOST_CELLS", cells)
    monkeypatch.setattr(together, "MANY_PROFILES", many)
    again = dict(excesses(enumerate(families), mass))
    assert sorted(again) == sorted(found)
    assert all((again[number] == found[number]).all() for number in found)


def test_families_whose_records_carry_weights_are_not_mixed_with_others():
    draw = np.random.default_rng(7)
    plain = next(families_of(draw, Criterion.GINI, 0))
    heavy = SplitFamily(
        **{name: getattr(plain, name) for name in plain.__dataclass_fields__ if name != "weights"},
        weights=draw.integers(1, 9, size=len(plain.profiles)),
    )
    mass = draw.random((PROFILES, 3))
    found = dict(excesses([(0, plain), (1, heavy)], mass))
    np.testing.assert_allclose(found[1], excess(heavy, mass), atol=1e-13)
    assert not np.allclose(found[0], found[1])
