import numpy as np
import pytest

from treewarden.ppdm_models.methods.randomised.generating import ATTRIBUTES, is_in_group_a, people

NAMES = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
THOUSANDS = ("salary", "commission", "hvalue", "loan")
ROWS = {
    "a": (60, 30, 35, 1, 3, 4, 400, 25, 100),
    "b": (60, 30, 35, 4, 3, 4, 400, 25, 100),
    "c": (110, 0, 50, 4, 3, 4, 400, 25, 400),
    "d": (30, 20, 65, 1, 3, 4, 400, 10, 200),
    "e": (30, 20, 65, 0, 3, 4, 400, 10, 200),
}
IN_GROUP_A = {1: "abde", 2: "abcde", 3: "acd", 4: "ab", 5: "abc"}
SHARES = {1: 0.667, 2: 0.385, 3: 0.308, 4: 0.490, 5: 0.683}


@pytest.mark.parametrize("function", IN_GROUP_A)
def test_the_functions_agree_with_rows_worked_out_by_hand(function):
    columns = {
        name: np.array([row[i] for row in ROWS.values()], float)
        * (1_000 if name in THOUSANDS else 1)
        for i, name in enumerate(NAMES)
    }
    found = is_in_group_a(columns, function)
    assert "".join(np.array(list(ROWS))[found]) == IN_GROUP_A[function]


@pytest.mark.parametrize("function", SHARES)
def test_the_share_of_group_a_is_the_known_one(function):
    found = people(200_000, function, np.random.default_rng(1), is_balanced=False)
    assert found.in_group_a.mean() == pytest.approx(SHARES[function], abs=0.005)


@pytest.mark.parametrize("function", SHARES)
@pytest.mark.parametrize("variant", ["paper", "moa"])
def test_half_of_the_people_are_in_group_a_and_the_function_says_so(function, variant):
    found = people(2_001, function, np.random.default_rng(2), variant=variant)
    assert found.in_group_a.sum() == 1_000
    assert (is_in_group_a(found.columns, function, variant) == found.in_group_a).all()


def test_values_lie_in_the_ranges_and_a_full_salary_has_no_commission():
    found = people(20_000, 3, np.random.default_rng(3)).columns
    for each in ATTRIBUTES:
        values = found[each.name]
        assert each.low <= values.min()
        assert values.max() <= each.high
        assert not each.is_whole or (values == values.round()).all()
    assert ((found["salary"] >= 75_000) == (found["commission"] == 0)).all()
    assert found["commission"][found["commission"] > 0].min() >= 10_000


def test_the_forms_of_moa_differ_where_they_are_known_to():
    drawn = people(50_000, 1, np.random.default_rng(4), is_balanced=False).columns
    differing = [
        (is_in_group_a(drawn, f, "moa") != is_in_group_a(drawn, f)).any() for f in range(1, 6)
    ]
    assert differing == [False, False, True, True, True]


def test_nobody_is_asked_for_and_nobody_comes():
    assert len(people(0, 1, np.random.default_rng(5)).in_group_a) == 0


def test_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no function 6; have 1 to 5"):
        people(10, 6, np.random.default_rng(6))
    with pytest.raises(ValueError, match="no variant 'ibm'; use paper, moa"):
        people(10, 1, np.random.default_rng(6), variant="ibm")
    with pytest.raises(ValueError, match="-1 records"):
        people(-1, 1, np.random.default_rng(6))
