"""The epsilon of differential privacy that a file may be held to: what is claimed, if nothing speaks against it.

Infinite where the claim is void (a seed in the file, bounds read from the table, numbers beside the labels that are
drawn), where somebody's realised loss is above it (a proof), or where labels are true too often for it: an exact test
whose probability of a false alarm is at most ``level``. Of several releases, the epsilons of all files add up for those
who are in all of them (sequential composition, Dwork et al. 2006). See NIST SP 800-226 for what to ask of such claims.
It promises nothing beyond itself: all other checks count too.
"""

from __future__ import annotations

import math

from treewarden.audit.claims.result import (
    DEFAULT_DELTA,
    DEFAULT_LEVEL,
    LEAST_LEVEL,
    MOST_DELTA,
    MOST_LEVEL,
    ClaimOutcome,
    ComposedClaim,
    judge_findings,
)
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import Interval, Measurement, Reading, Spot, Undetermined, exactly

ROOT = 0
"""The node that stands for the whole tree."""


class Epsilon(Measure):
    """The claimed epsilon; a claim that cannot be judged is undetermined, and no claim is none."""

    unit = "nats"
    plain = "epsilon of differential privacy that the file claims"
    short = "epsilon that the file may be held to"
    risk = "high"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.CLAIM})
    parameters = {
        "level": Parameter(
            DEFAULT_LEVEL,
            "significance level of the test of labels",
            low=LEAST_LEVEL,
            high=MOST_LEVEL,
        ),
        "delta": Parameter(DEFAULT_DELTA, "largest delta that a claim may have", high=MOST_DELTA),
    }

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        level, delta = float(parameters["level"]), float(parameters["delta"])
        found = evidence.claim
        if isinstance(found, Undetermined):
            return Measurement(found)
        held: Reading
        if isinstance(found, ComposedClaim):
            verdict = found.judge(level, delta)
            held = Interval(found.epsilon if found.is_linked else found.largest, found.epsilon)
        else:
            verdict, held = judge_findings(found, level, delta), exactly(found.claim.epsilon)
        if verdict.outcome in (ClaimOutcome.VOID, ClaimOutcome.REFUTED):
            spot = Spot("leaf", ROOT, math.inf, math.inf, verdict.reason)
            return Measurement(exactly(math.inf), (spot,))
        if verdict.outcome is ClaimOutcome.UNDETERMINED:
            return Measurement(Undetermined(verdict.reason))
        return Measurement(held)


MEASURE = Epsilon()
