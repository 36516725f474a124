"""XGBoost models as ``save_model`` writes them: JSON, or the same document as UBJSON."""

from __future__ import annotations

from treewarden.ppdm_models.formats import Format, Opened, Rewritable, Strippable
from treewarden.ppdm_models.formats.common.json import opens_json, read_json, written_json
from treewarden.ppdm_models.formats.xgboost._layout import odd_writing, written_plainly
from treewarden.ppdm_models.formats.xgboost._learner import ensemble_of
from treewarden.ppdm_models.formats.xgboost._rewrite import (
    leaks_of,
    rewritten,
    trees_of_document,
    unexplained_sums,
    without_leaks,
)
from treewarden.ppdm_models.formats.xgboost._ubjson import opens_ubjson, read_ubjson, written_ubjson
from treewarden.ppdm_models.formats.xgboost._unread import rest_of
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind


class XgboostModel(Format):
    """Reads and rewrites both layouts of ``gbtree`` and ``dart`` boosters, from version 1 on."""

    rewrites = True
    drops_trees = True
    rounds_leaves = True
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        if opens_ubjson(data):
            return b"learner" in data[:64] or b"gradient_booster" in data
        return opens_json(data) == b"{" and b'"gradient_booster"' in data and b'"learner"' in data

    def open(self, data: bytes, source: str) -> Opened:
        return _OpenedModel(data, source)


class _OpenedModel(Rewritable, Strippable):
    """The bytes stay, not the document: each change takes a fresh one, and uses it up.

    For 1,000,000 nodes it takes 280 MB, more than the model (230 MB).
    """

    def __init__(self, data: bytes, source: str) -> None:
        document = _document(data, source)
        leaks = leaks_of(document, source)
        told = {leak.where for leak in leaks}
        rest = (leak for leak in rest_of(document, source) if leak.where not in told)
        leaks = (*leaks, *rest)
        model = ensemble_of(document, source)  # it refuses columns of other lengths
        layout = odd_writing(data, document, trees_of_document(document, source))
        odd = [Leak(LeakKind.UNKNOWN, "layout", layout, removable=True)] if layout else []
        super().__init__(model, (*leaks, *unexplained_sums(document, source), *odd))
        self.data, self.source = data, source

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        document = without_leaks(_document(self.data, self.source), self.source, kinds)
        trees = trees_of_document(document, self.source)
        if LeakKind.UNKNOWN in kinds and odd_writing(self.data, document, trees):
            document = written_plainly(document, trees)
        return _written(document, self.data)

    def rewrite(self, changed: Model) -> bytes:
        """Return the file with the sums, gains and inner weights of withheld nodes at 0, and pruned nodes gone."""
        document = _document(self.data, self.source)
        return _written(rewritten(document, self.model, changed, self.source), self.data)


def _document(data: bytes, source: str) -> object:
    if opens_ubjson(data):
        return read_ubjson(data, source)
    return read_json(data, source, allow_nan=True)


def _written(document: object, like: bytes) -> bytes:
    return written_ubjson(document) if opens_ubjson(like) else written_json(document, like)


FORMAT = XgboostModel()
