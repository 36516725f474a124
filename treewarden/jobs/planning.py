"""What an audit would cost, told before it runs: files are read and people counted, nothing is solved or judged."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from treewarden.audit.progress import Step, silent
from treewarden.audit.workers.pool import default_jobs
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.costs import Costs, Sizes, costs, sizes_of, slowness
from treewarden.jobs.read_inputs import read_subject
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.document.gate import Expected, PlanDocument, PlannedSizes

if sys.platform != "win32":
    import resource

STAGES = {"whole records": "proofs", "levels": "what each adds"}
"""Names of stages in text, where those in JSON are other words."""
NOT_JUDGED = "Nothing was judged: this is a plan, and no audit was performed."
MANY_SECONDS = 60.0
"""An audit of this length is worth being kept while it runs."""


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What an audit has to deal with, what it is expected to cost, and what would make it cheaper.

    ``costs`` is None where nothing can be said of it, and ``unknown`` says why; ``jobs`` are the processes it may use.
    """

    model: str
    sizes: Sizes
    costs: Costs | None
    unknown: str
    jobs: int
    worlds_budget: float | None
    advice: tuple[str, ...]

    @property
    def document(self) -> PlanDocument:
        """The plan as JSON has it."""
        return PlanDocument(
            kind="plan",
            verdict=None,
            said=NOT_JUDGED,
            model=self.model,
            sizes=PlannedSizes(**asdict(self.sizes)),
            jobs=self.jobs,
            worlds_budget_seconds=self.worlds_budget,
            expected=None if self.costs is None else _expected(self.costs),
            unknown=self.unknown,
            cheaper=self.advice,
        )


def plan_of(request: Request, form: str = "text", step: Step = silent) -> AuditPlan:
    """Return the plan of an audit whose report is to have a form.

    Raises:
        TreewardenError: a file cannot be read, or the files do not fit each other.
    """
    began = time.process_time()
    subject = read_subject(request, step)
    reading = time.process_time() - began
    with step("counting"):
        sizes = sizes_of(subject)
    unknown = _unknown(subject)
    options = subject.options
    found = None
    if not unknown:
        found = costs(sizes, options, form, reading, _peak_mb(), slowness())
    jobs = default_jobs() if options.jobs is None else options.jobs
    budget = options.worlds_budget if options.worlds else None
    advice = tuple(_advice(subject, found))
    return AuditPlan(
        model=subject.tree.source,
        sizes=sizes,
        costs=found,
        unknown=unknown,
        jobs=jobs,
        worlds_budget=budget,
        advice=advice,
    )


def plan_lines(plan: AuditPlan) -> Iterator[str]:
    """Yield a plan as it is read in a terminal."""
    sizes = plan.sizes
    yield f"Plan of the audit of {plan.model}"
    yield ""
    rows = {
        "records": f"{sizes.records:,.0f}",
        "groups": f"{sizes.profiles:,}",
        "kinds of groups": f"{sizes.signatures:,} at most",
        "trees": f"{sizes.trees:,}",
        "leaves": f"{sizes.leaves:,}",
        "classes": f"{sizes.classes:,}",
        "facts on leaves": f"{sizes.knowledge_rows:,}",
        "facts on splits": f"{sizes.candidates:,} at most",
        "adversaries": f"{sizes.adversaries:,}",
        "releases": f"{sizes.releases:,}",
        "proofs": "not searched for"
        if plan.worlds_budget is None
        else f"searched for, {plan.worlds_budget:g} s at most",
    }
    yield from (f"  {name:<17}{text}" for name, text in rows.items())
    yield ""
    if plan.costs is None:
        yield f"  The time cannot be predicted: {plan.unknown}."
    else:
        yield "Expected processor time (usually right within a factor of 3):"
        yield ""
        yield from (
            f"  {STAGES.get(name, name):<17}{said:>8.1f} s"
            for name, said in plan.costs.stages.items()
        )
        yield f"  {'in all':<17}{plan.costs.seconds:>8.1f} s"
        yield f"  {'memory':<17}{plan.costs.memory_mb:>8,.0f} MB"
        if plan.jobs > 1:
            yield ""
            yield f"Up to {plan.jobs} processes share the solving; each needs its own memory."
    if plan.advice:
        yield ""
        yield "To make it cheaper:"
        yield from (f"  - {each}" for each in plan.advice)
    yield ""
    yield NOT_JUDGED


def _expected(costs: Costs) -> Expected:
    stages = {name: round(seconds, 1) for name, seconds in costs.stages.items()}
    total, memory = round(costs.seconds, 1), round(costs.memory_mb)
    return Expected.model_validate(
        {"processor_seconds": stages, "processor_seconds_total": total, "memory_mb": memory}
    )


def _unknown(subject: AuditInputs) -> str:
    """Return why nothing can be said of what an audit costs; "" where it can."""
    model = subject.tree
    if subject.population.is_absent:
        return "without a table only the file is judged, which takes a moment"
    if subject.shared is not None:
        return (
            "the search over several releases ends when nothing more is found or a limit is reached"
        )
    if isinstance(model, Ensemble) or model.task is Task.REGRESSION:
        return (
            "the search over many trees, or over a model that predicts numbers, ends when nothing "
            "more is found or a limit is reached"
        )
    return ""


def _advice(subject: AuditInputs, costs: Costs | None) -> Iterator[str]:
    """Yield what would make an audit cheaper, by options that there are."""
    options = subject.options
    seconds = {} if costs is None else costs.stages
    worlds = seconds.get("whole records", 0.0)
    if worlds >= 1.0:
        yield (
            f"--no-worlds: no search for proofs (about {worlds:.0f} s less); what is proved is then not "
            "decided"
        )
    if worlds >= options.worlds_budget and options.worlds_budget > 1.0:
        yield (
            f"--worlds-budget {options.worlds_budget / 2:g}: half the time to search for proofs; what is not proved by "
            "then is not decided"
        )
    if options.worlds and options.worlds_all:
        yield "leave out --worlds-all: the search for proofs ends when the verdict is certain"
    if options.qi is not None and len(subject.population.qi) > len(subject.tree.features):
        yield (
            "leave out --qi: with the model's own columns there may be fewer groups; an adversary who knows "
            "more columns is then not judged"
        )
    if options.levels and seconds.get("levels", 0.0) >= 1.0:
        yield "--no-levels: the report omits what each kind of published information adds"
    longest = max(seconds.get("solving", 0.0), seconds.get("adversaries", 0.0))
    if options.time_limit is None and longest >= MANY_SECONDS:
        yield "--time-limit SECONDS: a limit for each inference; what is not solved by then is not decided"
    if costs is not None and costs.seconds >= MANY_SECONDS:
        yield "--resume FOLDER: stores intermediate results, so that an interrupted run can continue"


def _peak_mb() -> float:
    """Return what this process has had of memory, at most; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
