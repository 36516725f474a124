"""The epsilon of differential privacy that a file may be held to: what is claimed, if nothing speaks against it.

Infinite where the claim is void (a seed in the file, bounds read from the table, numbers beside the labels that are
drawn), where somebody's realised loss is above it (a proof), or where labels are true too often for it: an exact test
whose probability of a false alarm is at most ``level``. See NIST SP 800-226 for what to ask of such claims. It promises
nothing beyond itself: all other checks count too.
"""

from __future__ import annotations

import math

from treewarden.audit.claims.result import ClaimFindings
from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import Measurement, Spot, Undetermined, exactly

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
        "level": Parameter(0.001, "significance level of the test of labels"),
        "delta": Parameter(1e-6, "largest delta that a claim may have"),
    }

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        found = evidence.claim
        if isinstance(found, Undetermined):
            return Measurement(found)
        against = refutation(found, float(parameters["level"]))
        if against:
            return Measurement(
                exactly(math.inf), (Spot("leaf", ROOT, math.inf, math.inf, against),)
            )
        if found.claim.delta > float(parameters["delta"]):
            problem = f"the claimed delta is {found.claim.delta:g}, more than the policy allows"
            return Measurement(Undetermined(problem))
        if found.doubts:
            return Measurement(Undetermined(found.doubts[0]))
        return Measurement(exactly(found.claim.epsilon))


def refutation(findings: ClaimFindings, level: float) -> str:
    """Return what speaks against a claim, in words; "" where nothing does."""
    if findings.voids:
        return f"the claim is void: {findings.voids[0]}"
    if findings.is_refuted_by_loss:
        return (
            "the claim is false: under the named mechanism, the file costs one person more than "
            f"epsilon = {findings.claim.epsilon:g}"
        )
    if findings.is_refuted_by_test(level):
        return (
            "the claim is refuted: if it were true, labels as accurate as these would have a "
            f"probability of {findings.p_value:.2g}; the policy's significance level is {level:g}"
        )
    return ""


MEASURE = Epsilon()
