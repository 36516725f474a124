"""Results of the proofs, for the report: who is certain and why, who is witnessed otherwise, what is not decided."""

from __future__ import annotations

from collections.abc import Mapping

from treewarden.audit.blame.result import Blame, InferenceBlame, LeastWithholding, ProofReason
from treewarden.audit.consistent_tables.result import (
    SAMPLING_STOPPED,
    Consistency,
    ConsistentTables,
)
from treewarden.audit.evidence import Evidence
from treewarden.audit.population.forest import Forest
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.figures import span
from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.tree.nodes import Node
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.reports.building.worded import value
from treewarden.reports.document.inferred_parts import (
    BlamedLeaf,
    BlamedNumber,
    BlamedNumbers,
    BlameReason,
    Certain,
    Found,
    Grade,
    MostTelling,
    Otherwise,
    ProofOfFile,
)
from treewarden.reports.document.inferred_parts import Worlds as WorldsPart
from treewarden.reports.document.parts import Row, Value, number
from treewarden.reports.document.words import count, counted, listed, percent, sentence

MOST_CERTAIN = 20
FITS = {
    Consistency.CONSISTENT: "yes",
    Consistency.INCONSISTENT: "no",
    Consistency.NOT_DECIDED: "not decided",
}
LARGER = "a larger --worlds-budget may decide more"
BY_COUNTS = "the counts of its leaf"
GRADES: Mapping[str, tuple[Grade, str]] = {
    "same tree": ("same tree", "training on the table gives the same tree"),
    "a tie": ("a tie", "a tie: training again takes another split that is equally good"),
    "another tree": (
        "another tree",
        "training again gives another tree: it breaks a tie, or stops elsewhere",
    ),
    "consistent": (
        "consistent",
        "the table is consistent with the file; training was not repeated on it",
    ),
}


def worlds_part(evidence: Evidence) -> WorldsPart:
    """Return what was proved, or why nothing was asked."""
    worlds = evidence.worlds
    if isinstance(worlds, Undetermined):
        return _unknown(worlds.reason)
    certain, open_ = worlds.certain, worlds.open_profiles
    held = worlds.counts > 0
    kind, said = _posterior(worlds)
    return WorldsPart(
        reason="",
        consistency=worlds.consistency.value,
        profiles=int(held.sum()),
        profiles_certain=int((certain & held).sum()),
        profiles_not_decided=int((open_ & held).sum()),
        records_certain=number(float(worlds.counts[certain].sum())),
        records_not_decided=number(float(worlds.counts[open_].sum())),
        records_with_excluded_value=number(float(worlds.counts[worlds.excluded.any(axis=1)].sum())),
        summary=_summary(evidence, worlds),
        split_bits=value(worlds.enumeration.split_bits, "bits"),
        posterior=kind,
        posterior_text=said,
        rows_text=_rows(worlds, said),
        not_decided=tuple(sentence(each) for each in worlds.not_decided),
        notes=tuple(sentence(each) for each in (*worlds.notes, *_larger(worlds))),
        certain=_certain(evidence, worlds),
        otherwise=_otherwise(evidence, worlds),
    )


def _larger(worlds: ConsistentTables) -> tuple[str, ...]:
    """Return that more may be decided, where time was what was lacking."""
    return (LARGER,) if worlds.not_decided and worlds.is_out_of_time else ()


def _rows(worlds: ConsistentTables, probabilities_text: str) -> tuple[Row, ...]:
    """Return the counts as lines of a table."""
    ruled_out = float(worlds.counts[worlds.excluded.any(axis=1)].sum())
    bits = worlds.enumeration.split_bits
    said = (
        ("Groups with equal quasi-identifiers", count(float((worlds.counts > 0).sum()))),
        ("Proved", _groups(worlds, worlds.certain)),
        ("People for whom a value is impossible", counted(ruled_out, "person", "people")),
        ("Not decided", _groups(worlds, worlds.open_profiles)),
        ("File and table are consistent", FITS[worlds.consistency]),
        (
            "Information about the table in the choice of splits",
            sentence(bits.reason)
            if isinstance(bits, Undetermined)
            else f"{span(bits, 'bits')} (10 bits leave 1 of 1,024 tables)",
        ),
        ("Probabilities over all consistent tables", probabilities_text),
    )
    return tuple(Row(name=name, text=text) for name, text in said)


def _groups(worlds: ConsistentTables, these: BoolArray) -> str:
    held = these & (worlds.counts > 0)
    people = counted(float(worlds.counts[held].sum()), "person", "people")
    return f"{counted(float(held.sum()), 'group', 'groups')}, {people}"


def _unknown(reason: str) -> WorldsPart:
    return WorldsPart(
        reason=reason,
        consistency="not decided",
        summary=f"It was not decided whose value is proved: {reason.rstrip('.')}.",
        split_bits=Value(low=None, high=None, text="not decided", reason=reason),
        posterior="not run",
        posterior_text=sentence(reason),
    )


def _summary(evidence: Evidence, worlds: ConsistentTables) -> str:
    records = float(worlds.counts.sum())
    sure, open_ = (
        float(worlds.counts[these].sum()) for these in (worlds.certain, worlds.open_profiles)
    )
    if sure:
        of = f"{count(sure)} of {counted(records, 'person', 'people')} ({percent(sure / records)})"
        what = "The model" if evidence.forest.is_ensemble else "The tree"
        said = f"{what} proves the value of {of}: it is the same in every consistent table."
    elif open_:
        said = "No value was proved."
    else:
        said = "Nobody’s value is proved: for each person, another value is possible."
    if open_:
        said += f" For {counted(open_, 'more person', 'more people')} this was not decided."
    return said


def _posterior(worlds: ConsistentTables) -> tuple[Found, str]:
    posterior = worlds.enumeration.posterior
    if isinstance(posterior, Undetermined):
        gave_up = posterior.reason.startswith(SAMPLING_STOPPED)
        return "gave up" if gave_up else "not run", sentence(posterior.reason)
    if posterior.draws:
        tables = counted(posterior.draws, "table", "tables")
        return (
            "sampled",
            f"Estimated from {tables}, drawn at random from all consistent tables. The section “Metrics” shows the "
            "values (with 99 % intervals).",
        )
    if worlds.enumeration.numbers is None:
        return "enumerated", "All consistent tables were counted."
    tables = _large(worlds.enumeration.numbers.worlds)
    return "enumerated", f"All consistent tables were counted: {tables}."


def _large(number_: int) -> str:
    """Return a number of tables, which may have hundreds of digits."""
    if number_ < 10**9:
        return f"{number_:,}"
    return f"about 10^{len(str(number_)) - 1}"


def _certain(evidence: Evidence, worlds: ConsistentTables) -> tuple[Certain, ...]:
    """Return the largest profiles that are certain first by a split choice, then by the counts of their leaf."""
    order = sorted(worlds.reasons, key=lambda q: (_rank(worlds.reasons[q]), -worlds.counts[q], q))
    certain_parts = []
    for profile in [q for q in order if worlds.counts[q] > 0][:MOST_CERTAIN]:
        node = _stop(evidence, profile)
        certain_parts.append(
            Certain(
                profile=evidence.population.describe(profile),
                records=number(float(worlds.counts[profile])),
                value=evidence.classes[int(worlds.certain_class[profile])],
                reason=_because(worlds.reasons[profile]),
                path=path_text(evidence.forest.drawn, node.index),
                node=node.name,
                line=node.line,
            )
        )
    return tuple(certain_parts)


def _stop(evidence: Evidence, profile: int) -> Node:
    """Return the node of the drawn tree where a profile stops."""
    forest = evidence.forest
    return forest.drawn.nodes[int(forest.stops[forest.shown, profile])]


def _rank(reason: str) -> int:
    """Order reasons: those that name a split tell a reader most, those that only name a leaf's counts least."""
    return 2 if reason == BY_COUNTS else 0 if "would have split" in reason else 1


def _because(reason: str) -> str:
    """Say of a split that would have been better that it would have been so otherwise."""
    return f"with another value, {reason}" if "would have split" in reason else reason


def _otherwise(evidence: Evidence, worlds: ConsistentTables) -> tuple[Otherwise, ...]:
    alternatives = []
    for witness in worlds.witnesses:
        grade, said = GRADES[witness.grade]
        node = _stop(evidence, witness.profile)
        alternatives.append(
            Otherwise(
                profile=evidence.population.describe(witness.profile),
                records=number(float(worlds.counts[witness.profile])),
                says=sentence(witness.says),
                grade=grade,
                grade_text=said,
                path=path_text(evidence.forest.drawn, node.index),
                node=node.name,
                line=node.line,
            )
        )
    return tuple(alternatives)


MOST_REASONS = 30
"""So many reasons and numbers are told, those of most people first."""
MOST_SAID = 5
LEAST_DIFFERENCE = 0.0005
"""Of a probability: what rounds to the same percentage is no difference worth a sentence."""
TOTALS_KNOWN = "The class totals are assumed to be known."
WITHOUT_SPLITS = (
    "Only the outputs and the counts and labels of leaves were used. The choice of splits and the numbers of inner "
    "nodes may prove more."
)


def blame_part(blame: Blame | Undetermined, forest: Forest) -> BlamedNumbers:
    """Return which numbers of a model are to blame, or why that is not known."""
    if isinstance(blame, Undetermined):
        said = f"The numbers that prove values could not be determined: {blame.reason}."
        return BlamedNumbers(sentences=(said,), reason=blame.reason)
    pairs = zip(blame.reasons, blame.people, strict=True)
    ordered = sorted(pairs, key=lambda pair: (-pair[1], sorted(pair[0].numbers)))
    reasons = tuple(
        BlameReason(
            numbers=tuple(blame.names[each] for each in sorted(reason.numbers)),
            records=number(people),
            minimal=reason.is_minimal,
            smallest=reason.is_smallest,
            leaves=_leaves(blame, reason, forest),
            outputs=tuple(
                blame.names[each] for each in sorted(reason.numbers) if blame.leaves[each][0] < 0
            ),
        )
        for reason, people in ordered
    )
    shares = sorted(
        zip(blame.shares, blame.names, strict=True), key=lambda pair: (-pair[0], pair[1])
    )
    least = blame.least
    return BlamedNumbers(
        numbers=len(blame.names),
        files=tuple(
            ProofOfFile(
                name=source.name,
                numbers=source.numbers,
                records_certain=number(source.certain),
                records_not_decided=number(source.may_be_certain),
            )
            for source in blame.sources
        ),
        records_certain=number(blame.certain),
        records_not_decided=number(blame.may_be_certain),
        records_unexplained=number(blame.unexplained),
        reasons=reasons[:MOST_REASONS],
        blamed=tuple(
            BlamedNumber(name=name, records=number(share))
            for share, name in shares[:MOST_REASONS]
            if share > 0
        ),
        withhold=tuple(blame.names[each] for each in sorted(least.withheld)),
        withhold_cost=_cost(least.cost, least),
        withhold_at_least=_cost(least.lower_bound, least),
        withhold_safe=least.is_safe,
        withhold_least=least.is_optimal,
        most_telling=_most_telling(blame),
        bits=None if blame.information is None else number(blame.information.published),
        bits_of_values=None if blame.information is None else number(blame.information.values),
        sentences=_sentences(blame, reasons),
    )


def _sentences(blame: Blame, reasons: tuple[BlameReason, ...]) -> tuple[str, ...]:
    return (
        *_of_files(blame),
        *map(_reason, reasons[:MOST_SAID]),
        *_least(blame),
        *_inference(blame),
        *_information(blame),
        *((TOTALS_KNOWN,) if blame.sources else ()),
        *(f"Not used, though it may prove more: {words}." for words in blame.unused[:MOST_SAID]),
        WITHOUT_SPLITS,
    )


def _leaves(blame: Blame, reason: ProofReason, forest: Forest) -> tuple[BlamedLeaf, ...]:
    """Return the leaves whose numbers a reason has, each once."""
    places = dict.fromkeys(blame.leaves[number_] for number_ in sorted(reason.numbers))
    found = []
    for tree, node in places:
        if tree >= 0:
            line = forest.trees[tree].nodes[node].line
            found.append(BlamedLeaf(tree=tree, node=forest.node_name(tree, node), line=line))
    return tuple(found)


def _cost(units: int, least: LeastWithholding) -> float | int:
    """Return a cost in the author's unit."""
    return units // least.unit if units % least.unit == 0 else units / least.unit


def _of_files(blame: Blame) -> tuple[str, ...]:
    """Return what each file proves alone, and all of them together."""
    people = counted(blame.certain, "person", "people")
    open_ = (
        f", {counted(blame.may_be_certain, 'more person', 'more people')} not decided"
        if blame.may_be_certain
        else ""
    )
    if not blame.sources:
        return (f"{len(blame.names):,} published numbers prove the values of {people}{open_}.",)
    if all(not (source.certain or source.may_be_certain) for source in blame.sources):
        return (
            f"No output alone proves a value. Together they prove the values of {people}{open_}.",
        )
    alone = [
        f"{source.name} {counted(source.certain, 'person', 'people')}"
        + (f" ({source.may_be_certain:,.0f} more not decided)" if source.may_be_certain else "")
        for source in blame.sources
    ]
    return (
        f"Values proved by one output alone: {', '.join(alone)}. Values proved by all together: {people}{open_}.",
    )


def _reason(reason: BlameReason) -> str:
    """Return one reason in words."""
    people = counted(
        reason.records if isinstance(reason.records, int | float) else 0, "person", "people"
    )
    if not reason.numbers:
        return f"Without any of these numbers, the values of {people} are proved already."
    if len(reason.numbers) == 1:
        return f"The number “{reason.numbers[0]}” alone proves the values of {people}."
    least = "" if reason.minimal else " One of them may not be needed."
    least += " No fewer numbers prove them." if reason.smallest else ""
    names = listed([f"“{name}”" for name in reason.numbers])
    return f"The numbers {names} together prove the values of {people}.{least}"


def _most_telling(blame: Blame) -> MostTelling | None:
    found = blame.inference
    if not isinstance(found, InferenceBlame):
        return None
    return MostTelling(
        name=blame.names[found.number],
        before=number(found.before),
        after=number(found.after),
        tried=found.tried,
    )


def _inference(blame: Blame) -> tuple[str, ...]:
    """Return which number tells most of people's values, whether they are proved or inferred."""
    found = blame.inference
    if found is None:
        return ()
    if isinstance(found, Undetermined):
        return (f"It was not determined which number adds most to inference: {found.reason}.",)
    if found.after >= found.before - LEAST_DIFFERENCE:
        return ("Withholding any single number hardly changes what can be inferred.",)
    tried = (
        f" ({found.tried:,} of {len(blame.names):,} numbers tried)"
        if found.tried < len(blame.names)
        else ""
    )
    return (
        f"The number “{blame.names[found.number]}” adds most to inference{tried}. The average probability of a "
        f"person's true value is {percent(found.before)} with this number and {percent(found.after)} without it.",
    )


def _information(blame: Blame) -> tuple[str, ...]:
    """Return how much the numbers can tell at most, beside how much there is to tell."""
    found = blame.information
    if found is None:
        return ()
    said = f"The published numbers contain at most {found.published:,.0f} bits"
    return (f"{said}. The values of all people contain {found.values:,.0f} bits.",)


def _least(blame: Blame) -> tuple[str, ...]:
    least, all_ = blame.least, len(blame.names)
    if not blame.certain and not blame.may_be_certain:
        return ()
    if least.problem:
        return (f"Withholding does not help: {least.problem}.",)
    if not least.is_safe:
        bound = _cost(least.lower_bound, least)
        said = (
            f"Withholding costs at least {bound:,}"
            if blame.has_costs
            else (f"At least {bound:,} of {all_:,} numbers must be withheld")
        )
        return (f"{said}. There was not enough time to find out which ones.",)
    most = _bound_words(blame)
    said = f"Withholding {len(least.withheld):,} of {all_:,} numbers is enough"
    has_leaves = any(blame.leaves[number_][0] >= 0 for number_ in least.withheld)
    inner = (
        ("Withhold the numbers and labels of inner nodes too, and audit the changed file.",)
        if has_leaves
        else ()
    )
    return (f"{said}. The remaining numbers then prove nobody's value ({most}).", *inner)


def _bound_words(blame: Blame) -> str:
    """Return how near a withholding is to the least."""
    least = blame.least
    bound = _cost(least.lower_bound, least)
    if not blame.has_costs:
        return (
            "fewer are not enough" if least.is_optimal else f"at least {bound:,} must be withheld"
        )
    cost = f"cost {_cost(least.cost, least):,}"
    return f"{cost}, the lowest possible" if least.is_optimal else f"{cost}, and at least {bound:,}"
