"""The steps that a decision leads to: what to take out of a file, to repair or to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from treewarden.audit.evidence import NOT_RUN, Evidence
from treewarden.audit.population.audited_columns import LACKS
from treewarden.audit.population.table_counts import MOVED_SHARES
from treewarden.audit.reading import MORE_IS_TOLD, NOT_LINKED, Undetermined
from treewarden.audit.run_inputs import NOT_JOINED
from treewarden.policies.judging.decision import (
    Decision,
)
from treewarden.policies.verdict import FindingKind
from treewarden.ppdm_models.files.load import formats, writers
from treewarden.ppdm_models.formats import ESTIMATOR
from treewarden.ppdm_models.tree.ensemble import OF_FORESTS, Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.side_channels import kinds_of
from treewarden.ppdm_models.tree.tree import Quality
from treewarden.reports.document.words import counted, listed, sentence

if TYPE_CHECKING:
    from treewarden.policies.repair.repair import SettingNames

# A file's side channels in words, and the command that takes them out.

REDACTED = "-redacted"
WRITTEN = ("pmml", "treewarden_json")


def publish_step(evidence: Evidence) -> str:
    """Return the step after a pass: only a file that gives nothing else away is to be published as it is."""
    source, leaks = evidence.source, evidence.leaks
    if isinstance(leaks, Undetermined):
        return f"Do not publish {source} yet: {leaks.reason}."
    if evidence.model.format == ESTIMATOR:
        return _from_memory(evidence.model)
    if not leaks:
        return f"Publish exactly this file, {source}; a changed file needs a new audit."
    told = f"{counted(len(leaks), 'finding', 'findings')} outside its trees ({listed(list(kinds_of(leaks)))})"
    return (
        f"Before you publish {source}, look at what else it contains: {told}. {removal(evidence)}"
    )


def removal(evidence: Evidence) -> str:
    """Return how what stands beside the trees is taken out, or what to do where the format does not let it go."""
    assert not isinstance(evidence.leaks, Undetermined)
    if evidence.model.format == ESTIMATOR:
        return _from_memory(evidence.model)
    goes = [leak for leak in evidence.leaks if leak.removable]
    stays = [leak for leak in evidence.leaks if not leak.removable]
    said = []
    if goes:
        some = "all of it" if not stays else listed(list(kinds_of(goes)))
        said.append(
            f"“{redact_command(evidence.source)}” removes {some}. Audit the file that it writes."
        )
    if stays:
        form = evidence.model.format
        kinds = listed(list(kinds_of(stays)))
        said.append(f"The format {form} cannot be written without this: {kinds}.")
        said.append(_otherwise(evidence.model, evidence.source))
    return " ".join(said)


def _from_memory(model: Model) -> str:
    """Return how an estimator becomes a file to publish: its own attributes stay behind where the trees are alone."""
    from treewarden.ppdm_models.files.convert import SUFFIXES, writable  # what can be written

    able = writable(model)
    forms = [suffix for suffix, form in SUFFIXES.items() if form in able]
    if not forms:
        return "Do not publish a pickle of it: this verdict covers its trees only, and no format can hold them alone."
    return (
        "Do not publish a pickle of it: this verdict covers its trees only. Write them to a file in Python "
        f"(“result.save_model('model{forms[0]}')”), audit that file, and publish exactly that file."
    )


def _otherwise(model: Model, source: str) -> str:
    """Return what to do about what stays; PMML is written as it was read, so that converting it again is no help."""
    from treewarden.ppdm_models.files.convert import writable  # what can be written

    if model.format in WRITTEN or "pmml" not in writable(model):
        return "Export the model again without it."
    output = _typed(f"{PurePath(source).stem}.pmml")
    convert = f"treewarden convert {_typed(source)} {output}"
    return f"Export the model again without it, or write only the trees (“{convert}”) and audit that file."


def redact_command(source: str) -> str:
    """Return the command that takes out what can go, as it is typed where the file is."""
    path = PurePath(source)
    output = f"{path.stem}{REDACTED}{path.suffix}"
    return f"treewarden redact {_typed(path.name)} -o {_typed(output)}"


def _typed(name: str) -> str:
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


# What to do next, as steps to follow: for the format at hand, and for what could not be decided.

MOST_REASONS = 4
OF_TABLES = "cell_protection"
"""The metric of tables of totals beside a model: a repair changes the model alone."""
OTHER_TABLES = (
    "Change the tables that are published with the model: withhold the cell and a second one of the same total, merge "
    "the cell with another, or publish a coarser table"
)
NOT_FOLLOWED = (
    "More time does not help: the file says more of how splits were chosen than treewarden can "
    "follow."
)
SETTINGS_FILE = "training.toml"
"""What a knowledge file is called here that states the settings which a rounded file withholds."""
MORE_TIME = "Give the search more time. If the limit still lies between the ends of the check, treat it as failed:"
WRITE_ALONE = "Write the tree alone, and audit that file instead:"
AS_FAILED = "Treat the check as failed: repair the model, or train another one."
LONG_ENOUGH = "Still not decided with more time."
TRIES = "it tries several changes, audits every changed model, and shows the cost in accuracy."
SETTINGS = "min_samples_leaf, min_data_in_leaf, min_child_weight"
SETTINGS_OF = {
    "gbm_json": "n.minobsinnode",
    **dict.fromkeys(("rpart_json", "rpart_summary", "rpart_text"), "minbucket"),
    **dict.fromkeys(("partykit_json", "partykit_text"), "minbucket"),
}
"""What the tools behind a format call the smallest leaf."""
R_FORESTS = "r_forest_json"
FEWER_LEAVES = (
    "with fewer leaves (maxnodes in randomForest, max.depth in ranger; "
    "in newer versions of ranger also min.bucket)"
)
"""For R's forests: nodesize and min.node.size say which nodes are split, and leave leaves of one record."""
FROM_ALL = {
    R_FORESTS: "replace = FALSE with sampsize = nrow(data) in randomForest, with sample.fraction = 1 in ranger",
}
FROM_ALL_USUALLY = "such as bootstrap=False in scikit-learn and Spark"
DRAWN_LABELS = (
    "its leaves hold labels alone, R draws the label where classes are equally frequent, and no format that treewarden "
    "writes says so. A changed file would stay UNDETERMINED"
)
SINGLE_TREE = "If that does not pass either, publish a single tree of this table."
GAIN = "estimate_gain"
FASTER = (
    "with a larger learning rate (learning_rate, eta, shrinkage) or more rounds, so that the model itself predicts "
    "what its leaf values disclose"
)
ONE_ID = (
    "Name the column that identifies a person in all tables: --id COLUMN, or id in a gate. "
    "Pseudonyms are enough. If all models were trained on one table, give it once."
)


def releases_steps(evidence: Evidence, decision: Decision) -> Iterator[str]:
    """Yield what is to be known of several releases: what repair can do there, and what no change of the last mends."""
    yield (
        f"“treewarden repair” looks at {evidence.source} and its table only. Audit the "
        "repaired file again, together with the earlier releases."
    )
    if any(finding.of for finding in decision.failing):
        yield (
            f"Other releases also fail, and changing {evidence.source} does not fix them. Audit each of them."
        )


def repair_target(model: Model) -> str | None:
    """Return the format that a repair has to name: "" where it writes what it read; None where none says the model."""
    if not _is_only_read(model):
        return ""
    if draws_labels(model):
        return None
    from treewarden.ppdm_models.files.convert import first_writable  # what can be written

    return first_writable(model)


def draws_labels(model: Model) -> bool:
    """Return whether a forest publishes labels alone, of which ties were drawn: no file that is written says that."""
    trees = trees_of(model) if isinstance(model, Ensemble) and model.classes else ()
    return any(t.learner.draws_tied_labels and t.quality is Quality.ABSENT for t in trees)


def another_training(model: Model) -> str:
    """Return how to train a model again that it may pass, in the words of its library: on what, and how large."""
    larger = f"with larger leaves ({SETTINGS_OF.get(model.format, SETTINGS)})"
    if model.format == R_FORESTS:
        larger = FEWER_LEAVES
    if not isinstance(model, Ensemble):
        return larger
    if model.growth is not None:
        from treewarden.policies.repair.repair import NAMES  # few need the search

        names = NAMES.get(model.growth.library)
        return larger if names is None else _stumps(names)
    if model.sampling.resampled is False or model.combination not in OF_FORESTS:
        return larger
    settings = FROM_ALL.get(model.format, FROM_ALL_USUALLY)
    return f"on all records ({settings}) and {larger}"


def train_again_step(model: Model) -> str:
    """Return how another model may pass, by the names that its library has for what it is trained on and with."""
    step = f"Train a new model {another_training(model)}, or with fewer columns, and audit it."
    if model.format in SETTINGS_OF or model.format == R_FORESTS:
        return step
    return f"{step} In Python, treewarden.search tries settings and audits each (docs/search.md)."


def _stumps(names: SettingNames) -> str:
    """Return how a boosted model gives less away, whose trees add up what each of their leaves tells."""
    one = f"{names.depth} = {2 if names.depth == 'num_leaves' else 1}"
    return (
        f"with one split per tree ({one}), larger leaves ({names.leaves}) and enough rounds ({names.rounds}) that the "
        "model itself predicts what its leaf values disclose"
    )


def _is_only_read(model: Model) -> bool:
    known = formats().get(model.format)
    return known is not None and not known.rewrites and model.format not in writers()


def repair_steps(evidence: Evidence, decision: Decision, command: str = "") -> Iterator[str]:
    """Yield how the model is repaired: with the command that its format allows, else by whoever trained it.

    ``command`` is all of it, where it is known how it is typed.
    """
    model = evidence.model
    measures = {finding.requirement.measure for finding in decision.failing} - {""}
    anew = "train the trees again" if evidence.forest.is_ensemble else "train the tree again"
    anew += f" {FASTER}" if measures == {GAIN} else f" {another_training(model)}"
    is_only_read = model.format != ESTIMATOR and _is_only_read(model)
    # Where there is a command, a format was found for it, which takes long: the model is written to see that it can be.
    target = repair_target(model) if is_only_read and not command else ""
    read_only = f"treewarden cannot write the format {model.format}"
    if model.format == ESTIMATOR:
        yield f"Call treewarden.repair with the same estimator and table: {TRIES}"
    elif target is None:
        why = f"{read_only}, and no other format can hold this model"
        yield (
            f"“treewarden repair” cannot change this model: {DRAWN_LABELS if draws_labels(model) else why}. "
            f"Instead, {anew}, and audit the new file. {SINGLE_TREE}"
        )
        return
    elif command:
        yield f"Run this command: {TRIES}{f' It writes another format, because {read_only}.' if is_only_read else ''}"
        yield command
    elif target:
        yield f"Run “treewarden repair --to {target}” with the same files ({read_only}): {TRIES}"
    else:
        yield f"Run “treewarden repair” with the same files: {TRIES}"
    if evidence.forest.is_ensemble:
        yield f"If that costs too much accuracy, {anew}."


def undecided_steps(decision: Decision) -> Iterator[str]:
    """Yield what could not be decided, why, and what can be done about it: once for each reason."""
    clauses: dict[str, list[str]] = {}
    for finding in decision.failing:
        if finding.requirement.measure and isinstance(finding.reading, Undetermined):
            if finding.reading.reason.startswith(NOT_LINKED):
                continue  # the finding about the releases says what to do
            named = clauses.setdefault(finding.reading.reason, [])
            named += [finding.clause] if finding.clause not in named else []
    for reason, named in list(clauses.items())[:MOST_REASONS]:
        why, advice = _cause_and_advice(reason)
        said = f"Could not be decided: {', '.join(named)}. {sentence(why)}"
        if advice:
            said += f" {sentence(advice)}"
        yield f"{said} {_way_out(reason, named)}"


def lacks_target(decision: Decision) -> bool:
    """Return whether a check does not pass because the table has no column with what the model predicts."""
    reasons = [
        finding.reading.reason if isinstance(finding.reading, Undetermined) else finding.message
        for finding in decision.failing
        if isinstance(finding.reading, Undetermined) or finding.clause == FindingKind.TABLE_AGREES
    ]
    return any(LACKS in reason for reason in reasons)


def _cause_and_advice(reason: str) -> tuple[str, str]:
    """Return a reason without what to do about it, and that; "" where it does not say so."""
    cause, _, advice = reason.rstrip(". ").partition("; ")
    return (cause, advice) if not advice.startswith("or ") else (reason, "")


def _way_out(reason: str, clauses: list[str]) -> str:
    if reason == NOT_RUN.reason:
        return "Audit again without --no-worlds."
    what = "this check" if len(clauses) == 1 else "these checks"
    openly = f"a policy without {what}, and say so when you publish"
    has_advice = bool(_cause_and_advice(reason)[1])
    if reason.startswith(NOT_JOINED) and not has_advice:
        return f"Publish a single tree, for which this can be decided, or use {openly}."
    if reason == MORE_IS_TOLD.reason:
        return (
            "Save a fitted estimator as a file, remove these numbers with “treewarden redact”, and audit the file that "
            f"this writes. If they stay, publish another model, or use {openly}."
        )
    if has_advice:
        return f"If you cannot do this, use {openly}."
    return f"If this stays undecided, use {openly}."


OTHER_FILES = (
    "Find out first whether the file or the table is wrong, and audit the two that belong together."
)
ORDERED = "Train the model again without monotonic_cst: its numbers are not those of its people. Audit the new file."


def files_step(decision: Decision) -> str:
    """Return what to do where the file does not fit the table."""
    is_moved = any(MOVED_SHARES in finding.message for finding in decision.failing)
    return ORDERED if is_moved else OTHER_FILES


SAY_WHAT_TO_DO = (FindingKind.FACTS_AGREE, FindingKind.NOTHING_JUDGED, FindingKind.RELEASES_LINKED)
"""Doubts of which neither the file nor the table is the cause."""
