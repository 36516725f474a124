"""What a skops file of binned boosting holds that nobody reads is found, wherever it stands, and can be taken out."""

import io

import numpy as np
import pytest

from tests.ppdm_models.formats.accounting import content
from tests.ppdm_models.formats.described import cleaned, parts_of, unnoticed, written
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.side_channels import LeakKind

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")
ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(200, 2)).round(1)
Y = np.where(X[:, 0] + RANDOM.normal(size=200) > 0, "yes", "no")


def save(classes=Y, rounds=2):
    kind = "Classifier" if isinstance(classes[0], str) else "Regressor"
    estimator = getattr(ensemble, f"HistGradientBoosting{kind}")(max_iter=rounds, max_leaf_nodes=4)
    estimator.set_params(random_state=5).fit(X, classes)
    return estimator, skops_io.dumps(estimator)


@pytest.mark.parametrize("classes", [Y, np.resize(("a", "b", "c"), 200), X[:, 1]])
def test_what_training_left_is_named_and_gone_once_it_is_removed(classes):
    estimator, data = save(classes)
    leaks = open_model(data, "m.skops").leaks
    assert all(leak.removable for leak in leaks)
    assert {LeakKind.MEDIANS, LeakKind.REPLAY, LeakKind.UNKNOWN} <= {leak.kind for leak in leaks}
    clean = cleaned(data)
    assert open_model(clean, "m.skops").leaks == ()
    assert content(open_model(clean, "m.skops").model) == content(open_model(data, "m.skops").model)
    loaded = skops_io.loads(clean, trusted=skops_io.get_untrusted_types(data=clean))
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))


@pytest.mark.in_both
def test_nothing_can_be_hidden_in_the_description_unnoticed():
    assert unnoticed(cleaned(save(rounds=1)[1])) == []


def test_what_nodes_hold_that_no_prediction_uses_is_told():
    clean = cleaned(save()[1])
    schema, files = parts_of(clean)
    arrays = {name: np.load(io.BytesIO(body)) for name, body in files.items() if "npy" in name}
    name = next(name for name, array in arrays.items() if array.dtype.names)
    leaf = int(np.flatnonzero(arrays[name]["is_leaf"])[0])
    inner = int(np.flatnonzero(arrays[name]["is_leaf"] == 0)[0])
    for field, node in (
        ("gain", inner),
        ("value", inner),
        ("depth", leaf),
        ("num_threshold", leaf),
    ):
        array = arrays[name].copy()
        array[field][node] = 44
        file = io.BytesIO()
        np.save(file, array)
        changed = written(schema, files | {name: file.getvalue()})
        assert [str(leak.kind) for leak in open_model(changed, "m.skops").leaks] == ["unknown"]
        assert open_model(cleaned(changed), "m.skops").leaks == ()


def test_what_the_training_left_may_be_anything_and_is_no_mere_seed():
    clean = cleaned(save()[1])
    schema, files = parts_of(clean)
    entries = schema["content"]["content"]
    entries["_random_seed"] = dict(entries["n_features_in_"]) | {"content": "4417", "__id__": 998}
    leaks = open_model(written(schema, files), "m.skops").leaks
    assert LeakKind.UNKNOWN in {leak.kind for leak in leaks}


def test_an_estimator_of_categories_is_not_accounted_for():
    estimator = ensemble.HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    data = skops_io.dumps(estimator.fit(np.column_stack([X[:, 0] > 0, X[:, 1]]), Y))
    assert any(leak.is_possible for leak in open_model(data, "m.skops").leaks)
