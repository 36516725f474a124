"""Audits a model as a file, start to end: what the command line, a notebook and a gate all call."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path

import treewarden
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import DEFAULT, KNOWLEDGE
from treewarden.audit.progress import Step, silent
from treewarden.audit.result import Audit
from treewarden.jobs.audit_inputs import AuditInputs, Request, read_subject
from treewarden.jobs.exceptions import read_accepted
from treewarden.jobs.inputs import file_of_source, told_table
from treewarden.policies.exceptions.apply_waivers import WaiverUses
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import advised, judge
from treewarden.policies.pack import Pack
from treewarden.ppdm_models.tables.counting.addresses import TableAddress
from treewarden.reports.building.story import repair_target
from treewarden.reports.document.document import Asked, EarlierFiles, Provenance
from treewarden.reports.document.parts import File, number


@dataclass(frozen=True, slots=True)
class JudgedAudit:
    """What was read, what an adversary can infer from it, and whether the policy allows that.

    ``uses`` says which waivers were needed, for whoever holds the same ones against several models.
    """

    subject: AuditInputs
    audit: Audit
    decision: Decision
    uses: WaiverUses = WaiverUses()


def audit_file(request: Request, step: Step = silent) -> JudgedAudit:
    """Read the files of a request, audit the model and judge it; ``step`` is told of each stage.

    Raises:
        TreewardenError: a file cannot be read, the files do not fit each other, or no audit is possible.
    """
    accepting = read_accepted(request)
    subject = read_subject(request, step)
    accepting.check(subject.pack)
    audit = subject.audit(subject.file, step)
    with step("judging"):
        waived = accepting.accept(audit, advised(audit, judge(audit, subject.pack)))
    return JudgedAudit(subject, audit, waived.decision, waived.uses)


# Where a report comes from: the version, the files by name and digest, and when.


@dataclass(frozen=True, slots=True)
class CommandClock:
    """Started with the command; the only clock there is."""

    begun: float = field(default_factory=time.monotonic)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def provenance(
        self,
        request: Request,
        pack: Pack,
        knowledge: Knowledge | None = None,
        table: File | None = None,
    ) -> Provenance:
        """Return the provenance of a result that is finished now; with the ``knowledge``, what was asked too.

        ``table`` is what is told of a table that was counted, whose digest was taken meanwhile.
        """
        if table is None and request.data is not None:
            table = told_table(request.data)
        return Provenance(
            version=treewarden.__version__,
            model=file_of_source(request.model),
            table=table,
            earlier=tuple(
                EarlierFiles(model=file_of_source(earlier.model), table=told_table(earlier.data))
                for earlier in request.earlier
            ),
            pack=File(name=pack.name.replace("/", "_"), sha256=pack.digest),
            created=self.created.isoformat(timespec="seconds"),
            seconds=number(round(time.monotonic() - self.begun, 2)),
            asked=None if knowledge is None else asked_of(request, knowledge),
        )


def asked_of(request: Request, knowledge: Knowledge) -> Asked:
    """Return what was asked of an audit: its options, and what the adversary is taken to know."""
    known = knowledge.model_dump(mode="json", by_alias=True)
    facts = tuple(json.dumps(fact, sort_keys=True) for fact in known.pop("facts"))
    training, seeds = known.pop("training"), known.pop("seeds")
    adversaries = tuple(json.dumps(each, sort_keys=True) for each in known.pop("adversaries"))
    secret = known.pop("secret")
    return Asked(
        options=asdict(request.options),
        knowledge=known,
        facts=facts,
        training=training,
        seeds=seeds,
        adversaries=adversaries,
        secret="" if secret is None else json.dumps(secret, sort_keys=True),
    )


# The command that repairs a model which an audit was asked of: as it is typed where the audit was.

REPAIRED = "-repaired"
SUFFIXES = {"pmml": ".pmml", "treewarden_json": ".json"}
OF_WHOLE_REPAIR = ("time_limit",)
"""Options that a repair has too, where they mean another thing."""


def repair_command(request: Request, subject: AuditInputs) -> str:
    """Return the command; "" where the files are not on disk, or no format says the model."""
    target = repair_target(subject.tree)
    files = (request.model, request.data, request.knowledge)
    if target is None or not all(
        file is None or isinstance(file, Path | TableAddress) for file in files
    ):
        return ""
    if not isinstance(request.policy, str) or request.data is None:
        return ""
    words = ["treewarden", "repair", *_words(request, target)]
    return " ".join(shlex.quote(word) for word in words)


def _words(request: Request, target: str) -> Iterator[str]:
    assert isinstance(request.model, Path)
    yield _typed(request.model)
    yield from ("--data", str(request.data))
    yield from _options(request)
    if request.knowledge is not None:
        yield from ("--knowledge", str(request.knowledge))
    for path in request.adversaries:
        yield from ("--adversary", str(path))
    yield from ("--policy", str(request.policy))
    if request.fail_on is not None and request.fail_on != "error":
        yield from ("--fail-on", request.fail_on)
    if target:
        yield from ("--to", target)
    yield from ("-o", _typed(_free(request.model, SUFFIXES.get(target, request.model.suffix))))


def _options(request: Request) -> Iterator[str]:
    """Yield what was said beside the files, where it is not what holds by itself."""
    left_out = {*OF_WHOLE_REPAIR, *(KNOWLEDGE if request.knowledge is not None else ())}
    for each in fields(request.options):
        value, flag = getattr(request.options, each.name), f"--{each.name.replace('_', '-')}"
        if value == getattr(DEFAULT, each.name) or each.name in left_out:
            continue
        if isinstance(value, bool):
            yield flag if value else f"--no-{flag[2:]}"
        elif isinstance(value, tuple):
            for name in value:
                yield from (flag, _as_csv(name))
        else:
            yield from (flag, str(value))


def _as_csv(name: str) -> str:
    if not any(sign in name for sign in ',"\n\r') and name == name.strip():
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _free(model: Path, suffix: str) -> Path:
    """Return a file that is not there yet, where the command is typed."""
    number, end = 1, ""
    while (found := Path(f"{model.stem}{REPAIRED}{end}{suffix}")).exists():
        number += 1
        end = f"-{number}"
    return found


def _typed(path: Path) -> str:
    return f"./{path}" if str(path).startswith("-") else str(path)
