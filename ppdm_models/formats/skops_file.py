"""skops archives of scikit-learn estimators: described objects and arrays, read without building any."""

from __future__ import annotations

from collections.abc import Iterator

from ppdm_models.codecs.common.archive import is_archive
from ppdm_models.codecs.common.stray_files import stray_files
from ppdm_models.codecs.skops.fitted import Fitted, fitted_of
from ppdm_models.codecs.skops.fitted_leaks import leaks_of
from ppdm_models.codecs.skops.models import model_of
from ppdm_models.codecs.skops.schema import SCHEMA, FilePart, open_archive
from ppdm_models.formats import Format, Opened
from ppdm_models.tree.leaks import Leak


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
    yield from stray_files(files, lambda name: name == SCHEMA or f'"{name}"'.encode() in schema)


FORMAT = Skops()
