"""What a file holds beside its trees is no part of the mechanism: statistics void a claim, doubts leave it open."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.judges.drawn_labels import claim, labelled_tree, people_in
from tests.kit import places
from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.claims.leaf_labels import bounds_are_of_table
from treewarden.audit.claims.result import EFFECTS, ClaimEffect, ClaimOutcome, judge_findings
from treewarden.audit.population.forest import forest_of
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.learn import private_growth
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.privacy_claim import read_claim
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

LEAVES, LABELS = [[30, 25], [24, 24], [40, 20]], [0, 1, 0]
POLICY = {
    "name": "epsilon",
    "version": "1",
    "title": "epsilon",
    "check": [{"id": "epsilon", "measure": "epsilon", "rule": "at_most", "limit": 1}],
}
OUTCOMES = {
    ClaimEffect.VOIDS: ClaimOutcome.VOID,
    ClaimEffect.DOUBTS: ClaimOutcome.UNDETERMINED,
    ClaimEffect.HARMLESS: ClaimOutcome.NOT_REFUTED,
}


def verdict(said, leaks=()):
    people = people_in(LEAVES)
    forest = forest_of(labelled_tree(LEAVES, LABELS, said), people)
    return judge_findings(judge_claim(forest, people, tuple(leaks)))


def test_every_kind_of_side_channel_has_its_effect():
    assert list(EFFECTS) == list(LeakKind)


@pytest.mark.parametrize("kind", LeakKind)
def test_the_reason_names_what_stands_beside_the_trees(kind):
    found = verdict(claim(0.5), [Leak(kind, "line 7", "some numbers")])
    assert found.outcome is OUTCOMES[EFFECTS[kind]]
    if EFFECTS[kind] is not ClaimEffect.HARMLESS and kind is not LeakKind.REPLAY:
        assert "some numbers (line 7)" in found.reason


@pytest.mark.parametrize("kind", LeakKind)
def test_what_may_be_there_and_what_is_not_read_opens_a_claim_and_voids_none(kind):
    found = verdict(claim(0.5), [Leak(kind, "", "some numbers", is_possible=True)])
    is_open = EFFECTS[kind] is not ClaimEffect.HARMLESS
    expected = ClaimOutcome.UNDETERMINED if is_open else ClaimOutcome.NOT_REFUTED
    assert found.outcome is expected


@pytest.mark.parametrize("splits", ["independent", "private, label_epsilon=0.2"])
@pytest.mark.parametrize("bounds", ["", ", bounds=unknown"])
def test_bounds_that_nobody_speaks_of_keep_a_claim_open(splits, bounds):
    words = f"epsilon=0.5, mechanism=permute-and-flip-monotonic, splits={splits}{bounds}"
    found = verdict(read_claim(words, "a test"))
    assert found.outcome is ClaimOutcome.UNDETERMINED
    assert "nothing says where its bounds and classes come from" in found.reason
    assert "bounds=public" in found.reason


STATISTICS = {
    '<ModelStats><UnivariateStats field="place"><NumericInfo mean="3.25"/></UnivariateStats></ModelStats>': (
        "void",
        "mean of 'place'",
    ),
    (
        '<ModelStats><UnivariateStats field="illness"><DiscrStats><Array type="string" n="2">c0 c1</Array>'
        '<Array type="int" n="2">94 69</Array></DiscrStats></UnivariateStats></ModelStats>'
    ): ("void", "how often each value of 'illness' occurs"),
}


def people():
    rows = [
        {"place": f"p{leaf}", "illness": f"c{code}"}
        for leaf, counts in enumerate(LEAVES)
        for code, count in enumerate(counts)
        for _ in range(count)
    ]
    return pd.DataFrame(rows).assign(age=40)


def written(tmp_path, change):
    file = tmp_path / "model.pmml"
    tree = labelled_tree(LEAVES, LABELS, claim(0.5))
    file.write_text(change(writers()["pmml"].write(tree).decode()))
    return tw.audit(file, people(), policy=POLICY).to_dict()["claims"][0]


@pytest.mark.parametrize("statistics", STATISTICS)
def test_statistics_in_a_pmml_file_void_its_claim(statistics, tmp_path):
    outcome, said = STATISTICS[statistics]
    found = written(
        tmp_path, lambda text: text.replace("</MiningSchema>", "</MiningSchema>" + statistics, 1)
    )
    assert (found["outcome"], said in found["reason"]) == (outcome, True)
    assert written(tmp_path, str)["outcome"] == "not refuted"


def with_age(field, of_schema=""):
    """Return what adds a field to a file, and says something of it in its mining schema."""
    definition = f'<DataField name="age" optype="continuous" dataType="double">{field}</DataField>'

    def changed(text):
        text = text.replace(' numberOfFields="2"', "")
        text = text.replace("</DataDictionary>", f"{definition}</DataDictionary>")
        return text.replace(
            "</MiningSchema>", f'<MiningField name="age" {of_schema}/></MiningSchema>'
        )

    return changed


def test_the_range_of_a_column_may_be_that_of_the_table(tmp_path):
    ends = '<Interval closure="closedClosed" leftMargin="17.2" rightMargin="88.9"/>'
    found = written(tmp_path, with_age(ends))
    assert found["outcome"] == "undetermined"
    assert "the range of 'age'" in found["reason"]


def test_a_value_for_missing_ones_voids_a_claim(tmp_path):
    mean = 'missingValueReplacement="47.31" missingValueTreatment="asMean"'
    found = written(tmp_path, with_age("", mean))
    assert found["outcome"] == "void"
    assert "the mean of 'age'" in found["reason"]


def fitted_steps():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    impute = pytest.importorskip("sklearn.impute")
    return {
        "scaler": preprocessing.StandardScaler(),
        "range": preprocessing.MinMaxScaler(),
        "bins": preprocessing.KBinsDiscretizer(5, encode="ordinal"),
        "median": impute.SimpleImputer(),
        "constant": impute.SimpleImputer(strategy="constant", fill_value=0.0),
    }


def numbers():
    random = np.random.default_rng(3)
    table = pd.DataFrame({"age": random.integers(0, 100, 600).astype(float)})
    table["ill"] = (random.random(600) < 0.5).astype(int)
    return table


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step", ["scaler", "range", "bins", "median", "constant"])
@pytest.mark.parametrize("form", ["memory", "pmml"])
def test_steps_that_were_fitted_on_the_table_void_the_claim_of_the_tree_behind_them(
    step, form, tmp_path
):
    pipeline = pytest.importorskip("sklearn.pipeline")
    learn = pytest.importorskip("treewarden.learn")
    table = numbers()
    tree = learn.PrivateTreeClassifier(1.0, bounds=(-3, 100), classes=[0, 1], max_depth=1)
    model = pipeline.make_pipeline(fitted_steps()[step], tree).fit(table[["age"]], table.ill)
    if form == "pmml":
        file = tmp_path / "model.pmml"

        opened = open_fitted(model, target="ill", names=["age"])
        file.write_bytes(writers()["pmml"].write(opened.model))
        model = file
    found = tw.audit(model, table, sensitive="ill", policy=POLICY).to_dict()["claims"][0]
    if step == "constant":
        assert found["outcome"] in ("not refuted", "undetermined")
        assert "bounds=public" in found["words"]
    else:
        assert found["outcome"] == "void", found
        assert "bounds=table" in found["words"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["GridSearchCV", "RandomizedSearchCV"])
@pytest.mark.parametrize("is_piped", [False, True])
def test_a_search_for_settings_by_the_table_voids_the_claim_of_the_tree_that_it_found(
    kind, is_piped
):
    selection = pytest.importorskip("sklearn.model_selection")
    pipeline = pytest.importorskip("sklearn.pipeline")
    learn = pytest.importorskip("treewarden.learn")
    table = numbers()
    tree = learn.PrivateTreeClassifier(1.0, bounds=(-3, 100), classes=[0, 1])
    if is_piped:
        tree = pipeline.Pipeline([("tree", tree)])
    settings = {"tree__max_depth" if is_piped else "max_depth": [1, 2]}
    more = {"n_iter": 2} if kind == "RandomizedSearchCV" else {}
    search = getattr(selection, kind)(tree, settings, cv=2, **more)
    search.fit(table[["age"]], table.ill)
    found = tw.audit(search, table, sensitive="ill", policy=POLICY).to_dict()["claims"][0]
    assert found["outcome"] == "void"
    assert kind in found["reason"]
    alone = tw.audit(search.best_estimator_, table, sensitive="ill", policy=POLICY)
    assert alone.to_dict()["claims"][0]["outcome"] == "not refuted"


KEPT = {
    "train_X_": lambda table: table.to_numpy(),
    "mean_": lambda table: float(table.age.mean()),
    "counts_": lambda table: [int((table.ill == code).sum()) for code in (0, 1)],
    "seed_": lambda table: 1234,
    "_rng": lambda table: [1234],
}


def with_kept(place, name, table):
    """Return a private tree behind a step, with something of the table in it, the step or the pipeline."""
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    learn = pytest.importorskip("treewarden.learn")
    tree = learn.PrivateTreeClassifier(1.0, bounds=(-3, 101), classes=[0, 1], max_depth=1)
    if place == "tree alone":
        model = holder = tree.fit(table[["age"]], table.ill)
    else:
        step = preprocessing.FunctionTransformer()
        model = pipeline.make_pipeline(step, tree).fit(table[["age"]], table.ill)
        holder = {"tree": tree, "step": step, "pipeline": model}[place]
        if name == "mean_" and place == "step":
            step.kw_args = {"mean": KEPT[name](table)}
            return model
    if name:
        setattr(holder, name, KEPT[name](table))
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["", *KEPT])
@pytest.mark.parametrize("place", ["tree alone", "tree", "step", "pipeline"])
@pytest.mark.parametrize("form", ["memory", "skops"])
def test_attributes_that_no_learner_has_open_the_claim_of_a_private_tree(
    place, name, form, tmp_path
):
    table = numbers()
    model = with_kept(place, name, table)
    if form == "skops":
        file = tmp_path / "model.skops"
        pytest.importorskip("skops.io").dump(model, file)
        model = file
    result = tw.audit(model, table, sensitive="ill", policy=POLICY).to_dict()
    found = result["claims"][0]
    assert found["outcome"] == ("undetermined" if name else "not refuted"), found["reason"]
    assert str(result["verdict"]) == ("UNDETERMINED" if name else "PASS")
    if name:
        assert ("kw_args" if (place, name) == ("step", "mean_") else name) in found["reason"]


VALUES = {
    "max_depth": 1322,
    "bins": 1600,
    "max_features_": 1322,
    "n_outputs_": 1322,
    "n_classes_": 1322,
    "spent_": 0.93,
    "label_share": 7.0,
    "claim_": "epsilon=0.9, unit=record, mechanism=permute-and-flip-monotonic, label_epsilon=0.1, "
    "splits=private, bounds=public",
    "epsilon": 7.0,
    "classes": [0, 1, "94 of 600 are ill"],
    "bounds": {"age": (-3, 101), "note": (94, 506)},
}


def grown(table):
    learn = pytest.importorskip("treewarden.learn")
    tree = learn.PrivateTreeClassifier(1.0, bounds={"age": (-3, 101)}, classes=[0, 1], max_depth=1)
    return tree.fit(table[["age"]], table.ill)


def outcome_of(model, table):
    return tw.audit(model, table, sensitive="ill", policy=POLICY).to_dict()["claims"][0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_the_learner_does_not_give_opens_the_claim(name):
    table = numbers()
    tree = grown(table)
    assert outcome_of(tree, table)["outcome"] == "not refuted"
    setattr(tree, name, VALUES[name])
    found = outcome_of(tree, table)
    assert found["outcome"] == "undetermined"
    if name in (
        "epsilon",
        "label_share",
        "claim_",
        "max_depth",
    ):  # its claim is not what its settings make it
        assert "the mechanism that drew the labels is not known" in found["reason"]
    else:
        said = f"a value of '{name}' that a PrivateTreeClassifier does not give it"
        assert said in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bounds", "classes"])
def test_a_claim_of_public_bounds_whose_settings_have_none_is_void(name):
    table = numbers()
    tree = grown(table)
    setattr(tree, name, None)
    assert outcome_of(tree, table)["outcome"] == "void"


@pytest.mark.filterwarnings("ignore")
def test_thresholds_that_the_learner_cannot_draw_leave_open_how_splits_were_chosen():
    table = numbers()
    tree = grown(table)
    state = tree.tree_.__getstate__()
    nodes = state["nodes"].copy()
    nodes["threshold"][0] = table.age.median() + 0.123
    tree.tree_.__setstate__({**state, "nodes": nodes})
    found = outcome_of(tree, table)
    assert found["outcome"] == "undetermined"
    assert "the mechanism that chose the splits is not known" in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_seed_that_decides_nothing_voids_no_claim(bootstrap, tmp_path):
    ensemble = pytest.importorskip("sklearn.ensemble")
    learn = pytest.importorskip("treewarden.learn")
    table = numbers()
    tree = learn.PrivateTreeClassifier(0.5, bounds=(-3, 101), classes=[0, 1], max_depth=1)
    bag = ensemble.BaggingClassifier(tree, n_estimators=2, bootstrap=bootstrap)
    found = outcome_of(bag.fit(table[["age"]], table.ill), table)
    assert found["outcome"] == ("void" if bootstrap else "undetermined")
    file = tmp_path / "bag.pmml"
    file.write_bytes(writers()["pmml"].write(open_fitted(bag, target="ill", names=["age"]).model))
    found = tw.audit(file, table, sensitive="ill", policy=POLICY, claims="bounds=public, trees=all")
    outcome = found.to_dict()["claims"][0]["outcome"]
    assert (outcome == "void") is bootstrap


ARRAYS = {
    "counts in leaves": ("values", slice(1, None), 30, "void"),
    "counts at the root": ("values", 0, 300, "void"),
    "impurity": ("impurity", 0, 0.49, "void"),
    "n_node_samples": ("n_node_samples", 0, 600, "void"),
    "weighted_n_node_samples": ("weighted_n_node_samples", 0, 600, "void"),
    "missing_go_to_left": ("missing_go_to_left", 0, 1, "void"),
    "thresholds of leaves": ("threshold", slice(1, None), 47.31, "undetermined"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", ARRAYS)
def test_numbers_of_nodes_that_are_neither_tests_nor_labels_are_not_the_mechanism_s(what):
    field, at, number, outcome = ARRAYS[what]
    table = numbers()
    tree = grown(table)
    state = tree.tree_.__getstate__()
    nodes, values = state["nodes"].copy(), state["values"].copy()
    assert len(nodes) == 3
    if field == "values":
        values[at] += number
    else:
        nodes[field][at] = number
    tree.tree_.__setstate__({**state, "nodes": nodes, "values": values})
    found = outcome_of(tree, table)
    assert found["outcome"] == outcome
    assert "tree_" in found["reason"]


WRITTEN = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "is_json": True}
OF_DIFFPRIVLIB = {
    "note": '"1322 of 3000 are ill"',
    "class_counts_": "1322",
    "ccp_alpha": "0.4407",
    "criterion": '"1322 of 3000"',
    "min_samples_leaf": "1322",
    "class_weight": '"1322"',
    "max_depth": "1322",
    "accountant": '"1322"',
    "epsilon": "0.5",  # of which its accountant knows nothing
}


@pytest.mark.parametrize("name", OF_DIFFPRIVLIB)
def test_what_diffprivlib_does_not_keep_opens_the_claim_of_its_tree(name, tmp_path):
    table = pd.read_csv(places.DATA / "private" / "people.csv")

    def reason_of(entries):
        file = tmp_path / "model.skops"
        with_attributes(places.DATA / "private" / "tree.skops", file, entries)
        found = tw.audit(file, table, sensitive="y", policy=POLICY, claims="bounds=public")
        return found.to_dict()["claims"][0]["reason"]

    assert "does not" not in reason_of({"random_state": "null"})
    said = reason_of({"random_state": "null", name: OF_DIFFPRIVLIB[name]})
    assert f"'{'accountant' if name == 'epsilon' else name}'" in said
    assert "DecisionTreeClassifier does not" in said


def with_attributes(source, file, entries):
    """Write a skops file anew with attributes, in JSON, of its estimator."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(file, "w") as target:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "schema.json":
                schema = json.loads(data)
                for each, text in entries.items():
                    schema["content"]["content"][each] = {**WRITTEN, "content": text}
                data = json.dumps(schema).encode()
            target.writestr(name, data)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("levels", [(), (1,), (2,)])
def test_a_tree_that_stopped_early_tells_of_its_records(levels, monkeypatch):
    """A leaf above the last level says, without noise, that few records were left, or one class of them."""
    learn = pytest.importorskip("treewarden.learn")
    grow = private_growth._Grower.grow

    def early(self, records, depth):
        if depth in levels and len(records) < 500:
            object.__setattr__(self, "budget", replace(self.budget, levels=depth))
        return grow(self, records, depth)

    monkeypatch.setattr(private_growth._Grower, "grow", early)
    table = numbers()
    tree = learn.PrivateTreeClassifier(1.0, bounds=(-3, 101), classes=[0, 1], max_depth=3)
    found = outcome_of(tree.fit(table[["age"]], table.ill), table)
    assert found["outcome"] == ("undetermined" if levels else "not refuted")
    assert ("the mechanism that drew the labels is not known" in found["reason"]) is bool(levels)


def behind_a_step(table, bounds, folder):
    """Return a skops file of a private tree behind a step that passes its columns on."""
    learn = pytest.importorskip("treewarden.learn")
    pipelines = pytest.importorskip("sklearn.pipeline")
    compose = pytest.importorskip("sklearn.compose")
    skops = pytest.importorskip("skops.io")
    step = compose.make_column_transformer(("passthrough", ["age"]))
    tree = learn.PrivateTreeClassifier(1.0, bounds=bounds, classes=[0, 1], max_depth=1)
    pipeline = pipelines.make_pipeline(step, tree).fit(table[["age"]], table.ill)
    file = folder / "tree.skops"
    file.write_bytes(skops.dumps(pipeline))
    return pipeline, file


@pytest.mark.filterwarnings("ignore")
def test_bounds_behind_a_step_that_passes_columns_on_are_held_against_the_table(tmp_path):
    table = numbers()
    ends = [table.age.min()], [table.age.max()]
    _, file = behind_a_step(table, ends, tmp_path)
    assert "look taken from this table" in outcome_of(file, table)["reason"]
    _, file = behind_a_step(table, ([-3], [101]), tmp_path)
    assert outcome_of(file, table)["outcome"] == "not refuted"


@pytest.mark.filterwarnings("ignore")
def test_what_steps_hold_in_memory_is_judged_in_the_file_alone(tmp_path):
    table = numbers()
    pipeline, _ = behind_a_step(table, ([-3], [101]), tmp_path)
    found = outcome_of(pipeline, table)
    assert found["outcome"] == "undetermined"
    assert "save the pipeline with skops" in found["reason"]


def bounded(numbers, bounds, words="bounds=public"):
    """Return what is found of a claim of one column's bounds, of a tree that draws its labels from coins."""
    people = people_in(LEAVES)
    column = NumericColumn(np.asarray(numbers, dtype=np.float64)[: len(people.counts)])
    people = replace(people, columns={**people.columns, "income": column})
    claimed = read_claim(
        f"epsilon=0.5, mechanism=permute-and-flip-monotonic, splits=independent, {words}", "a test"
    )
    return bounds_are_of_table(people, replace(claimed, bounds=(("income", *bounds),)))


@pytest.mark.parametrize(
    ("ends", "bounds", "is_told"),
    [
        ((0, 83211.37), (0, 83211.37), True),  # the pay of one person
        ((18, 9999.7), (0, 9999.7), True),
        ((18, 9999.7), (0, float(np.float32(9999.7))), True),
        ((18, 9999.7), (0, float(np.float16(9999.7))), False),  # 10,000, as anybody would say
        ((18, 9999.7), (0, 20000), False),
        ((0, 0), (0, 0), True),  # nobody has it
        ((18, 9999.7), (0, 10123.4567), True),  # more digits than anybody writes
        ((1731, 98765), (1700, 98766), True),  # the extreme, and one more
        ((1731, 98765), (0, 99000), False),
        ((0, 1), (0, 1), False),
        ((1, 5), (1, 5), False),
    ],
)
def test_bounds_are_of_the_table_where_an_end_is_one_that_nobody_would_choose(
    ends, bounds, is_told
):
    numbers = [ends[place % 2] for place in range(1000)]
    assert bounded(numbers, bounds) is is_told


@pytest.mark.parametrize(
    ("bounds", "numbers", "is_told"),
    [
        ((0, 255), [*range(255)], False),
        ((1, 365), [*range(3, 366)], False),
        ((1900, 2023), [1931, *range(1940, 2023)], False),
        ((-np.pi, np.pi), np.linspace(-3, 3, 300), False),
        ((float(np.float32(0.1)), float(np.float32(0.9))), np.linspace(0.15, 0.85, 300), False),
        ((1577836800, 1609459200), np.linspace(1577840000, 1609450000, 300).round(), False),
        ((0, 365), [1, 2, 3, 365], True),  # one person's value, far from the others
        ((0, 83211.37), [1000.5, 2000.25, 83211.37], True),
        ((-np.inf, np.inf), [1000.5, 2000.25, 83211.37], False),
        ((np.nan, 83211.37), [1000.5, 2000.25, 83211.37], True),
    ],
)
def test_bounds_that_everybody_knows_are_not_of_the_table(bounds, numbers, is_told):
    people = people_in([[1, 0]] * len(numbers))
    column = NumericColumn(np.asarray(numbers, dtype=np.float64))
    people = replace(people, columns={**people.columns, "other": column})
    claimed = read_claim("epsilon=0.5, bounds=public", "a test")
    assert bounds_are_of_table(people, replace(claimed, bounds=(("other", *bounds),))) is is_told


def are_told(numbers, bounds):
    """Return what is found of the bounds of several columns with these numbers."""
    people = people_in([[1, 0]] * len(numbers[0]))
    columns = {f"c{place}": NumericColumn(np.asarray(each)) for place, each in enumerate(numbers)}
    people = replace(people, columns={**people.columns, **columns})
    ends = tuple((name, *pair) for name, pair in zip(columns, bounds, strict=True))
    claimed = replace(read_claim("epsilon=0.5, bounds=public", "a test"), bounds=ends)
    return bounds_are_of_table(people, claimed)


@pytest.mark.parametrize(
    ("most", "bound", "is_told"),
    [
        (20153.7, 20163.7, True),  # 10 more
        (20153.7, 20155.7, True),
        (20153.7, 20160, True),  # rounded to tens
        (20153.7, 20200, False),  # of three digits, as anybody may say
        (20153.7, 21000, False),
        (1435, 1440, False),  # the minutes of a day
        (8751, 8760, False),
        (16777.3, 17783.2, False),
    ],
)
def test_bounds_of_many_digits_that_are_moved_or_rounded_extremes_are_of_the_table(
    most, bound, is_told
):
    assert are_told([np.linspace(17, most, 300)], [(0, bound)]) is is_told


EXTREMES = np.array([[18, 89], [0, 8], [6, 5731]], dtype=float)
MOVED = {
    "by 10": (EXTREMES + [-10, 10], True),
    "by 2": (EXTREMES + [-2, 2], True),
    "by a twentieth of the range": (
        EXTREMES + np.diff(EXTREMES, axis=1) * [-0.05, 0.05],
        True,
    ),
    "by a tenth of each": (EXTREMES * [0.9, 1.1], True),
    "to tens": ([[10, 90], [0, 10], [0, 5800]], False),  # as anybody may say
    "by different numbers": ([[16, 91], [-2, 10], [5, 6000]], False),
    "not at all": (EXTREMES, True),
    "one of them": ([[8, 99], [0, 10], [0, 10000]], False),
}


@pytest.mark.parametrize("how", MOVED)
def test_bounds_that_are_all_extremes_moved_alike_are_of_the_table(how):
    bounds, is_told = MOVED[how]
    numbers = [np.linspace(*ends, 400) for ends in EXTREMES]
    assert are_told(numbers, np.asarray(bounds, dtype=float).tolist()) is is_told


def test_columns_of_one_scale_may_have_bounds_that_are_as_far_from_their_extremes():
    numbers = [np.arange(1.0, 10).repeat(10)] * 2
    assert not are_told(numbers, [(0.0, 10.0)] * 2)


def test_a_bound_that_is_the_value_of_one_of_many_records_is_of_the_table():
    many = np.linspace(1000, 90000, 400).round()
    people = people_in([[1, 0]] * 400)
    column = NumericColumn(many)
    people = replace(people, columns={**people.columns, "income": column})
    claimed = read_claim("epsilon=0.5, bounds=public", "a test")
    for bound, is_told in ((float(many[390]), True), (float(many[390]) - 60, False)):
        bounds = (("income", 0.0, bound),)
        assert bounds_are_of_table(people, replace(claimed, bounds=bounds)) is is_told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'min-leaf-records" value="1"',
            'min-leaf-records" value="18"',
            "smallest number of records in a leaf",
        ),
        ('defaultChild="{right}"', 'defaultChild="{left}"', "the side that missing values take"),
        (
            "</TreeModel>",
            '<Output><OutputField name="o" feature="probability" value="94"/></Output></TreeModel>',
            "a value of OutputField that is no class",
        ),
    ],
)
def test_numbers_of_nodes_that_no_draw_covers_leave_a_claim_open(old, new, said, tmp_path):
    learn = pytest.importorskip("treewarden.learn")
    table = numbers()
    tree = learn.PrivateTreeClassifier(1.0, bounds=(-3, 101), classes=[0, 1], max_depth=2)
    opened = open_fitted(tree.fit(table[["age"]], table.ill), target="ill", names=["age"])
    text = writers()["pmml"].write(opened.model).decode()
    root = opened.model.nodes[0]
    left, right = (node.name for node in opened.model.nodes if node.parent == 0)
    assert root.default_child is not None
    file = tmp_path / "tree.pmml"
    outcomes = []
    for change in (("", ""), (old, new)):
        before, after = (part.format(left=left, right=right) for part in change)
        assert before in text
        file.write_text(text.replace(before, after, 1) if before else text)
        outcomes.append(outcome_of(file, table))
    assert [found["outcome"] for found in outcomes] == ["not refuted", "undetermined"]
    assert said in outcomes[1]["reason"]


# Steps before a private tree that fit nothing.


def stepped():
    random = np.random.default_rng(5)
    table = pd.DataFrame(
        {"age": random.integers(18, 90, 600), "income": random.gamma(2, 2000, 600).round(1)}
    )
    return table.assign(ill=(random.random(600) < 0.3 + 0.4 * (table.age > 50)).astype(int))


def behind(step, bounds, tmp_path):
    """Return what is found of a private tree behind a step, in a skops file."""
    pipeline = pytest.importorskip("sklearn.pipeline")
    learn = pytest.importorskip("treewarden.learn")
    table, file = stepped(), tmp_path / "model.skops"
    tree = learn.PrivateTreeClassifier(1.0, bounds=bounds, classes=[0, 1], max_depth=2)
    model = pipeline.make_pipeline(step, tree).fit(table[["age", "income"]], table.ill)
    pytest.importorskip("skops.io").dump(model, file)
    return outcome_of(file, table)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        (((0, 0), (120, 50_000)), "not refuted"),  # public, and seen through the function
        (((0, 0), (None, None)), "undetermined"),  # the extremes of the table, seen through it
    ],
)
@pytest.mark.parametrize("name", ["log1p", "sqrt"])
def test_a_function_of_each_number_reads_no_bounds_and_hides_none(name, ends, outcome, tmp_path):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    table, function = stepped(), getattr(np, name)
    high = [end or table[column].max() for end, column in zip(ends[1], table, strict=False)]
    step = preprocessing.FunctionTransformer(function)
    found = behind(step, (function(ends[0]), function(high)), tmp_path)
    assert found["outcome"] == outcome, found["reason"]
    assert ("look taken from this table" in found["reason"]) is (outcome == "undetermined")


@pytest.mark.filterwarnings("ignore")
def test_ends_that_are_short_behind_a_function_are_anybody_s(tmp_path):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    step = preprocessing.FunctionTransformer(np.log1p)
    assert behind(step, ((0, 0), (4.8, 11)), tmp_path)["outcome"] == "not refuted"


@pytest.mark.filterwarnings("ignore")
def test_a_function_that_is_not_followed_leaves_the_claim_open_and_refutes_nothing(tmp_path):
    """Its columns are others than the table's of the same name, so nobody knows who is in which leaf."""
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    found = behind(preprocessing.FunctionTransformer(np.round), ((0, 0), (120, 50_000)), tmp_path)
    assert found["outcome"] == "undetermined"
    assert "train without the step" in found["reason"]
    assert "bounds=public" in found["words"]


@pytest.mark.filterwarnings("ignore")
def test_scalers_that_fit_nothing_read_no_bounds(tmp_path):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    bounds = ((0, 0), (120, 50_000))
    nothing = preprocessing.RobustScaler(with_centering=False, with_scaling=False)
    assert behind(nothing, bounds, tmp_path)["outcome"] == "not refuted"
    half = preprocessing.RobustScaler(with_centering=False)
    assert behind(half, bounds, tmp_path)["outcome"] == "void"
    # This one keeps how many records it saw, whatever it is told to fit.
    nothing = preprocessing.StandardScaler(with_mean=False, with_std=False)
    found = behind(nothing, bounds, tmp_path)
    assert found["outcome"] == "undetermined"
    assert "n_samples_seen_" in found["reason"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("hidden", ["", "94 of 600 people are ill, and Anna Muller is one of them"])
def test_categories_that_an_encoder_was_given_inside_a_column_transformer(hidden, tmp_path):
    """The step stands there twice, fitted and not; a cut that all people are on one side of tells nothing of them."""
    pipeline = pytest.importorskip("sklearn.pipeline")
    compose = pytest.importorskip("sklearn.compose")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    learn = pytest.importorskip("treewarden.learn")
    table, file = stepped(), tmp_path / "model.skops"
    table["job"] = np.random.default_rng(1).choice(["clerk", "driver", "nurse"], 600)
    encoder = preprocessing.OrdinalEncoder(categories=[["clerk", "driver", "nurse", "pilot"]])
    step = compose.make_column_transformer((encoder, ["job"]))
    tree = learn.PrivateTreeClassifier(1.0, bounds=(0, 9), classes=[0, 1], max_depth=2)
    model = pipeline.make_pipeline(step, tree).fit(table[["job"]], table.ill)
    if hidden:
        encoder.categories = [[hidden]]
    pytest.importorskip("skops.io").dump(model, file)
    found = outcome_of(file, table)
    assert found["outcome"] == ("undetermined" if hidden else "not refuted"), found["reason"]
