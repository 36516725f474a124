"""Published numbers as rows: hand-counted cases, and what the table contradicts."""

import numpy as np
import pytest

from tests.kit.rows import rows
from treewarden.audit.outputs.beside_rows import beside_rows, table_columns
from treewarden.audit.outputs.whole_row import Ends, RowOwner
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.readers import read_output
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

ILL = np.array([1, 1, 0, 1, 0, 0])
COLUMNS = {
    "age": NumericColumn(np.array([30.0, 60.0, 45.0, 40.0, 50.0, 35.0])),
    "sex": CategoricalColumn(np.array([0, 1, 0, 1, 0, 1]), ("F", "M")),
}
PEOPLE = Population(
    ("age", "sex"),
    COLUMNS,
    np.ones(6),
    np.zeros(6, dtype=np.intp),
    np.stack([1 - ILL, ILL], axis=1).astype(float),
    sensitive="ill",
)
TABLES = np.array([[(p >> i) & 1 for i in range(6)] for p in range(64)])


def said(text, people=PEOPLE):
    columns = table_columns(people, ("no", "yes"), "ill")
    return beside_rows([read_output(text.encode(), "out.csv", columns)], people, ("no", "yes"))


def agreeing(text):
    """Return which of all labels of the six fulfil the rows."""
    found = said(text)
    tables = [np.stack([1 - labels, labels], axis=1) for labels in TABLES]
    return {tuple(t[:, 1].tolist()) for t in tables if all(row.holds(t) for row in found.rows)}


def test_a_mean_leaves_those_sets_of_people_who_have_it():
    found = agreeing(',yes\nn,3\n"age, mean",43.3\n')
    assert found == {(1, 1, 0, 1, 0, 0), (0, 0, 1, 0, 1, 1)}


def test_a_deviation_tells_apart_those_with_one_mean():
    assert agreeing(',yes\nn,3\n"age, mean (SD)",43.3 (15.3)\n') == {(1, 1, 0, 1, 0, 0)}


def test_the_deviation_of_a_population_is_read_too():
    assert agreeing(',yes\nn,3\n"age, mean (SD)",43.3 (12.5)\n') == {(1, 1, 0, 1, 0, 0)}


def test_a_share_needs_somebody_it_is_of():
    assert tuple([0] * 6) not in agreeing(',yes\n"sex = F, n (%)",33%\n')


def test_a_number_about_all_people_is_held_against_the_table_and_says_nothing():
    assert said(',Overall,yes\n"age, mean",43.3,43.3\n').rows
    with pytest.raises(
        OutputsError, match=r"the published mean in .* is 43\.4, but the table gives 43\.3"
    ):
        said(',Overall,yes\n"age, mean",43.4,43.3\n')


@rows(
    "text, said_",
    [
        (",yes\nn,4\n", "is 4, but the table gives 3"),
        (',yes\n"age, mean",43.4\n', "is 43.4, but the table gives 43.3333"),
        (',yes\n"age, mean (SD)",43.3 (9.9)\n', "the table gives 15.2753"),
        (',yes\n"age, median",41\n', "is 41, but the table gives 40"),
        (',yes\n"sex = F, n (%)",1 (50)\n', "is 50, but the table gives 33.3333"),
        ("sex,ill,share\nF,yes,0.9\n", "is 0.9, but"),
        (
            "term,estimate\n(Intercept),0.1\nage,0.9\n",
            r"the published coefficients (0.1, 0.9) do not match a regression on this table, for either",
        ),
    ],
)
def test_a_number_that_the_table_contradicts_is_an_error_that_names_both(text, said_):
    with pytest.raises(OutputsError) as error:
        said(text)
    assert said_ in str(error.value)


def test_without_the_truth_and_under_weights_nothing_is_believed():
    unknown = Population(
        ("age",), {"age": COLUMNS["age"]}, np.ones(6), np.zeros(6), Undetermined("no ill")
    )
    with pytest.raises(OutputsError, match="true classes"):
        said(",yes\nn,3\n", unknown)


def test_the_equations_of_a_regression_leave_the_labels_that_it_was_fitted_to():
    model = pytest.importorskip("sklearn.linear_model")
    x = np.column_stack([COLUMNS["age"].numbers, COLUMNS["sex"].codes])
    fit = model.LogisticRegression(C=1.0, tol=1e-12, max_iter=100_000).fit(x, ILL)
    numbers = (*fit.intercept_, *fit.coef_[0])
    terms = zip(("(Intercept)", "age", "sexM"), numbers, strict=True)
    text = (
        "term,estimate\n" + "".join(f"{term},{number:.4f}\n" for term, number in terms) + "(C),1\n"
    )
    assert agreeing(text) == {tuple(ILL.tolist())}


def test_weights_that_are_too_large_move_the_ends_apart_or_together():
    owner = RowOwner(0, 1, np.array([2, 3]), most_weight=10)
    exact = [1 / 3, -50 / 7]
    wide, narrow = (
        owner.row(exact, Ends(low=-15, high=1), is_outward=way) for way in (True, False)
    )
    for a in range(3):
        for b in range(4):
            table = np.array([[2 - a, a], [3 - b, b]])
            holds = -15 <= exact[0] * a + exact[1] * b <= 1
            assert wide.holds(table) or not holds
            assert holds or not narrow.holds(table)


def test_a_row_of_people_is_that_of_weights_of_one_each():
    inside, owner = np.array([True, False, True]), RowOwner(4, 1, np.array([2, 3, 5]))
    counted = owner.count_row(inside, low=1, high=6)
    weighed = owner.row([1, 0, 1], Ends(1, 6))
    assert (counted.entry, counted.klass) == (weighed.entry, weighed.klass) == (4, 1)
    assert counted.weights.tolist() == weighed.weights.tolist() == [1, 0, 1]
    assert (counted.low, counted.high) == (weighed.low, weighed.high) == (1, 6)
    assert owner.count_row(inside, low=1).high is None
