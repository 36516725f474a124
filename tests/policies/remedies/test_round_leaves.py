"""Leaf values with few binary digits: how far they move, and what goes with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.forests import by_sex, forest, stump
from tests.kit.grown_models import FOLDER
from treewarden.audit.inverters._bounds import rounded_by
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.jobs.inputs import opened, read
from treewarden.jobs.redacting import without_leaks
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.remedies.round_leaves import DIGITS, REMEDY, rounded
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.lightgbm._arrays import BESIDE
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import trees_of

VALUES = st.lists(
    st.floats(2.0**-40, 2.0**40).flatmap(lambda x: st.sampled_from([x, -x])), min_size=1
)


@given(VALUES, st.sampled_from(DIGITS))
def test_a_rounded_value_is_half_a_unit_away_at_most_and_the_audit_allows_for_it(values, digits):
    before = np.array(values)
    after = rounded(before, digits)
    assert (np.abs(after - before) <= np.abs(before) * 2.0 ** -(digits + 1)).all()
    room = rounded_by(after)
    assert (np.abs(after - before) <= room).all() or (rounded(before, digits - 1) == after).all()


def proposals(model, table, sensitive):
    people = build_population(model, table, sensitive=sensitive)
    forest_ = forest_of(model, people)
    return list(REMEDY.propose_all(forest_, people, load_pack("standard")))


def test_values_are_rounded_ever_more_and_the_other_numbers_go():
    model = opened(FOLDER / "plain.json").model
    bare, *others = proposals(model, read(FOLDER / "two.csv"), "y")
    assert all(isinstance(each, Proposal) for each in (bare, *others))
    assert len(others) == len(DIGITS)
    for proposal in (bare, *others):
        trees = list(trees_of(proposal.model))
        assert all(node.records is None for tree in trees for node in tree.nodes)
        assert proposal.model.growth is None
    scores = [
        [leaf.score for tree in trees_of(each.model) for leaf in tree.leaves]
        for each in (bare, *others)
    ]
    assert scores[0] == [leaf.score for tree in model.trees for leaf in tree.leaves]
    moved = [np.abs(np.array(each) - scores[0]).max() for each in scores[1:]]
    assert moved == sorted(moved)


def test_trees_that_vote_have_no_such_values():
    table = table_of({"age": [30, 50, 60, 20], "sex": list("FMFM"), "flu": ["no", "yes"] * 2})
    assert proposals(forest(stump(40.0, "no", "yes"), by_sex("yes", "no")), table, "flu") == []


@pytest.mark.parametrize("name", ["dart", "side_by_side"])
def test_what_is_not_turned_back_is_not_rounded_and_that_is_said(name):
    model = opened(FOLDER / f"{name}.json").model
    (refused,) = proposals(model, read(FOLDER / "two.csv"), "y")
    assert isinstance(refused, NoProposal)
    assert "could not be judged" in refused.reason


def test_seeds_and_all_that_gives_digits_back_go_from_a_file_of_lightgbm():
    file = opened(FOLDER / "lightgbm_two.txt")
    _, *others = proposals(file.model, read(FOLDER / "two.csv"), "y")
    for proposal in others:
        data = without_leaks(file.opened.rewrite(proposal.model), "m.txt")
        assert proposal.is_bare
        assert "seeds" in proposal.withheld
        for name in (*BESIDE, "bagging_seed", "[seed:"):
            assert name not in data.decode()
        again = open_model(data, "m.txt").model
        kept = [[leaf.score for leaf in tree.leaves] for tree in again.trees]
        assert kept == [[leaf.score for leaf in tree.leaves] for tree in proposal.model.trees]


@pytest.mark.parametrize("name", ["two", "three", "eight"])
def test_lightgbm_loads_the_file_and_predicts_what_the_audit_reads(name):
    lightgbm = pytest.importorskip("lightgbm", reason="the file is LightGBM's own")
    file, table = opened(FOLDER / f"lightgbm_{name}.txt"), read(FOLDER / f"{name}.csv")
    rows = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1)[:, :-1]
    for proposal in proposals(file.model, table, "y"):
        data = without_leaks(file.opened.rewrite(proposal.model), "m.txt")
        theirs = lightgbm.Booster(model_str=data.decode()).predict(rows)
        model = open_model(data, "m.txt").model
        columns = {f.name: NumericColumn(rows[:, i]) for i, f in enumerate(model.features)}
        ours = predict(model, columns).reshape(len(rows), -1)
        theirs = theirs.reshape(len(rows), -1)
        np.testing.assert_allclose(ours[:, -theirs.shape[1] :], theirs, rtol=1e-12)


def test_predictions_move_little_as_the_start_stays_whole():
    file = opened(FOLDER / "lightgbm_eight.txt")
    table = np.array([[each // 2, each % 2] for each in range(8)], dtype=float)
    columns = {f.name: NumericColumn(table[:, i]) for i, f in enumerate(file.model.features)}
    before = predict(file.model, columns)
    *_, last = proposals(file.model, read(FOLDER / "eight.csv"), "y")
    assert np.abs(predict(last.model, columns) - before).max() < 0.05


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        ("catboost_plain.json", "two.csv", "several steps"),
        ("spark_plain.zip", "two.csv", "does not write"),
        (
            "numbers_lightgbm.txt",
            "numbers_whole.csv",
            "leaf values were not rounded, because the model predicts a number",
        ),
    ],
)
def test_where_nothing_is_rounded_the_reason_is_said_and_what_to_do(name, table, said):
    model = opened(FOLDER / name).model
    (refused,) = proposals(model, read(FOLDER / table), "y")
    assert isinstance(refused, NoProposal)
    assert said in refused.reason
    assert "train the model again" in refused.reason
