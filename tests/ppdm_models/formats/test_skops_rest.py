"""What a skops file of a tree or forest holds that nobody reads is found, wherever it stands, and can be taken out."""

import io
import json
import zipfile
import zlib
from functools import cache

import numpy as np
import pytest

from tests.kit.tiers import cases
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.skops.skops_file import FORMAT
from treewarden.ppdm_models.tree.side_channels import LeakKind

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")
ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")
tree = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(120, 2))
Y = np.where(X[:, 0] + RANDOM.normal(size=120) > 0, "yes", "no")
ALL = frozenset(LeakKind)
MODELS = {
    "tree": tree.DecisionTreeClassifier(max_leaf_nodes=4, random_state=7),
    "extra tree": tree.ExtraTreeClassifier(max_leaf_nodes=4),
    "forest": ensemble.RandomForestClassifier(
        30, max_leaf_nodes=4, random_state=7, oob_score=True, n_jobs=1
    ),
    "extra trees": ensemble.ExtraTreesClassifier(3, max_leaf_nodes=4),
    "votes": ensemble.VotingClassifier(
        [
            ("one", tree.DecisionTreeClassifier(max_leaf_nodes=4)),
            ("few", ensemble.RandomForestClassifier(3, max_leaf_nodes=4, random_state=7)),
        ],
        voting="soft",
        weights=[2, 1],
    ),
    "regression": tree.DecisionTreeRegressor(max_leaf_nodes=4),
    "regression forest": ensemble.RandomForestRegressor(3, max_leaf_nodes=4),
}


@cache
def save(name):
    """Return a fitted model and its file."""
    target = X[:, 1] if name.startswith("regression") else Y
    estimator = MODELS[name].fit(X, target)
    return estimator, skops_io.dumps(estimator)


def cleaned(data):
    """Return a file without all that can be removed."""
    return open_model(data, "m.skops").opened.without(ALL)


def kinds(data):
    return {leak.kind for leak in open_model(data, "m.skops").leaks}


def changed(data, change, files=None):
    """Return a file with its description changed in place, and further files of the archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(held["schema.json"])
    change(schema)
    held |= {"schema.json": json.dumps(schema, indent=2).encode(), **(files or {})}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in held.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), body)
    return out.getvalue()


@pytest.mark.parametrize("name", MODELS)
def test_all_that_the_library_wrote_is_named_and_nothing_is_left_once_it_is_removed(name):
    estimator, data = save(name)
    assert FORMAT.accounts_for_all
    found = open_model(data, "m.skops").leaks
    assert all(leak.removable for leak in found)
    assert {LeakKind.TIMESTAMP, LeakKind.IDENTIFIER} <= {leak.kind for leak in found}
    clean = cleaned(data)
    assert kinds(clean) == set()
    assert cleaned(clean) == clean
    loaded = skops_io.loads(clean, trusted=skops_io.get_untrusted_types(data=clean))
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
    assert getattr(loaded, "random_state", None) is None


def test_a_seed_goes_and_equal_numbers_of_other_settings_stay():
    estimator = tree.DecisionTreeClassifier(max_leaf_nodes=4, random_state=2).fit(X, Y)
    clean = cleaned(skops_io.dumps(estimator))
    loaded = skops_io.loads(clean, trusted=skops_io.get_untrusted_types(data=clean))
    assert (loaded.random_state, loaded.min_samples_split) == (None, 2)


def arrays_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {
            name: np.load(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
            if name.endswith(".npy")
        }


def with_nodes(data, change):
    """Return a clean file whose nodes were changed as bytes (N, 64) and as an array (N,)."""
    name, nodes = next(
        (name, array) for name, array in arrays_of(data).items() if array.dtype.names
    )
    raw = bytearray(nodes.tobytes())
    change(
        np.frombuffer(raw, dtype=np.uint8).reshape(len(nodes), -1), np.frombuffer(raw, nodes.dtype)
    )
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        saved = archive.read(name)
    file.write(saved[: len(saved) - len(raw)])
    file.write(raw)
    return changed(data, lambda schema: None, {name: file.getvalue()})


def put_memory(raw, nodes):
    raw[0, -7:] = list(b"ann 44!")


def put_in_leaf(column, value):
    def change(raw, nodes):
        nodes[column][np.flatnonzero(nodes["left_child"] == -1)[0]] = value

    return change


def test_memory_between_the_numbers_of_nodes_is_found_and_removed():
    _, data = save("tree")
    clean = cleaned(data)
    dirty = with_nodes(clean, put_memory)
    assert b"ann 44!" in dirty
    assert [leak.removable for leak in open_model(dirty, "m").leaks] == [True]
    assert kinds(dirty) == {LeakKind.UNKNOWN}
    assert b"ann 44!" not in cleaned(dirty)
    assert kinds(cleaned(dirty)) == set()


@pytest.mark.parametrize(
    "change",
    [put_in_leaf("threshold", 44.0), put_in_leaf("feature", 1)],
    ids=["threshold", "feature"],
)
def test_numbers_of_leaves_that_have_none_are_found(change):
    clean = cleaned(save("tree")[1])
    assert kinds(with_nodes(clean, change)) == {LeakKind.UNKNOWN}


def attributes(schema):
    return schema["content"]["content"]


def plain(text):
    """Return a described text or number, as JSON."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": text,
        "is_json": True,
    }


STRANGE = {
    "an attribute": lambda schema: attributes(schema).update(note=plain('"ann has it"')),
    "a text in a setting": lambda schema: attributes(schema).update(splitter=plain('"ann has it"')),
    "a long number in a setting": lambda schema: attributes(schema).update(
        ccp_alpha=plain("0.1234567890123")
    ),
    "a text for a version": lambda schema: attributes(schema).update(
        _sklearn_version=plain('"ann has it"')
    ),
    "a key": lambda schema: schema.update(note="ann has it"),
    "a key of an object": lambda schema: attributes(schema)["criterion"].update(note="ann has it"),
    "a class of a text": lambda schema: attributes(schema)["criterion"].update(__class__="ann"),
    "a module of the estimator": lambda schema: schema.update(__module__="ann.has.it"),
    "a version of skops": lambda schema: schema.update(_skops_version="ann has it"),
    "an object number": lambda schema: attributes(schema)["criterion"].update(__id__="ann"),
    "a list for the number of an object": lambda schema: attributes(schema)["criterion"].update(
        __id__=["ann", "has", "it"]
    ),
    "a count of outputs": lambda schema: attributes(schema).update(n_outputs_=plain("44")),
    "a depth": lambda schema: attributes(schema)["tree_"]["content"]["content"].update(
        max_depth=plain("44")
    ),
    "a number of nodes": lambda schema: attributes(schema)["tree_"]["content"]["content"].update(
        node_count=plain("44")
    ),
    "more of the tree": lambda schema: attributes(schema)["tree_"]["content"]["content"].update(
        note=plain("44")
    ),
    "sizes of the tree": lambda schema: attributes(schema)["tree_"]["__reduce__"]["args"][
        "content"
    ].append(plain("44")),
    "weights of classes": lambda schema: attributes(schema).update(
        class_weight={
            "__class__": "dict",
            "__module__": "builtins",
            "__loader__": "DictNode",
            "content": {"ann has it": plain("1")},
            "key_types": {
                "__class__": "list",
                "__module__": "builtins",
                "__loader__": "ListNode",
                "content": [],
            },
        }
    ),
    "the number of another object": lambda schema: attributes(schema)["splitter"].update(
        __id__=attributes(schema)["criterion"]["__id__"]
    ),
    "a text among the types of keys": lambda schema: schema["content"]["key_types"][
        "content"
    ].append(plain('"ann has it"')),
    "an object for the types of keys": lambda schema: schema["content"].update(
        key_types=schema["content"]["content"]["criterion"]
    ),
    "blanks in a text": lambda schema: attributes(schema).update(max_depth=plain("null   ")),
    "digits of a number": lambda schema: attributes(schema).update(ccp_alpha=plain("0.000000")),
    "a second count of features": lambda schema: attributes(schema).update(n_features_=plain("44")),
    "letters in a version": lambda schema: attributes(schema).update(
        _sklearn_version=plain('"1.ann.has.it"')
    ),
    "a text for numbers of records": lambda schema: attributes(schema).update(
        oob_decision_function_=plain('"ann has it"')
    ),
    "a text for a score": lambda schema: attributes(schema).update(
        oob_score_=plain('"ann has it"')
    ),
    "an object of another kind": lambda schema: attributes(schema).update(
        note={"__class__": "f", "__module__": "m", "__loader__": "MethodNode", "content": "ann"}
    ),
}


@pytest.mark.parametrize("what", STRANGE)
def test_whatever_nobody_reads_is_named(what):
    clean = cleaned(save("tree")[1])
    try:
        found = open_model(changed(clean, STRANGE[what]), "m.skops").leaks
    except TreeFormatError:
        return  # refused, which is as good
    assert LeakKind.UNKNOWN in {leak.kind for leak in found}


@pytest.mark.parametrize("what", cases(["an attribute", "a text in a setting", "a depth"], quick=1))
def test_it_is_named_in_the_trees_of_a_forest_too(what):
    clean = cleaned(save("forest")[1])

    def change(schema):
        STRANGE[what](attributes(schema)["estimators_"]["content"][1])

    assert kinds(changed(clean, change)) == {LeakKind.UNKNOWN}


def test_a_tree_that_was_fitted_has_no_place_among_the_settings_of_a_forest():
    clean = cleaned(save("forest")[1])

    def change(schema):
        member = attributes(schema)["estimators_"]["content"][0]
        attributes(attributes(schema)["estimator_"])["tree_"] = attributes(member)["tree_"]

    assert LeakKind.UNKNOWN in kinds(changed(clean, change))


VOTE_HIDINGS = {
    "a name": lambda a: a["estimators"]["content"][0]["content"][0].update(content='"ann 44 hiv"'),
    "an estimator that was given": lambda a: STRANGE["a text in a setting"](
        a["estimators"]["content"][0]["content"][1]
    ),
    "one that was fitted": lambda a: a["estimators"]["content"][0]["content"].__setitem__(
        1, a["estimators_"]["content"][0]
    ),
    "a voter": lambda a: STRANGE["an attribute"](a["estimators_"]["content"][1]),
    "an encoder": lambda a: attributes(a["le_"]).update(ann=a["voting"]),
    "a weight": lambda a: a["weights"]["content"][0].update(content="2.0712345678901234"),
    "voting": lambda a: a["voting"].update(content='"ann 44 hiv"'),
    "an attribute": lambda a: a.update(ann=a["voting"]),
}


@pytest.mark.parametrize("what", VOTE_HIDINGS)
def test_whatever_nobody_reads_of_estimators_that_vote_is_named(what):
    clean = cleaned(save("votes")[1])
    dirty = changed(clean, lambda schema: VOTE_HIDINGS[what](attributes(schema)))
    try:
        assert LeakKind.UNKNOWN in kinds(dirty)
    except TreeFormatError:
        return  # refused, which is as good


def test_bytes_of_the_archive_that_belong_to_no_file_are_found_and_removed():
    clean = cleaned(save("tree")[1])
    out = io.BytesIO(clean)
    with zipfile.ZipFile(out, "a") as archive:
        archive.comment = b"ann has it"
    assert kinds(out.getvalue()) == {LeakKind.UNKNOWN}
    assert kinds(cleaned(out.getvalue())) == set()
    assert kinds(changed(clean, lambda schema: None, {"ann.txt": b"ann has it"})) == {
        LeakKind.UNKNOWN
    }


def test_classes_of_a_model_that_has_none_are_found():
    clean = cleaned(save("regression")[1])
    names = cleaned(save("tree")[1])
    with zipfile.ZipFile(io.BytesIO(names)) as archive:
        classes = attributes(json.loads(archive.read("schema.json")))["classes_"]
    dirty = changed(clean, lambda schema: attributes(schema).update(classes_=classes))
    assert LeakKind.UNKNOWN in kinds(dirty)


def test_blanks_of_the_description_and_what_stands_behind_packed_data_are_found():
    clean = cleaned(save("tree")[1])
    with zipfile.ZipFile(io.BytesIO(clean)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    for case in ("blanks", "packed", "folder"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, body in held.items():
                is_blank = case == "blanks" and name == "schema.json"
                archive.writestr(
                    zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), body + b" " * is_blank
                )
            if case == "folder":
                archive.writestr(zipfile.ZipInfo("ann has it/", (1980, 1, 1, 0, 0, 0)), b"")
        data = out.getvalue()
        if case == "packed":
            data = with_bytes_behind_packed(held)
        assert kinds(data) == {LeakKind.UNKNOWN}, case
        assert kinds(cleaned(data)) == set(), case


def with_bytes_behind_packed(held):
    """Return an archive whose first file is packed, with more bytes behind the end of what is packed."""
    name, body = next(iter(held.items()))
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(body) + packer.flush() + b"ann has it"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), packed)
        info = archive.infolist()[0]
        info.compress_type, info.CRC, info.file_size = (
            zipfile.ZIP_DEFLATED,
            zlib.crc32(body),
            len(body),
        )
        header = info.FileHeader()
        at = archive.fp.tell()
        archive.fp.seek(0)
        archive.fp.write(header)
        archive.fp.seek(at)
        for other, content in list(held.items())[1:]:
            archive.writestr(zipfile.ZipInfo(other, (1980, 1, 1, 0, 0, 0)), content)
    return out.getvalue()


def test_a_seed_that_is_a_list_of_texts_is_found():
    clean = cleaned(save("tree")[1])
    seed = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    seed |= {"content": [plain('"ann has it"')]}
    dirty = changed(clean, lambda schema: attributes(schema).update(random_state=seed))
    assert LeakKind.UNKNOWN in kinds(dirty)
    assert kinds(cleaned(dirty)) == set()


def test_seeds_of_the_trees_of_a_forest_without_one_are_told():
    forest = ensemble.RandomForestClassifier(2, max_leaf_nodes=3).fit(X, Y)
    data = skops_io.dumps(forest)
    assert LeakKind.REPLAY in kinds(data)
    assert kinds(cleaned(data)) == set()


def test_steps_that_cannot_be_followed_are_not_accounted_for():
    pipeline = pytest.importorskip("sklearn.pipeline")
    decomposition = pytest.importorskip("sklearn.decomposition")
    steps = pipeline.make_pipeline(decomposition.PCA(2), MODELS["tree"]).fit(X, Y)
    leaks = open_model(skops_io.dumps(steps), "m.skops").leaks
    assert any(leak.kind is LeakKind.UNKNOWN and leak.is_possible for leak in leaks)


def with_values(data, change):
    """Return a clean file whose class shares were changed."""
    name, values = next((n, array) for n, array in arrays_of(data).items() if array.ndim == 3)
    values = values.copy()
    change(values)
    file = io.BytesIO()
    np.save(file, values)
    return changed(data, lambda schema: None, {name: file.getvalue()})


def hide_in_shares(values):
    values[1, 0, 0] += 4.4e-9


def hide_in_impurity(raw, nodes):
    nodes["impurity"][1] += 4.4e-9


def hide_in_counts(raw, nodes):
    nodes["n_node_samples"][0] += 1


def test_digits_that_no_counts_give_are_found():
    for name in ("tree", "forest"):
        clean = cleaned(save(name)[1])
        for dirty in (
            with_values(clean, hide_in_shares),
            with_nodes(clean, hide_in_impurity),
            with_nodes(clean, hide_in_counts),
        ):
            assert LeakKind.UNKNOWN in kinds(dirty), name


def test_weighted_trees_have_digits_of_their_own():
    weighted = tree.DecisionTreeClassifier(max_leaf_nodes=4, class_weight="balanced").fit(X, Y)
    assert LeakKind.UNKNOWN not in kinds(cleaned(skops_io.dumps(weighted)))
