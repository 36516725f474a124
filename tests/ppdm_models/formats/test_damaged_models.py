"""A damaged model file is read, or refused with a reason: a reader never fails in another way."""

import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges import run_fuzz
from tests.kit import places
from tests.kit.archives import zip_files
from tests.kit.tiers import examples
from tests.ppdm_models.formats.damage import damaged, damaged_json, with_a_wrong_byte
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats

DATA = places.DATA / "formats"
JSON = (
    *(
        "bigml_json",
        "catboost_json",
        "eland_json",
        "gbm_json",
        "h2o_json",
        "partykit_json",
        "solr_ltr",
        "treelite_json",
    ),
)
GOOD = [path for name in JSON for path in sorted((DATA / name / "good").iterdir())]
SPARK = DATA / "spark_ml" / "good" / "tree.zip"
ONNX = DATA / "onnx_ml" / "good" / "tree.onnx"

many = settings(max_examples=examples(150))
randoms = st.randoms(use_true_random=False)


def outcome(name, data):
    """Return what became of the bytes; what is read can also be looked through for leaks."""
    try:
        return formats()[name].open(data, "damaged").leaks
    except TreeFormatError as error:
        return str(error)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
@many
@given(random=randoms)
def test_damaged_json_is_read_or_refused(path, random):
    found = outcome(path.parent.parent.name, damaged_json(path.read_bytes(), random))
    assert isinstance(found, str | tuple)


@many
@given(random=randoms)
def test_damaged_onnx_is_read_or_refused(random):
    pytest.importorskip("onnx", reason="reading ONNX needs its library")
    found = outcome("onnx_ml", with_a_wrong_byte(ONNX.read_bytes(), random))
    assert isinstance(found, str | tuple)


@many
@given(random=randoms)
def test_onnx_with_damaged_lists_is_read_or_refused(random):
    onnx = pytest.importorskip("onnx", reason="reading ONNX needs its library")
    model = onnx.load_model_from_string(ONNX.read_bytes())
    for _ in range(random.randint(1, 3)):
        attribute = random.choice(model.graph.node[0].attribute)
        for values in (attribute.ints, attribute.floats):
            if values and random.random() < 0.8:
                values[random.randrange(len(values))] = random.choice((-1, 0, 1, 2, 3, 99, 2**31))
            elif values:
                values.pop()
    found = outcome("onnx_ml", model.SerializeToString())
    assert isinstance(found, str | tuple)


def damaged_spark(random):
    with zipfile.ZipFile(SPARK) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    kind = random.randint(0, 3)
    if kind == 0:
        return with_a_wrong_byte(SPARK.read_bytes(), random)
    name = sorted(files)[1 if kind == 1 else 3]
    if name.endswith(".txt"):
        files[name] = damaged_json(files[name], random)
    elif kind == 2:
        files[name] = with_a_wrong_byte(files[name], random)
    else:
        rows = damaged(pq.read_table(io.BytesIO(files[name])).to_pylist(), random)
        out = io.BytesIO()
        try:
            pq.write_table(pa.Table.from_pylist(rows), out)
        except (pa.ArrowException, AttributeError, OverflowError, TypeError, UnicodeError):
            return SPARK.read_bytes()  # no such table can be written
        files[name] = out.getvalue()
    return zip_files(files)


@many
@given(random=randoms)
def test_a_damaged_spark_model_is_read_or_refused(random):
    assert isinstance(outcome("spark_ml", damaged_spark(random)), str | tuple)


def ring(children):
    return {
        "tree": {
            "target_type": "regression",
            "feature_names": ["x"],
            "tree_structure": [
                {
                    "node_index": index,
                    "decision_type": "lt",
                    "split_feature": 0,
                    "threshold": 1.5,
                    "left_child": left,
                    "right_child": right,
                }
                for index, (left, right) in enumerate(children)
            ],
        }
    }


@pytest.mark.parametrize("children", [[(0, 0)], [(1, 1), (0, 0)], [(1, 2), (2, 2), (1, 1)]])
def test_nodes_that_lead_back_are_refused(children):
    said = outcome("eland_json", json.dumps(ring(children)).encode())
    assert "has two parents" in said


FOUND = sorted((places.ROOT / run_fuzz.KEPT).glob("*/*.bin"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_damaged_file_that_once_made_a_reader_fail_is_read_or_refused(path):
    assert run_fuzz.outcome(formats()[path.parent.name], path.read_bytes())


def test_what_was_kept_of_a_reader_that_failed_says_why():
    assert all(path.with_suffix(".txt").read_text(encoding="utf-8") for path in FOUND)
