"""How the leaves of what was audited are called: their fingerprints, and their paths in words, made when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Spot
from treewarden.ppdm_models.tree.fingerprint import fingerprints
from treewarden.ppdm_models.tree.paths import path_text


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of models that are held meanwhile, by the identity of each.

    ``fingerprints`` are by what it predicts too, ``paths`` by the place of a tree and its node.
    """

    fingerprints: dict[tuple[int, str], tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    paths: dict[tuple[int, int, int], str] = field(default_factory=dict)


class Names:
    """How the leaves of one model are called, whatever its file numbers them."""

    def __init__(self, evidence: Evidence, known: Known | None = None) -> None:
        """Take the evidence about the model, and what ``known`` has of it: several adversaries are asked of one."""
        self._evidence = evidence
        self._known = Known() if known is None else known

    def of(self, spot: Spot) -> str:
        """Return the fingerprint of a leaf, or of the leaf where a profile stops; "" of the file and where none is."""
        if spot.kind == "file":
            return ""
        node = self._evidence.node_of(spot)
        return self._all[spot.tree][node] if node >= 0 else ""

    def path(self, spot: Spot) -> str:
        """Return what leads to a leaf, or to the leaf where a profile stops, in words."""
        node, found = self._evidence.node_of(spot), self._known.paths
        key = id(self._evidence.model), spot.tree, node
        if key not in found:
            found[key] = path_text(self._evidence.tree_of(spot), node)
        return found[key]

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
        found = self._known.fingerprints
        if key not in found:
            found[key] = fingerprints(model, target)
        return found[key]
