"""Tries how files and tables become facts: small hostile tables, judged by running the real learners on every table.

    python -m tests.judges.run_learners --cases 500 --seed 0

Every seed is tried as every kind (`--kinds missing ties` for some; see `tests.judges.learners.cases`). A miss prints
its seed and kind, and the exit code is 1 where there is one; the last line counts per kind. What is claimed:

- nothing that the product calls certain, and no bound of it, is contradicted by a table on which the learner, run
  again with the same settings, grows the very same tree;
- everybody whose class is the same in every table that obeys what the file says counts as certain, or as not decided,
  or the audit names the column with missing values that keeps it from telling.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from tests.judges.learners.cases import KINDS, draw_case
from tests.judges.learners.judge import Judged, forced, judged
from tests.judges.learners.learners import Case
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.audit.run import run
from treewarden.ppdm_models.errors import KnowledgeError, TreewardenError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import CategoricalColumn

BUDGET_SECONDS = 20.0
CERTAIN, SMALLEST = MeasureCall("certain_disclosure"), MeasureCall("k_anonymity")


@dataclass
class Trial:
    """One case's outcome: what missed, in words, and what was tried."""

    kind: str
    seed: int
    misses: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


@dataclass(frozen=True)
class Answer:
    """What the product says, and the profile that each record has (n,)."""

    population: Population
    audit: Audit
    worlds: ConsistentTables
    profile: np.ndarray

    @property
    def certain(self) -> np.ndarray:
        """Each record's certain class, -1 where there is none."""
        return self.worlds.certain_class[self.profile]

    @property
    def left_open(self) -> np.ndarray:
        """Of which records it was not decided whether their class is certain."""
        return self.worlds.open_profiles[self.profile]

    def says_of_missing(self, case: Case) -> bool:
        """Return whether a warning or note names a column with missing cells, and that they are missing."""
        said = [text.lower() for text in (*self.audit.warnings, *self.worlds.notes)]
        gaps = [name for name, values in case.columns.items() if any(map(_is_missing, values))]
        return any("missing" in text and name in text for text in said for name in gaps)


def trial(kind: str, seed: int) -> Trial:
    """Judge the case of a kind and seed."""
    found = Trial(kind, seed)
    try:
        judge(found, draw_case(kind, seed))
    except Exception as error:  # a traceback is a miss too, and the other cases must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    return found


def judge(found: Trial, case: Case) -> None:
    """Judge one case: what the product says of it against what the judges find."""
    found.tried["cases"] += 1
    every = judged(case)
    found.tried["tables"] += every.tables
    found.tried["regrown"] += len(every.regrown)
    own = _sorted_within(case, case.labels)
    found.tried["certain to whoever runs the learner"] += int(forced(case, every.regrown).sum())
    found.claim(own in set(map(tuple, every.regrown)), "the harness does not regrow the true table")
    plain = _judged_once(found, case, every, is_strict=False)
    if case.order and not case.says_inner_labels:
        strict = _judged_once(found, case, every, is_strict=True)
        if plain is not None and strict is not None:
            kept = (plain.certain < 0) | (strict.certain == plain.certain)
            found.claim(kept.all(), "certain, but no longer with --strict-ties")
    if plain is not None and case.before is not None:
        _does_not_fall(found, case, plain, every)


def _judged_once(found: Trial, case: Case, every: Judged, *, is_strict: bool) -> Answer | None:
    missed = len(found.misses)
    answer = _answer(found, case, is_strict=is_strict)
    if answer is not None:
        _sound(found, case, answer, every)
        _counts(found, case, answer)
        if case.is_defined:
            _complete(found, case, answer, every.strict if is_strict else every.worlds)
    if is_strict:
        found.misses[missed:] = [f"strict ties: {said}" for said in found.misses[missed:]]
    return answer


def _answer(found: Trial, case: Case, *, is_strict: bool = False) -> Answer | None:
    """Return what the product says, None where it says that it cannot tell; a refusal is a miss."""
    more = {} if case.weights is None else {"sampling_weights": "w"}
    sensitive = "class" if case.sees_truth else None
    options = AuditOptions(jobs=1, worlds_budget=BUDGET_SECONDS, strict_ties=is_strict)
    try:
        people = build_population(case.tree, table_of(case.rows), sensitive=sensitive, **more)
        audit = run(case.tree, people, case.knowledge, [CERTAIN, SMALLEST], options)
    except KnowledgeError:  # the level asks for class numbers, and the file's are sums of weights
        found.tried.update(["numbers that nobody has"])
        return None
    except TreewardenError as error:
        found.misses.append(f"refused, though the learner grows this tree on this table: {error}")
        return None
    profile = _profiles(people, case)
    if profile is None:
        found.misses.append("a record has no profile, or several")
        return None
    if isinstance(audit.full.evidence.worlds, Undetermined):
        found.tried["undetermined"] += 1
        return None
    return Answer(people, audit, audit.full.evidence.worlds, profile)


def _profiles(people: Population, case: Case) -> np.ndarray | None:
    """Return each record's profile, by its values, and by its weight where profiles have one."""
    known = {}
    weight = getattr(people, "weight", None)
    for place in range(len(people.counts)):
        line = []
        for name in case.columns:
            column = people.columns[name]
            value = (
                column.text(place)
                if isinstance(column, CategoricalColumn)
                else column.numbers[place]
            )
            line.append(None if _is_missing(value) else value)
        known[(*line, *(() if weight is None else (float(weight[place]),)))] = place
    if len(known) < len(people.counts) or not set(case.profiles) <= known.keys():
        return None
    return np.array([known[line] for line in case.profiles])


def _sound(found: Trial, case: Case, answer: Answer, every: Judged) -> None:
    """No table that grows the same tree contradicts what is called certain, impossible or bounded."""
    wrong = (answer.certain >= 0) & (every.regrown != answer.certain).any(axis=0)
    if wrong.any():
        record = int(np.flatnonzero(wrong)[0])
        klass, others = answer.certain[record], every.regrown[:, record]
        table = every.regrown[np.flatnonzero(others != klass)[0]]
        found.misses.append(
            f"{answer.population.describe(int(answer.profile[record]))} is called certainly "
            f"{case.classes[klass]}, but the same tree grows on the classes {table.tolist()}"
        )
    worlds = answer.worlds
    for klass, name in enumerate(case.classes):
        for place in range(len(worlds.counts)):
            here = (every.regrown[:, answer.profile == place] == klass).sum(axis=1)
            holds = (
                worlds.low[place, klass] <= here.min() and here.max() <= worlds.high[place, klass]
            )
            ends = f"{worlds.low[place, klass]} to {worlds.high[place, klass]}"
            found.claim(
                holds or wrong.any(),
                f"{answer.population.describe(place)}: {ends} of {name}, but the same tree grows on "
                f"tables with {here.min()} to {here.max()}",
            )


def _counts(found: Trial, case: Case, answer: Answer) -> None:
    """People are counted by the rows of the table, whatever they weigh."""
    read = answer.audit.full.readings
    certain, smallest = read[CERTAIN].reading, read[SMALLEST].reading
    if isinstance(certain, Undetermined):
        found.tried["undetermined"] += 1
    else:
        here = int((answer.certain >= 0).sum())
        found.claim(
            certain.low == here, f"{certain.low:g} certain people, but {here} rows are forced"
        )
        found.tried["certain"] += here
    rows = min(int(node.inside.sum()) for node in case.nodes if not node.column)
    low = None if isinstance(smallest, Undetermined) else smallest.low
    found.claim(low == rows, f"the smallest leaf holds {rows} rows, and {low} are read")


def _complete(found: Trial, case: Case, answer: Answer, worlds: np.ndarray) -> None:
    """Everybody who is certain by definition counts, at the high end at least, or something is said."""
    lost = forced(case, worlds) & (answer.certain < 0) & ~answer.left_open
    found.tried["certain by definition"] += int(forced(case, worlds).sum())
    if lost.any() and not answer.says_of_missing(case):
        who = answer.population.describe(int(answer.profile[np.flatnonzero(lost)[0]]))
        found.misses.append(
            f"{int(lost.sum())} people are certain in all {len(worlds)} tables that fit, but are not counted, "
            f"and no warning says why; for instance {who}"
        )


def _does_not_fall(found: Trial, case: Case, answer: Answer, every: Judged) -> None:
    """A cell that no split reads, blanked, takes nobody out of the count in silence.

    A true fall is none: where the learner can send missing cells either way it compares other candidates.
    """
    assert case.before is not None
    before = _answer(found, case.before)
    if before is None:
        return
    fell = int((before.certain >= 0).sum() - (answer.certain >= 0).sum())
    found.tried["certain before the blank"] += int((before.certain >= 0).sum())
    is_said = answer.says_of_missing(case)
    is_true = int(forced(case, every.worlds).sum()) <= int((answer.certain >= 0).sum())
    found.tried["true falls"] += int(fell > 0 and is_true)
    found.claim(
        fell <= 0 or is_said or is_true,
        f"{fell} fewer certain people after a cell of {case.blanked} was blanked, and no warning says so",
    )


def _sorted_within(case: Case, labels: Sequence[int]) -> tuple[int, ...]:
    """Return the classes with those of equal records in order, as the judges keep them."""
    found = np.array(labels)
    for profile in set(case.profiles):
        inside = np.array([each == profile for each in case.profiles])
        found[inside] = np.sort(found[inside])
    return tuple(found.tolist())


def _is_missing(value: object) -> bool:
    return value is None or value != value


def trials(
    kinds: Sequence[str], cases: int, seed: int, jobs: int, cluster: str | None = None
) -> Iterator[Trial]:
    """Judge seeds ``seed``, ``seed + 1``, ... of every kind over processes, in order."""
    asked = product(range(seed, seed + cases), kinds)
    return in_order(trial, [(kind, number) for number, kind in asked], jobs, cluster)


def summary(tried: dict[str, Counter[str]], missed: Counter[str]) -> str:
    """Return the last line: cases, tables and misses per kind."""
    said = []
    for kind, counts in tried.items():
        said.append(
            f"{kind}: {counts['cases']} cases, {counts['tables']} tables, {counts['regrown']} regrown, "
            f"{missed[kind]} misses"
        )
    return "; ".join(said)


def main() -> int:
    """Judge as many cases as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m tests.judges.run_learners", description=__doc__)
    ask.add_argument("--cases", type=int, default=500, help="per kind")
    ask.add_argument("--seed", type=int, default=0)
    ask_where(ask)
    ask.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    given = ask.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began, missed = time.perf_counter(), Counter[str]()
    tried = {kind: Counter[str]() for kind in given.kinds}
    answers = trials(given.kinds, given.cases, given.seed, given.jobs, given.cluster)
    for number, one in enumerate(answers, start=1):
        tried[one.kind].update(one.tried)
        missed[one.kind] += bool(one.misses)
        if one.misses:
            print(f"seed {one.seed}, {one.kind}: {'; '.join(one.misses)}", flush=True)
        if number % 500 == 0:
            print(f"... {number} cases, {missed.total()} misses", file=sys.stderr, flush=True)
    for kind, counts in tried.items():
        print(f"{kind}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    print(f"seeds from {given.seed}; {time.perf_counter() - began:.0f} s")
    print(summary(tried, missed))
    return 1 if missed.total() else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
