"""Which files of a skops archive are a part of the model: those that its schema names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.formats.skops.skops_file import _named

NAMES = st.text(alphabet='ab"\\:, é', max_size=3)


@given(st.lists(NAMES, max_size=6), st.text(alphabet='ab"\\:, é', max_size=30))
def test_a_file_is_named_where_its_name_stands_between_quotes(files, schema):
    data = schema.encode("utf-8")
    found = {name for name in files if '"' not in name and f'"{name}"'.encode() in data}
    assert set(_named(files, data)) == found
