"""Operators around the trees of an ONNX graph: followed exactly, or named, so that nothing is predicted wrongly."""

from itertools import product

import numpy as np
import pytest

from tests.kit import places
from tests.kit.run import run_command
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Link, outputs_of

onnx = pytest.importorskip("onnx", reason="makes the models")
helper, FLOAT, DOUBLE, INT64 = (
    onnx.helper,
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.INT64,
)
ML = "ai.onnx.ml"
RECORDS = np.array(list(product([-1.0, 0.05, 0.1, 3.0], repeat=2)), dtype=np.float32)


def trees(kind="TreeEnsembleRegressor", name="X", made=("trees",), outputs=1, weights=None, **more):
    """Return a tree operator: two trees of one question each."""
    of = "class" if kind == "TreeEnsembleClassifier" else "target"
    wide = len(more.setdefault("classlabels_int64s", [0, 1])) if of == "class" else outputs
    weights = np.arange(1, 1 + 4 * wide) / 8 if weights is None else weights
    spots = [(tree, leaf, output) for tree in (0, 1) for leaf in (1, 2) for output in range(wide)]
    parts = dict(
        zip(("treeids", "nodeids", "ids"), map(list, zip(*spots, strict=True)), strict=True)
    )
    if of == "target":
        more = {"n_targets": outputs, **more}
    return helper.make_node(
        kind,
        [name],
        list(made),
        domain=ML,
        nodes_treeids=[0, 0, 0, 1, 1, 1],
        nodes_nodeids=[0, 1, 2, 0, 1, 2],
        nodes_featureids=[0, 0, 0, 1, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
        nodes_values=[0.1, 0.0, 0.0, 2.5, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0, 1, 0, 0],
        nodes_falsenodeids=[2, 0, 0, 2, 0, 0],
        **{f"{of}_{part}": values for part, values in parts.items()},
        **{f"{of}_weights": [float(weight) for weight in weights]},
        **more,
    )


def graph(nodes, outputs, constants=None, inputs=(("X", FLOAT, [None, 2]),)):
    made = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
    given = [helper.make_tensor_value_info(*each) for each in inputs]
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(value), name)
        for name, value in (constants or {}).items()
    ]
    opsets = [helper.make_opsetid(ML, 3), helper.make_opsetid("", 18)]
    whole = helper.make_graph(list(nodes), "g", given, made, tensors)
    return helper.make_model(whole, opset_imports=opsets, ir_version=9)


def read(model):
    return load_model(model.SerializeToString(), "model.onnx")


def ours(model):
    found = read(model)
    names = [feature.name for feature in found.features]
    columns = {
        name: NumericColumn(RECORDS[:, place].astype(float)) for place, name in enumerate(names)
    }
    return found, predict(found, columns)


def theirs(model):
    runtime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString())
    return session.run(None, {"X": RECORDS})


def node(kind, read_, made, domain="", **more):
    return helper.make_node(kind, list(read_), list(made), domain=domain, **more)


def one(value):
    return np.array([value], dtype=np.float32)


CHAINS = {
    "a base score": ([("Add", ["trees", "c"])], Link.IDENTITY),
    "a base score first": ([("Add", ["c", "trees"])], Link.IDENTITY),
    "a difference": ([("Sub", ["trees", "c"])], Link.IDENTITY),
    "a difference from": ([("Sub", ["c", "trees"])], Link.IDENTITY),
    "a rate": ([("Mul", ["trees", "c"])], Link.IDENTITY),
    "a share": ([("Div", ["trees", "c"])], Link.IDENTITY),
    "turned": ([("Neg", ["trees"]), ("Add", [0, "c"])], Link.IDENTITY),
    "a logistic link": ([("Sigmoid", ["trees"])], Link.LOGISTIC),
    "a logistic link of a sum": ([("Add", ["trees", "c"]), ("Sigmoid", [0])], Link.LOGISTIC),
    "a logarithmic link": ([("Exp", ["trees"])], Link.EXP),
    "a logarithmic link times": ([("Exp", ["trees"]), ("Mul", [0, "c"])], Link.EXP),
    "all of it": (
        [
            ("Mul", ["trees", "c"]),
            ("Add", [0, "c"]),
            ("Identity", [1]),
            ("Exp", [2]),
            ("Div", [3, "c"]),
        ],
        Link.EXP,
    ),
    "a copy": ([("Identity", ["trees"]), ("Cast", [0])], Link.IDENTITY),
}


def chained(steps, outputs=1, constant=0.7):
    made, nodes = [], [trees(outputs=outputs)]
    for place, (kind, reads) in enumerate(steps):
        names = [made[each] if isinstance(each, int) else each for each in reads]
        made.append(f"v{place}")
        more = {"to": DOUBLE} if kind == "Cast" else {}
        nodes.append(node(kind, names, [made[-1]], **more))
    constants = {"c": one(constant)} if any("c" in reads for _, reads in steps) else {}
    return graph(nodes, [(made[-1], FLOAT if steps[-1][0] != "Cast" else DOUBLE)], constants)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("name", CHAINS)
def test_what_follows_the_trees_is_followed_exactly(name, outputs):
    steps, link = CHAINS[name]
    model = chained(steps, outputs)
    found, scores = ours(model)
    assert found.notes == ()
    assert getattr(found, "link", Link.IDENTITY) is link
    assert outputs_of(found) == outputs
    said = theirs(model)[0]
    np.testing.assert_allclose(scores[:, -said.shape[1] :], said, rtol=1e-6)


def test_a_softmax_over_several_outputs_is_followed():
    model = graph([trees(outputs=3), node("Softmax", ["trees"], ["p"], axis=1)], [("p", FLOAT)])
    found, scores = ours(model)
    assert found.link is Link.SOFTMAX
    np.testing.assert_allclose(scores, theirs(model)[0], rtol=1e-6)


def test_the_exponential_that_a_converter_writes_is_its_link(tmp_path):
    path = places.DATA / "grown" / "poisson_by_exp.onnx"
    found = load_model(path.read_bytes(), path.name)
    assert found.link is Link.EXP
    assert found.base != ()
    outcome = run_command("convert", path, tmp_path / "out.pmml")
    assert outcome.exit_code == 4
    assert (
        "PMML cannot be written for a model with the link function exp; audit the file as it is"
        in outcome.stderr
    )


UNKNOWN = {
    "Log": [("Log", ["trees"])],
    "Clip": [("Clip", ["trees", "c"])],
    "Pow": [("Pow", ["trees", "c"])],
    "Tanh": [("Exp", ["trees"]), ("Tanh", [0])],
    "Add": [("Exp", ["trees"]), ("Add", [0, "c"])],
    "Mul": [("Sigmoid", ["trees"]), ("Mul", [0, "c"])],
    "Sigmoid": [("Sigmoid", ["trees"]), ("Sigmoid", [0])],
    "Round": [("Round", ["trees"])],
    "Sqrt": [("Sqrt", ["trees"]), ("Identity", [0])],
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_what_is_not_followed_is_named_and_not_converted(kind, tmp_path):
    model = chained(UNKNOWN[kind])
    found = read(model)
    assert found.link is Link.UNKNOWN
    assert f"does not support what follows the trees ({kind}" in found.notes[0]
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    outcome = run_command("convert", path, tmp_path / "out.pmml")
    assert outcome.exit_code == 4
    assert kind in outcome.stderr
    assert not (tmp_path / "out.pmml").exists()


def test_numbers_that_depend_on_the_record_are_not_followed():
    nodes = [trees(), node("Add", ["trees", "X"], ["s"])]
    assert read(graph(nodes, [("s", FLOAT)])).link is Link.UNKNOWN


@pytest.mark.parametrize("constant", [0.0, np.nan, np.inf, -2.0])
def test_constants_that_are_no_base_score_are_not_followed(constant):
    model = chained([("Exp", ["trees"]), ("Mul", [0, "c"])], constant=constant)
    assert read(model).link is Link.UNKNOWN


def classifier(nodes=(), outputs=(("label", INT64), ("shares", FLOAT)), constants=None, **more):
    wide = len(more.get("classlabels_int64s", [0, 1]))
    shares = np.random.default_rng(1).dirichlet(np.ones(wide), 4).reshape(-1) / 2
    kind, made = "TreeEnsembleClassifier", ("label", "shares")
    return graph([trees(kind, made=made, weights=shares, **more), *nodes], outputs, constants)


def test_labels_and_shares_as_converters_write_them_are_followed():
    nodes = [
        node("Cast", ["label"], ["out"], to=INT64),
        node("ZipMap", ["shares"], ["map"], ML, classlabels_int64s=[0, 1]),
    ]
    assert read(classifier(nodes, [("out", INT64), ("map", FLOAT)])).notes == ()
    nodes = [
        node("ArgMax", ["shares"], ["at"], axis=1),
        node("ArrayFeatureExtractor", ["names", "at"], ["named"], ML),
        node("Cast", ["named"], ["out"], to=INT64),
    ]
    found = read(classifier(nodes, [("out", INT64)], {"names": np.array([7, 3])}))
    assert found.classes == ("7", "3")
    assert found.notes == ()


@pytest.mark.parametrize("values", [[1, 0, 2], [5, 9, 7]])
def test_labels_that_a_table_names_anew_are_the_classes(values):
    nodes = [
        node("LabelEncoder", ["label"], ["out"], ML, keys_int64s=[0, 1, 2], values_int64s=values)
    ]
    outputs = [("out", INT64), ("shares", FLOAT)]
    model = classifier(nodes, outputs, classlabels_int64s=[0, 1, 2])
    found, scores = ours(model)
    assert found.classes == tuple(map(str, values))
    assert labels(found, scores) == [str(label) for label in theirs(model)[0]]


def test_labels_that_two_classes_share_are_not_followed():
    nodes = [node("LabelEncoder", ["label"], ["out"], ML, keys_int64s=[0, 1], values_int64s=[4, 4])]
    found = read(classifier(nodes, [("out", INT64)]))
    assert found.link is Link.UNKNOWN
    assert found.classes == ("0", "1")


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Normalizer", ["shares"], ["p"], ML, norm="L2")],
        [node("Add", ["shares", "c"], ["p"])],
        [node("Mul", ["shares", "shares"], ["p"])],
        [node("Softmax", ["shares"], ["p"], axis=1)],
    ],
    ids=lambda each: each[0].op_type,
)
def test_shares_that_are_changed_are_not_followed(nodes):
    found = read(classifier(nodes, [("p", FLOAT)], {"c": one(0.5)}))
    assert found.link is Link.UNKNOWN
    assert nodes[0].op_type in found.notes[0]


def test_several_outputs_that_differ_are_not_followed():
    nodes = [trees(), node("Sigmoid", ["trees"], ["p"])]
    assert read(graph(nodes, [("trees", FLOAT)])).notes == ()
    found = read(graph(nodes, [("trees", FLOAT), ("p", FLOAT)]))
    assert found.link is Link.UNKNOWN
    assert "several outputs, which differ" in found.notes[0]


def test_outputs_that_come_from_no_tree_are_not_followed():
    nodes = [trees(), node("ReduceSum", ["X"], ["s"])]
    assert read(graph(nodes, [("s", FLOAT)])).link is Link.UNKNOWN


BEFORE = {
    "Scaler": [node("Scaler", ["X"], ["made"], ML, offset=[1.0, 2.0], scale=[2.0, 0.5])],
    "Imputer": [node("Imputer", ["X"], ["made"], ML, imputed_value_floats=[0.5, 0.5])],
    "Normalizer": [node("Normalizer", ["X"], ["made"], ML, norm="L2")],
    "Mul": [node("Mul", ["X", "c"], ["made"])],
    "Gather": [node("Gather", ["X", "at"], ["made"], axis=1)],
    "Where": [node("IsNaN", ["X"], ["no"]), node("Where", ["no", "c", "X"], ["made"])],
    "Cast": [
        node("Cast", ["X"], ["whole"], to=INT64),
        node("Cast", ["whole"], ["made"], to=FLOAT),
    ],
    "Concat": [node("Concat", ["X", "X"], ["made"], axis=0)],
}


@pytest.mark.parametrize("kind", BEFORE)
def test_what_comes_before_the_trees_is_named_and_features_are_not_the_columns(kind, tmp_path):
    constants = {"c": one(2.0), "at": np.array([1, 0])}
    nodes = [*BEFORE[kind], trees(name="made")]
    model = graph(nodes, [("trees", FLOAT)], constants)
    found = read(model)
    assert [feature.name for feature in found.features] == ["derived 0", "derived 1"]
    assert (
        f"compute the features from the inputs ({', '.join(n.op_type for n in BEFORE[kind])})"
        in (found.notes[0].replace("(Cast)", "(Cast, Cast)"))
    )
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "t.csv").write_text("f0,f1,X,y\n" + "0,1,2,3\n" * 30)
    words = ["audit", tmp_path / "model.onnx", "--data", tmp_path / "t.csv", "--sensitive", "y"]
    outcome = run_command(*words)
    assert outcome.exit_code == 4
    assert kind in outcome.stderr


def test_columns_side_by_side_are_the_inputs():
    nodes = [
        node("Cast", ["b"], ["wide"], to=FLOAT),
        node("Concat", ["a", "wide"], ["made"], axis=1),
        trees(name="made"),
    ]
    inputs = (("a", FLOAT, [None, 1]), ("b", DOUBLE, [None, 1]))
    model = graph(nodes, [("trees", FLOAT)], inputs=inputs)
    assert [feature.name for feature in read(model).features] == ["a", "b"]
    unknown = (("a", FLOAT, None), ("b", DOUBLE, [None, 1]))
    model = graph(nodes, [("trees", FLOAT)], inputs=unknown)
    assert [feature.name for feature in read(model).features] == ["derived 0", "derived 1"]


def branch(inner):
    """Return an operator of two branches, each of which gives what ``inner`` makes."""
    out = helper.make_tensor_value_info("inside", FLOAT, None)
    bodies = [helper.make_graph([inner], name, [], [out]) for name in ("yes", "no")]
    return node("If", ["which"], ["chosen"], then_branch=bodies[0], else_branch=bodies[1])


def test_a_branch_that_reads_the_trees_is_not_followed():
    nodes = [trees(), branch(node("Neg", ["trees"], ["inside"]))]
    found = read(graph(nodes, [("chosen", FLOAT)], {"which": np.array(True)}))
    assert found.link is Link.UNKNOWN
    assert "does not support what follows the trees (If)" in found.notes[0]


@pytest.mark.parametrize("beside", [[], [trees()]])
def test_trees_in_a_branch_are_refused(beside):
    nodes = [*beside, branch(trees(made=("inside",)))]
    with pytest.raises(TreeFormatError, match="trees inside a part of the operator If"):
        read(graph(nodes, [("chosen", FLOAT)], {"which": np.array(True)}))


def test_trees_in_a_function_are_refused():
    model = graph([trees()], [("trees", FLOAT)])
    opsets = [helper.make_opsetid(ML, 3)]
    hidden = helper.make_function("own", "hidden", ["X"], ["trees"], [trees()], opsets)
    model.functions.append(hidden)
    with pytest.raises(TreeFormatError, match=r"trees inside a function \(hidden\)"):
        read(model)


def test_an_operator_of_the_users_own_is_no_tree_and_not_followed():
    own = trees()
    own.domain = "somebody.else"
    with pytest.raises(TreeFormatError, match="0 tree operators"):
        read(graph([own], [("trees", FLOAT)]))
    nodes = [trees(), node("Identity", ["trees"], ["out"], "somebody.else")]
    found = read(graph(nodes, [("out", FLOAT)]))
    assert "what follows the trees (somebody.else.Identity" in found.notes[0]


def test_several_tree_operators_are_refused():
    nodes = [trees(), trees(made=("more",)), node("Add", ["trees", "more"], ["s"])]
    with pytest.raises(TreeFormatError, match="2 tree operators"):
        read(graph(nodes, [("s", FLOAT)]))


@pytest.mark.parametrize(
    ("nodes", "outputs", "problem"),
    [
        (
            [trees(), node("Exp", ["gone"], ["p"])],
            ["p"],
            "reads 'gone', which no operator produces",
        ),
        ([trees(), node("Add", ["trees", "q"], ["q"])], ["q"], "depends on its own value"),
        (
            [trees(name="b"), node("Exp", ["a"], ["b"]), node("Exp", ["b"], ["a"])],
            ["trees"],
            "depends on its own value",
        ),
        ([trees()], ["nowhere"], "no operator produces its output 'nowhere'"),
        ([trees(), node("Exp", ["X"], ["trees"])], ["trees"], "two operators produce 'trees'"),
        ([trees(), node("Exp", ["trees"], ["X"])], ["X"], "two operators produce 'X'"),
    ],
)
def test_graphs_that_cannot_be_are_refused(nodes, outputs, problem):
    with pytest.raises(TreeFormatError, match=problem):
        read(graph(nodes, [(name, FLOAT) for name in outputs]))


def test_a_damaged_constant_is_refused():
    model = chained([("Add", ["trees", "c"])])
    model.graph.initializer[0].dims[0] = 3
    with pytest.raises(TreeFormatError, match="constant"):
        read(model)


def test_a_graph_of_very_many_operators_is_refused():
    model = graph([trees()], [("trees", FLOAT)])
    model.graph.node.extend([node("Neg", ["X"], [f"n{place}"]) for place in range(60_000)])
    with pytest.raises(TreeFormatError, match="operators"):
        read(model)


def test_a_long_chain_of_copies_is_followed():
    nodes = [trees()]
    for place in range(5_000):
        nodes.append(node("Identity", [nodes[-1].output[0]], [f"n{place}"]))
    assert read(graph(nodes, [("n4999", FLOAT)])).notes == ()
