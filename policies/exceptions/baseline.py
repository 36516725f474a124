"""Baselines: what broke a policy on the day a gate was set up, so that only what is new or worse counts."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.reading import (
    MOST_SPOTS,
    Interval,
    Reading,
    Undetermined,
    exactly,
    is_adversary,
)
from treewarden.policies.exceptions.apply_waivers import (
    group_of,
    groups_of,
    is_listed,
    is_of_pack,
    reading_at,
    verdict_at,
    verdict_of,
    with_places,
)
from treewarden.policies.judging.decision import (
    Accepted,
    ClauseRequirement,
    Decision,
    Finding,
    Location,
    PlaceGroup,
)
from treewarden.policies.judging.place_groups import PEOPLE
from treewarden.policies.rules import rules
from treewarden.policies.verdict import FindingKind, PolicyVerdict, Severity
from treewarden.ppdm_models.errors import BaselineError

SCHEMA = "treewarden-baseline/1"
CONFIDENTIAL = (
    "Confidential: this file contains values of single leaves, which describe few people. Store it where the table "
    "may be stored."
)
End = Annotated[float, Field(strict=True, allow_inf_nan=False)] | Literal["inf", "-inf"] | None


class _BaselinePart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BaselineReading(_BaselinePart):
    """How a clause read in a leaf, or ("") in the model as a whole, and how many places of the leaf did not pass.

    Of who knows some columns only, ``leaf`` is a digest of the people he cannot tell apart, who are in no leaf for him.
    Ends are null where nothing could be told. ``notes`` are what each measure reads, where several make up the clause:
    such a reading must stay as it is, as which change would be for the worse is not known. ``inputs`` of the model as a
    whole is the digest of all that was audited: of the same inputs nothing is new, however far a search came.
    """

    clause: StrictStr
    leaf: StrictStr
    verdict: Literal["fail", "undetermined"]
    low: End
    high: End
    places: Annotated[StrictInt, Field(ge=0)]
    notes: tuple[StrictStr, ...] = ()
    inputs: StrictStr = ""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise ValueError(
                "'low' and 'high' must both be given, or both be null; write the baseline again"
            )
        if self.low is not None and self.high is not None and float(self.low) > float(self.high):
            raise ValueError("'low' is above 'high'; write the baseline again")
        return self

    @property
    def reading(self) -> Interval | None:
        """The reading; None where nothing could be told."""
        if self.low is None or self.high is None:
            return None
        return Interval(float(self.low), float(self.high))


class Circumstances(_BaselinePart):
    """What must be the same for readings to be compared: the target, the policy, and what the adversary knows.

    Of facts about single records nothing is kept but their number.
    """

    target: StrictStr
    policy: StrictStr
    version: StrictStr
    policy_sha256: Annotated[StrictStr, Field(pattern="^[0-9a-f]{64}$")]
    quasi_identifiers: tuple[StrictStr, ...]
    knowledge: dict[StrictStr, StrictStr]


class ModelBaseline(_BaselinePart):
    """All that did not pass of one model, except what was waived: a baseline outlives no waiver."""

    circumstances: Circumstances
    findings: tuple[BaselineReading, ...]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len({(finding.clause, finding.leaf) for finding in self.findings}) < len(self.findings):
            raise ValueError("a check occurs twice for one leaf")
        return self


class Baseline(_BaselinePart):
    """The baselines of several models, by name; ``sha256`` is of all the rest, and shows a slip of an editor."""

    format: Annotated[Literal["treewarden-baseline/1"], Field(alias="schema")] = (
        "treewarden-baseline/1"
    )
    confidential: StrictStr = CONFIDENTIAL
    models: dict[StrictStr, ModelBaseline]
    sha256: StrictStr = ""

    @property
    def digest(self) -> str:
        """The digest of what the models' baselines say."""
        said = self.plain()["models"]
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def plain(self) -> dict[str, Any]:
        """Return it as values of JSON; inputs are left out where they are not known."""
        said = self.model_dump(mode="json", by_alias=True)
        for model in said["models"].values():
            for finding in model["findings"]:
                if not finding["inputs"]:
                    del finding["inputs"]
        return said


def circumstances(
    decision: Decision, target: str, qi: tuple[str, ...], knowledge: Knowledge
) -> Circumstances:
    """Return under what an audit was judged."""
    levels = {
        name: str(len(value) if name == "facts" else value)
        for name, value in (
            (model_field, getattr(knowledge, model_field)) for model_field in Knowledge.model_fields
        )
    }
    pack = decision.pack
    return Circumstances(
        target=sayable(target),
        policy=pack.name,
        version=pack.version,
        policy_sha256=pack.digest,
        quasi_identifiers=tuple(sorted(map(sayable, qi))),
        knowledge=levels,
    )


def sayable(text: str) -> str:
    r"""Return a text that UTF-8 can say: half a surrogate pair, as files can smuggle in, becomes ``\udc80``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def model_baseline(decision: Decision, under: Circumstances, inputs: str = "") -> ModelBaseline:
    """Return what breaks the policy now, except what is waived, and what no baseline accepts.

    That is what is broken at places of which nothing says which they are: they could not be told from others later.
    ``inputs`` is the digest of all that was audited.
    """
    baseline_readings: list[BaselineReading] = []
    for finding in decision.findings:
        is_waived = finding.accepted is not None and finding.accepted.by == "waiver"
        if finding.verdict is PolicyVerdict.PASS or is_waived or not is_of_pack(finding):
            continue
        if all(group_of(finding, place) for place in finding.places):
            whole = _baseline_reading(finding.key, "", finding.verdict, finding.reading)
            has_waived = any(
                place.accepted is not None and place.accepted.by == "waiver"
                for place in finding.places
            )
            baseline_readings.append(
                whole if has_waived else whole.model_copy(update={"inputs": inputs})
            )
        for group in place_groups(finding):
            if _is_known_again(finding, group) and not _is_waived(finding, group.leaf):
                baseline_readings.append(
                    _baseline_reading(
                        finding.key,
                        group.leaf,
                        group.verdict,
                        _reading_of(group),
                        group.places,
                        group.notes,
                    )
                )
    times = Counter(
        (baseline_reading.clause, baseline_reading.leaf) for baseline_reading in baseline_readings
    )
    once = (
        baseline_reading
        for baseline_reading in baseline_readings
        if times[baseline_reading.clause, baseline_reading.leaf] == 1
    )
    return ModelBaseline(circumstances=under, findings=tuple(once))


def place_groups(finding: Finding) -> tuple[PlaceGroup, ...]:
    """Return the places that break a clause by what they are in any audit: all, though not all may be listed."""
    return finding.groups or tuple(
        _group(finding, leaf, places) for leaf, places in groups_of(finding).items()
    )


def _group(finding: Finding, leaf: str, places: list[Location]) -> PlaceGroup:
    verdict, reading = at_worst(finding, places)
    ends = (
        (math.nan, math.nan) if isinstance(reading, Undetermined) else (reading.low, reading.high)
    )
    return PlaceGroup(leaf, len(places), verdict, *ends, notes_of(finding, places))


def _reading_of(group: PlaceGroup) -> Reading:
    if math.isnan(group.low) or math.isnan(group.high):
        return Undetermined("not told")
    return Interval(group.low, group.high)


def _is_known_again(finding: Finding, group: PlaceGroup) -> bool:
    """Return whether what a group is can be told in another audit: people in no leaf are, of adversaries alone."""
    return not group.leaf.startswith(PEOPLE) or is_adversary(finding.of)


def _is_waived(finding: Finding, leaf: str) -> bool:
    """Return whether all places of a leaf that are listed are waived: a waiver is of all the leaf."""
    places = [place for place in finding.places if group_of(finding, place) == leaf]
    accepted = [place.accepted for place in places]
    return bool(places) and all(each is not None and each.by == "waiver" for each in accepted)


def notes_of(finding: Finding, places: list[Location]) -> tuple[str, ...]:
    """Return what measures read at places where several make up a clause; nothing where one has a limit."""
    if finding.requirement.rule in rules():
        return ()
    return tuple(sorted(sayable(place.note) for place in places))


def at_worst(finding: Finding, places: list[Location]) -> tuple[PolicyVerdict, Reading]:
    """Return the worst verdict and the worst ends of some places."""
    verdict = max(verdict_at(finding, place) for place in places)
    readings = [reading_at(place) for place in places]
    intervals = [reading for reading in readings if isinstance(reading, Interval)]
    if len(intervals) < len(readings):
        return verdict, Undetermined("not known")
    is_low = finding.requirement.rule in rules() and rules()[finding.requirement.rule].risk == "low"
    pick = min if is_low else max
    return verdict, Interval(
        pick(interval.low for interval in intervals), pick(interval.high for interval in intervals)
    )


def write_baseline(models: Mapping[str, ModelBaseline]) -> bytes:
    """Return a baseline as the bytes of a file: the same for the same models."""
    baseline = Baseline(models={sayable(name): models[name] for name in sorted(models)})
    said = {**baseline.plain(), "sha256": baseline.digest}
    return (json.dumps(said, indent=1) + "\n").encode("ascii")


def read_baseline(data: bytes, where: str) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineError: the bytes are none, or were changed by hand.
    """
    try:
        said = json.loads(
            data.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=_each_key_once
        )
    except (ValueError, RecursionError) as error:
        why = "not valid JSON" if isinstance(error, json.JSONDecodeError) else error
        problem = (
            f"not a baseline file ({why}); to write one, add --write-baseline FILE to the audit"
        )
        raise BaselineError(where, problem) from error
    if not isinstance(said, dict) or said.get("schema") != SCHEMA:
        problem = (
            f"not a baseline file of the schema {SCHEMA}; to write one, add "
            "--write-baseline FILE to the audit"
        )
        raise BaselineError(where, problem)
    try:
        baseline = Baseline.model_validate(said)
    except (ValidationError, OverflowError) as error:
        raise BaselineError(where, f"{_first(error)}; write it again") from error
    if baseline.sha256 != baseline.digest:
        problem = "was changed after it was written: its sha256 does not match; write it again"
        raise BaselineError(where, problem)
    return baseline


def _baseline_reading(
    clause: str,
    leaf: str,
    verdict: PolicyVerdict,
    reading: Reading,
    places: int = 0,
    notes: tuple[str, ...] = (),
) -> BaselineReading:
    ends = (None, None) if isinstance(reading, Undetermined) else (reading.low, reading.high)
    low, high = (None if end is None else _end(end) for end in ends)
    word: Literal["fail", "undetermined"] = (
        "fail" if verdict is PolicyVerdict.FAIL else "undetermined"
    )
    return BaselineReading(
        clause=clause, leaf=leaf, verdict=word, low=low, high=high, places=places, notes=notes
    )


def _end(value: float) -> float | Literal["inf", "-inf"]:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return found


def _first(error: ValidationError | OverflowError) -> str:
    if isinstance(error, OverflowError):
        return "a number is too large"
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the file"
    said = first["msg"][:1].lower() + first["msg"][1:]
    return f"{place}: {said}"


# A decision compared with a baseline: what was known and is no worse does not count.

KNOWN = Accepted("baseline", "in the baseline file, and no worse")


def held_against(
    decision: Decision, baseline: Baseline, name: str, under: Circumstances, inputs: str = ""
) -> Decision:
    """Return a decision in which what a baseline knows of this model, and is no worse now, does not count.

    Of the same ``inputs``, all of a check that was broken then was there already: a search with a time limit may find
    more of it in another run.

    Where the baseline has no such model, or was written under other circumstances, nothing is hidden, and a finding
    says why.
    """
    old = baseline.models.get(sayable(name))
    if old is None:
        have = ", ".join(sorted(baseline.models)) or "none"
        problem = (
            f"The baseline file has no model {name!r}, so all its findings count. It has {have}."
        )
        return _noted(decision, FindingKind.BASELINE_OTHER_MODEL, problem, "note")
    other = _differing(old.circumstances, under)
    if other:
        problem = (
            f"The baseline file of {name!r} was written with another {other}, so it accepts nothing. "
            "To accept these findings, write a new one."
        )
        return _noted(decision, FindingKind.BASELINE_OTHER_AUDIT, problem, "warning")
    findings = tuple(_hidden(finding, old, inputs) for finding in decision.findings)
    result = replace(decision, findings=findings)
    return replace(result, verdict=verdict_of(result))


def _differing(old: Circumstances, new: Circumstances) -> str:
    """Return in words what is not the same; "" where everything is."""
    words = {
        "target": "target",
        "policy_sha256": "policy",
        "policy": "policy",
        "version": "policy",
        "quasi_identifiers": "set of quasi-identifiers",
        "knowledge": "knowledge of the adversary",
    }
    return next((said for key, said in words.items() if getattr(old, key) != getattr(new, key)), "")


def _noted(decision: Decision, kind: FindingKind, problem: str, severity: Severity) -> Decision:
    finding = Finding(
        clause=kind.value,
        requirement=ClauseRequirement(),
        severity=severity,
        reading=exactly(1),
        verdict=PolicyVerdict.FAIL,
        message=problem,
    )
    result = replace(decision, findings=(finding, *decision.findings))
    return replace(result, verdict=verdict_of(result))


def _hidden(finding: Finding, old: ModelBaseline, inputs: str) -> Finding:
    """Return a finding with those of its leaves accepted that are known and no worse, all their places together.

    So it is with profiles of who knows some columns only, each by itself.
    """
    if finding.verdict is PolicyVerdict.PASS or not is_of_pack(finding):
        return finding
    baseline_readings = {
        baseline_reading.leaf: baseline_reading
        for baseline_reading in old.findings
        if baseline_reading.clause == finding.key
    }
    before = baseline_readings.get("")
    if before is not None and inputs and before.inputs == inputs:
        word = finding.verdict.word
        if before.verdict in ("fail", word):
            found = with_places(finding, lambda place: KNOWN, whole=True)
            return found if finding.places else replace(found, accepted=found.accepted or KNOWN)
    is_known = before is not None and not _is_worse(
        finding, finding.verdict, finding.reading, before
    )
    groups = place_groups(finding)
    fine = {
        group.leaf
        for group in groups
        if group.leaf in baseline_readings
        and _is_known_again(finding, group)
        and _is_as_before(finding, group, baseline_readings[group.leaf])
    }
    if not finding.places:
        return replace(finding, accepted=finding.accepted or (KNOWN if is_known else None))
    if finding.groups:  # not all places are listed, and all are counted
        whole = is_known and len(fine) == len(groups)
        known = fine | ({group_of(finding, place) for place in finding.places} if whole else set())
    else:
        whole = len(finding.places) < MOST_SPOTS and (is_known or is_listed(finding))
        known = fine
    return with_places(
        finding, lambda place: KNOWN if group_of(finding, place) in known else None, whole
    )


def _is_as_before(finding: Finding, group: PlaceGroup, baseline_reading: BaselineReading) -> bool:
    return (
        group.notes == baseline_reading.notes
        and group.places <= baseline_reading.places
        and not _is_worse(finding, group.verdict, _reading_of(group), baseline_reading)
    )


def _is_worse(
    finding: Finding, verdict: PolicyVerdict, reading: Reading, baseline_reading: BaselineReading
) -> bool:
    """Return whether a verdict or either end of a reading moved toward danger, or what is open was not open before."""
    if verdict.word != baseline_reading.verdict:
        return True
    before = baseline_reading.reading
    if not isinstance(reading, Interval) or before is None:
        return isinstance(reading, Interval) or before is not None
    if finding.requirement.rule not in rules():
        return not baseline_reading.leaf or reading != before
    if rules()[finding.requirement.rule].risk == "low":
        return reading.low < before.low or reading.high < before.high
    return reading.low > before.low or reading.high > before.high
