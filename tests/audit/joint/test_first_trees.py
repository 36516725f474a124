"""What the first trees of a model tell, and whose people may be joined at all."""

from dataclasses import replace
from types import SimpleNamespace

from tests.kit.grown_models import FOLDER
from treewarden.audit.joint.ensemble_inference import _unfit, prefixes
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER, clock
from treewarden.jobs.inputs import opened, read


def first_trees(trees, until, growth=None):
    return list(prefixes(None, None, None, growth, (trees, 2), until))


def test_without_time_the_first_trees_tell_nothing():
    assert first_trees(10, clock(0.0)) == []


def test_of_a_model_with_one_round_there_are_no_first_trees():
    assert first_trees(1, FOREVER, SimpleNamespace(rounds=((0,),))) == []


def test_a_profile_of_nobody_need_not_reach_a_leaf():
    model = opened(FOLDER / "plain.json").model
    people = build_population(model, read(FOLDER / "two.csv"), sensitive="y")
    forest = forest_of(model, people)
    stops = forest.stops.copy()
    stops[0, 0] = -1
    lost = replace(forest, stops=stops)
    nobody = people.counts.copy()
    nobody[0] = 0
    assert "reach no leaf" in _unfit(lost, people)
    assert _unfit(lost, replace(people, counts=nobody)) == ""
