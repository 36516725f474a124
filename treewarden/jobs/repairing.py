"""Repairs a model as a file: looks for a change that passes, and writes it as it was audited."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.exposures import with_levels
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import Step, silent
from treewarden.audit.result import Audit
from treewarden.audit.run_tree import with_grades
from treewarden.audit.solver.checkpoint import KEPT, Within
from treewarden.audit.withholding_costs import costs_of
from treewarden.audit.workers.pool import Common, default_jobs, done
from treewarden.audit.workers.processes import each_done
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.redacting import without_leaks
from treewarden.policies.judging.judge import verdict_of
from treewarden.policies.remedies import Proposal
from treewarden.policies.repair.attempts import RepairAttempt, RepairSearch, SearchEnd
from treewarden.policies.repair.repair import repair
from treewarden.policies.repair.search import AuditAll, Found, Glance, Tell, to_nobody
from treewarden.policies.repair.utility import NO_LIMIT, Deadline, RepairResources
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import OutputError, RemedyError, TreewardenError
from treewarden.ppdm_models.files.convert import converted, writable
from treewarden.ppdm_models.files.load import OpenedFile, open_model, writers
from treewarden.ppdm_models.formats import Opened, Rewritable
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, claims_privacy
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.steps import DRAWN_LABELS, another_training, draws_labels

# Audits changed models as files: each as its recipient would read it, several at a time.

LOST = RemedyError("the audit", "the process ended three times; give it more memory")
NAMED_HERE = (
    "a repair keeps the names in the file, so it cannot be combined with 'columns'; save the model with the table's "
    "names (XGBoost: booster.feature_names), or rename the columns of the table as in the file, and leave 'columns' out"
)
"""Why a model is not repaired whose features were renamed: what is written would be audited under other names."""
CLAIMED_HERE = (
    "it claims differential privacy, and a repair that uses the table would break the "
    "claim; train a new private tree: treewarden.learn.PrivateTreeClassifier"
)
NOT_ATTACKED = "a repair runs no attacks; leave the option out, and audit the repaired file with it"
LARGE_CELLS = 20_000
"""Profiles times classes from which on an estimate takes so long that it is not made of what fails without it."""
LEAST_SHARE_SECONDS = 0.75
"""What each change has of the budget for whole records, however many share it."""
LESS_FOR_MANY = 1.75
"""By which power of their number each has less: what many ways of withholding leave open is mostly left open by all."""


@dataclass(frozen=True, slots=True)
class Reaudit:
    """The audit of one proposal, as a job that another process can do; the file is read as its receiver would.

    The ``subject`` is that of all proposals, but for the ``options``.

    Of ``large`` profiles times classes it stops where what whole records prove fails the policy.
    """

    file: bytes
    name: str
    subject: Common[AuditInputs]
    options: AuditOptions
    large: int = LARGE_CELLS

    def __call__(self) -> Audit:
        """Read the file and audit it, without what only the report of the one that is chosen shows."""
        subject = replace(self.subject.value, options=self.options)
        file, people = open_model(self.file, self.name), subject.population
        is_large = len(people.counts) * len(file.model.classes) >= self.large
        return subject.audit(file, grades=False, is_stopped_by_failing=is_large)


@dataclass(frozen=True, slots=True)
class Refused:
    """A proposal that cannot be written, as a job beside those that can."""

    error: TreewardenError

    def __call__(self) -> Audit:
        """Say why."""
        raise self.error


def auditing(
    subject: AuditInputs,
    name: str,
    processes: Callable[[int], int],
    target: str | None = None,
    deadline: Deadline = NO_LIMIT,
    took: Callable[[float], None] = lambda seconds: None,
    large: int = LARGE_CELLS,
) -> AuditAll:
    """Return what audits proposals over as many processes as ``processes`` says for their number; this one for 0.

    ``took`` hears how long each audit in this process lasted. They share the budget for whole records, and each
    estimate has at most what is left until the deadline. For ``large`` see ``Reaudit``.
    """

    def audit_all(
        proposals: Iterator[Proposal], most: int
    ) -> Generator[tuple[int, Found], None, None]:
        count = processes(most)
        common = Common(replace(subject, file=_apart(subject.file)))

        def jobs() -> Iterator[Reaudit | Refused]:
            for proposal in proposals:
                try:
                    file = published(subject, proposal, target)
                except TreewardenError as error:
                    yield Refused(error)
                    continue
                options = within(deadline, subject.options, most)
                options = replace(options, jobs=1) if count else options
                yield Reaudit(file, name, common, options, large)

        if not count:
            for number, job in enumerate(jobs()):
                begun = time.monotonic()
                answer = done(job)
                took(time.monotonic() - begun)
                yield number, answer
            return
        checkpoint = KEPT.get()
        there = jobs() if checkpoint is None else (Within(checkpoint.folder, job) for job in jobs())
        for number, found in each_done(there, count, lambda: deadline.left):
            yield number, LOST if found is None else found

    return audit_all


def _with_costs(
    resources: RepairResources, subject: AuditInputs, target: str | None
) -> RepairResources:
    """Return what a repair may use with what its options say of withholding numbers, and what stays published."""
    options = subject.options
    return replace(
        resources,
        costs=costs_of(options.withholding_costs),
        same_everywhere=options.same_everywhere,
        beside=subject.beside,
        trees_alone=target not in (None, subject.tree.format),
    )


def glancing(subject: AuditInputs, name: str, target: str | None = None) -> Glance:
    """Return what reads the leaves and the file of a proposal, as its receiver would."""

    def glance(proposal: Proposal) -> Found:
        try:
            return subject.glance(open_model(published(subject, proposal, target), name))
        except TreewardenError as error:
            return error

    return glance


def within(deadline: Deadline, options: AuditOptions, sharing: int = 1) -> AuditOptions:
    """Return how one of several audits is done that share the budget for whole records, and end with the deadline."""
    budget = options.worlds_budget
    share = max(LEAST_SHARE_SECONDS, budget / sharing**LESS_FOR_MANY)
    budget = min(budget, share, deadline.left)
    if deadline.end == NO_LIMIT.end:
        return replace(options, worlds_budget=budget)
    limits = (deadline.left, options.time_limit or deadline.left)
    return replace(options, worlds_budget=budget, time_limit=max(min(limits), 1e-3))


def published(subject: AuditInputs, proposal: Proposal, target: str | None) -> bytes:
    """Return the file as it would be published: what is audited again is what is written."""
    data = written(subject, proposal.model, target)
    return without_leaks(data, subject.tree.source) if proposal.is_bare else data


def written(subject: AuditInputs, model: Model, target: str | None) -> bytes:
    """Return a model in the format that is wanted: the original file with its trees changed where that is its own.

    Raises:
        RemedyError: that format is only read here.
        OutputError: the format cannot say something that the model holds.
    """
    own, opened = subject.tree, subject.file.opened
    if target is not None and target != own.format:
        return converted(model, target)
    if isinstance(opened, Rewritable):
        return opened.rewrite(model)
    if own.format in writers():
        return writers()[own.format].write(model)
    raise RemedyError(
        own.source,
        f"treewarden can read this format ({own.format}), but cannot write it; {_instead(own)}",
    )


def _apart(file: OpenedFile) -> OpenedFile:
    """Return a file without what changes it: all that a process needs that audits other files, and no bytes."""
    return replace(file, opened=Opened(file.model))


TRAIN_AGAIN = (
    "train it again with larger leaves: in Python, treewarden.search(estimator, {{'{leaf}': [10, 20, 40], "
    "'{rounds}': [5, 10]}}, X, y, policy='standard') audits each setting (docs/search.md)"
)
SETTINGS = {"sklearn_hist": ("min_samples_leaf", "max_iter")}
"""What estimators call the least records of a leaf and the number of trees, where not as forests do."""


def _instead(replacement: Model) -> str:
    """Return what to do about a format that is only read."""
    if draws_labels(replacement):
        return f"{DRAWN_LABELS}; train it again {another_training(replacement)}, and audit the new file"
    targets = [f"--to {target}" for target in reversed(writable(replacement))]
    if not targets:
        growth = replacement.growth if isinstance(replacement, Ensemble) else None
        library = "" if growth is None else growth.library
        leaf, rounds = SETTINGS.get(library, ("min_samples_leaf", "n_estimators"))
        advice = TRAIN_AGAIN.format(leaf=leaf, rounds=rounds)
        return f"no other format can hold this model either; {advice}"
    what = "tree" if isinstance(replacement, Tree) else "trees"
    return f"add {' or '.join(targets)} to write only the {what}"


WORTH_WORKERS_SECONDS = 4.0
"""What all re-audits together must be expected to take before processes are started that nobody asked for."""
SETTLED_SHARE = 4
"""Part of the budget for whole records that the original has where its leaves fail anyway."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair, and the file that it applies (None: none passes); ``target`` is its format, None the original's."""

    repair: RepairSearch
    file: bytes | None
    target: str | None = None

    @property
    def audit(self) -> Audit:
        """The audit of the model that is written, else of the original."""
        best = self.repair.applied
        return self.repair.audit if best is None or best.audit is None else best.audit

    def choosing(self, attempt: RepairAttempt, subject: AuditInputs) -> Repaired:
        """Return the same with another attempt that passes applied.

        Raises:
            ValueError: it does not pass.
        """
        if attempt.verdict is not PolicyVerdict.PASS:
            raise ValueError(f"{attempt.name} does not pass")
        file = published(subject, attempt.proposal, self.target)
        repair_search = replace(self.repair, applied=attempt)
        return replace(self, repair=_graded(repair_search, subject.options), file=file)

    def with_new_model(
        self, message: str, file: bytes | None, attempt: RepairAttempt | None = None
    ) -> Repaired:
        """Return the same with a tree that was trained anew; its ``file`` is the one that is written, if it passes."""
        told = self.repair.with_new_model(message, attempt, passes=file is not None)
        return replace(self, repair=told, file=file)

    def with_levels(
        self, subject: AuditInputs, step: Step = silent, deadline: Deadline = NO_LIMIT
    ) -> Repaired:
        """Return the same, with what each kind of information adds in the audit that a report is about, in time."""
        if not subject.options.levels or deadline.is_over:
            return self
        audit = with_levels(self.audit, within(deadline, subject.options), step)
        best = self.repair.applied
        if best is None or best.audit is None:
            return replace(self, repair=replace(self.repair, audit=audit))
        return replace(self, repair=self.repair.exchanging(best, replace(best, audit=audit)))


def _check_repairable(subject: AuditInputs) -> None:
    """Check that a model may be changed with these options.

    Raises:
        RemedyError: it may not.
    """
    if subject.options.attack is not None:
        raise RemedyError("attack", NOT_ATTACKED)
    if subject.options.columns:
        raise RemedyError(subject.tree.source, NAMED_HERE)
    if claims_privacy(subject.tree):
        raise RemedyError(subject.tree.source, CLAIMED_HERE)


def _why_not_written(subject: AuditInputs, target: str | None, trains_anew: bool) -> str:
    """Return why no changed model could be written; "" where it can.

    Raises:
        RemedyError, OutputError: it cannot, and no new tree is to take its place.
    """
    try:
        written(subject, subject.tree, target)
    except (RemedyError, OutputError) as error:
        if trains_anew:
            return error.problem.partition(";")[0]
        raise
    return ""


def repair_file(
    subject: AuditInputs,
    name: str,
    resources: RepairResources | None = None,
    target: str | None = None,
    step: Step = silent,
    *,
    deadline: Deadline = NO_LIMIT,
    every: bool = False,
    chosen: str = "",
    tell: Tell = to_nobody,
    large: int = LARGE_CELLS,
    trains_anew: bool = False,
) -> Repaired:
    """Look for a change that passes; ``name`` is what the repaired file will be called, ``target`` its format.

    Levels of knowledge are left out, as nobody asks for those of every change: see ``Repaired.with_levels``. At the
    deadline, or a keyboard interrupt, the search ends with what it has; after an interrupt there is no file. For
    ``every``, ``chosen`` and ``tell`` see ``repair``, for ``large`` see ``Reaudit``.

    Without a target it is written as the original was: the original file with its trees changed where its format can do
    that, else the tree alone. Where that cannot be, and a new tree ``trains_anew`` in its place, no change is tried.

    Raises:
        RemedyError: the format is only read and no other is asked for, or the features have the names of the table.
        OutputError: the format cannot say something that the tree holds.
        TreewardenError: the original cannot be audited.
    """
    own = subject.tree
    _check_repairable(subject)
    subject = replace(subject, options=replace(subject.options, levels=False))
    refused = _why_not_written(subject, target, trains_anew)
    begun = time.monotonic()
    is_settled = verdict_of(subject.glance(subject.file), subject.pack) is PolicyVerdict.FAIL
    options = within(deadline, subject.options, SETTLED_SHARE if is_settled else 1)
    original = replace(subject, options=options).audit(subject.file, step)
    longest = time.monotonic() - begun
    resources = _with_costs(resources or RepairResources(), subject, target)

    def processes(models: int) -> int:
        chosen = subject.options.jobs
        count = min(chosen or default_jobs(), models)
        is_worth = chosen is not None or longest * models >= WORTH_WORKERS_SECONDS
        return count if count > 1 and is_worth else 0

    def took(seconds: float) -> None:
        nonlocal longest
        longest = max(longest, seconds)

    repair_search = repair(
        own,
        subject.population,
        lambda model: original,
        pack=subject.pack,
        resources=resources,
        audit_all=auditing(
            subject, name, processes, target=target, deadline=deadline, took=took, large=large
        ),
        step=step,
        glance=glancing(subject, name, target),
        deadline=deadline,
        every=every,
        chosen=chosen,
        tell=tell,
        refused=refused,
    )
    cut = _search_cut(original, options.worlds_budget, subject.options.worlds_budget)
    repair_search = replace(repair_search, search_cut=cut if is_settled else "")
    best = repair_search.recommended
    is_written = best is not None and repair_search.ended is not SearchEnd.INTERRUPTED
    if best is None or not is_written:
        return Repaired(repair_search, None, target)
    file = published(subject, best.proposal, target)
    return Repaired(_graded(repair_search, within(deadline, subject.options)), file, target)


def _search_cut(original: Audit, seconds: float, whole: float) -> str:
    """Return that the original was searched for fewer seconds than an audit has, where that left proofs open."""
    worlds = original.full.evidence.worlds
    if not isinstance(worlds, ConsistentTables) or not worlds.is_out_of_time or seconds >= whole:
        return ""
    return (
        f"The original fails anyway, so treewarden searched it for proofs for only {seconds:.3g} of the {whole:g} "
        "seconds. To get a narrower range for the original, run treewarden audit."
    )


def _graded(repair_search: RepairSearch, options: AuditOptions) -> RepairSearch:
    """Return the same where the learner was run again for the report of the change that is applied."""
    best = repair_search.applied
    if best is None or best.audit is None:
        return repair_search
    return repair_search.exchanging(best, replace(best, audit=with_grades(best.audit, options)))
