"""What to do next, said so that it can be followed: for the format at hand, and for what could not be decided."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.evidence import NOT_RUN, Evidence
from treewarden.audit.of_releases import NOT_LINKED
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import NOT_JOINED
from treewarden.policies.judging.decision import Decision
from treewarden.ppdm_models.files.convert import first_writable
from treewarden.ppdm_models.files.fitted import IN_MEMORY
from treewarden.ppdm_models.files.load import formats, writers
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.reports.document.words import listed

MOST_REASONS = 4
TRIES = "it tries such changes, audits each and says what it costs."
SETTINGS = "(min_samples_leaf, min_data_in_leaf, min_child_weight)"
ONE_ID = (
    "Name the column that says who is who in all tables: --id COLUMN, or id in a gate and in a notebook; pseudonyms "
    "will do. Where all models were trained on one table, give it once."
)


def releases_steps(evidence: Evidence, decision: Decision) -> Iterator[str]:
    """Yield what is to be known of several releases: what repair can do there, and what no change of the last mends."""
    yield (
        f"“treewarden repair” takes {evidence.source} and its table alone, and looks at no other release: audit what "
        "it writes together with the releases before it once more."
    )
    if any(finding.of for finding in decision.failing):
        yield (
            f"What other releases break by themselves, as an audit of each alone says, no change of {evidence.source} "
            "mends."
        )


def repair_target(model: Model) -> str | None:
    """Return the format that a repair has to name: "" where it writes what it read; None where none says the model."""
    return first_writable(model) if _is_only_read(model) else ""


def _is_only_read(model: Model) -> bool:
    known = formats().get(model.format)
    return known is not None and not known.rewrites and model.format not in writers()


def repair_steps(evidence: Evidence, command: str = "") -> Iterator[str]:
    """Yield how the model is repaired: with the command that its format allows, else by whoever trained it.

    ``command`` is all of it, where it is known how it is typed.
    """
    model = evidence.model
    anew = "train the trees anew" if evidence.forest.is_ensemble else "train the tree anew"
    anew += f" with larger leaves {SETTINGS}"
    is_only_read = model.format != IN_MEMORY and _is_only_read(model)
    # Where there is a command, a format was found for it, which takes long: the model is written to see that it can be.
    target = repair_target(model) if is_only_read and not command else ""
    read_only = f"the format {model.format} is only read here"
    if model.format == IN_MEMORY:
        yield f"Call treewarden.repair with the same estimator and table: {TRIES}"
    elif target is None:
        yield (
            f"“treewarden repair” cannot help: {read_only}, and no "
            f"other was found that can say this model. Instead, {anew}, and audit the new file."
        )
        return
    elif command:
        yield f"Run this command{f', as {read_only}' if is_only_read else ''}: {TRIES}"
        yield command
    elif target:
        yield f"Run “treewarden repair --to {target}” with the same files, as {read_only}: {TRIES}"
    else:
        yield f"Run “treewarden repair” with the same files: {TRIES}"
    if evidence.forest.is_ensemble:
        yield f"Where that costs too much, {anew}."


def undecided_steps(decision: Decision) -> Iterator[str]:
    """Yield what could not be decided, why, and what can be done about it: once for each reason."""
    clauses: dict[str, list[str]] = {}
    for finding in decision.failing:
        if finding.measure and isinstance(finding.reading, Undetermined):
            if finding.reading.reason.startswith(NOT_LINKED):
                continue  # the finding about the releases says what to do
            named = clauses.setdefault(finding.reading.reason, [])
            named += [finding.clause] if finding.clause not in named else []
    for reason, named in list(clauses.items())[:MOST_REASONS]:
        yield f"{listed(named)}: not decided, as {reason.rstrip('. ')}. {_way_out(reason, named)}"


def _way_out(reason: str, clauses: list[str]) -> str:
    if reason == NOT_RUN.reason:
        return "Audit again without --no-worlds."
    what = "this clause" if len(clauses) == 1 else "these clauses"
    openly = f"a policy without {what}, changed openly"
    if reason.startswith(NOT_JOINED):
        return f"Publish a single tree, of which this can be told, or audit under {openly}."
    return f"Where that cannot be mended, audit under {openly}."
