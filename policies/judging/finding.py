"""One clause judged on what one adversary can infer: the finding, its places and its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.evidence import NOT_RUN, Evidence
from treewarden.audit.knowledge.knowledge import understated
from treewarden.audit.measures import measures
from treewarden.audit.reading import MOST_SPOTS, Interval, Measurement, Reading, Spot, Undetermined
from treewarden.audit.result import NOT_MEASURED, Exposure
from treewarden.policies.clause import Atom, Clause
from treewarden.policies.judging.clause_evaluation import (
    EVERY,
    UNITS,
    ClauseEvaluation,
    evaluate_clause,
    is_plain,
    of_worlds,
    words,
)
from treewarden.policies.judging.decision import (
    ClausePiece,
    ClauseRequirement,
    Finding,
    LeafNames,
    Location,
    PlaceGroup,
)
from treewarden.policies.judging.figures import limit_text, places_text, recorded_span, span
from treewarden.policies.rules import rules
from treewarden.policies.verdict import FindingKind, PolicyVerdict, capital, requirement
from treewarden.ppdm_models.tree.tree import Tree

LARGER = " (a larger --worlds-budget may decide it)"
COMBINED = {"all": "all of", "any": "any of", "not": "not"}
"""What stands for the measure where several are combined."""
BREAKS = {
    "leaf": ("leaf fails", "leaves fail"),
    "profile": ("group fails", "groups fail"),
    "file": ("part of what is published fails", "parts of what is published fail"),
    "tree": ("tree fails", "trees fail"),
    "column": ("column fails", "columns fail"),
}


def finding_of(
    exposure: Exposure, clause: Clause, base: Exposure, names: LeafNames | None
) -> Finding:
    """Return what came of a clause; ``base`` is the exposure under what the audit assumes, ``names`` its leaves'.

    Without ``names`` no places are told.
    """
    worlds = exposure.evidence.worlds
    is_late = isinstance(worlds, ConsistentTables) and worlds.is_out_of_time
    clause_evaluation = evaluate_clause(
        clause,
        exposure.evidence,
        lambda call: exposure.readings.get(call, NOT_MEASURED),
    )
    make = _combined if clause.is_combined else _atomic
    finding = make(exposure, clause, clause_evaluation, names, is_late=is_late)
    groups: tuple[PlaceGroup, ...] = ()
    if names is not None and len(finding.places) >= MOST_SPOTS:
        groups = _groups(exposure.evidence, clause, clause_evaluation, names)
    return replace(
        finding,
        groups=groups,
        message=" ".join([finding.message, *_assumed(exposure, clause, base)]),
        why=" ".join([*([clause.why] if clause.why else []), *loosened(clause)]),
        guidance=clause.guidance,
    )


def _groups(
    evidence: Evidence, clause: Clause, evaluation: ClauseEvaluation, names: LeafNames
) -> tuple[PlaceGroup, ...]:
    """Return how many places do not pass in each leaf, as not all of them are listed."""
    from treewarden.policies.judging.place_groups import (  # where many places fail
        groups_of_reading,
        groups_of_scope,
    )

    if is_plain(clause):
        return groups_of_reading(clause, evidence, names)
    return groups_of_scope(
        clause, evaluation, evidence, names, lambda at: _read_at(clause, evaluation, at)
    )


def _atomic(
    exposure: Exposure,
    clause: Clause,
    clause_evaluation: ClauseEvaluation,
    names: LeafNames | None,
    *,
    is_late: bool,
) -> Finding:
    places: tuple[Location, ...] = ()
    if names is not None and clause_evaluation.verdict is not PolicyVerdict.PASS:
        if is_plain(clause):
            spots = breaking(clause, exposure.readings.get(clause.atom.call, NOT_MEASURED))
            places = tuple(_place(exposure.evidence, spot, names) for spot in spots)
        else:
            places = tuple(_broken_places(exposure.evidence, clause, clause_evaluation, names))
    return of_atom(clause, clause_evaluation, places, is_late=is_late)


def breaking(clause: Clause, taken: Measurement) -> Iterator[Spot]:
    """Yield the places of a reading that do not pass an atomic clause."""
    atom = clause.atom
    rule = rules()[atom.rule]
    for spot in taken.spots:
        if rule.judge(Interval(spot.low, spot.high), atom.limit) is not PolicyVerdict.PASS:
            yield spot


def of_atom(
    clause: Clause,
    clause_evaluation: ClauseEvaluation,
    places: tuple[Location, ...],
    *,
    is_late: bool = False,
) -> Finding:
    """Return what came of an atomic clause, in words; ``is_late`` where whole records ran out of time."""
    atom = clause.atom
    measure = measures()[atom.call.measure]
    requirement = ClauseRequirement(
        measure=atom.call.measure,
        parameters=atom.call.parameters,
        rule=atom.rule,
        limit=atom.limit,
        unit=measure.unit,
        scope=clause.scope or "",
        under=clause.under_words,
    )
    return Finding(
        clause=clause.id,
        requirement=requirement,
        severity=clause.severity,
        reading=clause_evaluation.reading,
        verdict=clause_evaluation.verdict,
        message=_message(atom, clause_evaluation, places, is_late=is_late and of_worlds(clause)),
        why=clause.why,
        source=clause.source,
        places=places,
    )


def _combined(
    exposure: Exposure,
    clause: Clause,
    clause_evaluation: ClauseEvaluation,
    names: LeafNames | None,
    *,
    is_late: bool,
) -> Finding:
    places: tuple[Location, ...] = ()
    if names is not None and clause_evaluation.verdict is not PolicyVerdict.PASS:
        places = tuple(_broken_places(exposure.evidence, clause, clause_evaluation, names))
    readings = [exposure.readings.get(atom.call, NOT_MEASURED).reading for atom in clause.atoms]
    return of_parts(clause, clause_evaluation, readings, places, is_late=is_late)


def of_parts(
    clause: Clause,
    clause_evaluation: ClauseEvaluation,
    readings: Sequence[Reading],
    places: tuple[Location, ...],
    *,
    is_late: bool = False,
) -> Finding:
    """Return what came of a combined clause, in words; ``readings`` are those of its atoms.

    ``is_late`` says that whole records ran out of time.
    """
    requirement = ClauseRequirement(
        measure=COMBINED[clause.form],
        unit=UNITS[clause.scope or "model"],
        asks=words(clause),
        scope=clause.scope or "",
        under=clause.under_words,
    )
    return Finding(
        clause=clause.id,
        requirement=requirement,
        severity=clause.severity,
        reading=clause_evaluation.reading,
        verdict=clause_evaluation.verdict,
        message=_combined_message(clause, clause_evaluation, is_late=is_late and of_worlds(clause)),
        why=clause.why,
        source=clause.source,
        places=places,
        pieces=tuple(
            ClausePiece(atom, reading, rules()[atom.rule].judge(reading, atom.limit))
            for atom, reading in zip(clause.atoms, readings, strict=True)
        ),
    )


def _combined_message(clause: Clause, evaluation: ClauseEvaluation, *, is_late: bool) -> str:
    said = f"Required of {EVERY[clause.scope or 'model']}, {words(clause)}: "
    if evaluation.verdict is PolicyVerdict.PASS:
        return f"{said}passed."
    if isinstance(evaluation.reading, Undetermined):
        return f"{said}not decided, because {reason_text(evaluation.reading)}{_how(evaluation.reading)}."
    if evaluation.verdict is PolicyVerdict.UNDETERMINED:
        more = LARGER if is_late else ""
        return f"{said}not decided{more}."
    if evaluation.each is None or clause.scope is None or clause.scope == "model":
        return f"{said}failed."
    number = int((evaluation.each == PolicyVerdict.FAIL).sum())
    one, several = BREAKS[clause.scope]
    return f"{said}{number:,} {one if number == 1 else several}."


def _assumed(exposure: Exposure, clause: Clause, base: Exposure) -> Iterator[str]:
    """Yield what has to be known of a clause that assumes other knowledge than the audit does."""
    if clause.under is None:
        return
    yield f"Checked as if an adversary knew {clause.under_words}."
    model = exposure.evidence.model
    knowledge = clause.under.apply_to(base.evidence.knowledge)
    more = understated(knowledge, model) if isinstance(model, Tree) else ""
    if more:
        yield (
            f"{model.source} publishes {more}, but this check assumes that an adversary does not use that. "
            "A PASS would hold only for a file without it."
        )
    untrue = [dropped_row for dropped_row in exposure.dropped if dropped_row not in base.dropped]
    if untrue:
        yield f"This assumption does not hold for this table ({untrue[0].where}: {untrue[0].problem})."


def loosened(clause: Clause) -> Iterator[str]:
    """Yield why a clause asks for less than the one that it was put over."""
    if clause.loosen is not None:
        yield f"Loosened by this policy: {clause.loosen.rstrip('.')}."


def _broken_places(
    evidence: Evidence, clause: Clause, clause_evaluation: ClauseEvaluation, names: LeafNames
) -> Iterator[Location]:
    """Yield the places that do not pass, those that fail first, at most as many as a report holds."""
    if clause_evaluation.places is None or clause_evaluation.each is None:
        return
    places, each = clause_evaluation.places, clause_evaluation.each
    broken = np.flatnonzero(each != PolicyVerdict.PASS)
    order = broken[np.argsort(-each[broken], kind="stable")]
    if not clause.is_combined and not isinstance(clause_evaluation.ends[0], Undetermined):
        low, high = clause_evaluation.ends[0]
        danger = low if measures()[clause.measure].risk == "low" else -high
        order = broken[np.argsort(danger[broken], kind="stable")]
    for at in order[:MOST_SPOTS].tolist():
        fails = each[at] == PolicyVerdict.FAIL
        ends = (1.0 if fails else 0.0, 1.0)
        if not clause.is_combined and not isinstance(clause_evaluation.ends[0], Undetermined):
            ends = float(clause_evaluation.ends[0][0][at]), float(clause_evaluation.ends[0][1][at])
        note = _read_at(clause, clause_evaluation, at) if clause.is_combined else ""
        index, tree = int(places.indices[at]), int(places.trees[at])
        if places.kind == "tree":
            yield _tree_place(evidence, tree, *ends, note)
        else:
            yield _place(evidence, Spot(places.kind, index, *ends, note, tree), names)


def _read_at(clause: Clause, clause_evaluation: ClauseEvaluation, at: int) -> str:
    """Return what each atom of a combination reads at a place, in words."""
    said = []
    for atom, ends in zip(clause.atoms, clause_evaluation.ends, strict=True):
        unit = measures()[atom.call.measure].unit
        if isinstance(ends, Undetermined):
            told = "not available"
        else:
            told = recorded_span(Interval(float(ends[0][at]), float(ends[1][at])), unit, atom.limit)
        said.append(f"{atom.call.measure} {told}")
    return ", ".join(said)


def _place(evidence: Evidence, spot: Spot, names: LeafNames) -> Location:
    if spot.kind == "file":
        return _file_place(evidence, spot)
    if spot.kind == "cell":
        return _cell_place(evidence, spot)
    tree, at = evidence.tree_of(spot), evidence.node_of(spot)
    if at < 0:
        return _nowhere(evidence, spot)
    node = tree.nodes[at]
    profile = evidence.population.describe(spot.index) if spot.kind == "profile" else ""
    return Location(
        kind="profile" if spot.kind == "profile" else "leaf",
        index=spot.index,
        node=node.index,
        name=evidence.forest.node_name(spot.tree, node.index),
        path=names.path(spot),
        profile=profile,
        line=node.line,
        low=spot.low,
        high=spot.high,
        note=spot.note,
        tree=spot.tree,
        leaf=names.fingerprint_of(spot),
    )


def _nowhere(evidence: Evidence, spot: Spot) -> Location:
    """Return the place of people of whom it is not known where they stop."""
    return Location(
        kind="profile",
        index=spot.index,
        node=0,
        name="",
        path="",
        profile=evidence.population.describe(spot.index),
        line=None,
        low=spot.low,
        high=spot.high,
        note=spot.note,
        tree=spot.tree,
    )


def _file_place(evidence: Evidence, spot: Spot) -> Location:
    """Return the place of a leak in the file."""
    assert not isinstance(evidence.leaks, Undetermined)
    leak = evidence.leaks[spot.index]
    return Location(
        kind="file",
        index=spot.index,
        node=0,
        name=str(leak.kind),
        path=leak.where,
        profile="",
        line=None,
        low=spot.low,
        high=spot.high,
        note=spot.note,
    )


def _cell_place(evidence: Evidence, spot: Spot) -> Location:
    """Return the place of a cell of a table beside the model; what several tables cut out is in no file."""
    cells = evidence.records.cells
    assert not isinstance(cells, Undetermined)
    where, words = cells.words[spot.index]
    return Location(
        kind="file",
        index=spot.index,
        node=0,
        name="cell of a table",
        path=where or words,
        profile="",
        line=None,
        low=spot.low,
        high=spot.high,
        note=f"{words}; {spot.note}" if where else spot.note,
    )


def _tree_place(evidence: Evidence, tree: int, low: float, high: float, note: str) -> Location:
    """Return a whole tree as the place where a clause is broken."""
    root = evidence.trees[tree].nodes[0]
    name = f"tree {tree + 1}" if evidence.forest.is_ensemble else "the tree"
    return Location(
        kind="tree",
        index=tree,
        node=root.index,
        name=name,
        path="",
        profile="",
        line=root.line,
        low=low,
        high=high,
        note=note,
        tree=tree,
    )


def _message(
    atom: Atom, clause_evaluation: ClauseEvaluation, places: tuple[Location, ...], *, is_late: bool
) -> str:
    measure, rule, limit = measures()[atom.call.measure], rules()[atom.rule], atom.limit
    reading, verdict = clause_evaluation.reading, clause_evaluation.verdict
    measure_words = measure.words(dict(atom.call.parameters))
    said = f"{measure_words[:1].upper()}{measure_words[1:]}: "
    if isinstance(reading, Undetermined):
        return f"{said}not decided, because {reason_text(reading)}{_how(reading)}."
    required = limit_text(rule.words, limit, measure.unit)
    said += f"{span(reading, measure.unit, limit)}; {requirement(required)}"
    if verdict is PolicyVerdict.UNDETERMINED:
        more = LARGER if is_late else ""
        return f"{said}, which is not decided{more}."
    if not places:
        return f"{said}."
    one, several = BREAKS[places[0].kind]
    return f"{said}; {places_text(places, one, several)}."


def doubt(kind: FindingKind, reason: str) -> Finding:
    """Return a finding about the evidence itself, which cannot be believed or is not there."""
    message = f"{capital(reason)}."
    return Finding(
        clause=kind.value,
        requirement=ClauseRequirement(),
        severity="error",
        reading=Undetermined(reason),
        verdict=PolicyVerdict.UNDETERMINED,
        message=message,
    )


def reason_text(reading: Undetermined) -> str:
    """Return the reason of an undetermined reading without a closing stop."""
    return reading.reason.rstrip(".")


def _how(reading: Undetermined) -> str:
    return "; leave out --no-worlds to run them" if reading == NOT_RUN else ""
