"""What a report says of the things that a file gives away beside its trees, and the command that takes them out."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from audit.evidence import Evidence
from audit.reading import Undetermined
from ppdm_models.leaks import kinds_of
from reports.words import counted, listed

REDACTED = "-redacted"


def publish_step(evidence: Evidence) -> str:
    """Return the step after a pass: only a file that gives nothing else away is to be published as it is."""
    source, leaks = evidence.source, evidence.leaks
    if isinstance(leaks, Undetermined):
        return f"Do not publish {source} yet: {leaks.reason}."
    if not leaks:
        return f"Publish exactly this file, {source}; a changed file needs an audit of its own."
    told = f"{counted(len(leaks), 'thing', 'things')} beside its trees ({listed(kinds_of(leaks))})"
    return (
        f"Before you publish {source}, look at what else it gives away: {told}. {removal(evidence)}"
    )


def removal(evidence: Evidence) -> str:
    """Return how what stands beside the trees is taken out, or what to do where the format does not let it go."""
    assert not isinstance(evidence.leaks, Undetermined)
    goes = [leak for leak in evidence.leaks if leak.removable]
    stays = [leak for leak in evidence.leaks if not leak.removable]
    said = []
    if goes:
        some = "all of it" if not stays else listed(kinds_of(goes))
        said.append(
            f"“{redact_command(evidence.source)}” takes out {some}; audit the file that it writes."
        )
    if stays:
        form = evidence.tree.format if evidence.forest is None else evidence.forest.ensemble.format
        kinds = listed(kinds_of(stays))
        said.append(
            f"In the format {form or 'it is in'} this cannot be taken out: {kinds}. Export the model again without, "
            "or write the trees alone: “treewarden convert” to PMML."
        )
    return " ".join(said)


def redact_command(source: str) -> str:
    """Return the command that takes out what can go, as it is typed where the file is."""
    path = PurePath(source)
    names = (path.name, f"{path.stem}{REDACTED}{path.suffix}")
    model, output = (shlex.quote(f"./{name}" if name.startswith("-") else name) for name in names)
    return f"treewarden redact {model} -o {output}"
