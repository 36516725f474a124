"""skops archives of scikit-learn estimators: described objects and arrays, read without building any."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from treewarden.ppdm_models.archive import is_archive
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.packed import stray_files
from treewarden.ppdm_models.formats.skops._estimator import Fitted, fitted_of
from treewarden.ppdm_models.formats.skops._models import leaks_of, model_of
from treewarden.ppdm_models.formats.skops._parts import SCHEMA, FilePart, open_archive
from treewarden.ppdm_models.tree.side_channels import Leak

BETWEEN_QUOTES = re.compile(rb'"([^"]*)(?=")')
"""Whatever stands between one quote and the next, of which each closes one and opens another."""


class Skops(Format):
    """A decision tree, forest or boosted model, alone or at the end of a pipeline."""

    def sniff(self, data: bytes) -> bool:
        return is_archive(data) and b"schema.json" in data

    def open(self, data: bytes, source: str) -> Opened:
        root = open_archive(data, source).root()
        fitted = fitted_of(root)
        return Opened(model_of(fitted), _leaks(root, fitted))


def _leaks(root: FilePart, fitted: Fitted) -> Iterator[Leak]:
    files = root.archive.files
    schema = files[SCHEMA]
    yield from leaks_of(root, fitted)
    named = {SCHEMA, *_named(files, schema)}
    yield from stray_files(files, lambda name: name in named)


def _named(files: Collection[str], schema: bytes) -> Iterator[str]:
    """Yield the files whose names stand in the schema between quotes: all in one pass, as there may be thousands."""
    plain = {name.encode("utf-8", "surrogatepass"): name for name in files if '"' not in name}
    for between in BETWEEN_QUOTES.finditer(schema):
        if between[1] in plain:
            yield plain[between[1]]


FORMAT = Skops()
