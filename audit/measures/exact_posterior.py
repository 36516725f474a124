"""Highest probability of a true value when all consistent tables are equally likely.

Unlike the maximum-entropy estimate this counts whole records: a data set gives each told-apart record a class, and all
data sets consistent with the leaves and split choices weigh the same. Where they were drawn instead of counted the
reading spans the simultaneous confidence intervals (99 %, Clopper & Pearson 1934, Bonferroni over the cells).
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters, PerPlace
from treewarden.audit.measures._shared import known_worlds, true_values
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots


class ExactPosterior(Measure):
    """max over profiles and true values of P(value | profile), uniform over consistent data sets."""

    unit = "share"
    plain = "highest probability of a true value over all consistent tables"
    short = "probability of the true value"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.WORLDS})
    places = "profile"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        worlds = known_worlds(evidence)
        if isinstance(worlds, Undetermined):
            return worlds
        posterior = worlds.enumeration.posterior
        if isinstance(posterior, Undetermined):
            return posterior
        true = true_values(evidence, worlds) & (worlds.counts > 0)[:, None]
        low, high = (
            np.where(true, end, 0.0).max(axis=1) for end in (posterior.low, posterior.high)
        )
        return PerPlace(np.arange(len(worlds.counts), dtype=np.intp), low, high)

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        worlds = known_worlds(evidence)
        if isinstance(worlds, Undetermined):
            return Measurement(worlds)
        posterior = worlds.enumeration.posterior
        if isinstance(posterior, Undetermined):
            return Measurement(posterior)
        true = true_values(evidence, worlds) & (worlds.counts > 0)[:, None]
        low = np.where(true, posterior.low, 0.0).max(axis=1)
        held = np.where(true, posterior.high, 0.0)
        high, value = held.max(axis=1), held.argmax(axis=1)
        source = f"{posterior.draws} draws" if posterior.draws else "all tables counted"
        everyone = np.arange(len(worlds.counts), dtype=np.intp)
        spots = worst_spots(
            "profile",
            everyone,
            (low, high),
            self.risk,
            lambda profile: f"{evidence.classes[value[profile]]} ({source})",
        )
        return Measurement(Interval(float(low.max()), float(high.max())), spots)


MEASURE = ExactPosterior()
