"""Rounded leaf values of LightGBM: what they still say holds in every table that gives the same file."""

from itertools import product

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER, case_of, truth
from treewarden.audit.inverters import LeafSums, leaf_sums
from treewarden.audit.inverters._bounds import before_rounding
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import opened, read
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies.round_leaves import DIGITS, REMEDY, rounded
from treewarden.ppdm_models.files.load import open_model

MODELS = [("two", "two"), ("three", "three"), ("eight", "eight")]


def written(name, table, digits):
    """Return the file with leaf values of so many digits, as text."""
    file = opened(FOLDER / f"lightgbm_{name}.txt")
    people = build_population(file.model, read(FOLDER / f"{table}.csv"), sensitive="y")
    _, *made = REMEDY.propose_all(forest_of(file.model, people), people, load_pack("standard"))
    return file.opened.rewrite(made[DIGITS.index(digits)].model).decode()


def read_case(text, table):
    return case_of(open_model(text.encode(), "m.txt"), FOLDER / f"{table}.csv")


@pytest.mark.parametrize(("name", "table"), MODELS)
@pytest.mark.parametrize("digits", DIGITS)
def test_the_true_sums_lie_within_what_rounded_values_say(name, table, digits):
    case, people = read_case(written(name, table, digits), table)
    found = leaf_sums(case)
    assert isinstance(found, LeafSums), found
    assert found.is_cut
    true = truth(case, people, found)
    assert ((found.low <= true) & (true <= found.high)).all()
    if digits == 8:
        assert (found.low == found.high).all()


def test_fewer_digits_say_less():
    wide = []
    for digits in DIGITS:
        found = leaf_sums(read_case(written("two", "two", digits), "two")[0])
        wide.append(int((found.high - found.low).sum()))
    assert wide[0] == 0 < wide[-1]
    assert wide == sorted(wide)


@pytest.mark.parametrize(("name", "table"), MODELS)
def test_the_start_is_found_and_says_how_many_have_each_class(name, table):
    case, people = read_case(written(name, table, 1), table)
    found = leaf_sums(case)
    counts = people.truth.sum(axis=0)
    if name == "two":  # half have each: the start is 0, and is found none the less
        assert counts[0] == counts[1]
    assert found.totals == {output: (counts[output],) * 2 for output in found.totals}
    assert set(found.totals) == set(found.output.tolist())


def grown_again(case, labels, start, rate, ridge):
    """Return the steps of all leaves of all trees, by the formula, if people had these labels."""
    scores, found = np.full(len(labels), start), []
    for stops in case.stops:
        steps = {}
        shares = 1 / (1 + np.exp(-scores))
        for node in np.unique(stops):
            there = stops == node
            pulled = (labels - shares)[there].sum()
            steps[node] = rate * pulled / ((shares * (1 - shares))[there].sum() + ridge)
        found.append(steps)
        scores = scores + np.array([steps[node] for node in stops])
    return found


@pytest.mark.parametrize("digits", DIGITS)
def test_every_table_that_gives_the_same_file_stays_possible(digits):
    case, people = read_case(written("eight", "eight", digits), "eight")
    found = leaf_sums(case)
    ones = int(people.truth[:, 1].sum())
    start = np.log(ones / (8 - ones))
    told = [
        {node: tree.values[node] - (start if index == 0 else 0.0) for node in np.unique(stops)}
        for index, (tree, stops) in enumerate(zip(case.growth.trees, case.stops, strict=True))
    ]
    fitting = 0
    for world in product([0.0, 1.0], repeat=8):
        labels = np.array(world)
        if labels.sum() != ones:
            continue
        steps = grown_again(case, labels, start, 0.5, 1.0)
        same = all(
            abs(rounded(np.array([one[node]]), digits)[0] - said[node]) < 1e-9
            for one, said in zip(steps, told, strict=True)
            for node in said
        )
        if not same:
            continue
        fitting += 1
        sums = [
            labels[case.stops[tree] == node].sum()
            for tree, node in zip(found.trees, found.nodes, strict=True)
        ]
        assert (found.low <= sums).all()
        assert (found.high >= sums).all()
    assert fitting


KEPT = {
    "leaf_weight": "leaf_weight=2 2 2",
    "split_gain": "split_gain=1.5 0.5",
    "internal_value": "internal_value=0 0.25",
}


@pytest.mark.parametrize("kept", KEPT)
def test_digits_are_not_believed_gone_while_other_numbers_give_them_back(kept):
    text = written("eight", "eight", 2)
    assert kept not in text
    found = leaf_sums(
        read_case(text.replace("\nis_linear", f"\n{KEPT[kept]}\nis_linear", 1), "eight")[0]
    )
    assert isinstance(found, Undetermined)
    assert "remove them too" in found.reason


def test_importances_that_are_sums_of_gains_give_digits_back_too():
    text = written("eight", "eight", 2)
    original = (FOLDER / "lightgbm_eight.txt").read_text()
    own = original[original.index("feature_importances:") :].split("\n\n")[0]
    often = text.replace("feature_importances:", own)
    assert isinstance(leaf_sums(read_case(often, "eight")[0]), LeafSums)
    gains = text.replace("feature_importances:", "feature_importances:\nx0=17")
    found = leaf_sums(read_case(gains, "eight")[0])
    assert isinstance(found, Undetermined)
    assert "importances" in found.reason


def test_a_start_that_was_rounded_with_the_leaves_is_not_guessed():
    lines = written("eight", "eight", 2).split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("leaf_value="))
    values = np.array(lines[first].partition("=")[2].split(), dtype=float)
    lines[first] = "leaf_value=" + " ".join(map(repr, rounded(values, 2).tolist()))
    found = leaf_sums(read_case("\n".join(lines), "eight")[0])
    assert isinstance(found, Undetermined)
    assert "it is not known" in found.reason


@pytest.mark.parametrize("number", [1.0, -1.0, 0.25, -4.0])
def test_below_a_power_of_two_numbers_lie_closer(number):
    before = before_rounding(np.array([number, 1.5]))  # one digit after the leading one
    ends = sorted(np.abs([before.low[0], before.high[0]]))
    assert ends == [0.875 * abs(number), 1.25 * abs(number)]
    inside = np.linspace(*ends, 50)[1:-1]
    assert (rounded(inside, 1) == abs(number)).all()
    assert rounded(np.array([ends[0] - 1e-9, ends[1] + 1e-9]), 1)[0] != abs(number)
