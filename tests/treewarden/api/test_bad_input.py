"""What cannot be audited is refused in words that say what to do, by errors of one family."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treewarden as tw
from tests.kit.rows import rows
from tests.treewarden.api.conftest import pack, people

FRAME = people()
INPUTS = FRAME[["age", "sex"]]
FITTED = DecisionTreeClassifier(random_state=0).fit(INPUTS, FRAME["ill"])
LEVELS = FRAME.set_axis(pd.MultiIndex.from_product([["a"], FRAME.columns]), axis=1)


@rows(
    ("model", "data", "changed", "message"),
    [
        (DecisionTreeClassifier(), FRAME, {}, "fit"),
        (make_pipeline(DecisionTreeClassifier()), FRAME, {}, "fit"),
        (
            make_pipeline(PolynomialFeatures(), DecisionTreeClassifier()).fit(INPUTS, FRAME["ill"]),
            FRAME,
            {},
            "step 'polynomialfeatures': a PolynomialFeatures combines several columns",
        ),
        (
            DecisionTreeClassifier().fit(INPUTS, FRAME[["ill", "sex"]].astype(str)),
            FRAME,
            {},
            "predicts several outputs",
        ),
        (object(), FRAME, {}, "object"),
        (None, FRAME, {}, "NoneType"),
        (b"", FRAME, {}, "the file is empty"),
        ("nowhere.pmml", FRAME, {}, "there is no such file"),
        (FITTED, "nowhere.csv", {}, "there is no such file"),
        (FITTED, (INPUTS, FRAME["ill"][:-1]), {}, "X has 155 records and y 154"),
        (FITTED, pd.concat([FRAME, FRAME[["age"]]], axis=1), {}, "two columns are called 'age'"),
        (FITTED, FRAME.set_index("ill"), {}, r"no column 'ill' \(it is the index; reset_index"),
        (FITTED, FRAME.set_index("age"), {}, r"no column 'age', .* \(it is the index; reset_index"),
        (FITTED, LEVELS, {}, "several levels"),
        (FITTED, FRAME, {"sensitive": "il"}, r"no column 'il' \(did you mean 'ill'\?\)"),
        (FITTED, FRAME, {"qi": ["age", "sexx"]}, "sex"),
        (FITTED, FRAME.assign(age=pd.Timestamp("2020-01-01")), {}, "holds dates or times"),
        (FITTED, FRAME.drop(columns="age"), {}, "no column 'age'"),
        (FITTED, FRAME.iloc[:0], {}, "has no records"),
        (FITTED, FRAME.assign(ill="perhaps"), {}, "has only one value"),
        (FITTED, pl.DataFrame(FRAME).lazy(), {}, "collect"),
        (FITTED, FRAME.to_numpy(), {"sensitive": "ill"}, "no column 'ill'"),
        (FITTED, 5, {}, "int is not a table"),
        (FITTED, (INPUTS, FRAME["ill"], 1), {}, "3 things at once"),
        (FITTED, (INPUTS.to_numpy()[:, :1], FRAME["ill"]), {}, "X has 1 columns"),
        (FITTED, FRAME, {"policy": "standart"}, r"unknown policy \(did you mean 'standard'\?\)"),
        (FITTED, FRAME, {"policy": {"name": "x"}}, "is missing; add it"),
        (FITTED, FRAME, {"qi": ["sex"]}, "uses 'age', which qi= does not name; add: qi=\"age\""),
        (FITTED, FRAME, {"policy": 3}, "give the name of a built-in policy, a path or a mapping"),
        (
            FITTED,
            FRAME,
            {"policy": pack(k_anonymty=3)},
            r"no metric 'k_anonymty' \(did you mean 'k_anonymity'\?\)",
        ),
        (FITTED, FRAME, {"knowledge": {"leaves": 3}}, "unknown key 'leaves'"),
        (FITTED, FRAME, {"knowledge": "nowhere.toml"}, "there is no such file"),
        (FITTED, FRAME, {"knowledge": 3}, "give a path or a mapping"),
        (
            FITTED,
            FRAME,
            {"knowledge": {}, "leaf": "labels"},
            "already contains these settings; leave out leaf",
        ),
        (FITTED, FRAME, {"worlds_budget": -1}, "worlds_budget: -1: give at least 0"),
        (FITTED, FRAME, {"jobs": 0}, "jobs: 0: give at least 1"),
        (FITTED, FRAME, {"jobs": "two"}, "jobs: 'two': give a whole number, not str"),
        (FITTED, FRAME, {"solver": "cplex"}, "solver: 'cplex': choose one of auto"),
        (FITTED, FRAME, {"leef": "labels"}, "leef: is not an argument; did you mean leaf"),
        (FITTED, FRAME, {"polcy": "strict"}, r"polcy: is not an argument; did you mean policy\?"),
        (FITTED, FRAME, {"zzz": 1}, "zzz: is not an argument; use model, data, sensitive"),
        (FITTED, FRAME, {"progress": 5}, "progress: give True or a function that takes one text"),
        (FITTED, FRAME, {"qi": []}, "qi: names no column"),
        (FITTED, FRAME, {"qi": [b"age"]}, "qi: give names of columns, not bytes"),
        (FITTED, FRAME, {"sensitive": ["ill"]}, "sensitive: give the name of a column"),
        (FITTED, FRAME, {"weights": "w", "sampling_weights": "v"}, "for survey weights"),
        (FITTED, FRAME, {"knows": "age,sex"}, r"name each column by itself: \['age', 'sex'\]"),
        (FITTED, FRAME, {"knows": "Register"}, "did you mean the preset 'register'"),
    ],
)
def test_it_is_refused_in_words(model, data, changed, message):
    with pytest.raises(tw.TreewardenError, match=message) as caught:
        tw.audit(model, data, **{"sensitive": "ill", "worlds": False, "jobs": 1, **changed})
    assert re.match(r"[^:]+: \S", str(caught.value))


def test_bins_of_what_a_model_of_numbers_predicts_are_refused():
    grown = DecisionTreeRegressor(max_depth=2).fit(FRAME[["sex"]], FRAME["age"])
    with pytest.raises(tw.KnowledgeError, match="bins are for a secret column, but 'age'"):
        tw.audit(grown, FRAME, sensitive="age", secret="age", bins=[30], jobs=1)


def test_an_argument_stands_for_its_option_at_the_start_of_an_error_too():
    with pytest.raises(tw.KnowledgeError, match="^knows: names 'ill', the sensitive column; leave"):
        tw.audit(FITTED, FRAME, sensitive="ill", knows=["ill"], jobs=1)


def test_a_wrong_argument_is_a_value_error_too():
    with pytest.raises(ValueError, match="worlds_budget"):
        tw.audit(FITTED, FRAME, sensitive="ill", worlds_budget=-1)


def test_a_typo_in_the_target_offers_the_nearest_on_the_command_line_too(tmp_path):
    path = tmp_path / "people.csv"
    FRAME.to_csv(path, index=False)
    with pytest.raises(tw.TableError, match=r"'il' \(did you mean 'ill'\?\)"):
        tw.audit(FITTED, path, sensitive="il")


def test_columns_of_every_kind_are_the_same_numbers():
    plain = tw.audit(FITTED, FRAME, sensitive="ill", worlds=False, jobs=1, levels=False)
    kinds = {
        "nullable": FRAME.convert_dtypes(),
        "sparse": FRAME.assign(sex=pd.arrays.SparseArray(FRAME["sex"])),
        "truth": FRAME.assign(sex=FRAME["sex"] == 1),
        "nullable truth": FRAME.assign(sex=(FRAME["sex"] == 1).astype("boolean")),
        "texts": FRAME.astype(str),
        "unused": FRAME.assign(ill=pd.Categorical(FRAME["ill"], ["no", "yes", "never"])),
        "small": FRAME.astype({"age": np.int8, "sex": np.float32}),
    }
    for kind, frame in kinds.items():
        other = tw.audit(FITTED, frame, sensitive="ill", worlds=False, jobs=1, levels=False)
        assert other.readings.equals(plain.readings), kind


def test_a_repair_that_no_file_can_say_is_refused_with_what_can_be_done():
    grown = GradientBoostingClassifier(n_estimators=2, random_state=0).fit(INPUTS, FRAME["ill"])
    with pytest.raises(
        tw.OutputError, match="PMML cannot be written for a model with .*; audit can judge it"
    ):
        tw.repair(grown, FRAME, sensitive="ill", policy=pack(k_anonymity=20), jobs=1)
