"""What an audit would cost, told before it runs: files are read and people counted, nothing is solved or judged.

The constants are few, and measured by ``python -m benchmarks.planning``. Seconds are those of a processor as fast as
the one that they were measured on; a short loop says how fast this one is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from treewarden.audit.facts.split_families import MOST_BINS_FOR_SUBSETS
from treewarden.audit.knowledge.knowledge import possible_criteria, resolved
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import Members, members
from treewarden.audit.progress import Step, silent
from treewarden.audit.workers.pool import default_jobs
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import Request
from treewarden.jobs.read_inputs import read_subject
from treewarden.ppdm_models.arrays import IndexArray, alike
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.tree import Task, Tree
from treewarden.reports.document.gate import Expected, PlanDocument, PlannedSizes

# How large an audit is, from one look at its people: counted without forming a row or solving anything.

MOST_PLACES = 50_000_000
"""Leaves times values of an attribute up to which it is counted which value is where; beyond, each may be anywhere."""
FULL = (LeafLevel.COUNTS, LeafLevel.AS_PUBLISHED)
"""Levels at which a row may stand for each class of a leaf."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What an audit has to deal with.

    ``signatures`` are kinds of people that some row may tell apart: the estimate has at most so many lumps of profiles.
    ``knowledge_rows`` say what leaves hold, ``candidates`` how splits were chosen (at most), and ``touched`` is how
    many profiles all these candidates are about, each attribute of each node counted once. ``splits`` are nodes whose
    choice is held against estimates. Adversaries who know only some columns take so many ``estimates``; where the
    secret is a column, nobody else is asked about.
    """

    records: float
    profiles: int
    trees: int
    leaves: int
    classes: int
    signatures: int
    knowledge_rows: int
    candidates: int
    touched: int
    adversaries: int
    releases: int
    is_by_entropy: bool = False
    splits: int = 0
    estimates: int = 0
    is_of_column: bool = False


def sizes_of(subject: AuditInputs) -> Sizes:
    """Return how large the audit of a subject is."""
    model, people = subject.tree, subject.population
    trees = list(trees_of(model))
    signatures, rows, candidates, touched = _counted(model, people, subject)
    adversary_request, classes = (
        subject.asked,
        0 if model.task is Task.REGRESSION else len(model.classes),
    )
    is_of_column = adversary_request.secret is not None
    return Sizes(
        records=people.records,
        profiles=len(people.counts),
        trees=len(trees),
        leaves=sum(tree.leaf_count for tree in trees),
        classes=classes,
        signatures=signatures,
        knowledge_rows=rows,
        candidates=candidates,
        touched=touched,
        adversaries=len(adversary_request.partial) + (not is_of_column),
        releases=1 + len(subject.earlier),
        is_by_entropy=_is_by_entropy(model, subject),
        splits=sum(not node.is_leaf for tree in trees for node in tree.nodes) if candidates else 0,
        estimates=sum(
            classes if adversary.target else 1 for adversary in adversary_request.partial
        ),
        is_of_column=is_of_column,
    )


def _is_by_entropy(model: Model, subject: AuditInputs) -> bool:
    if not isinstance(model, Tree):
        return False
    knowledge, _ = resolved(subject.knowledge, model)
    by = (SplitLevel.ENTROPY, SplitLevel.GAIN_RATIO)
    return knowledge.split in by or bool(possible_criteria(knowledge, model))


def _counted(model: Model, people: Population, subject: AuditInputs) -> tuple[int, int, int, int]:
    """Return signatures, rows of knowledge, candidates and the profiles that they touch."""
    size = len(people.counts)
    if not isinstance(model, Tree) or people.is_absent or not model.classes:
        return size, sum(tree.leaf_count for tree in trees_of(model)), 0, 0
    knowledge, _ = resolved(subject.knowledge, model)
    of_leaf = len(model.classes) if knowledge.leaf in FULL else 1
    rows = of_leaf * len(np.unique(people.leaf))
    if knowledge.split is SplitLevel.NONE:
        return len(np.unique(people.leaf)), rows, 0, 0
    criteria = max(1, len(possible_criteria(knowledge, model)))
    names = [feature.name for feature in model.features if feature.name in people.qi]
    codes = {name: _codes(people, name) for name in names}
    signatures = len(alike([people.leaf, *codes.values()])[0])
    inside = members(model, people.leaf)
    inner = [node.index for node in model.nodes if not node.is_leaf]
    touched = len(names) * sum(len(inside.profiles_at(node)) for node in inner)
    candidates = sum(
        _splits(there, is_set=isinstance(people.columns[name], CategoricalColumn))
        for name in names
        for there in _values(model, people, inside, codes[name])
    )
    return signatures, rows, criteria * candidates, criteria * touched


def _codes(people: Population, name: str) -> IndexArray:
    return np.unique(people.columns[name].keys, return_inverse=True)[1].reshape(-1).astype(np.intp)


def _values(tree: Tree, people: Population, inside: Members, codes: IndexArray) -> Iterator[int]:
    """Yield how many values of an attribute occur at each inner node, or more where they are too many to look."""
    levels = int(codes.max(initial=-1)) + 1
    inner = [node for node in tree.nodes if not node.is_leaf]
    if len(tree.nodes) * levels > MOST_PLACES:
        yield from (min(levels, len(inside.profiles_at(node.index))) for node in inner)
        return
    is_there = np.zeros((len(tree.nodes), levels), dtype=bool)
    is_there[people.leaf, codes] = True
    for node in reversed(tree.nodes):
        if node.parent is not None:
            is_there[node.parent] |= is_there[node.index]
    yield from (int(is_there[node.index].sum()) for node in inner)


def _splits(values: int, *, is_set: bool) -> int:
    """Return how many ways there are to part so many values: cuts, or sets of them where they are few."""
    if values < 2:
        return 0
    if not is_set:
        return values - 1
    return 2 ** (values - 1) - 1 if values <= MOST_BINS_FOR_SUBSETS else values


LOOP_SECONDS = 0.055
"""What ``_loop`` took on the machine of the constants below."""
STARTING = 1.1
SOLVING_BASE = 0.2
SOLVING_PER_LEAF_AND_CLASS = 2.7e-4
SOLVING_PER_TOUCHED = 5e-7
MANY_TOUCHED = 10_000_000
BEYOND_SHARE = 0.3
"""What each profile touched beyond so many costs, of one before: long arrays are worked through faster."""
ENTROPY_FACTOR = 1.5
"""How many times longer parts of the estimate take where splits were chosen by entropies."""
WORLDS_BASE = 2.0
WORLDS_PER_LEAF = 1e-3
WORLDS_PER_TOUCHED = 5e-7
ADVERSARY_BASE = 0.3
ADVERSARY_PER_LEAF = 3e-4
ENFORCING = 5.5e-5
ENFORCING_POWER = 1.7
"""Of the number of splits: what it takes, about, to put what their choice says into one estimate of the target."""
ENFORCING_OF_COLUMN = 3.5e-3
"""For each split: the same of a secret column."""
REPORT_BASE = 0.05
REPORT_PER_LEAF = 2.3e-4
WEIGHED_PER_PROFILE = 1.3e-5
"""Under sampling weights, to measure and judge people and what they weigh."""
LEVELS_SHARE = 0.8
"""Of solving: what each kind of information adds is solved for once more, in forms other than text."""
DRAWN_BASE = 0.3
MEMORY_BASE_MB = 60.0
MEMORY_PER_TOUCHED_MB = 1e-5
WORLDS_BASE_MB = 40.0
WORLDS_PER_TOUCHED_MB = 3e-5
ENFORCING_MB = 0.15


@dataclass(frozen=True, slots=True)
class Costs:
    """Expected seconds of processor time of each stage, and the most memory that this process has, in MB."""

    stages: Mapping[str, float]
    memory_mb: float

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(self.stages.values())


def slowness() -> float:
    """Return how many times longer this machine takes than that of the constants, by a loop of about 0.1 s."""
    _loop()  # the first time is the memory's
    return min(_timed() for _ in range(3)) / LOOP_SECONDS


def costs(
    sizes: Sizes,
    options: AuditOptions,
    form: str,
    reading: float,
    now_mb: float,
    slow: float,
) -> Costs:
    """Return what an audit is expected to cost, given what reading its files took here and has of memory now."""
    touched = _worked_through(sizes.touched)
    solving = SOLVING_BASE + SOLVING_PER_TOUCHED * touched
    if sizes.candidates:
        factor = ENTROPY_FACTOR if sizes.is_by_entropy else 1.0
        solving += factor * SOLVING_PER_LEAF_AND_CLASS * sizes.leaves * sizes.classes
    worlds = (WORLDS_BASE + WORLDS_PER_LEAF * sizes.leaves + WORLDS_PER_TOUCHED * touched) * slow
    worlds = min(worlds, options.worlds_budget) if options.worlds else 0.0
    enforcing = ENFORCING * sizes.splits**ENFORCING_POWER
    others = sizes.adversaries - 1
    if sizes.is_of_column:
        enforcing = ENFORCING_OF_COLUMN * sizes.splits
        others, solving, worlds = sizes.adversaries, 0.0, 0.0
    if options.time_limit is not None:
        solving = min(solving, options.time_limit / slow)
        enforcing = min(enforcing, options.time_limit / slow)
    adversaries = others * (ADVERSARY_BASE + ADVERSARY_PER_LEAF * sizes.leaves)
    adversaries += sizes.estimates * enforcing
    is_drawn = form != "text"
    report = REPORT_BASE + REPORT_PER_LEAF * sizes.leaves + DRAWN_BASE * is_drawn
    report += WEIGHED_PER_PROFILE * sizes.profiles * (options.sampling_weights is not None)
    stages = {
        "starting": STARTING * slow,
        "reading": reading,
        "solving": solving * slow,
        "whole records": worlds,
        "adversaries": adversaries * slow,
        "levels": LEVELS_SHARE * solving * slow * (options.levels and is_drawn),
        "report": report * slow,
    }
    memory = MEMORY_BASE_MB + MEMORY_PER_TOUCHED_MB * touched
    if sizes.estimates:
        memory += ENFORCING_MB * sizes.splits
    if options.worlds and not sizes.is_of_column:
        memory += WORLDS_BASE_MB + WORLDS_PER_TOUCHED_MB * touched
    return Costs(stages, now_mb + memory)


def _worked_through(touched: int) -> float:
    """Return as how many profiles so many count, as those beyond a number cost less each."""
    return min(touched, MANY_TOUCHED) + BEYOND_SHARE * max(touched - MANY_TOUCHED, 0)


def _timed() -> float:
    began = time.process_time()
    _loop()
    return time.process_time() - began


def _loop() -> None:
    """Sort, gather and sum numbers, as an audit does."""
    draw = np.random.default_rng(0)
    for _ in range(2):
        values = draw.random(200_000)
        order = np.argsort(values, kind="stable")
        np.bincount((values[order] * 1000).astype(np.intp), weights=values)
    total = 0
    for number in range(150_000):
        total += number & 7


if sys.platform != "win32":
    import resource

STAGES = {"whole records": "proofs", "levels": "effect of each published number"}
"""Names of stages in text, where those in JSON are other words."""
NAME_WIDTH = 34
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
        "groups that differ for the model": f"{sizes.signatures:,} at most",
        "trees": f"{sizes.trees:,}",
        "leaves": f"{sizes.leaves:,}",
        "classes": f"{sizes.classes:,}",
        "equations from leaves": f"{sizes.knowledge_rows:,}",
        "inequalities from splits": f"{sizes.candidates:,} at most",
        "adversaries": f"{sizes.adversaries:,}",
        "releases": f"{sizes.releases:,}",
        "proofs": "not searched for"
        if plan.worlds_budget is None
        else f"searched for, {plan.worlds_budget:g} s at most",
    }
    yield from (f"  {name:<{NAME_WIDTH}}{text}" for name, text in rows.items())
    yield ""
    if plan.costs is None:
        yield f"  The time cannot be predicted: {plan.unknown}."
    else:
        yield "Expected processor time (usually right within a factor of 3):"
        yield ""
        yield from (
            f"  {STAGES.get(name, name):<{NAME_WIDTH}}{said:>8.1f} s"
            for name, said in plan.costs.stages.items()
        )
        yield f"  {'in all':<{NAME_WIDTH}}{plan.costs.seconds:>8.1f} s"
        yield f"  {'memory':<{NAME_WIDTH}}{plan.costs.memory_mb:>8,.0f} MB"
        if plan.jobs > 1:
            yield ""
            yield f"The memory above is for one process; up to {plan.jobs} processes run at once."
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
