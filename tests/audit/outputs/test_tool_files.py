"""Files that R and Python's tools wrote of one table, see tests/data/make_outputs.R and .py: read, and rows formed.

Each file's rows hold for the table; another table breaks them; a changed number contradicts the table.
"""

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.kit.rows import rows
from treewarden.audit.outputs.beside_rows import MOST_UNUSED, beside_rows, table_columns
from treewarden.audit.outputs.conditions import ModelPredictions
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.readers import read_output
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

FOLDER = Path(__file__).parents[2] / "data" / "outputs"
with (FOLDER / "people.csv").open() as _file:
    TABLE = list(csv.DictReader(_file))
ILL = np.array([row["ill"] == "yes" for row in TABLE], dtype=int)
AGE = np.array([float(row["age"]) for row in TABLE])
PEOPLE = Population(
    ("age", "sex", "days"),
    {
        "age": NumericColumn(AGE),
        "sex": CategoricalColumn(np.array([int(row["sex"] == "M") for row in TABLE]), ("F", "M")),
        "days": NumericColumn(np.array([float(row["days"]) for row in TABLE])),
    },
    np.ones(60),
    np.zeros(60, dtype=np.intp),
    np.stack([1 - ILL, ILL], axis=1).astype(float),
    sensitive="ill",
)
CLASSES = ("no", "yes")
OLD = (AGE > 55).astype(np.intp)
SHARES = {
    leaf: tuple(
        Fraction(int((ILL[leaf == OLD] == k).sum()), int((leaf == OLD).sum())) for k in (0, 1)
    )
    for leaf in (0, 1)
}
PREDICTED = ModelPredictions(CLASSES, OLD, OLD, SHARES)
COLUMNS = table_columns(PEOPLE, CLASSES, "ill")


def formed(data, name, **more):
    return beside_rows([read_output(data, name, COLUMNS)], PEOPLE, CLASSES, PREDICTED, **more)


def holds(found, labels, kind="rows"):
    table = np.stack([1 - labels, labels], axis=1)
    return all(row.holds(table) for row in getattr(found, kind))


def file(name):
    data = (FOLDER / name).read_bytes()
    return data.replace(b"event_at", b"event_at = days") if "lifelines_events" in name else data


FILES = (
    "r_glm_broom.csv",
    "r_glm_summary.csv",
    "r_odds_ratios.csv",
    "r_lm_summary.csv",
    "r_coxph_summary.csv",
    "r_coxph_one.csv",
    "r_survfit_broom.csv",
    "r_survfit_times.csv",
    "r_tableby.csv",
    "r_confusion.csv",
    "r_auc.csv",
    "py_tableone.csv",
    "py_tableone_median.csv",
    "py_logit_summary.csv",
    "py_logit_summary2.csv",
    "py_ols_summary.csv",
    "py_lifelines_events.csv",
    "py_confusion.csv",
    "py_calibration.csv",
    "py_means.xlsx",
)


@rows("name", FILES)
def test_the_rows_of_a_file_hold_for_its_table_and_not_for_others(name):
    found = formed(file(name), name, has_totals=True)
    assert found.rows
    assert holds(found, ILL)
    assert holds(found, ILL, "stronger")
    random = np.random.default_rng(0)
    others = [random.permutation(ILL) for _ in range(20)]
    assert not all(holds(found, other) for other in others)


@rows(
    "name, more",
    [
        ("r_glm_broom.csv", ["std.error", "statistic", "p.value"]),
        ("r_odds_ratios.csv", ["std.error", "statistic", "p.value", "conf.low", "conf.high"]),
        ("r_survfit_broom.csv", ["std.error", "conf.high", "conf.low"]),
        ("r_tableby.csv", ["p value"]),
        ("py_tableone.csv", ["P-Value"]),
        ("py_ols_summary.csv", ["std err", "t", "P>|t|", "[0.025", "0.975]"]),
    ],
)
def test_numbers_without_rows_are_named_and_leave_it_open(name, more):
    found = formed(file(name), name)
    assert found.open_entries
    assert [words.split("'")[1].strip() for words in found.unused] == more


def test_confidence_limits_and_the_rest_prove_nothing_by_themselves():
    found = formed(
        b"term,estimate,p.value\n(Intercept),-5.93,0.0\nage,0.110,0.0\nsexM,0.019,0.98\n", "m.csv"
    )
    assert {row.entry for row in found.rows} == {0}


@rows(
    "name, old, new, said",
    [
        (
            "r_glm_broom.csv",
            b"0.109578212371487",
            b"0.119578212371487",
            "do not match a regression on this table, for either class; check that",
        ),
        (
            "r_odds_ratios.csv",
            b"1.116",
            b"1.126",
            "do not match a regression on this table, for either class; check that",
        ),
        (
            "r_lm_summary.csv",
            b"0.0222707355331507",
            b"0.0232707355331507",
            "do not match a regression on this table, for either class",
        ),
        (
            "r_coxph_one.csv",
            b"1.041",
            b"1.061",
            "do not match a regression on this table, for either class; check that",
        ),
        (
            "r_coxph_summary.csv",
            b'"0.0389758031142777",1.03974532474697',
            b"0.06,NA",
            "do not match a regression",
        ),
        ("r_survfit_broom.csv", b"\n45,59,1,", b"\n45,59,0,", "is 0, but"),
        ("r_survfit_broom.csv", b"\n45,59,", b"\n45,58,", "is 58, but"),
        (
            "r_survfit_times.csv",
            b"0.345",
            b"0.455",
            "is 0.455, but the table gives 0.344548",
        ),
        (
            "r_tableby.csv",
            b"36.0 - 75.0",
            b"37.0 - 75.0",
            "is 37.0, but the table gives 36",
        ),
        ("r_confusion.csv", b'"no","no",23', b'"no","no",24', "is 24, but the table gives 23"),
        ("r_auc.csv", b"0.733", b"0.723", "is 0.723, but the table gives 0.733333"),
        ("py_calibration.csv", b"32,9", b"32,8", "is 8, but the table gives 9"),
        (
            "py_calibration.csv",
            b"32,9",
            b"31,9",
            "is 31, but the table gives 32",
        ),
    ],
)
def test_a_number_that_the_table_contradicts_is_an_error_that_names_both(name, old, new, said):
    data = file(name)
    assert old in data
    with pytest.raises(OutputsError) as error:
        formed(data.replace(old, new), name)
    assert said in str(error.value)


def test_odds_ratios_without_their_constant_are_left_open_if_they_fit():
    name = "r_odds_ratios_without_constant.csv"
    found = formed(file(name), name)
    assert not found.rows
    assert "constant" in found.unused[0]
    with pytest.raises(OutputsError, match="do not match a regression on this table"):
        formed(file(name).replace(b"1.116", b"1.216"), name)


@rows("name", ["r_coxph_efron.csv", "py_lifelines_cox.csv"])
def test_events_at_one_time_are_counted_as_breslow_only_where_that_is_said(name):
    data = file(name) if name.startswith("r_") else file(name) + b"(time),days\n"
    found = formed(data, name)
    assert not found.rows
    assert "Breslow" in found.unused[0]


def test_survival_follows_from_events_only_where_these_are_exact():
    lines = file("r_survfit_broom.csv").decode().splitlines()[1:]
    points = [line.split(",") for line in lines]

    def curve(most):
        rows_ = [f"{p[0]},{p[2] if p[2] == '0' else most},{float(p[4]):.3f}" for p in points]
        return "\n".join(["days,n.event,survival", *rows_]).encode()

    exact = [f"{p[0]},{p[2]},{float(p[4]):.3f}" for p in points]
    assert not formed("\n".join(["days,n.event,survival", *exact]).encode(), "c.csv").open_entries
    assert formed(curve("<5"), "c.csv").open_entries


def test_an_area_needs_how_many_people_have_the_class():
    found = formed(file("r_auc.csv"), "r_auc.csv")
    assert not found.rows
    assert "how many people have each class" in found.unused[0]
    size = read_output(b",no,yes\nn,30,30\n", "n.csv", COLUMNS)
    area = read_output(file("r_auc.csv"), "r_auc.csv", COLUMNS)
    both = beside_rows([size, area], PEOPLE, CLASSES, PREDICTED)
    assert not both.unused


@rows(
    "text, is_open",
    [
        ("metric,value\naccuracy,0.733\n", False),
        ("metric,value\nsensitivity,70%\nspecificity,76.7%\n", False),
        ("metric,value\nPPV,0.75\nNPV,0.72\n", False),
        ("metric,value\nBrier score,0.195\n", False),
        ("metric,value\naccuracy,0.733\nF1,0.724\n", True),
        ("metric,value,lower\naccuracy,0.733,0.60\n", True),
    ],
)
def test_other_metrics_are_sums_too_or_left_open(text, is_open):
    found = formed(text.encode(), "metrics.csv")
    assert found.rows
    assert holds(found, ILL)
    assert bool(found.open_entries) is is_open
    assert bool(found.unused) is is_open


def test_of_very_many_numbers_without_rows_the_first_are_named_and_the_others_counted():
    lines = "".join(f"metric {number},0.5\n" for number in range(MOST_UNUSED + 7))
    found = formed(f"metric,value\n{lines}".encode(), "many.csv")
    assert len(found.unused) == MOST_UNUSED + 1
    assert found.unused[-1].startswith("7 more published numbers")
    assert len(found.open_entries) == MOST_UNUSED + 7
