"""XGBoost dumps (``dump_model`` with ``dump_format="json"``): a list of nested trees, with or without statistics."""

from __future__ import annotations

from treewarden.ppdm_models.formats import Format, Opened, Rewritable
from treewarden.ppdm_models.formats.common.boosted import leaf_score, paired
from treewarden.ppdm_models.formats.common.json import as_list, opens_json, read_json, written_json
from treewarden.ppdm_models.formats.xgboost._nested import ensemble_of, pruned, telling_names
from treewarden.ppdm_models.tree.ensemble import Model


class XgboostDump(Format):
    """Reads and rewrites dumps; they say neither the objective nor the base score, so that nothing is predicted."""

    publish_instead = "publish what booster.save_model('model.json') writes"
    how_to_export = "save the model itself with booster.save_model('model.json')"
    rewrites = True

    def sniff(self, data: bytes) -> bool:
        return opens_json(data) == b"[" and b'"nodeid"' in data[:4096]

    def open(self, data: bytes, source: str) -> Opened:
        return _XgboostDump(data, source)


class _XgboostDump(Rewritable):
    """The bytes stay, not the document: each change takes a fresh one, and uses it up."""

    def __init__(self, data: bytes, source: str) -> None:
        model = ensemble_of(_document(data, source), source)
        super().__init__(model, telling_names(model))
        self.data, self.source = data, source

    def rewrite(self, changed: Model) -> bytes:
        """Return the file without the ``cover`` of withheld nodes, and with a leaf where nodes were pruned.

        Gains stay: with the regularisation they bound the covers again.
        """
        raw = _document(self.data, self.source)
        for index, (old, new) in enumerate(paired(self.model, changed)):
            if old.nodes != new.nodes:
                for leaf in new.leaves:
                    if leaf.outputs is None:
                        leaf_score(new, leaf)
                pruned(raw[index], new)
        return written_json(raw, self.data)


def _document(data: bytes, source: str) -> list[object]:
    return as_list(read_json(data, source), source, [])


FORMAT = XgboostDump()
