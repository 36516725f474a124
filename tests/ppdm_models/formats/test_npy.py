"""NumPy's array files: what NumPy writes comes back, and no header makes us allocate, unpickle or crash."""

from __future__ import annotations

import io
import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.skops._parts import read_npy

NODES = np.dtype(
    {
        "names": ["left", "share", "missing"],
        "formats": ["<i8", "<f8", "u1"],
        "offsets": [0, 8, 16],
        "itemsize": 24,
    }
)
ARRAYS = [
    np.arange(6, dtype=np.float64).reshape(2, 3),
    np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    np.array(3.5),
    np.zeros((0, 4)),
    np.array(["yes", "no"]),
    np.array([True, False]),
    np.array([(1, 0.5, 0), (2, 0.25, 1)], dtype=NODES),
]
GOOD = {"descr": "<f8", "fortran_order": False, "shape": (2,)}


def written(array, version=None):
    out = io.BytesIO()
    npy.write_array(out, array, version=version, allow_pickle=True)
    return out.getvalue()


def with_header(text, body=bytes(16), version=1):
    header = text.encode()
    width = 2 if version == 1 else 4
    return npy.magic(version, 0) + len(header).to_bytes(width, "little") + header + body


def header(**changes):
    return with_header(repr(GOOD | changes))


@pytest.mark.parametrize("version", [None, (1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_what_numpy_writes_comes_back(array, version):
    found = read_npy(written(array, version), "a.npy")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


class Bomb:
    def __reduce__(self):
        return sys.exit, ("it was unpickled",)


@pytest.mark.parametrize("dtype", [object, [("a", object)], [("a", object, (1,))]], ids=str)
def test_objects_are_refused_and_never_unpickled(dtype):
    array = np.zeros(1, dtype=dtype)
    (array if dtype is object else array["a"])[:] = Bomb()
    with pytest.raises(TreeFormatError, match=r"a\.npy: this kind of NumPy array is not supported"):
        read_npy(written(array), "a.npy")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"PK\x03\x04" + bytes(40),
        npy.magic(1, 0) + b"\xff\xff",
        with_header(repr(GOOD), version=4),
        npy.magic(2, 0) + (2**32 - 1).to_bytes(4, "little") + b"{}",
        with_header(""),
        with_header("[]"),
        with_header("{}"),
        with_header("{'descr'"),
        with_header("(" * 9000),
        with_header("-" * 9000 + "1"),
        with_header("'" + "a" * 10_000 + "'"),
        with_header("__import__('os').getpid()"),
        with_header(repr(GOOD | {"more": 1})),
        with_header(repr(GOOD | {1: 1})),
        with_header(repr(GOOD).replace("(2,)", "(2L,)")),
        header(shape=(2**40,)),
        header(shape=(2**62, 4)),
        header(shape=(2**70,)),
        header(shape=(-2,)),
        header(shape=(-1, -2)),
        header(shape=(2.0,)),
        header(shape=[2]),
        header(shape=(1,) * 9 + (2,)),
        header(shape=(3,)),
        header(shape=(1,)),
        header(fortran_order=1),
        header(descr="<f16", shape=(1,)),
        header(descr="<c16", shape=(1,)),
        header(descr="<M8[ns]"),
        header(descr="O"),
        header(descr="|S0", shape=(2**39,)),
        header(descr="(2,)<f4"),
        header(descr="(99999999,)<f8"),
        header(descr=("<f4", (2,))),
        header(descr=("<f4", (2**40,))),
        header(descr="no type"),
        header(descr="a8"),
        header(descr=None),
        header(descr=7),
        header(descr=[]),
        header(descr=[7]),
        header(descr=[("a",)]),
        header(descr=[("a", "<f4"), ("a", "<f4")]),
        header(descr=[("a", [("b", "<f8")])]),
        header(descr=[(("t", "a"), "<f4"), ("b", "O")]),
    ],
    ids=lambda data: ascii(data[:90]),
)
def test_a_file_that_is_none_is_refused_as_such(data):
    with pytest.raises(TreeFormatError, match=r"^a\.npy: a NumPy array|^a\.npy: .*NumPy"):
        read_npy(data, "a.npy")


@given(st.data())
def test_a_damaged_file_is_read_or_refused(data):
    whole = bytearray(written(data.draw(st.sampled_from(ARRAYS))))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(6, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    with suppress(TreeFormatError):
        assert read_npy(bytes(whole), "a.npy").nbytes <= len(whole)
