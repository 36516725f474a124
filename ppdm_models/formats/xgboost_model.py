"""XGBoost models as ``save_model`` writes them: JSON, or the same document as UBJSON."""

from __future__ import annotations

from ppdm_models.codecs.common.json import opens_json, read_json, written_json
from ppdm_models.codecs.xgboost.leaks import leaks_of, without_leaks
from ppdm_models.codecs.xgboost.learner import ensemble_of
from ppdm_models.codecs.xgboost.rewrite import rewritten
from ppdm_models.codecs.xgboost.ubjson import opens_ubjson, read_ubjson, written_ubjson
from ppdm_models.formats import Format
from ppdm_models.tree.ensemble import Ensemble, Model
from ppdm_models.tree.leaks import Leak, LeakKind


class XgboostModel(Format):
    """Reads and rewrites both layouts of ``gbtree`` and ``dart`` boosters, from version 1 on."""

    def sniff(self, data: bytes) -> bool:
        if opens_ubjson(data):
            return b"learner" in data[:64] or b"gradient_booster" in data
        return opens_json(data) == b"{" and b'"gradient_booster"' in data and b'"learner"' in data

    def read(self, data: bytes, source: str) -> Ensemble:
        document = _document(data, source)
        leaks_of(document, source)  # what stands beside the trees must be understood as well
        return ensemble_of(document, source)

    def leaks(self, data: bytes, source: str) -> tuple[Leak, ...]:
        return leaks_of(_document(data, source), source)

    def without(self, data: bytes, source: str, kinds: frozenset[LeakKind]) -> bytes:
        return _written(without_leaks(_document(data, source), source, kinds), data)

    def rewrite(self, data: bytes, source: str, changed: Model) -> bytes:
        """Return the file with the sums of second derivatives of withheld nodes at 0, and pruned nodes gone.

        Gains, and the unscaled weights of inner nodes, stay: with the regularisation they bound the sums again.
        """
        document = _document(data, source)
        return _written(rewritten(document, ensemble_of(document, source), changed, source), data)


def _document(data: bytes, source: str) -> object:
    if opens_ubjson(data):
        return read_ubjson(data, source)
    return read_json(data, source, allow_nan=True)


def _written(document: object, like: bytes) -> bytes:
    return written_ubjson(document) if opens_ubjson(like) else written_json(document, like)


FORMAT = XgboostModel()
