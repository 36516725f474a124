"""Leaves as a table, pictures of audits and repairs, two audits side by side, and errors that name arguments."""

import re

import matplotlib as mpl
import numpy as np
import pytest
import skops.io
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treewarden as tw
from tests.treewarden.api.conftest import people
from treewarden.api.leaf_views import draw_curve
from treewarden.api.result import with_keywords
from treewarden.reports.figures.curve import Curve, CurvePoint

FRAME = people()
QUICK = {"sensitive": "ill", "worlds_budget": 1, "jobs": 1}
mpl.use("Agg")


def audited(leaf, frame=FRAME):
    tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0)
    return tw.audit(
        tree.fit(frame[["age", "sex"]], frame["ill"]), frame, policy="open-data", **QUICK
    )


@pytest.fixture(scope="module")
def small():
    return audited(1)


@pytest.fixture(scope="module")
def large():
    return audited(60)


def test_leaves_are_rows_that_add_up_to_the_people_and_name_what_fails(small):
    leaves = small.leaves
    assert leaves.records.sum() == len(FRAME)
    assert leaves.share.between(0, 1).all()
    assert set(leaves.commonest) <= set(FRAME["ill"].astype(str))
    assert leaves.path.str.contains("age").any()
    assert leaves.fails.str.contains("smallest-leaf").any()
    few = leaves[leaves.fails.str.contains("smallest-leaf")]
    assert (few.records < 20).all()
    assert ((leaves.records < 20) == leaves.fails.str.contains("smallest-leaf")).all()


def test_leaves_of_numbers_have_no_shares():
    tree = DecisionTreeRegressor(max_depth=1).fit(FRAME[["sex"]], FRAME["age"])
    result = tw.audit(tree, FRAME, **{**QUICK, "sensitive": "age"})
    assert result.leaves.share.isna().all()
    assert "smallest first" in result.plot().get_ylabel()


def test_a_picture_shows_every_leaf_and_goes_into_given_axes(small, tmp_path):
    axes = Figure().subplots()
    assert small.plot(axes) is axes
    assert sum(len(dots.get_offsets()) for dots in axes.collections) == len(small.leaves)
    axes.figure.savefig(tmp_path / "leaves.png")
    assert (tmp_path / "leaves.png").stat().st_size > 1000


def test_two_audits_are_compared_check_by_check(small, large):
    changes = small.compare(large).set_index("clause")
    row = changes.loc["smallest-leaf"]
    assert (row.verdict, row.verdict_other, row.change) == ("FAIL", "PASS", "the other is better")
    assert (
        large.compare(small).set_index("clause").loc["smallest-leaf"].change == "the other is worse"
    )
    assert set(small.compare(small).change) == {"same"}
    with pytest.raises(tw.ArgumentError, match="result: give the result of another audit, not str"):
        small.compare("small")


def test_a_repair_shows_what_each_change_costs():
    tree = DecisionTreeClassifier(random_state=0).fit(FRAME[["age", "sex"]], FRAME["ill"])
    axes = tw.repair(tree, FRAME, policy="standard", **QUICK).plot()
    assert axes.get_xlabel().startswith("utility")
    assert {"original", "prune_apt"} <= {text.get_text() for text in axes.texts}


def test_a_curve_joins_what_no_other_point_beats_and_circles_the_choice():
    points = (
        CurvePoint(0, "original", 90, "90 %", 40, "40 %", "FAIL", is_on_curve=True),
        CurvePoint(1, "b", 80, "80 %", 100, "100 %", "PASS", is_on_curve=True, is_chosen=True),
        CurvePoint(2, "c", 70, "70 %", 100, "100 %", "PASS"),
    )
    axes = draw_curve(Curve(points, "accuracy, cross-validated", is_percent=True))
    assert [np.ravel(line.get_xdata()).tolist() for line in axes.lines] == [[80, 90], [80]]
    assert {text.get_text() for text in axes.texts} == {"original", "b", "c"}


def test_points_of_a_curve_that_lie_together_share_a_label_within_the_picture():
    points = [
        CurvePoint(n, f"c{n}", 90 + n / 100, "", 40, "", "FAIL", is_chosen=n == 4) for n in range(6)
    ]
    far = CurvePoint(9, "far", 60, "", 0, "", "FAIL")
    original = CurvePoint(0, "original", 90, "", 40, "", "FAIL")
    axes = draw_curve(Curve((far, *points, original), "accuracy", is_percent=True))
    texts = {text.get_text(): text.get_horizontalalignment() for text in axes.texts}
    assert texts == {
        "far": "left",
        "c0, c1 and 3 more": "right",
        "c4": "right",
        "original": "right",
    }


def test_flags_are_called_by_their_arguments():
    for told, expected in {
        "use --sensitive flu, or add --secret COLUMN": 'use sensitive="flu", or add secret=COLUMN',
        "name the columns with --qi": "name the columns with qi=",
        "add --row-order unknown if": 'add row_order="unknown" if',
        "(a larger --worlds-budget may decide it)": "(a larger worlds_budget= may decide it)",
        "add: --qi age,sex": 'add: qi="age,sex"',
        "such as --claims epsilon=1": 'such as claims="epsilon=1"',
        "--no-table": "data=None",
        "nothing of the kind": "nothing of the kind",
        "“treewarden redact --out a”, or --secret age": '“treewarden redact --out a”, or secret="age"',
        "Run “treewarden repair --to pmml” with the same files": (
            'Call treewarden.repair with the same arguments and to="pmml"'
        ),
    }.items():
        assert with_keywords(told) == expected


FLAGGED = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@pytest.mark.parametrize("form", ["text", "html", "markdown", "json", "compliance"])
def test_reports_written_from_python_name_arguments_in_place_of_flags(small, form, tmp_path):
    file = tmp_path / "flu.skops"
    skops.io.dump(
        DecisionTreeClassifier(max_depth=2).fit(FRAME[["age", "sex"]], FRAME["ill"]), file
    )
    audits = [
        small,
        tw.audit(file, FRAME, **QUICK),
        tw.audit(file, None),
        tw.repair(file, FRAME, to="pmml", **QUICK),
    ]
    for number, audited in enumerate(audits):
        report = audited.save(tmp_path / f"{number}.txt", form=form).read_text()
        said = re.sub(r"<style>.*?</style>|var\(--[\w-]+\)", "", report, flags=re.DOTALL)
        assert not FLAGGED.findall(said)


def test_errors_name_the_argument_to_change():
    tree = DecisionTreeClassifier().fit(FRAME[["age", "sex"]], FRAME["ill"])
    with pytest.raises(tw.TreewardenError) as caught:
        tw.audit(tree, FRAME, sensitive="ill", qi=["sex"])
    assert "qi=" in str(caught.value)
    assert "--" not in str(caught.value)


def test_numbers_are_judged_alike_where_only_labels_or_rates_of_leaves_are_known():
    tree = DecisionTreeRegressor(max_depth=1).fit(FRAME[["sex"]], FRAME["age"])
    audits = [
        tw.audit(tree, FRAME, leaf=leaf, **{**QUICK, "sensitive": "age"})
        for leaf in ("as-published", "labels", "rates")
    ]
    assert len({(str(audit.verdict), audit.readings.high["value_width"]) for audit in audits}) == 1
