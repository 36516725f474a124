"""Models of numbers as their libraries write them: what is proved of people, held against their true numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.joint.cells import cells_of
from treewarden.audit.population.audited_columns import NO_SENSITIVE
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.inference import ONE_VALUE, ONLY_SWAPPED, OTHER_VALUES, values_of
from treewarden.audit.regression.result import ValueBounds
from treewarden.jobs.inputs import opened
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table_bytes

WHOLE = FOLDER / "numbers_whole.csv"
CENTS = FOLDER / "numbers_cents.csv"
TOLD = (
    "xgboost.json",
    "lasso.json",
    "many.json",
    "lightgbm.txt",
    "ridge.txt",
    "boosting.skops",
    "hist.skops",
    "tree.skops",
    "extra.skops",
    "catboost.json",
    "spark.zip",
)
REFUSED = {
    "sampled.json": "a sum of second derivatives of",
    "weighed.json": "a sum of second derivatives of",
    "dart.json": "training dropped trees",
    "absolute.json": "'reg:absoluteerror' are not inverted",
    "roots.txt": "square root",
    "bagged.txt": "bagging",
    "median.skops": OTHER_VALUES,
    "bootstrap.skops": "bootstrap sample",
    "catboost_halved.json": "halved",
    "catboost_absolute.json": "'MAE' are not inverted: its leaves hold quantiles",
    "spark_absolute.zip": "'absolute' are not inverted",
    "spark_sampled.zip": "sample",
}


def people_of(name, data=None, **changes):
    model = opened(FOLDER / f"numbers_{name}").model
    path = CENTS if name.startswith(("cents", "catboost_steps")) else WHOLE
    table = read_table_bytes(path.read_bytes() if data is None else data, "people.csv")
    people = replace(build_population(model, table, sensitive="y"), **changes)
    return forest_of(model, people), people


def found(name, data=None, seconds=2.0, **changes):
    forest, people = people_of(name, data, **changes)
    return values_of(forest, people, TimeBudget(FOREVER, seconds)), people, forest


def bounds_of(name, **given):
    numbers, people, forest = found(name, **given)
    assert isinstance(numbers, ValueBounds)
    return numbers, people, forest


@pytest.mark.parametrize("name", [*TOLD, "cents.json", "catboost_steps.json"])
def test_every_true_number_lies_in_its_interval_and_what_is_reached_does(name):
    numbers, people, _ = bounds_of(name)
    true = people.numbers
    room = 1e-9 * numbers.span
    assert (numbers.low <= true.least + room).all()
    assert (true.most <= numbers.high + room).all()
    assert (numbers.low <= numbers.reached_low + room).all()
    assert (numbers.reached_high <= numbers.high + room).all()
    assert (numbers.reached_low <= true.least).all()
    assert (true.most <= numbers.reached_high).all()


@pytest.mark.parametrize(
    "name", ["xgboost.json", "many.json", "lightgbm.txt", "hist.skops", "catboost.json"]
)
def test_whoever_the_rank_of_the_leaves_determines_is_found_exactly(name):
    numbers, people, forest = bounds_of(name, seconds=0.0)
    cells = cells_of(forest.stops, people.counts)
    matrix = np.vstack(
        [stops[cells.first] == node for stops in forest.stops for node in np.unique(stops)]
    ).astype(float)
    rank = np.linalg.matrix_rank(matrix)
    each = np.eye(len(cells.sizes))
    grown = [np.linalg.matrix_rank(np.vstack((matrix, one))) for one in each]
    alone = (np.array(grown) == rank) & (cells.sizes == 1)
    assert numbers.is_exact[alone[cells.of]].all()
    assert alone.any() or name == "lightgbm.txt"


def test_thirty_trees_tell_the_number_of_everybody():
    numbers, people, _ = bounds_of("many.json")
    assert numbers.is_exact.all()
    assert numbers.low == pytest.approx(people.numbers.least, abs=1e-9)


def test_a_single_tree_of_catboost_without_a_start_is_turned_back_as_a_step_not_read_as_means():
    document = json.loads((FOLDER / "numbers_catboost_steps.json").read_text())
    document["oblivious_trees"] = document["oblivious_trees"][:1]
    model = open_model(json.dumps(document).encode(), "one.json").model
    table = read_table_bytes(CENTS.read_bytes(), "people.csv")
    people = build_population(model, table, sensitive="y")
    assert isinstance(
        values_of(forest_of(model, people), people, TimeBudget(FOREVER, 0.0)), ValueBounds
    )


def test_a_spread_bounds_everybody_of_a_leaf():
    numbers, people, _ = bounds_of("tree.skops")
    (tree,) = people_of("tree.skops")[0].trees
    for leaf in tree.leaves:
        here = people.leaf == leaf.index
        widest = np.sqrt(leaf.figures.spread[1] * (leaf.records - 1))
        assert (numbers.width[here] <= 2 * widest + 1).all()
    assert (numbers.width < numbers.span).any()


@pytest.mark.parametrize("name", ["boosting.skops", "extra.skops", "scored.json", "spark.zip"])
def test_where_leaves_say_more_than_sums_only_people_of_one_cell_change_places(name):
    numbers, people, forest = bounds_of(name)
    cells = cells_of(forest.stops, people.counts)
    alone = (cells.sizes == 1)[cells.of]
    assert ONLY_SWAPPED in numbers.left
    assert (numbers.reached[alone] == 0).all()


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_what_is_not_turned_back_says_why(name, reason):
    numbers, _, _ = found(name)
    assert isinstance(numbers, Undetermined)
    assert reason in numbers.reason


def changed(line, edit):
    """Return the table with one record edited, or without it."""
    lines = WHOLE.read_text(encoding="utf-8").splitlines()
    lines[line : line + 1] = edit(lines[line])
    return "\n".join(lines).encode()


def one_more(line):
    *rest, value = line.split(",")
    return [",".join([*rest, str(int(value) + 1)])]


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("line", [3, 31])
def test_a_table_with_one_other_number_is_another_table(name, line):
    numbers, _, _ = found(name, changed(line, one_more))
    assert numbers == Undetermined(OTHER_VALUES)


def test_a_table_that_lacks_somebody_is_another_table():
    numbers, _, _ = found("xgboost.json", changed(5, lambda line: []))
    assert isinstance(numbers, Undetermined)
    assert "another table" in numbers.reason


@pytest.mark.parametrize("name", ["lightgbm.txt", "boosting.skops", "hist.skops"])
def test_a_table_that_lacks_somebody_who_is_counted_is_refused(name):
    with pytest.raises(TableError, match="1 of"):
        found(name, changed(5, lambda line: []))


def test_without_anybodys_number_nothing_is_told():
    reason = Undetermined(NO_SENSITIVE)
    numbers, _, _ = found("xgboost.json", numbers=reason)
    assert isinstance(numbers, Undetermined)
    assert reason.reason in numbers.reason


def test_where_all_have_one_number_there_is_nothing_to_find():
    forest, people = people_of("xgboost.json")
    one = np.ones(len(people.counts))
    same = replace(people.numbers, sums=people.counts, least=one, most=one)
    assert values_of(
        forest, replace(people, numbers=same), TimeBudget(FOREVER, 1.0)
    ) == Undetermined(ONE_VALUE)


def test_sampling_weights_and_parts_of_people_are_not_turned_back():
    forest, people = people_of("xgboost.json")
    weighed = replace(people, weight=np.full(len(people.counts), 2.0))
    parts = replace(people, counts=people.counts / 2)
    assert "sampling weights" in values_of(forest, weighed, TimeBudget(FOREVER, 1.0)).reason
    assert "parts of people" in values_of(forest, parts, TimeBudget(FOREVER, 1.0)).reason


def test_settings_that_the_adversary_knows_are_taken_and_strange_ones_refused():
    forest, people = people_of("xgboost.json")
    told = values_of(forest, people, TimeBudget(FOREVER, 0.0), training={"eta": 0.3})
    assert isinstance(told, ValueBounds)
    with pytest.raises(KeyError):
        values_of(forest, people, TimeBudget(FOREVER, 0.0), training={"depth": 3})
