"""Share of leaves, of all trees, whose class counts follow exactly from the published numbers.

The values of a boosted model's leaves are no class counts, and yet give them to whoever knows the quasi-identifiers:
the predictions before each round follow from the file, and the leaf value then is an invertible function of the labels
in its leaf. A leaf counts where one whole number of people remains for every class, with all rounding accounted for.
Leaves that publish their class counts count as well; where each tree saw a sample that is known, its draws are what
is counted, and where the sample is not known more of them may follow than is told here. Range 0 to 1; not told where
the leaf values cannot be inverted, and then nobody may conclude that they are safe.
"""

from __future__ import annotations

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameters
from treewarden.audit.population.table_counts import unnamed_weights
from treewarden.audit.reading import Interval, Measurement, Reading, Undetermined, exactly
from treewarden.ppdm_models.tree.tree import Quality, completed


class RecoveredLeaves(Measure):
    """Leaves inverted exactly / leaves that hold people."""

    unit = "share"
    plain = "share of leaves whose class counts can be recovered from the file"
    short = "leaves with recoverable class counts"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.TOGETHER})

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        together = evidence.together
        if not evidence.forest.is_ensemble:
            return Measurement(_published(evidence))
        if isinstance(together, Undetermined):
            return Measurement(together)
        share = together.recovered_share
        return Measurement(exactly(share) if together.is_complete else Interval(share, 1.0))


def _published(evidence: Evidence) -> Reading:
    """Return the share of a single tree's leaves that publish how many people of each class they hold."""
    (tree,), leaves = evidence.trees, evidence.leaves
    if isinstance(leaves, Undetermined):
        return leaves
    if not tree.classes:
        return Undetermined("the tree predicts a number, not a class")
    if evidence.population.hides_weights(tree):
        return Undetermined(unnamed_weights(tree))
    if not tree.has_people and tree.quality is not Quality.WEIGHTED:
        return exactly(0.0)
    nothing = (None,) * len(tree.classes)
    told = [
        completed(tree.nodes[node].class_counts or nothing, records)
        for node, records in zip(leaves.nodes.tolist(), leaves.records.tolist(), strict=True)
    ]
    return exactly(sum(None not in counts for counts in told) / len(told))


MEASURE = RecoveredLeaves()
