"""Runs the cases beside a policy: models with what each clause must say of them, and which clause no case ever fails.

A case is a model, its table and what is expected; ``NAME.cases.toml`` beside ``NAME.toml`` holds them::

    [[case]]
    name = "a leaf of three"
    model = "three.pmml"            # paths are relative to this file
    table = "three.csv"
    sensitive = "ill"
    qi = ["age", "sex"]             # optional, as are knowledge = "all.toml" and adversary = "neighbour.toml"
    verdict = "fail"
    checks = { smallest-leaf = "fail", label = "undetermined" }

A clause that is not named must pass. Where several adversaries are asked about, the worst that is said of one counts.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import Step, silent
from treewarden.audit.workers.pool import WORKERS
from treewarden.audit.workers.processes import each_done
from treewarden.jobs.audit_request import AuditFiles, Request
from treewarden.jobs.auditing import audit_file
from treewarden.policies.judging.decision import Decision
from treewarden.policies.pack import Pack
from treewarden.policies.verdict import PolicyVerdict, worst
from treewarden.ppdm_models.errors import (
    PolicyError,
    TreewardenError,
    reading_problem,
    toml_reason,
    toml_words,
    with_advice,
)

SUFFIX = ".cases.toml"
Word = Literal["pass", "undetermined", "fail"]
NOT_JUDGED = "not judged"
LOST = "the process that audited it ended three times; give it more memory"
LONGEST_BUDGET = 1e9
"""In seconds; an audit takes no more."""


class _CaseSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PolicyCase(_CaseSection):
    """A model, its table, and what must come of the policy."""

    name: Annotated[str, Field(strict=True, min_length=1)]
    model: Path
    table: Path
    sensitive: str | None = None
    qi: tuple[str, ...] | None = None
    knowledge: Path | None = None
    adversary: Path | None = None
    worlds_budget: Annotated[float, Field(ge=0, le=LONGEST_BUDGET)] = 20.0
    verdict: Word
    checks: Annotated[
        dict[str, Word | Literal["not judged"]],
        Field(validation_alias=AliasChoices("checks", "clauses")),
    ] = {}


class _Cases(_CaseSection):
    cases: Annotated[tuple[PolicyCase, ...], Field(alias="case", min_length=1)]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a case: how it differs from what is expected, and the clauses that failed it."""

    name: str
    differs: tuple[str, ...]
    failed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CaseResults:
    """What came of all cases; ``never_failed`` are the clauses that no case fails."""

    tried: tuple[Tried, ...]
    never_failed: tuple[str, ...]

    @property
    def is_as_expected(self) -> bool:
        """Whether every case gave what it was expected to."""
        return not any(each.differs for each in self.tried)


def cases_beside(policy: str) -> Path:
    """Return where the cases of a policy are looked for: beside its file."""
    return Path(policy).with_suffix("").with_name(Path(policy).stem + SUFFIX)


def read_cases(path: Path, pack: Pack) -> tuple[PolicyCase, ...]:
    """Read the cases of a policy.

    Raises:
        PolicyError: the file cannot be read, is not understood, or names a clause that the policy lacks.
    """
    try:
        said = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        write = "write test cases (docs/policy-tests.md), or name a file with --cases"
        problem = reading_problem(error, write, if_missing=write)
        raise PolicyError(str(path), problem) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(
            path.name, f"not valid TOML ({toml_reason(error)}); correct the file"
        ) from error
    try:
        cases = _Cases.model_validate(said).cases
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = [f"number {part + 1}" if isinstance(part, int) else part for part in first["loc"]]
        if isinstance(first["loc"][-1], str) and len(where) > 1:
            where[-1] = f": {where[-1]!r}"
        keys = ", ".join(PolicyCase.model_fields)
        problem, advice = toml_words(first), f"use these keys: {keys}"
        if first["type"] == "missing":
            advice = f"add {first['loc'][-1]} = … (keys of a case: {keys})"
        elif first["type"] != "extra_forbidden":
            advice = "correct it"
        raise PolicyError(
            path.name, f"{' '.join(where).replace(' :', ':')} {with_advice(problem, advice)}"
        ) from error
    known = {clause.id for clause in pack.clauses}
    seen: set[str] = set()
    for case in cases:
        place = f"{path.name}: case {case.name!r}"
        if case.name in seen:
            raise PolicyError(place, "two cases have this name; give each its own")
        seen.add(case.name)
        for name in case.checks:
            if name not in known:
                raise PolicyError(place, f"no check {name!r}; use {', '.join(sorted(known))}")
    return cases


def run_cases(
    pack: Pack, cases: Sequence[PolicyCase], folder: Path, step: Step = silent
) -> CaseResults:
    """Audit the model of each case and hold what each clause says against what is expected of it."""
    tried = list(_each_tried(pack, cases, folder.absolute(), step))
    failed = frozenset[str]().union(*(each.failed for each in tried))
    return CaseResults(tuple(tried), tuple(c.id for c in pack.clauses if c.id not in failed))


def _each_tried(
    pack: Pack, cases: Sequence[PolicyCase], folder: Path, step: Step
) -> Iterator[Tried]:
    """Yield what comes of each case: here one after the other, over all processors; on a cluster side by side."""
    if not WORKERS.is_elsewhere:
        for case in cases:
            with step(f"case {case.name}"):
                yield _tried(pack, case, folder)
        return
    jobs = (partial(_tried, pack, case, folder, jobs=1) for case in cases)
    with step(f"{len(cases)} cases"):
        found = dict(each_done(jobs, WORKERS.size(), lambda: math.inf))
    for number, case in enumerate(cases):
        one = found[number]
        yield one if isinstance(one, Tried) else Tried(case.name, (f"no audit: {one or LOST}",))


def _tried(pack: Pack, case: PolicyCase, folder: Path, jobs: int | None = None) -> Tried:
    options = AuditOptions(
        sensitive=case.sensitive,
        qi=case.qi,
        worlds_budget=case.worlds_budget,
        levels=False,
        jobs=jobs,
    )
    knowledge = None if case.knowledge is None else folder / case.knowledge
    adversaries = () if case.adversary is None else (folder / case.adversary,)
    files = AuditFiles(knowledge=knowledge, adversaries=adversaries)
    request = Request(folder / case.model, folder / case.table, options, files, pack)
    try:
        decision = audit_file(request).decision
    except TreewardenError as error:
        return Tried(case.name, (f"no audit: {error}",))
    said = _worst_by_clause(decision)
    differs = []
    if decision.verdict.word != case.verdict:
        differs.append(f"the verdict is {decision.verdict.word}, not {case.verdict}")
    for clause in pack.clauses:
        found, wanted = said.get(clause.id, NOT_JUDGED), case.checks.get(clause.id)
        if found != (wanted or "pass") and not (wanted is None and found == NOT_JUDGED):
            differs.append(f"{clause.id} is {found}, not {wanted or 'pass'}")
    return Tried(
        case.name,
        tuple(differs),
        frozenset(name for name, word in said.items() if word == PolicyVerdict.FAIL.word),
    )


def _worst_by_clause(decision: Decision) -> dict[str, str]:
    """Return what came of each clause that was judged: the worst of what is said of any adversary."""
    known = {clause.id for clause in decision.pack.clauses}
    verdicts: dict[str, PolicyVerdict] = {}
    for finding in decision.findings:
        if finding.clause in known:
            verdicts[finding.clause] = worst(
                (finding.verdict, verdicts.get(finding.clause, PolicyVerdict.PASS))
            )
    return {name: verdict.word for name, verdict in verdicts.items()}
