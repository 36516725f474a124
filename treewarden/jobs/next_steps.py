"""What to do after an audit or a repair: steps that name the user's own files, and the commands to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.evidence import NOT_RUN, Evidence
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.options import DEFAULT
from treewarden.audit.population.audited_columns import NO_SENSITIVE
from treewarden.audit.reading import Interval, Undetermined
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import JudgedAudit
from treewarden.jobs.typed_commands import (
    audit_command,
    convert_command,
    redact_command,
    repair_command,
    shell_command,
)
from treewarden.policies.verdict import NEW_MODEL, FindingKind, PolicyVerdict
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.tree.ensemble import Ensemble, claims_privacy
from treewarden.ppdm_models.tree.side_channels import Leak, kinds_of
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.steps import (
    AS_FAILED,
    LONG_ENOUGH,
    MORE_TIME,
    NOT_FOLLOWED,
    OF_TABLES,
    OTHER_TABLES,
    SETTINGS_FILE,
    WRITE_ALONE,
    WRITTEN,
    files_step,
    lacks_target,
    repair_steps,
    train_again_step,
)
from treewarden.reports.building.story import (
    NAME_CRITERION,
    clearance_step,
    decision_steps,
    is_criterion_open,
)
from treewarden.reports.document.document import Document, is_about_waivers
from treewarden.reports.document.words import listed
from treewarden.reports.figures.finding_rows import lacks_target as table_lacks_target
from treewarden.terminal.outputs import NextStep, without_repeats

OF_NUMBERS = ("p_percent", "value_disclosure", "value_width")
"""Metrics that variances of leaves make worse."""
OF_LINKED = (
    "Publish one tree, or audit with a table of totals (--with FILE): then all cells are judged that leaves of "
    "several trees cut out together."
)
GROW = "Train a new tree under the policy, from the same table:"
PAGE = "audit.html"
MOST_REASONS = 2
MORE_BUDGET = 10
"""How many times as long whole records are reasoned over where the time did not suffice."""


def audit_steps(
    request: Request,
    done: JudgedAudit,
    document: Document,
    command: str,
    written: Sequence[Path] = (),
) -> tuple[NextStep, ...]:
    """Return what to do after an audit; ``command`` is how the model is repaired, ``written`` its reports."""
    if document.redacted_below is not None:
        return tuple(NextStep(step) for step in document.next_steps)
    verdict = done.decision.verdict
    if verdict is PolicyVerdict.PASS:
        steps = [*_after_pass(request, done, document)]
    elif verdict is PolicyVerdict.FAIL:
        steps = [*_after_fail(request, done, command)]
    else:
        steps = [*_after_doubt(request, done)]
    steps += _report(request, written, is_pass=verdict is PolicyVerdict.PASS)
    if verdict is not PolicyVerdict.PASS and isinstance(request.policy, str):
        explain = shell_command("treewarden", "policy", "explain", request.policy)
        steps.append(NextStep("Read the meaning and source of each check:", explain))
    return without_repeats(steps)


def _after_pass(request: Request, done: JudgedAudit, document: Document) -> Iterator[NextStep]:
    evidence = done.audit.full.evidence
    leaks, model = evidence.leaks, request.model
    if isinstance(model, Path) and not isinstance(leaks, Undetermined) and _is_removable(leaks):
        more = listed(list(kinds_of(leaks)))
        yield NextStep(
            f"Before you publish {model.name}, remove what it contains outside its trees ({more}), and audit the file "
            "that this writes:",
            redact_command(model),
        )
    else:
        yield NextStep(clearance_step(evidence))
    names = () if document.assumed_known is None else document.assumed_known.proved
    for column in list(dict.fromkeys(proved.column for proved in names))[:1]:
        again = audit_command(without_secret(request), "--secret", column)
        yield NextStep(
            "Decide whether these columns may be learned. If not, audit with each as the secret (of a number, add cut "
            "points, such as --bins 10,20,50):",
            again,
        )


def without_secret(request: Request) -> Request:
    """Return a request without a secret of its own, so that another can be named."""
    return replace(request, options=replace(request.options, secret=None, bins=None))


def _after_fail(request: Request, done: JudgedAudit, command: str) -> Iterator[NextStep]:
    evidence, failing = done.audit.full.evidence, done.decision.failing
    if any(is_about_waivers(finding.clause, finding.requirement.measure) for finding in failing):
        yield NextStep(
            "Correct the waivers: each needs one check, a leaf that fails it, and a last day in "
            "the future."
        )
    column = [*_with_sensitive(request, done)]  # first: a repair needs that column, too
    yield from column
    if any(finding.is_of_file for finding in failing):
        yield _without_the_rest(request, evidence)
    if all(finding.is_of_file for finding in failing if finding.requirement.measure):
        return
    if not column and any(f.clause == FindingKind.TABLE_AGREES for f in done.decision.failing):
        yield NextStep(files_step(done.decision))
        return
    tables = [finding for finding in failing if finding.requirement.measure == OF_TABLES]
    if tables:
        yield _with_other_tables(request)
    judged = [finding for finding in failing if finding.requirement.measure]
    if any(finding.requirement.measure in OF_NUMBERS for finding in judged):
        yield from _without_variances(request, evidence)
    if tables and all(finding in tables or finding.is_of_file for finding in judged):
        return
    if evidence.population.is_absent:
        yield _with_table(request)
    elif column:
        return
    elif command:
        yield NextStep("Repair it, and publish only the repaired file:", command)
    elif request.options.columns:
        yield NextStep(
            "Save the model with the names of the table's columns: without --columns, it can be repaired."
        )
    elif isinstance(evidence.model, Ensemble) and evidence.model.is_additive:
        yield NextStep(
            "Train a decision tree instead, whose claim can be judged: "
            "treewarden.learn.PrivateTreeClassifier"
        )
    elif claims_privacy(evidence.model):
        yield NextStep(
            "Do not repair this model: a repair uses the table again, and then the claim of differential privacy no "
            "longer holds. Train a new private tree with less depth instead."
        )
    else:
        yield NextStep(next(iter(repair_steps(evidence, done.decision))))
        grow = repair_command(request, done.subject, is_grown=True)
        if grow and not request.options.is_weighed:
            yield NextStep(GROW, grow)


def _with_other_tables(request: Request) -> NextStep:
    """Return how tables beside the model come to protect their cells, which no change of the model does."""
    names = listed([output.name for output in request.files.beside])
    return NextStep(f"{OTHER_TABLES} ({names}). Then audit again:", audit_command(request))


def _after_doubt(request: Request, done: JudgedAudit) -> Iterator[NextStep]:
    """Yield what has it decided: a table, a column, more time, or both files that belong together."""
    evidence, failing = done.audit.full.evidence, done.decision.failing
    if evidence.population.is_absent:
        yield _with_table(request)
        if another := _another_format(evidence):
            yield NextStep(another)
        return
    worlds, options = evidence.worlds, request.options
    if any(finding.is_of_file for finding in failing):
        yield _without_the_rest(request, evidence)
    if any(finding.clause == FindingKind.RELEASES_LINKED for finding in failing):
        again = audit_command(request, "--id", "COLUMN")
        yield NextStep("Name the column that identifies a person in every table:", again)
    reasons = {
        finding.reading.reason for finding in failing if isinstance(finding.reading, Undetermined)
    }
    column = [*_with_sensitive(request, done)]
    if column:
        yield from column
    elif NOT_RUN.reason in reasons and not options.worlds:
        again = audit_command(replace(request, options=replace(options, worlds=True)))
        yield NextStep("Let it search for proofs:", again)
    elif isinstance(worlds, ConsistentTables) and worlds.is_out_of_time:
        more = replace(options, worlds_budget=options.worlds_budget * MORE_BUDGET, worlds_all=True)
        again = audit_command(replace(request, options=more))
        yield NextStep("Give the search for proofs more time:", again)
    else:
        steps = [NextStep(step) for step in list(decision_steps(done.decision))[:MOST_REASONS]]
        searched = [finding for finding in failing if not finding.is_of_file]
        is_between = any(isinstance(finding.reading, Interval) for finding in searched)
        without = _without_variances(request, evidence)
        if not without and any(finding.requirement.measure == "p_percent" for finding in failing):
            without = [NextStep(OF_LINKED)] if isinstance(evidence.model, Ensemble) else []
        steps = without or steps
        if is_between and not steps:
            is_in_doubt = isinstance(worlds, ConsistentTables) and worlds.is_in_doubt
            steps = [_past_time(request, evidence, is_in_doubt=is_in_doubt)]
        yield from steps


def _without_variances(request: Request, evidence: Evidence) -> list[NextStep]:
    """Return how variances of leaves leave the file of a tree of numbers; no step where it publishes none."""
    tree = evidence.model
    if not isinstance(tree, Tree) or all(leaf.figures.spread is None for leaf in tree.leaves):
        return []
    remove = "Remove the variances of the leaves, which no prediction needs, and audit the file that this writes:"
    is_cleared = tree.format == "skops_file" and _is_removable(evidence.leaks)
    if isinstance(request.model, Path) and is_cleared:
        return [NextStep(remove, redact_command(request.model))]
    command = convert_command(request, "pmml")
    alone = "Save the tree as PMML, which holds no variances of leaves, and audit that file."
    return [NextStep(remove, command) if command else NextStep(alone)]


def _past_time(request: Request, evidence: Evidence, *, is_in_doubt: bool) -> NextStep:
    """Return what to do where the limit of a check lies between what is proved and what a table was found with.

    More time is named once, and never where facts that ``is_in_doubt`` left out would stay open.
    """
    options = request.options
    if is_criterion_open(evidence):
        named = replace(request, options=replace(options, split=SplitLevel.GINI))
        return NextStep(f"{NAME_CRITERION}:", audit_command(named))
    if is_in_doubt or options.worlds_budget > DEFAULT.worlds_budget:
        why = NOT_FOLLOWED if is_in_doubt else LONG_ENOUGH
        convert = "" if evidence.model.format in WRITTEN else convert_command(request, "pmml")
        if convert and is_in_doubt:
            return NextStep(f"{why} {WRITE_ALONE}", convert)
        return NextStep(f"{why} {AS_FAILED}")
    budget = max(options.worlds_budget, DEFAULT.worlds_budget) * MORE_BUDGET
    again = audit_command(replace(request, options=replace(options, worlds_budget=budget)))
    return NextStep(MORE_TIME, again)


def _without_the_rest(request: Request, evidence: Evidence) -> NextStep:
    """Return how a file comes to hold its trees alone: by redaction, by conversion, or only by another export."""
    if isinstance(request.model, Path) and _is_removable(evidence.leaks):
        remove = redact_command(request.model)
        return NextStep(
            "Remove what is outside the trees, and audit the file that this writes:", remove
        )
    from treewarden.ppdm_models.files.convert import first_writable  # for what is only read

    target = None if evidence.model.format in WRITTEN else first_writable(evidence.model)
    convert = convert_command(request, target) if target is not None else ""
    if convert:
        return NextStep("Write only the trees, audit that file, and publish it instead:", convert)
    return NextStep(
        _another_format(evidence)
        or "Export the model again without what is outside its trees, or in a format that can pass "
        "(“Which file to publish” in docs/formats.md)."
    )


def _another_format(evidence: Evidence) -> str:
    """Return which file of the model can pass, where one of this format never can; else nothing."""
    plugin = formats().get(evidence.model.format)
    if plugin is None or not plugin.publish_instead:
        return ""
    way = plugin.publish_instead
    return f"This format cannot pass: {way} (“Which file to publish” in docs/formats.md)."


def _with_sensitive(request: Request, done: JudgedAudit) -> Iterator[NextStep]:
    """Yield how the column comes in that the model predicts, where only that keeps a check from being decided."""
    population = done.audit.full.evidence.population
    if population.is_absent:
        return
    readings = [finding.reading for finding in done.decision.failing]
    reasons = [reading.reason for reading in readings if isinstance(reading, Undetermined)]
    if lacks_target(done.decision):
        again = audit_command(_with_its_table(request))
        target = done.audit.full.evidence.model.target
        yield NextStep(f"Audit with {_its_table(target)}:", again)
    elif NO_SENSITIVE in reasons:
        again = audit_command(request, "--sensitive", "COLUMN")
        yield NextStep("Name the column that the model predicts:", again)


def _with_its_table(request: Request) -> Request:
    return replace(request, data=Path("TABLE"))


def _its_table(target: str) -> str:
    return f"the table that has the column “{target}” (replace TABLE by its file)"


def _is_removable(leaks: Sequence[Leak] | Undetermined) -> bool:
    return not isinstance(leaks, Undetermined) and any(leak.removable for leak in leaks)


def _with_table(request: Request) -> NextStep:
    again = audit_command(request, "--data", "TABLE")
    return NextStep("Audit it with its training table (replace TABLE by its file):", again)


def _is_of_file(step: str) -> bool:
    """Return whether a step of a report on a repair is about the file that was written."""
    return "--knowledge" in step or "--same-everywhere" in step


def repair_next_steps(
    request: Request,
    subject: AuditInputs,
    document: Document,
    output: Path | None,
    written: Sequence[Path] = (),
    *,
    has_grown: bool = False,
) -> tuple[NextStep, ...]:
    """Return what to do after a repair; ``output`` is the repaired model where one was written.

    ``has_grown`` says that a tree was grown in its place, too.
    """
    if document.redacted_below is not None:
        return tuple(NextStep(step) for step in document.next_steps)
    repair = document.repair
    assert repair is not None
    if repair.before.verdict == "PASS":
        steps = [NextStep(document.next_steps[0])]
    elif output is not None:
        about = [step for step in document.next_steps if _is_of_file(step)]
        has_settings = any("--knowledge" in step for step in about)
        more = (
            ("--knowledge", SETTINGS_FILE) if has_settings and not request.files.knowledge else ()
        )
        again = audit_command(replace(request, model=output), *more)
        is_changed = any(a.is_applied and NEW_MODEL not in a.remedies for a in repair.attempts)
        first = (
            document.next_steps[0] if is_changed else f"Publish only the new tree, {output.name}."
        )
        steps = [
            *(map(NextStep, about) if more else ()),
            NextStep(f"{first} To audit the new file by itself:", again),
            *(() if more else map(NextStep, about)),
            NextStep("Check that the model is still useful."),
        ]
    elif table_lacks_target(document):
        again = repair_command(_with_its_table(request), subject)
        steps = [NextStep(f"Repair it with {_its_table(subject.tree.target)}:", again)]
    else:
        listing = repair_command(request, subject, is_list=True)
        has_no_grow = has_grown or request.options.is_weighed
        grow = "" if has_no_grow else repair_command(request, subject, is_grown=True)
        steps = [
            *([NextStep(GROW, grow)] if grow else []),
            NextStep("See what each change still fails:", listing),
            NextStep(train_again_step(subject.tree)),
        ]
    if written:
        steps.append(NextStep(f"Read the full report: {', '.join(map(str, written))}"))
    return tuple(steps)


def _report(request: Request, written: Sequence[Path], *, is_pass: bool) -> Iterator[NextStep]:
    """Yield where the full report is, or how it is written."""
    if written:
        names = ", ".join(map(str, written))
        yield NextStep(f"Read the full report: {names}")
        return
    command = audit_command(request, "--format", f"html={PAGE}")
    if command:
        what = "Write a report to keep" if is_pass else "See every finding in a report"
        yield NextStep(f"{what} ({PAGE}):", command)
