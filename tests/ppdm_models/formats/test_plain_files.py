"""Files that must equal what is written from their model alone: nothing can be hidden in one, wherever it stands."""

import re

import numpy as np
import pytest

from tests.kit import places
from tests.kit.tiers import few
from tests.ppdm_models.formats.accounting import (
    ALL,
    cleaned,
    content,
    leaks,
    unnoticed,
)
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.common.json_layout import plain_json, same_predictions

GOOD = places.DATA / "formats"
NOT_PLAIN = {
    "h2o_json/good/h2otree.json": "the name of a class",
    "h2o_json/good/printmojo.json": "any other content",
    "rpart_json/good/forced_anova.json": "surrogate splits without names",
    "rpart_json/good/heavy.json": "weights of records",
    "rpart_json/good/prior.json": "prior probabilities for its classes",
    "rpart_json/good/weighted.json": "weights of records",
    "treelite_json/good/version_3.json": "version 3 of the format",
}
"""Files that hold what no model holds, and what that is."""


def files(form):
    return sorted(
        str(path.relative_to(GOOD))
        for path in (GOOD / form / "good").iterdir()
        if path.suffix == ".json"
    )


JSON = [*files("rpart_json"), *files("treelite_json"), *files("h2o_json")]


@pytest.mark.in_both
@pytest.mark.parametrize("name", [name for name in JSON if name not in NOT_PLAIN])
def test_a_plain_json_file_holds_its_trees_and_nothing_can_be_hidden_in_it(name):
    data = (GOOD / name).read_bytes()
    file = open_model(data, name)
    assert [leak.removable for leak in file.leaks] == [True] * len(file.leaks) != []
    clean = cleaned(data)
    assert leaks(clean) == []
    assert cleaned(clean) == clean
    assert same_predictions(open_model(clean, name).model, file.model)
    assert unnoticed(clean, plain_json) == []
    for more in (b" ", b"\n", b"\x00"):
        assert hidden_is_told(clean + more, name)
    assert hidden_is_told(clean.replace(b",", b" ,", 1), name)


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_a_file_with_what_no_model_holds_is_never_called_clean(name):
    (rest,) = [
        leak for leak in open_model((GOOD / name).read_bytes(), name).leaks if leak.is_possible
    ]
    assert rest.what.startswith(NOT_PLAIN[name])
    assert not rest.removable


# Printed trees: a line put in anywhere, a word behind each line, more digits of each number, other blanks.

PRINTED = {
    "rpart_text": ("costs", "gaps", "none", "plain", "stay", "tie"),
    "partykit_text": ("party_ctree", "partykit_costs", "partykit_ctree", "partykit_plain"),
    "weka_text": ("randomtree", "reptree"),
}
NOT_PRINTED = {
    "rpart_text/good/heavy.txt": "shares of classes under weights",
    "rpart_text/good/prior.txt": "shares of classes under weights",
    "weka_text/good/j48.txt": "the split can be read in several ways",
}
PRINTS = [f"{form}/good/{name}.txt" for form, names in PRINTED.items() for name in names]


def printed_hidings(text):
    lines = text.split("\n")
    for place, line in enumerate(lines):
        for more in ("ann 44 hiv", "", "  ", "# ann"):
            yield "\n".join([*lines[:place], more, *lines[place:]])
        for changed in (
            f"{line} ann",
            f"{line} ",
            f" {line}",
            f"{line}\t",
            line.replace(" ", "  ", 1),
        ):
            yield "\n".join([*lines[:place], changed, *lines[place + 1 :]])
        for found in re.finditer(r"\d+\.\d+", line):
            longer = f"{line[: found.end()]}0{line[found.end() :]}"
            yield "\n".join([*lines[:place], longer, *lines[place + 1 :]])


@pytest.mark.parametrize("name", PRINTS)
def test_nothing_can_be_hidden_in_a_plain_print_of_a_tree(name):
    data = (GOOD / name).read_bytes()
    model = open_model(data, name).model
    clean = cleaned(data)
    assert leaks(data) != [] == leaks(clean)
    assert cleaned(clean) == clean
    again = open_model(clean, name).model
    assert [(node.test, node.score, node.records) for node in again.nodes] == [
        (node.test, node.score, node.records) for node in model.nodes
    ]
    plain, passed = content(again), []
    for changed in map(str.encode, printed_hidings(clean.decode())):
        if changed == clean or hidden_is_told(changed, name):
            continue
        if content(open_model(changed, name).model) == plain:
            passed.append(changed)
    assert passed == []


@pytest.mark.parametrize("name", NOT_PRINTED)
def test_a_print_with_what_no_tree_holds_is_never_called_clean(name):
    found = open_model((GOOD / name).read_bytes(), name).leaks
    (rest,) = [leak for leak in found if leak.is_possible]
    assert NOT_PRINTED[name] in rest.what
    assert not rest.removable


TIED = """n= 8

node), split, n, loss, yval, (yprob)
      * denotes terminal node

1) root 8 5 k1 (0.25 0.375 0.375)
  2) a=v0,v1 4 2 k0 (0.5 0.5 0) *
  3) a=v2,v3 4 1 k2 (0 0.25 0.75) *
"""


def test_a_print_whose_label_is_tied_wherever_it_stands_is_read_and_never_called_clean():
    (rest,) = [leak for leak in open_model(TIED.encode(), "m").leaks if leak.is_possible]
    assert "a label whose class is not known" in rest.what


def test_a_number_that_no_plain_file_has_leaves_the_file_unknown_and_readable():
    clean = cleaned((GOOD / "treelite_json/good/forest.json").read_bytes())
    odd = clean.replace(b'"data_count":38', b'"data_count":38.5', 1)
    assert odd != clean
    (rest,) = [leak for leak in open_model(odd, "m").leaks if leak.is_possible]
    assert "data_count" in rest.what


def hidden_is_told(data, name="model"):
    try:
        return bool(open_model(data, name).leaks)
    except TreewardenError:
        return True


def test_digits_of_a_threshold_that_32_bits_do_not_hold_are_told():
    clean = cleaned((GOOD / "treelite_json/good/forest.json").read_bytes())
    single = clean.replace(b'"threshold_type":"float64"', b'"threshold_type":"float32"')
    assert leaks(single) == []
    assert leaks(single.replace(b'"threshold":48.0', b'"threshold":48.00000000044'))


# ONNX: each field of each message of a plain file, set to something else or given one more item.


def onnx_files():
    onnx = pytest.importorskip("onnx", reason="makes the models")
    from tests.ppdm_models.formats import test_onnx_graphs as graphs

    classes = graphs.trees("TreeEnsembleClassifier", made=("label", "scores"))
    named = onnx.helper.make_node(
        "ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]
    )
    yield "stored", (GOOD / "onnx_ml/good/tree.onnx").read_bytes()
    outputs = [("label", graphs.INT64), ("maps", graphs.FLOAT)]
    yield "classes", graphs.graph([classes, named], outputs).SerializeToString()
    yield (
        "numbers",
        graphs.graph([graphs.trees()], [("trees", graphs.FLOAT)]).SerializeToString(),
    )
    two = [("age", graphs.FLOAT, [None, 1]), ("pay", graphs.INT64, [None, 1])]
    cast = onnx.helper.make_node("Cast", ["pay"], ["p"], to=graphs.FLOAT)
    whole = onnx.helper.make_node("Concat", ["age", "p"], ["X"], axis=1)
    made = graphs.graph([cast, whole, graphs.trees()], [("trees", graphs.FLOAT)], inputs=two)
    yield "columns", made.SerializeToString()


def onnx_hidings(message, path=""):
    """Yield what is changed, as functions that change it and back, in every field of a message and its parts."""
    for field in message.DESCRIPTOR.fields:
        where = f"{path}/{field.name}"
        value = getattr(message, field.name)
        if field.message_type is not None:
            parts = list(value) if is_repeated(field) else [value]
            if is_repeated(field):
                yield f"{where} +1", lambda v=value: v.add()
            for place, part in enumerate(parts):
                if is_repeated(field) or message.HasField(field.name):
                    yield from onnx_hidings(part, f"{where}[{place}]")
            continue
        for secret in secrets_of(field):
            if is_repeated(field):
                yield f"{where} +{secret!r}", lambda v=value, s=secret: v.append(s)
                for place in range(min(len(value), 6)):
                    yield (
                        f"{where}[{place}]={secret!r}",
                        lambda v=value, p=place, s=secret: v.__setitem__(p, s),
                    )
            else:
                yield (
                    f"{where}={secret!r}",
                    lambda m=message, f=field.name, s=secret: setattr(m, f, s),
                )


def is_repeated(field):
    return (
        field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    )


def secrets_of(field):
    kinds = {
        field.CPPTYPE_STRING: ["ann 44 hiv"] if field.type == field.TYPE_STRING else [b"ann 44"],
        field.CPPTYPE_FLOAT: [440.07123, -0.0],
        field.CPPTYPE_DOUBLE: [440.0712345678901],
    }
    return kinds.get(field.cpp_type, [1, 7])


KNOWN = ("ir_version", "opset_import", "elem_type", "producer_name")
"""Versions and types, of a few numbers each, that a file may have in several ways."""


@pytest.mark.in_both
@pytest.mark.parametrize("kind", ["stored", "classes", "numbers", "columns"])
def test_nothing_can_be_hidden_in_a_plain_onnx_file(kind):
    onnx = pytest.importorskip("onnx", reason="makes the models")
    data = dict(onnx_files())[kind]
    file = open_model(data, "m.onnx")
    clean = cleaned(data)
    assert leaks(clean) == []
    assert cleaned(clean) == clean
    assert same_predictions(open_model(clean, "m.onnx").model, file.model)
    model, passed, tried = content(open_model(clean, "m.onnx").model), [], 0
    names = [what for what, _ in onnx_hidings(onnx.load_model_from_string(clean))]
    for place, what in few(enumerate(names), 90):
        changed = onnx.load_model_from_string(clean)
        change = next(f for at, (_, f) in enumerate(onnx_hidings(changed)) if at == place)
        try:
            change()
            found = open_model(changed.SerializeToString(), "m.onnx")
        except (TreewardenError, ValueError, TypeError):
            continue
        tried += 1
        if (
            not found.leaks
            and content(found.model) == model
            and changed.SerializeToString() != clean
        ):
            passed.append(what)
    assert [what for what in passed if not any(word in what for word in KNOWN)] == []
    assert tried > 50


def test_bytes_behind_an_onnx_file_and_fields_that_nobody_knows_are_told():
    for _, data in onnx_files():
        clean = cleaned(data)
        unknown_field = b"\xfa\x7f\x06secret"  # field 2047, six bytes
        assert hidden_is_told(clean + unknown_field)
        assert hidden_is_told(clean + clean[-4:])
        long_number = clean.replace(b"\x08", b"\x88\x00", 1)  # the same number, in more bytes
        assert hidden_is_told(long_number)


def test_what_a_tool_writes_into_an_onnx_file_is_named():
    onnx = pytest.importorskip("onnx", reason="makes the models")
    model = onnx.load_model_from_string(dict(onnx_files())["classes"])
    model.doc_string = "ann 44"
    model.metadata_props.add(key="ann", value="44")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3), "rest"))
    told = [what for _, _, what in leaks(model.SerializeToString())]
    assert told[:3] == ["entries of metadata", "descriptions", "numbers that no operator reads"]
    assert leaks(open_model(model.SerializeToString(), "m").opened.without(ALL)) == []


def test_operators_that_are_not_followed_leave_the_file_unknown():
    pytest.importorskip("onnx", reason="makes the models")
    from tests.ppdm_models.formats import test_onnx_graphs as graphs

    constant = {"c": graphs.one(0.7)}
    added = graphs.node("Add", ["trees", "c"], ["out"])
    data = graphs.graph([graphs.trees(), added], [("out", graphs.FLOAT)], constant)
    (rest,) = open_model(data.SerializeToString(), "m").leaks
    assert (rest.is_possible, rest.removable) == (True, False)
    assert "the operator Add" in rest.what


@pytest.mark.parametrize("kind", ["tree", "numbers", "forest", "boosted", "many"])
def test_onnxruntime_predicts_the_same_from_a_plain_file(kind):
    for name in ("onnxruntime", "skl2onnx", "sklearn"):
        pytest.importorskip(name, reason="makes the models and runs them")
    import onnx
    import onnxruntime
    from skl2onnx import to_onnx
    from sklearn import ensemble, tree

    draw = np.random.default_rng(4)
    records = draw.integers(0, 50, (300, 3)).astype(np.float32)
    noisy = records[:, 0] + draw.normal(0, 15, 300)
    estimator, target = {
        "tree": (tree.DecisionTreeClassifier(max_leaf_nodes=5), np.where(noisy > 25, "y", "n")),
        "numbers": (tree.DecisionTreeRegressor(max_leaf_nodes=5), noisy),
        "forest": (ensemble.RandomForestClassifier(3, max_depth=3), noisy > 25),
        "boosted": (ensemble.GradientBoostingClassifier(n_estimators=3), noisy > 25),
        "many": (ensemble.GradientBoostingClassifier(n_estimators=3), noisy // 20),
    }[kind]
    target = target if target.dtype != bool else target.astype(int)
    target = target.astype(int) if kind == "many" else target
    data = to_onnx(estimator.fit(records, target), records[:1]).SerializeToString()
    clean = cleaned(data, "m.onnx")
    assert leaks(clean, "m.onnx") == [] != leaks(data, "m.onnx")
    onnx.checker.check_model(onnx.load_model_from_string(clean))
    first, second = (
        onnxruntime.InferenceSession(each).run(None, {"X": records}) for each in (data, clean)
    )
    for one, two in zip(first, second, strict=True):
        assert one == two if isinstance(one, list) else np.array_equal(one, two)
