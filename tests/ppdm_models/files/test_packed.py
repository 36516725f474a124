"""Models that were packed whole: read as what is packed, within limits, and the packing looked at too."""

import bz2
import gzip
import io
import lzma
import zlib

import pytest

from tests.kit import places
from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.side_channels import LeakKind

PLAIN = (places.DATA / "formats" / "xgboost_model" / "good" / "loan.json").read_bytes()
PACKED = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
PACKING = "the header of the packed file"


def packing_kinds(data):
    return [leak.kind for leak in open_model(data, "m").leaks if leak.where == PACKING]


@pytest.mark.parametrize("packed", PACKED)
def test_a_packed_model_is_what_was_packed(packed):
    plain, other = open_model(PLAIN, "m"), open_model(PACKED[packed](PLAIN), "m")
    assert other.model == plain.model
    assert other.leaks == plain.leaks


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize(
    "broken",
    [
        lambda data: data[:-9],
        lambda data: data[: len(data) // 2],
        lambda data: data[:20],
        lambda data: data + b"more",
        lambda data: data + data,
        lambda data: data[:40] + b"zz" + data[42:],
    ],
)
def test_a_packed_model_that_is_broken_is_refused(packed, broken):
    with pytest.raises(TreeFormatError, match="packed|compressed file|nothing|known"):
        open_model(broken(PACKED[packed](PLAIN)), "m")


@pytest.mark.parametrize("packed", PACKED)
def test_what_unpacks_to_too_much_is_refused(packed, monkeypatch):
    monkeypatch.setattr(limits, "BYTES", 2**22)
    data = PACKED[packed](b"\0" * 2**23)
    with pytest.raises(TreeFormatError, match="unpacks to more than the limit of 4,194,304 bytes"):
        open_model(data, "m")


def test_what_gzip_tells_of_a_file_is_a_leak():
    assert packing_kinds(gzip.compress(PLAIN, mtime=0)) == []
    out = io.BytesIO()
    with gzip.GzipFile("model.json", "wb", fileobj=out, mtime=1_700_000_000) as file:
        file.write(PLAIN)
    assert packing_kinds(out.getvalue()) == [LeakKind.TIMESTAMP, LeakKind.PATH]


def test_free_text_in_the_header_of_gzip_is_unknown():
    deflated = gzip.compress(PLAIN, mtime=0)[10:]
    extra = b"\x1f\x8b\x08\x04" + bytes(6) + b"\x05\0" + b"Alice" + deflated
    comment = b"\x1f\x8b\x08\x10" + bytes(6) + b"Alice has it\0" + deflated
    name = b"\x1f\x8b\x08\x08" + bytes(6) + b"Alice " * 30 + b"\0" + deflated
    assert zlib.decompress(comment, 31) == PLAIN
    sentence = b"\x1f\x8b\x08\x08" + bytes(6) + b"patient 4711 has it\0" + deflated
    for data in (extra, comment, name, sentence):
        assert packing_kinds(data) == [LeakKind.UNKNOWN]
