"""Adversaries who know some columns, and everybody's sampling weight, of models whose leaves sum the weights."""

import numpy as np
import pytest

from tests.audit.joint.test_sampling_weights import BY_AGE, BY_SEX, OPTIONS, people_of, split_by
from tests.kit.forests import forest
from treewarden.audit.adversaries import with_adversaries
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial.secret_values import AdversaryRequest, secret_of
from treewarden.audit.partial.unmodelled_knowledge import SPLITS_NOT_USED
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run

UNEQUAL, EQUAL = [60.0, 50.0, 40.0, 30.0], [2.5] * 4
NO_SPLITS = Knowledge(split=SplitLevel.NONE)


def model_of(trees, weights):
    grown = [split_by(tests, weights, "flu", "model.json") for tests in trees]
    return forest(*grown) if len(grown) > 1 else grown[0]


def seen(trees, weights, knows, secret="", knowledge=NO_SPLITS):
    """Return what somebody who knows these columns can infer of one tree, or of several."""
    model = model_of(trees, weights)
    _, people = people_of(model, weights, "flu")
    audit = run(model, people, knowledge, options=OPTIONS)
    asked = secret_of(people, secret, None, "here", ()) if secret else None
    request = AdversaryRequest((Adversary("some", knows),), asked)
    told = audit.full.evidence.knowledge
    return with_adversaries(audit, model, people, told, request, (), OPTIONS).exposures[-1].evidence


@pytest.mark.parametrize("trees", [(BY_AGE,), (BY_AGE, BY_SEX)])
def test_a_weight_of_ones_own_says_who_it_was(trees):
    worlds = seen(trees, UNEQUAL, ("sex",)).worlds
    assert worlds.certain.all()
    assert not worlds.left


@pytest.mark.parametrize("trees", [(BY_AGE,), (BY_AGE, BY_SEX)])
def test_people_of_one_weight_stay_open(trees):
    evidence = seen(trees, EQUAL, ("sex",))
    assert not evidence.worlds.certain.any()
    assert not evidence.worlds.open_profiles.any()
    assert np.allclose(evidence.posterior.values, 0.5)


def test_nobody_takes_over_what_is_hidden_of_somebody_who_weighs_something_else():
    # Of equal weights anybody of a sex may be of either age; where all weights differ nothing is exchanged.
    free = seen((BY_AGE, BY_SEX), EQUAL, ("sex",), secret="age").worlds
    bound = seen((BY_AGE, BY_SEX), UNEQUAL, ("sex",), secret="age").worlds
    assert not free.open_profiles.any()
    assert bound.open_profiles.all()


def test_how_the_splits_of_one_tree_were_chosen_is_left_out_and_said():
    evidence = seen((BY_AGE,), EQUAL, ("sex",), knowledge=Knowledge(split=SplitLevel.GINI))
    assert evidence.worlds.left == (SPLITS_NOT_USED,)
    assert isinstance(evidence.posterior, Undetermined)
