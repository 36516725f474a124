"""XGBoost dumps (``dump_model`` with ``dump_format="json"``): a list of nested trees, with or without statistics."""

from __future__ import annotations

from ppdm_models.codecs.boosted.trees import leaf_score, paired
from ppdm_models.codecs.common.json import as_list, opens_json, read_json, written_json
from ppdm_models.codecs.xgboost.dumped import ensemble_of, telling_names
from ppdm_models.codecs.xgboost.nested import pruned
from ppdm_models.formats import Format
from ppdm_models.tree.ensemble import Ensemble, Model
from ppdm_models.tree.leaks import Leak


class XgboostDump(Format):
    """Reads and rewrites dumps; they say neither the objective nor the base score, so that nothing is predicted."""

    def sniff(self, data: bytes) -> bool:
        return opens_json(data) == b"[" and b'"nodeid"' in data[:4096]

    def read(self, data: bytes, source: str) -> Ensemble:
        return ensemble_of(as_list(read_json(data, source), source, []), source)

    def leaks(self, data: bytes, source: str) -> tuple[Leak, ...]:
        return telling_names(self.read(data, source))

    def rewrite(self, data: bytes, source: str, changed: Model) -> bytes:
        """Return the file without the ``cover`` of withheld nodes, and with a leaf where nodes were pruned.

        Gains stay: with the regularisation they bound the covers again.
        """
        raw = as_list(read_json(data, source), source, [])
        for index, (old, new) in enumerate(paired(self.read(data, source), changed)):
            if old.nodes != new.nodes:
                for leaf in new.leaves:
                    if leaf.outputs is None:
                        leaf_score(new, leaf)
                pruned(raw[index], new)
        return written_json(raw, data)


FORMAT = XgboostDump()
