"""Sums that hold and are not all that a file says: nobody who is not certain by them is safe."""

import json
from dataclasses import replace

import pytest

from tests.kit.grown_models import FOLDER, case_of
from treewarden.audit.inverters import ONLY_BOUNDS, SCORED, leaf_sums
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import stated_fact


def sums(name, **facts):
    case, _ = case_of(FOLDER / name, FOLDER / "two.csv")
    growth = replace(case.growth, facts={**case.growth.facts, **facts})
    return leaf_sums(replace(case, growth=growth))


def test_sums_of_plain_steps_are_all_that_the_file_says():
    found = sums("plain.json")
    assert (found.low == found.high).all()
    assert found.is_complete
    assert not found.missing


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("lasso.json", {"max_delta_step": stated_fact(0.0)}),
        (
            "clipped.json",
            {
                name: stated_fact(value)
                for name, value in (
                    ("eta", 0.3),
                    ("lambda", 1.0),
                    ("alpha", 0.0),
                    ("max_delta_step", 0.4),
                )
            },
        ),
    ],
)
def test_bounds_of_limited_steps_are_not(name, facts):
    found = sums(name, **facts)
    assert (found.low < found.high).any()
    assert not found.is_complete
    assert found.missing == ONLY_BOUNDS


def test_a_score_that_the_file_tells_may_say_more_of_the_labels():
    document = json.loads((FOLDER / "plain.json").read_bytes())
    document["learner"]["attributes"] = {"best_iteration": "4", "best_score": "0.25"}
    file = open_model(json.dumps(document).encode(), "scored.json")
    case, _ = case_of(file, FOLDER / "two.csv")
    found = leaf_sums(case)
    assert not found.is_complete
    assert found.missing == SCORED


def test_a_limit_of_steps_that_leaf_values_exceed_is_not_believed():
    told = {"eta": 0.3, "lambda": 1.0, "alpha": 0.0, "max_delta_step": 1e-5}
    found = sums("plain.json", **{name: stated_fact(value) for name, value in told.items()})
    assert isinstance(found, Undetermined)
    assert "larger than max_delta_step allows" in found.reason


def test_the_start_tells_a_total_only_where_the_file_says_that_it_is_the_average():
    told = {"eta": 0.3, "lambda": 1.0, "alpha": 0.0, "max_delta_step": 0.4}
    facts = {name: stated_fact(value) for name, value in told.items()}
    found = sums("clipped.json", **facts)
    case, people = case_of(FOLDER / "clipped.json", FOLDER / "two.csv")
    whole = int(people.truth[:, 1].sum())
    assert found.totals == {1: (whole, whole)}
    assert sums("clipped.json", **facts, boost_from_average=stated_fact(0.0)).totals == {}
