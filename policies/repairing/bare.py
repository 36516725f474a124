"""Taking out of a file what it gives away beside its trees: proposed before any change of the trees, which keeps it."""

from __future__ import annotations

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import measures
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.decision import Decision
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.files.convert import writable
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import kinds_of
from treewarden.ppdm_models.tree.tree import Tree

REDACT_FILE = "redact_file"
"""The name that a repair calls it by; ``treewarden redact`` does the same alone."""
AGAIN = "export the model again without them"


def file_fails(decision: Decision) -> bool:
    """Return whether a clause about what stands beside the trees keeps the verdict from being a pass."""
    known = measures()
    return any(
        finding.verdict is Verdict.FAIL
        and any(known[call.measure].is_of_file for call in finding.calls)
        for finding in decision.failing
    )


def without_leaks(model: Model, evidence: Evidence, *, trees_alone: bool) -> Proposal | NoProposal:
    """Propose the same model in a file that gives nothing else away, as far as its format can be written so.

    ``trees_alone`` says that it is written in another format, which takes over nothing but the trees. All that can go
    goes, whatever the clauses: none of it is needed to predict.
    """
    if isinstance(evidence.leaks, Undetermined):
        return NoProposal((REDACT_FILE,), evidence.leaks.reason)
    goes = [leak for leak in evidence.leaks if leak.removable or trees_alone]
    if not goes:
        kinds = ", ".join(kinds_of(evidence.leaks))
        reason = f"what {evidence.source} gives away beside its trees ({kinds}) cannot be taken out of its format: "
        return NoProposal((REDACT_FILE,), reason + _otherwise(model))
    stays = [leak for leak in evidence.leaks if leak not in goes]
    title = f"write the trees without what the file gives away beside them ({', '.join(kinds_of(goes))})"
    if stays:
        title += f"; its format keeps {', '.join(kinds_of(stays))}: {_otherwise(model)}"
    node_map = tuple(range(len(model.nodes))) if isinstance(model, Tree) else ()
    return Proposal((REDACT_FILE,), title, model, (), node_map, is_bare=True)


def _otherwise(model: Model) -> str:
    """Return what to do about what a format keeps; PMML is written as it was read, so that no other way is asked."""
    targets = [target for target in writable(model) if target != model.format]
    if not targets:
        return AGAIN
    return f"{AGAIN}, or have the trees alone in another format (repair --to {targets[0]}, convert)"
