"""Damaged files of scikit-learn, R and Weka are read or refused, and nothing else happens."""

import io
import re
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit import places
from tests.kit.tiers import examples
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats

GOOD = places.DATA / "formats"
READERS = (
    "graphviz_dot",
    "partykit_text",
    "r_forest_json",
    "rpart_json",
    "rpart_text",
    "sklearn_json",
    "sklearn_text",
    "skops_file",
    "weka_text",
)
FORMATS = {name: formats()[name] for name in READERS}
FILES = {name: sorted((GOOD / name / "good").iterdir()) for name in READERS}
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
WRONG = [
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"99999999999999999999",
    b"0.5",
    b"",
    b"-7e-4",
    b'"x"',
    b"null",
    b"[]",
    b"2",
]
SETTINGS = settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))


def read_or_refuse(reader, data):
    reader.sniff(data)
    try:
        reader.open(data, "damaged")
    except TreeFormatError:
        return


def damaged(data, draw):
    """The bytes with one to three faults of the kinds that files come with."""
    for _ in range(draw(st.integers(1, 3))):
        lines = data.split(b"\n")
        place = draw(st.integers(0, max(len(lines) - 1, 0)))
        kind = draw(st.sampled_from(["cut", "drop", "twice", "swap", "number", "byte", "deep"]))
        numbers = list(NUMBER.finditer(data))
        if kind == "cut":
            data = data[: draw(st.integers(0, len(data)))]
        elif kind == "drop":
            data = b"\n".join(lines[:place] + lines[place + 1 :])
        elif kind == "twice":
            data = b"\n".join([*lines[:place], lines[place], *lines[place:]])
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
            data = b"\n".join(lines)
        elif kind == "number" and numbers:
            found = draw(st.sampled_from(numbers))
            data = data[: found.start()] + draw(st.sampled_from(WRONG)) + data[found.end() :]
        elif kind == "byte" and data:
            at = draw(st.integers(0, len(data) - 1))
            data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
        elif kind == "deep":
            lines[place] = draw(st.sampled_from([b"|   ", b"  ", b"[", b"{"])) * 500 + lines[place]
            data = b"\n".join(lines)
    return data


@pytest.mark.parametrize("name", READERS)
@SETTINGS
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(name, data):
    whole = data.draw(st.sampled_from(FILES[name])).read_bytes()
    read_or_refuse(FORMATS[name], damaged(whole, data.draw))


@SETTINGS
@given(data=st.data())
def test_a_damaged_file_inside_a_skops_archive_is_read_or_refused(data):
    whole = data.draw(st.sampled_from(FILES["skops_file"])).read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive, zipfile.ZipFile(out, "w") as copy:
        names = archive.namelist()
        victim = data.draw(st.sampled_from([*names, *["schema.json"] * len(names)]))
        for name in names:
            inner = archive.read(name)
            copy.writestr(name, damaged(inner, data.draw) if name == victim else inner)
    read_or_refuse(FORMATS["skops_file"], out.getvalue())


@pytest.mark.parametrize("name", READERS)
def test_two_files_in_one_are_read_or_refused(name):
    for path in FILES[name]:
        read_or_refuse(FORMATS[name], path.read_bytes() * 2)


DEEP = {
    "sklearn_text": "".join(f"{'|   ' * n}|--- a <= 1.00\n" for n in range(3000)),
    "weka_text": "J48 pruned tree\n---\n" + "".join(f"{'|   ' * n}a <= 1\n" for n in range(3000)),
    "partykit_text": "Fitted party:\n[1] root\n"
    + "".join(f"{'|   ' * n}[{n + 1}] a <= 1\n" for n in range(1, 3000)),
    "rpart_text": "node), split, n, deviance, yval\n1) root 9 9 9\n"
    + "".join(f"{2**n}) a< 1 9 9 9\n{2**n + 1}) a>=1 9 9 9 *\n" for n in range(1, 59)),
    "graphviz_dot": "digraph Tree {\n"
    + "".join(f'{n} [label="a <= 1"] ;\n{n} -> {n + 1} ;\n' for n in range(3000)),
    "sklearn_json": '{"nodes_dtype": [["left_child", ""]], "nodes": ' + "[" * 90_000,
    "rpart_json": '{"frame": [], "splits": [], "ncompete": ' + "[" * 90_000,
    "r_forest_json": '[{"left daughter": ' * 90_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_a_file_that_nests_too_deep_is_refused(name):
    data = DEEP[name].encode()
    assert FORMATS[name].sniff(data)
    with pytest.raises(TreeFormatError):
        FORMATS[name].open(data, "deep")
