"""Makes the small H2O MOJO archives under formats/h2o_mojo/, byte by byte: good ones, and bad ones from them.

H2O itself makes no archive this small; the packing is the one of hex.genmodel.algos.tree.SharedTreeMojoModel, and the
archives of the collection, which H2O wrote, are read by the same reader. Run: ``python tests/data/make_mojos.py``.
"""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parent / "formats" / "h2o_mojo"
NA_VS_REST, NA_LEFT, NA_RIGHT = 1, 2, 3
INI = """[info]
h2o_version = 3.44.0.3
mojo_version = {version}
license = Apache License Version 2.0
algo = gbm
endianness = {endianness}
category = Regression
uuid = 1234
supervised = true
n_features = 3
n_classes = 1
n_columns = 4
n_domains = 1
timestamp = 2026-01-01T00:00:00.000Z
escape_domain_values = true
n_trees = {trees}
n_trees_per_class = 1
_genmodel_encoding = AUTO
distribution = gaussian
link_function = identity
init_f = 10.5

[columns]
age
town
hours
pay

[domains]
1: 3 d000.txt
"""


def leaf(value, order="<"):
    return struct.pack(order + "f", value)


def node(column, direction, how, left, right, order="<", kind=0):
    """Return a node; a side is (bytes, whether they are a leaf)."""
    (left_bytes, left_leaf), (right_bytes, right_leaf) = left, right
    flags = kind | (0xC0 if right_leaf else 0) | (48 if left_leaf else 0)
    size = b"" if left_leaf else struct.pack("B", len(left_bytes))
    head = struct.pack(order + "BHB", flags, column, direction)
    return head + how + size + left_bytes + right_bytes


def tree(order="<"):
    """Return age < 30 ? (town in {b} right, missing left) : (hours missing right)."""
    small_set = bytes([0b010, 0, 0, 0])
    towns = node(
        1, NA_LEFT, small_set, (leaf(1, order), True), (leaf(2, order), True), order, kind=8
    )
    hours = node(2, NA_VS_REST, b"", (leaf(3, order), True), (leaf(4, order), True), order)
    threshold = struct.pack(order + "f", 30)
    return node(0, NA_RIGHT, threshold, (towns, False), (hours, False), order)


def large_set(order="<"):
    """Return a split by a set that begins at the second category and has two of them: c goes right, a is missing."""
    how = struct.pack(order + "HI", 1, 2) + bytes([0b10])
    return node(1, NA_LEFT, how, (leaf(-1, order), True), (leaf(1, order), True), order, kind=12)


def beside(*rows, order="<"):
    """Return rows of number, left records, right records, left number, right number."""
    return b"".join(
        struct.pack(order + "iiffffffii", number, 0, low, high, 0, 0, 0, 0, left, right)
        for number, low, high, left, right in rows
    )


ROWS = ((0, 6.0, 4.0, 1, 2), (1, 5.0, 1.0, 3, 4), (2, 3.0, 1.0, 5, 6))


def archive(files, trees=1, endianness="LITTLE_ENDIAN", version="1.40", towns="a\nb\nc\n", ini=INI):
    text = ini.format(trees=trees, endianness=endianness, version=version)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in {**files, "model.ini": text, "domains/d000.txt": towns}.items():
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


DETAILS = """{"model_id": 1, "model_id": 2, "parameters": [{"name": "learn_rate", "actual_value": 0.5},
{"name": "learn_rate_annealing", "actual_value": 1.0}, {"name": "seed", "actual_value": 3}], "output": {}}"""


def main():
    name, aux = "trees/t00_000.bin", "trees/t00_000_aux.bin"
    plain = {name: tree(), aux: beside(*ROWS)}
    second = {"trees/t00_001.bin": large_set()}
    bare = {"trees/t00_001.bin": struct.pack("<BHf", 0, 65535, 0.25), "trees/t00_001_aux.bin": b""}
    packed = tree()
    good = {
        "two_trees": archive({**plain, **second}, trees=2),
        "big_endian": archive(
            {name: tree(">"), aux: beside(*ROWS, order=">")}, endianness="BIG_ENDIAN"
        ),
        "one_leaf": archive({**plain, **bare}, trees=2),
        "details": archive({**plain, "experimental/modelDetails.json": DETAILS}),
    }
    wrong_rows = ((0, 6.0, 4.0, 1, 2), (1, 5.0, 1.0, 3, 4), (7, 3.0, 1.0, 5, 6))
    bad = {
        "cut_off": archive({**plain, name: packed[:-2]}),
        "left_over": archive({**plain, name: packed + b"\0"}),
        "no_column": archive({**plain, name: packed[:1] + b"\x09" + packed[2:]}),
        "no_direction": archive({**plain, name: packed[:3] + b"\x09" + packed[4:]}),
        "flags": archive({**plain, name: b"\x10" + packed[1:]}),
        "left_too_long": archive({**plain, name: packed[:8] + b"\xf0" + packed[9:]}),
        "threshold_nan": archive({**plain, name: packed[:4] + leaf(float("nan")) + packed[8:]}),
        "set_of_numbers": archive({name: b"\x08\0\0\2" + large_set()[4:]}),
        "huge_set": archive({name: large_set()[:6] + b"\xff\xff\xff\xff" + large_set()[10:]}),
        "beside_of_others": archive({**plain, aux: beside(*wrong_rows)}),
        "beside_cut_off": archive({**plain, aux: beside(*ROWS)[:-1]}),
        "beside_negative": archive({**plain, aux: beside((0, -1.0, 4.0, 1, 2), *ROWS[1:])}),
        "missing_tree": archive(plain, trees=2),
        "no_trees": archive(plain, trees=0),
        "many_trees": archive(plain, trees=999999999),
        "old_version": archive(plain, version="1.00"),
        "wrong_domain": archive(plain, towns="a\nb\n"),
        "twin_domain": archive(plain, towns="a\nb\nb\n"),
        "endianness": archive(plain, endianness="MIDDLE"),
        "no_setting": archive(plain, ini=INI.replace("algo = gbm", "algo=gbm")),
        "details": archive({**plain, "experimental/modelDetails.json": "{"}),
    }
    for kind, files in (("good", good), ("bad", bad)):
        (FOLDER / kind).mkdir(parents=True, exist_ok=True)
        for label, data in files.items():
            (FOLDER / kind / f"{label}.zip").write_bytes(data)


if __name__ == "__main__":
    main()
