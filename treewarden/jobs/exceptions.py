"""What a request accepts of what breaks its policy: its waivers and its baseline, read first and held last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from treewarden.audit.result import Audit
from treewarden.jobs.audit_request import Request
from treewarden.jobs.inputs import file_of_source, model_name
from treewarden.policies.exceptions.apply_waivers import WaivedModel, accepted
from treewarden.policies.exceptions.baseline import (
    Baseline,
    Circumstances,
    ModelBaseline,
    circumstances,
    held_against,
    model_baseline,
    read_baseline,
    sayable,
)
from treewarden.policies.exceptions.waivers import WaiverFile, check_lengths, read_waivers
from treewarden.policies.judging.decision import Decision, LeafNames, Waived
from treewarden.policies.pack import Pack
from treewarden.ppdm_models.errors import BaselineError, WaiverError, reading_problem


@dataclass(frozen=True, slots=True)
class Accepting:
    """The waivers and the baseline of a request, where it has them, and the day that counts as today."""

    request: Request
    waivers: WaiverFile | None
    baseline: Baseline | None
    today: date

    @property
    def name(self) -> str:
        """What the model is called in waivers and baselines: its name in a gate, else that of its file."""
        return name_of(self.request)

    def check(self, pack: Pack) -> None:
        """Check what the pack has a say in.

        Raises:
            WaiverError: a waiver holds longer than the pack allows.
        """
        if self.waivers is not None:
            check_lengths(self.waivers, pack.waivers.longest_days, self.today)

    def accept(self, audit: Audit, decision: Decision) -> Waived:
        """Return the decision without what is waived, and then without what the baseline knows."""
        waived = Waived(decision)
        if self.waivers is not None:
            model = WaivedModel(
                file_of_source(self.request.model).sha256,
                self.name,
                LeafNames(audit.full.evidence).with_people,
                is_one_of_many=bool(self.request.name),
            )
            waived = accepted(decision, self.waivers, model, self.today)
        if self.baseline is None:
            return waived
        known = held_against(waived.decision, self.baseline, self.name, _under(audit, decision))
        return Waived(known, waived.uses)


def name_of(request: Request) -> str:
    """Return what a model is called in waivers and baselines."""
    return request.name or model_name(request.model)


def read_accepted(request: Request) -> Accepting:
    """Read the waivers and the baseline of a request.

    Raises:
        WaiverError: the waivers are not understood.
        BaselineError: the baseline is not understood, or, outside of a gate, is of other models only.
    """
    today = request.today or datetime.now(UTC).date()
    waivers = baseline = None
    if request.waivers is not None:
        waivers = read_waivers(_bytes(request.waivers, WaiverError), request.waivers.name)
    if request.baseline is not None:
        baseline = read_baseline(_bytes(request.baseline, BaselineError), request.baseline.name)
        if not request.name and sayable(name_of(request)) not in baseline.models:
            have = ", ".join(map(repr, baseline.models)) or "none"
            problem = f"has no model {name_of(request)!r}, only {have}; write one of this model with --write-baseline"
            raise BaselineError(request.baseline.name, problem)
    return Accepting(request, waivers, baseline, today)


def baseline_of(audit: Audit, decision: Decision) -> ModelBaseline:
    """Return what a baseline holds of a model."""
    return model_baseline(decision, _under(audit, decision))


def _under(audit: Audit, decision: Decision) -> Circumstances:
    evidence = audit.full.evidence
    return circumstances(decision, evidence.target, evidence.population.qi, evidence.knowledge)


def _bytes(path: Path, error: type[WaiverError] | type[BaselineError]) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        raise error(str(path), reading_problem(problem, "give a file")) from problem
