"""Exact draws have their probabilities, and a whole private tree costs nobody more than its epsilon."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.judges.drawn_labels import flips
from tests.kit.tiers import seeds
from treewarden.ppdm_models.learn.private_growth import (
    flip_coin,
    flip_exponential,
    grow_private,
    permute_and_flip,
    purity_scores,
    split_budget,
)
from treewarden.ppdm_models.tree.column import cut_grid

DRAWS = 20_000


def from_seed(seed):
    random = np.random.default_rng(seed)
    return lambda most: int(random.integers(most)) if most < 2**63 else int(random.random() * most)


def is_near(hits, chance, draws=DRAWS):
    return abs(hits / draws - chance) < 5 * math.sqrt(chance * (1 - chance) / draws) + 1e-12


@pytest.mark.parametrize("weakness", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_a_coin_of_an_exponential_has_its_probability(weakness):
    below = from_seed(1)
    hits = sum(flip_exponential(weakness, below) for _ in range(DRAWS))
    assert is_near(hits, math.exp(-weakness))
    assert not flip_coin(Fraction(0), below)
    assert flip_coin(Fraction(1), below)


def test_permute_and_flip_draws_as_by_hand():
    below, scores = from_seed(2), [3, 5, 4, 0]
    drawn = np.bincount([permute_and_flip(scores, Fraction(1, 2), below) for _ in range(DRAWS)])
    for hits, chance in zip(drawn, flips(scores, 0.5), strict=True):
        assert is_near(hits, chance)


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.3, 1e-3])
@pytest.mark.parametrize("levels", [0, 1, 3, 7])
def test_the_parts_of_a_budget_add_up_exactly(epsilon, levels):
    budget = split_budget(epsilon, 0.2, levels)
    assert budget.total == Fraction(epsilon)
    assert budget.node >= 0 < budget.label


@pytest.mark.parametrize("seed", seeds(30))
def test_one_record_changes_a_score_by_one_at_most(seed):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 40, (400, int(random.integers(2, 6))))
    for place in range(counts.shape[1]):
        more = counts.copy()
        more[:, place] += 1
        assert (np.abs(purity_scores(more) - purity_scores(counts)) <= 1).all()


def test_a_grid_lies_within_its_bounds_and_knows_no_record():
    grid = cut_grid(0.0, 100.0, 4)
    assert {0.0, 25.0, 50.0, 75.0} <= set(grid.tolist())
    assert (np.diff(grid) > 0).all()
    assert 0 <= grid[0] < grid[-1] < 100
    assert not len(cut_grid(5.0, 5.0, 4))


def output_chances(values, classes, grid, budget):
    """Return the probability of every tree of one cut over these records: the cut and both labels."""
    scores, sides = [], []
    for cut in grid:
        left = [classes[i] for i, value in enumerate(values) if value <= cut]
        right = [classes[i] for i, value in enumerate(values) if value > cut]
        counted = [[side.count(0), side.count(1)] for side in (left, right)]
        scores.append(sum(sum(c * c for c in n) // max(1, sum(n)) for n in counted))
        sides.append(counted)
    cuts = flips(scores, float(budget.node), halved=True)
    found = {}
    for place, counted in enumerate(sides):
        labels = [flips(counts, float(budget.label)) for counts in counted]
        for pair in itertools.product((0, 1), repeat=2):
            chance = cuts[place] * labels[0][pair[0]] * labels[1][pair[1]]
            found[place, *pair] = chance
    return found


@pytest.mark.parametrize("seed", seeds(8))
def test_no_neighbour_of_a_small_table_gives_any_tree_beyond_epsilon(seed):
    random = np.random.default_rng(seed)
    epsilon = float(random.choice([0.2, 1.0, 2.0]))
    budget, grid = split_budget(epsilon, 0.3, 1), [0.5, 1.5, 2.5]
    values = random.integers(0, 4, 6).tolist()
    classes = random.integers(0, 2, 6).tolist()
    whole = output_chances(values, classes, grid, budget)
    assert sum(whole.values()) == pytest.approx(1, abs=1e-12)
    for gone in range(6):
        others = [i for i in range(6) if i != gone]
        less = output_chances(
            [values[i] for i in others], [classes[i] for i in others], grid, budget
        )
        for tree, chance in whole.items():
            assert abs(math.log(chance / less[tree])) <= epsilon + 1e-12


def test_grown_trees_have_these_probabilities():
    values, classes = [0.0, 1.0, 1.0, 2.0, 3.0], [0, 0, 1, 1, 1]
    budget, grid = split_budget(1.0, 0.3, 1), [0.5, 1.5, 2.5]
    below, drawn = from_seed(4), {}
    draws = 4000
    for _ in range(draws):
        nodes = grow_private(
            np.array(values)[:, None], np.array(classes), [np.array(grid)], budget, 2, below=below
        )
        key = (grid.index(nodes.threshold[0]), int(nodes.label[1]), int(nodes.label[2]))
        drawn[key] = drawn.get(key, 0) + 1
    for tree, chance in output_chances(values, classes, grid, budget).items():
        assert is_near(drawn.get(tree, 0), chance, draws)
