"""A saved Spark model is compared with one written from its trees alone: nothing can be hidden in a redacted one."""

import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.kit import places
from tests.ppdm_models.formats.accounting import cleaned, content, leaks
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import open_model, read_bytes
from treewarden.ppdm_models.limits import archive_of, entries

FILE = (places.DATA / "formats/spark_ml/good/tree.zip").read_bytes()
CLEAN = cleaned(FILE, "m.zip")


def told(data):
    try:
        return bool(open_model(data, "m.zip").leaks)
    except TreewardenError:
        return True


def test_a_redacted_model_has_nothing_beside_its_trees_and_says_the_same():
    assert leaks(FILE, "m.zip") != [] == leaks(CLEAN, "m.zip")
    assert cleaned(CLEAN, "m.zip") == CLEAN
    one, two = (open_model(data, "m.zip").model for data in (FILE, CLEAN))
    assert [(n.test, n.class_counts, n.score) for n in one.nodes] == [
        (n.test, n.class_counts, n.score) for n in two.nodes
    ]
    assert (one.features, one.target, one.classes) == (two.features, two.target, two.classes)


def test_the_folder_of_a_redacted_model_is_as_clean_as_its_archive(tmp_path):
    with zipfile.ZipFile(io.BytesIO(CLEAN)) as archive:
        archive.extractall(tmp_path / "model")
    assert read_bytes(tmp_path / "model") == CLEAN


def changed_files():
    """Yield archives with something hidden in one of their files."""
    files = entries(CLEAN, "m.zip")
    for name, data in files.items():
        yield f"{name} +", {**files, name: data + b"\n"}
        if name.endswith(".parquet"):
            yield from parquet_hidings(files, name, pq.read_table(pa.BufferReader(data)))
            continue
        document = json.loads(data)
        for key in (*document, "ann"):
            for secret in ("ann 44 hiv", 440.0712345678901, {"ann": 44}):
                yield f"{name}: {key}", with_json(files, name, {**document, key: secret})
        for group in ("paramMap", "defaultParamMap"):
            for key in (*document[group], "seed", "ann"):
                for secret in ("ann 44 hiv", 12345678901234567):
                    inner = {**document[group], key: secret}
                    yield (
                        f"{name}: {group}: {key}",
                        with_json(files, name, {**document, group: inner}),
                    )
    yield "a file", {**files, "notes.txt": b"ann 44 hiv"}
    yield "a hidden file", {**files, "metadata/._SUCCESS.crc": b"ann 44 hiv"}


def parquet_hidings(files, name, table):
    def written(changed, **options):
        out = io.BytesIO()
        pq.write_table(changed, out, **options)
        return {**files, name: out.getvalue()}

    yield f"{name}: layout", written(table)
    yield f"{name}: metadata", written(table.replace_schema_metadata({"ann": "44 hiv"}))
    yield f"{name}: a column", written(table.append_column("ann", pa.array([44] * len(table))))
    for column in ("impurity", "gain"):
        values = pa.array([440.0712345678901] * len(table))
        place = table.column_names.index(column)
        yield f"{name}: {column}", written(table.set_column(place, column, values))


def with_json(files, name, document):
    return {**files, name: json.dumps(document, separators=(",", ":")).encode() + b"\n"}


def test_nothing_can_be_hidden_in_a_redacted_model():
    model = content(open_model(CLEAN, "m.zip").model)
    passed, tried = [], 0
    for what, files in changed_files():
        data = archive_of(files)
        if data == CLEAN:
            continue
        tried += 1
        if not told(data) and content(open_model(data, "m.zip").model) == model:
            passed.append(what)
    assert passed == []
    assert tried >= 50


@pytest.mark.parametrize("place", ["comment", "extra", "date"])
def test_nothing_can_be_hidden_in_the_archive_itself(place):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in entries(CLEAN, "m.zip").items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 2 if place == "date" else 0))
            info.extra = b"\x99\x99\x04\x00hiv!" if place == "extra" else b""
            archive.writestr(info, data)
        archive.comment = b"ann 44 hiv" if place == "comment" else b""
    assert told(out.getvalue())


def test_settings_that_change_what_is_predicted_leave_the_file_unknown():
    files = entries(FILE, "m.zip")
    name = next(name for name in files if "metadata/part-" in name and not name.endswith(".crc"))
    document = json.loads(files[name])
    document["paramMap"]["thresholds"] = [0.2, 0.8]
    data = archive_of({**files, name: json.dumps(document).encode()})
    (rest,) = [leak for leak in open_model(data, "m.zip").leaks if leak.is_possible]
    assert "the setting thresholds" in rest.what
    assert not rest.removable
