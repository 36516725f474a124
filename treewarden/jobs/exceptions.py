"""What a request accepts of what breaks its policy: its waivers and its baseline, read first and held last."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import treewarden
from treewarden.audit.option_spec import Concern
from treewarden.audit.options import options_about
from treewarden.audit.result import Audit
from treewarden.jobs.audit_request import Request
from treewarden.jobs.inputs import (
    ModelBytes,
    OutputBytes,
    file_of_source,
    model_name,
    told_table,
)
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
from treewarden.ppdm_models.errors import (
    BaselineError,
    TreewardenError,
    WaiverError,
    reading_problem,
)


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
        under = _under(audit, decision)
        inputs = digest_of_inputs(self.request)
        known = held_against(waived.decision, self.baseline, self.name, under, inputs)
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


def baseline_of(audit: Audit, decision: Decision, request: Request) -> ModelBaseline:
    """Return what a baseline holds of a model."""
    return model_baseline(decision, _under(audit, decision), digest_of_inputs(request))


def digest_of_inputs(request: Request) -> str:
    """Return the digest of all that an audit rests on, this program's version included; "" where no file holds it.

    Options that change how long it takes, and not what is asked, have no part in it.
    """
    earlier = tuple(each for model in request.earlier for each in (model.model, model.data))
    sources = (request.model, request.data, *earlier, *request.files.values)
    if not all(isinstance(source, Path | ModelBytes | OutputBytes) for source in sources):
        return ""
    about = options_about(Concern.COLUMNS, Concern.KNOWLEDGE, Concern.ADVERSARY, Concern.PUBLIC)
    options = {name: repr(getattr(request.options, name)) for name in about}
    try:
        files = [_digest(source) for source in sources]
    except (OSError, TreewardenError):
        return ""
    said = [treewarden.__version__, request.key, files, options]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _digest(source: object) -> str:
    if isinstance(source, Path):
        return told_table(source).sha256
    assert isinstance(source, ModelBytes | OutputBytes)
    return hashlib.sha256(source.data).hexdigest()


def _under(audit: Audit, decision: Decision) -> Circumstances:
    evidence = audit.full.evidence
    return circumstances(decision, evidence.target, evidence.population.qi, evidence.knowledge)


def _bytes(path: Path, error: type[WaiverError] | type[BaselineError]) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        raise error(str(path), reading_problem(problem, "give a file")) from problem
