"""What a report says of the things that a file gives away beside its trees, and the command that takes them out."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.files.convert import SUFFIXES, writable
from treewarden.ppdm_models.files.fitted import IN_MEMORY
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import kinds_of
from treewarden.reports.document.words import counted, listed

REDACTED = "-redacted"
WRITTEN = ("pmml", "treewarden_json")


def publish_step(evidence: Evidence) -> str:
    """Return the step after a pass: only a file that gives nothing else away is to be published as it is."""
    source, leaks = evidence.source, evidence.leaks
    if isinstance(leaks, Undetermined):
        return f"Do not publish {source} yet: {leaks.reason}."
    if evidence.model.format == IN_MEMORY:
        return _from_memory(evidence.model)
    if not leaks:
        return f"Publish exactly this file, {source}; a changed file needs an audit of its own."
    told = f"{counted(len(leaks), 'thing', 'things')} beside its trees ({listed(list(kinds_of(leaks)))})"
    return (
        f"Before you publish {source}, look at what else it gives away: {told}. {removal(evidence)}"
    )


def removal(evidence: Evidence) -> str:
    """Return how what stands beside the trees is taken out, or what to do where the format does not let it go."""
    assert not isinstance(evidence.leaks, Undetermined)
    if evidence.model.format == IN_MEMORY:
        return _from_memory(evidence.model)
    goes = [leak for leak in evidence.leaks if leak.removable]
    stays = [leak for leak in evidence.leaks if not leak.removable]
    said = []
    if goes:
        some = "all of it" if not stays else listed(list(kinds_of(goes)))
        said.append(
            f"“{redact_command(evidence.source)}” takes out {some}; audit the file that it writes."
        )
    if stays:
        form = evidence.model.format
        kinds = listed(list(kinds_of(stays)))
        said.append(f"The format {form} cannot be written without this: {kinds}.")
        said.append(_otherwise(evidence.model, evidence.source))
    return " ".join(said)


def _from_memory(model: Model) -> str:
    """Return how an estimator becomes a file to publish: its own attributes stay behind where the trees are alone."""
    able = writable(model)
    forms = [suffix for suffix, form in SUFFIXES.items() if form in able]
    if not forms:
        return "Publish no pickle of it: this verdict is about its trees, which no format here can say alone."
    return (
        "Publish no pickle of it: this verdict is about its trees. Write them alone in Python "
        f"(“result.save_model('model{forms[0]}')”), audit that file, and publish exactly that one."
    )


def _otherwise(model: Model, source: str) -> str:
    """Return what to do about what stays; PMML is written as it was read, so that converting it again is no help."""
    if model.format in WRITTEN or "pmml" not in writable(model):
        return "Export the model again without it."
    output = _typed(f"{PurePath(source).stem}.pmml")
    convert = f"treewarden convert {_typed(source)} {output}"
    return f"Export the model again without it, or write the trees alone (“{convert}”) and audit that file."


def redact_command(source: str) -> str:
    """Return the command that takes out what can go, as it is typed where the file is."""
    path = PurePath(source)
    output = f"{path.stem}{REDACTED}{path.suffix}"
    return f"treewarden redact {_typed(path.name)} -o {_typed(output)}"


def _typed(name: str) -> str:
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
