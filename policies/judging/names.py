"""The fingerprints of the leaves of what was audited: made when the first of them is asked for."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cached_property

import numpy as np

from audit.evidence import Evidence
from audit.reading import Spot
from ppdm_models.tree.fingerprint import fingerprints

Known = MutableMapping[tuple[int, str], tuple[tuple[str, ...], ...]]
"""The fingerprints of models that are held meanwhile, by the identity of each and what it predicts."""


class Names:
    """How the leaves of one model are called, whatever its file numbers them."""

    def __init__(self, evidence: Evidence, known: Known | None = None) -> None:
        """Take the evidence about the model, and what ``known`` has of it: several adversaries are asked of one."""
        self._evidence = evidence
        self._known: Known = {} if known is None else known

    def of(self, spot: Spot) -> str:
        """Return the fingerprint of a leaf, or of the leaf where a profile stops; "" of the file and where none is."""
        if spot.kind == "file":
            return ""
        node = self._evidence.node_of(spot)
        return self._all[spot.tree][node] if node >= 0 else ""

    @cached_property
    def with_people(self) -> frozenset[str]:
        """The fingerprints of the places where records stop."""
        held = self._evidence.population.counts > 0
        return frozenset(
            names[node]
            for names, stops in zip(self._all, self._evidence.stops, strict=True)
            for node in np.unique(stops[held]).tolist()
            if node >= 0 and names[node]
        )

    @cached_property
    def _all(self) -> tuple[tuple[str, ...], ...]:
        model, target = self._evidence.model, self._evidence.target
        key = id(model), target
        if key not in self._known:
            self._known[key] = fingerprints(model, target)
        return self._known[key]
