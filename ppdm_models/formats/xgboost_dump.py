"""XGBoost dumps (``dump_model`` with ``dump_format="json"``): a list of nested trees, with or without statistics."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ppdm_models import limits
from ppdm_models.ensemble import Combination, Ensemble, Link, Member, Model
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats import Format
from ppdm_models.formats._boosted_trees import leaf_score, paired
from ppdm_models.formats._json import as_list, opens_json, read_json, refused, written_json
from ppdm_models.formats._telling_text import telling
from ppdm_models.formats._xgboost_nested import Dump, pruned
from ppdm_models.leaks import Leak
from ppdm_models.tree import Feature, Quality, Task

INDEXED = re.compile(r"f(\d{1,6})")


class XgboostDump(Format):
    """Reads and rewrites dumps; they say neither the objective nor the base score, so that nothing is predicted."""

    def sniff(self, data: bytes) -> bool:
        if data.startswith(b"booster[0]:"):
            return True
        return opens_json(data) == b"[" and b'"nodeid"' in data[:4096]

    def read(self, data: bytes, source: str) -> Ensemble:
        if data.startswith(b"booster[0]:"):
            raise TreeFormatError(
                source, 'an XGBoost dump as text; dump it with dump_format="json" or save the model'
            )
        raw = as_list(read_json(data, source), source, [])
        if not 0 < len(raw) <= limits.TREES:
            raise refused(source, [], f"{len(raw):,} trees, where 1 to {limits.TREES:,} should be")
        dump = Dump(raw, source)
        features = _features(dump)
        forest = dump.forest([feature.name for feature in features])
        trees = forest.trees(
            features,
            [Quality.HESSIAN if covered else Quality.ABSENT for covered in forest.counted()],
            source,
            lambda tree: f"{source}: tree {tree}",
        )
        return Ensemble(
            members=tuple(Member(tree, name=str(index)) for index, tree in enumerate(trees)),
            combination=Combination.SUM,
            features=features,
            target="",
            task=Task.REGRESSION,
            link=Link.UNKNOWN,
            source=source,
            format="xgboost_dump",
            notes=tuple(_notes(dump)),
        )

    def leaks(self, data: bytes, source: str) -> tuple[Leak, ...]:
        """Return the names of features that tell of a person or a place."""
        found = [
            (feature.name, telling(feature.name)) for feature in self.read(data, source).features
        ]
        return tuple(
            Leak(kind, "", f"the name of the feature {name!r} looks like a {kind}")
            for name, kind in found
            if kind is not None
        )

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


def _features(dump: Dump) -> tuple[Feature, ...]:
    """Return the features that the trees test: by number where they have no names, else as they come."""
    names: Iterable[str] = dump.numeric
    if all(INDEXED.fullmatch(name) for name in dump.numeric):
        names = sorted(dump.numeric, key=lambda name: int(name[1:]))
    return tuple(
        Feature(name, numeric=dump.numeric[name], single=dump.numeric[name]) for name in names
    )


def _notes(dump: Dump) -> Iterable[str]:
    yield f"{dump.source}: a dump says neither the objective nor the base score; save the model to have both"
    if dump.indicators:
        yield (
            f"{dump.source}: {dump.indicators} tests on indicators say only whether the value is there; a 0 that is "
            "written out may go either way"
        )
    if dump.whole_covers():
        yield (
            f"{dump.source}: all covers are whole numbers, as where each record's second derivative is 1 "
            "(reg:squarederror); then they count training records"
        )


FORMAT = XgboostDump()
