"""Leave-one-out influence: confidence about a person that comes from that person's own record.

max over people, of profile q and true value c, of P(c | q) - P_others(c), never below 0. P(c | q) is all that is known:
the maximum-entropy estimate with everything published (Zhu & Du 2010), or the share of q that whole records prove to
have c where that is more, 1 where they prove the value. P_others(c) is what her leaf says without her: its counts less
her own record, so (h - 1) / (n - 1) of n records, h of them with her value; where the leaf is then empty, her nearest
ancestor's that is not. What everybody else in the leaf tells is a fact about the population that holds whether or not
she takes part; what only her own record adds is about her (Dwork & Roth 2014, section 1, on what counts as a privacy
harm: a study that teaches that smoking causes cancer may harm a smoker, who is harmed as much where the smoker took no
part). In a leaf of 205 that all have one value the difference is 0; one exception among n reads 1 / n, and a leaf of
one nearly all there is to know.

Range 0 to 1, a share. Split choices count as hers: what they tell of a profile beyond its leaf no other record tells.
No withholding of counts lowers the reading below what the counts alone give, h / n - (h - 1) / (n - 1), as a label is
believed without them. Under labels or rates P_others is what is inferred at the same level from the leaf less one.

What it does not say: who knows everybody's value but hers reads hers off exact counts whatever this is (only noise
helps, as under differential privacy, of which this is no substitute); and a value that all in a leaf share is out, even
where it is a fact about many. The tree is taken as it is: that it might have split otherwise without her is left out.
Of people who share all quasi-identifiers, the others may tell more or less of her than the leaf does: with ``without =
"table"`` P_others is what the same estimate, asked again of the table without her, says of them. That is done for the
worst cases, and the others lie anywhere between 0 and P(c | q). Under sampling weights the ends are of people and of
weights. Not told of regression, of several trees, or without the true values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters, PerPlace
from treewarden.audit.measures._leaf_people import Ends, others
from treewarden.audit.measures._shared import known_worlds
from treewarden.audit.reading import Interval, Measurement, Undetermined, people, worst_spots
from treewarden.ppdm_models.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class _ReadingEnds:
    """Both ends of the reading of each profile and value (P, m), and what they come from."""

    low: FloatArray
    high: FloatArray
    known: Ends
    counted: FloatArray
    truth: FloatArray


class OwnContribution(Measure):
    """The largest part of the adversary's certainty about a true value that is owed to that one record."""

    unit = "share"
    plain = "largest part of the confidence that comes from a person's own record"
    short = "confidence due to the person's own record"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset(
        {
            EvidenceSource.LEAVES,
            EvidenceSource.ESTIMATE,
            EvidenceSource.WORLDS,
            EvidenceSource.TRUTH,
        }
    )
    places = "profile"
    parameters = {
        "without": Parameter(
            "leaf",
            (
                "how the confidence without the record is computed: from the others in the leaf, or by "
                "a new inference without the record (slow) if others share all quasi-identifiers"
            ),
            choices=("leaf", "table"),
        ),
    }

    def asks_again(self, parameters: Parameters) -> bool:
        return parameters["without"] == "table"

    def _cells(self, evidence: Evidence, parameters: Parameters) -> _ReadingEnds | Undetermined:
        """Return both ends of what is owed to the record, of each profile and value."""
        worlds, truth = known_worlds(evidence), evidence.truth
        if isinstance(worlds, Undetermined):
            return worlds
        if isinstance(truth, Undetermined):
            return truth
        known, rest = _certainty_ends(evidence, worlds), others(evidence)
        if isinstance(known, Undetermined):
            return known
        if isinstance(rest, Undetermined):
            return rest
        inferred = rest.inferred
        if self.asks_again(parameters):
            if isinstance(evidence.without, Undetermined):
                return evidence.without
            several = (evidence.population.counts > 1)[:, None]
            inferred = (
                np.where(several, evidence.without.low, inferred[0]),
                np.where(several, evidence.without.high, inferred[1]),
            )
        low, high = (
            np.where(truth > 0, np.maximum(np.maximum(sure - told, gain), 0.0), 0.0)
            for sure, told, gain in zip(known, reversed(inferred), rest.gains, strict=True)
        )
        return _ReadingEnds(low, high, known, rest.counted, truth)

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        cells = self._cells(evidence, parameters)
        if isinstance(cells, Undetermined):
            return cells
        everyone = np.arange(len(cells.truth), dtype=np.intp)
        return PerPlace(everyone, cells.low.max(axis=1), cells.high.max(axis=1))

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        cells = self._cells(evidence, parameters)
        if isinstance(cells, Undetermined):
            return Measurement(cells)
        low, high, known, truth = cells.low, cells.high, cells.known, cells.truth
        value = high.argmax(axis=1)
        everyone = np.arange(len(truth), dtype=np.intp)

        def note(profile: int) -> str:
            cell = profile, value[profile]
            sure = max(known[1][cell], cells.counted[cell])
            return (
                f"for {people(truth[cell])} with the true value “{evidence.classes[value[profile]]}”, the "
                f"adversary's probability is {_percent(sure)}; without such a person's record in the training table "
                f"it would be {_percent(sure - high[cell])}"
            )

        ends = (low.max(axis=1), high.max(axis=1))
        spots = worst_spots("profile", everyone, ends, self.risk, note)
        return Measurement(Interval(float(low.max()), float(high.max())), spots)


def _certainty_ends(evidence: Evidence, worlds: ConsistentTables) -> Ends | Undetermined:
    """Return how sure the adversary is of each class of each profile (P, m): the estimate, or more where proved.

    At the high end stands what may yet be proved: the least that any table found so far has.
    """
    estimate = evidence.estimate
    if isinstance(estimate, Undetermined):
        return estimate
    size = np.maximum(worlds.counts, 1)[:, None]
    reached = np.clip(worlds.reached_low, worlds.low, worlds.high)
    return (
        np.maximum(estimate.low, worlds.low / size),
        np.maximum(estimate.high, reached / size),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


MEASURE = OwnContribution()
