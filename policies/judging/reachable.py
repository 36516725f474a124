"""Says where no change can help: the policy caps certainty below how accurate the tree is, and which policy would pass.

A tree's accuracy on its own table is the average over its leaves, by people, of the share of whom the label is true. So
where a policy caps that share in every leaf, no tree passes that is more accurate than the cap, whatever is pruned or
withheld. Nor does any at all where the commonest value alone is more frequent in the table than the cap: some leaf then
has at least as much of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.measures import measured
from treewarden.audit.people.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging.applying import applying
from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.judging.figures import figure
from treewarden.policies.judging.judge import verdict_of
from treewarden.policies.pack import Clause, Pack, calls, load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import Verdict

LABEL, CROWDING = "label_disclosure", "cl_diversity"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A clause that no tree as accurate as this one can meet.

    ``accuracy`` is the share of the table's people of whom the tree is right, ``cap`` the most that the clause allows,
    and ``commonest`` the share of the commonest value in the whole table.
    """

    clause: str
    cap: float
    accuracy: float
    commonest: float


def advised(audit: Audit, decision: Decision) -> Decision:
    """Return a decision whose finding about a cap that is out of reach says so, and what would pass."""
    found = ceiling(audit, decision.pack)
    if found is None:
        return decision
    said = out_of_reach(audit, decision)

    def told(finding: Finding) -> Finding:
        if finding.clause != found.clause:
            return finding
        return replace(finding, message=f"{finding.message} {said}")

    return replace(decision, findings=tuple(map(told, decision.findings)))


def out_of_reach(audit: Audit, decision: Decision) -> str:
    """Return in words that no tree as accurate as this one can pass, and which policy would; "" where some may."""
    found = ceiling(audit, decision.pack)
    if found is None:
        return ""
    accuracy, cap = (
        figure(found.accuracy, "share", found.cap),
        figure(found.cap, "share", found.accuracy),
    )
    said = (
        f"No tree as accurate as this one can meet {found.clause!r}: it is right about {accuracy} of the table's "
        f"people, and that is an average over the leaves of what the clause caps at {cap} in each. "
    )
    if found.commonest > found.cap:
        said += (
            f"Nor can any other tree: {figure(found.commonest, 'share', found.cap)} of the people have one value, so "
            "that some leaf has as much of it. "
        )
    else:
        said += f"Only a tree that is right about at most {cap} can pass. "
    return said + " ".join(_instead(audit, decision.pack, found.accuracy))


def ceiling(audit: Audit, pack: Pack) -> Ceiling | None:
    """Return the tightest clause that counts and no tree as accurate as this one can meet; None where there is none."""
    evidence = audit.full.evidence
    leaves = evidence.leaves
    if evidence.forest.is_ensemble or isinstance(leaves, Undetermined):
        return None
    accuracy = _accuracy(leaves)
    asked = applying(pack, evidence.model, audit.secret)
    caps = sorted((cap, clause.id) for clause, cap in _caps(asked) if cap < accuracy)
    if not caps or isinstance(leaves.whole, Undetermined):
        return None
    cap, clause = caps[0]
    return Ceiling(clause, cap, accuracy, float(leaves.whole.max() / leaves.whole.sum()))


def _accuracy(leaves: Leaves) -> float:
    """Return the share of the people of whom the label is true; 0 where that is not known, as no cap is below it."""
    if isinstance(leaves.classes, Undetermined) or isinstance(leaves.labels, Undetermined):
        return 0.0
    right = leaves.classes[np.arange(len(leaves.labels)), leaves.labels]
    return float(right.sum() / leaves.records.sum())


def _caps(pack: Pack) -> Iterator[tuple[Clause, float]]:
    """Yield the clauses that count and cap how many of a leaf carry its label, and the cap.

    Of a combination only what it asks in any case is a cap. Where d_1 < c (d_l + ... + d_m), the commonest value's
    share is less than c / (c + 1), as l is 2 or more.
    """
    for clause in pack.counting:
        for atom in clause.demanded:
            if atom.call.measure == LABEL:
                yield clause, atom.limit
            elif atom.call.measure == CROWDING and dict(atom.call.parameters)["basis"] == "real":
                yield clause, atom.limit / (atom.limit + 1)


def _instead(audit: Audit, pack: Pack, accuracy: float) -> Iterator[str]:
    """Yield which policy that ships passes this very audit, the nearest one; else which one a repair may reach."""
    shipped = [load_pack(name) for name in shipped_packs() if name != pack.name]
    others = [each.model_copy(update={"fail_on": pack.fail_on}) for each in shipped]
    passing = [each for each in others if _passes(audit, each)]
    if passing:
        nearest = min(passing, key=lambda each: _distance(pack, each))
        yield f"Of the other policies that ship, {nearest.name!r} passes it as it is."
        return
    yield "None of the other policies that ship passes it as it is."
    open_ = [each.name for each in others if all(cap >= accuracy for _, cap in _caps(each))]
    if open_:
        names = " and ".join(map(repr, open_))
        yield f"{names} {'sets' if len(open_) == 1 else 'set'} no such cap: repair may find a tree that passes."


def _passes(audit: Audit, pack: Pack) -> bool:
    """Return whether a pack passes what was audited; readings that nobody asked for before are taken now."""
    exposures = []
    for exposure in audit.exposures:
        missing = [each for each in calls(pack) if each not in exposure.readings]
        more = {each: measured(each, exposure.evidence) for each in missing}
        exposures.append(replace(exposure, readings={**exposure.readings, **more}))
    return verdict_of(replace(audit, exposures=tuple(exposures)), pack) is Verdict.PASS


def _distance(wanted: Pack, other: Pack) -> float:
    """Return how much of what one pack demands another does not: 1 for a clause that it lacks, less for a limit."""
    theirs = {atom.call: atom.limit for clause in other.counting for atom in clause.demanded}
    far = 0.0
    for atom in (atom for clause in wanted.counting for atom in clause.demanded):
        limit = theirs.get(atom.call)
        most = max(abs(atom.limit), abs(limit or 0.0), 1e-9)
        far += 1.0 if limit is None else min(1.0, abs(limit - atom.limit) / most)
    return far
