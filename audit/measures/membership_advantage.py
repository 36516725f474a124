"""How well membership can be told: members found at 1 false alarm in 1,000, by the adversary's estimate.

Whoever is likelier to be a member by the estimate is named first. Of people who are equally likely a random part is
named, so that a tie is shared out (Carlini et al. 2022, "Membership inference attacks from first principles", who
report the rate of true positives at this rate of false ones). By Neyman and Pearson's lemma no attack on the same file
does better on average than the exact posterior; an attack that was tried is a lower bound of it.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined, exactly
from treewarden.ppdm_models.arrays import FloatArray, IntArray

NOBODY_ELSE = Undetermined("everybody in the register is in the table, so membership is no secret")


class MembershipAdvantage(Measure):
    """The share of the table's people who are named when so large a share of the other candidates is named too."""

    unit = "share"
    plain = "members of the table found at 1 false alarm in 1,000"
    short = "members found at few false alarms"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.MEMBERS})
    parameters = {
        "false_alarms": Parameter(0.001, "share of the other candidates who are named too")
    }

    def words(self, parameters: Parameters) -> str:
        return f"members of the table found at a false alarm rate of {float(parameters['false_alarms']):g}"

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.membership
        if isinstance(found, Undetermined):
            return Measurement(found)
        if isinstance(found.probability, Undetermined) and found.is_nothing_proved:
            return Measurement(found.probability)
        members = found.candidates.members.sum(axis=1)
        others = found.candidates.sizes - members
        if not others.any() or not members.any():
            return Measurement(NOBODY_ELSE)
        alarms = float(parameters["false_alarms"])
        if not isinstance(found.probability, Undetermined):
            return Measurement(exactly(found_at(found.probability, members, others, alarms)))
        low, high = found.posterior_ends
        return Measurement(
            Interval(
                found_at(low, members, others, alarms, of_others=high),
                found_at(high, members, others, alarms, of_others=low),
            )
        )


def found_at(
    probability: FloatArray,
    members: IntArray,
    others: IntArray,
    alarms: float,
    *,
    of_others: FloatArray | None = None,
) -> float:
    """Return the share of members who are named, likeliest first, until a share of others is: all by group, (G,).

    ``of_others`` are the probabilities of those who are no members, where they differ from those of members.
    """
    if of_others is not None:
        nobody = np.zeros_like(members)
        members, others = np.r_[members, nobody], np.r_[nobody, others]
        probability = np.r_[probability, of_others]
    levels, of = np.unique(-np.round(probability, 12), return_inverse=True)
    inside = np.bincount(of.reshape(-1), members, len(levels)).cumsum() / members.sum()
    outside = np.bincount(of.reshape(-1), others, len(levels)).cumsum() / others.sum()
    return float(np.interp(alarms, np.r_[0.0, outside], np.r_[0.0, inside]))


MEASURE = MembershipAdvantage()
