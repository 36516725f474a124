"""Which published numbers prove people's values, in words: files, reasons, and the least to withhold."""

from __future__ import annotations

from treewarden.audit.blame.result import Blame
from treewarden.audit.reading import Undetermined
from treewarden.reports.document.parts import (
    BlamedNumber,
    BlamedNumbers,
    BlameReason,
    ProofOfFile,
    number,
)
from treewarden.reports.document.words import counted

MOST_REASONS = 30
"""So many reasons and numbers are told, those of most people first."""
MOST_SAID = 5
TOTALS_KNOWN = "The class totals are assumed to be known."
WITHOUT_SPLITS = "Only the published numbers were used. The choice of splits may prove more."


def blame_part(blame: Blame | Undetermined) -> BlamedNumbers:
    """Return which numbers are to blame, or why that is not known."""
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
        withhold_at_least=least.lower_bound,
        withhold_safe=least.is_safe,
        withhold_least=least.is_optimal,
        sentences=(
            *_of_files(blame),
            *map(_reason, reasons[:MOST_SAID]),
            *_least(blame),
            *((TOTALS_KNOWN,) if blame.sources else ()),
            WITHOUT_SPLITS,
        ),
    )


def _of_files(blame: Blame) -> tuple[str, ...]:
    """Return what each file proves alone, and all of them together."""
    together = f"together {counted(blame.certain, 'person', 'people')}"
    open_ = (
        f", {counted(blame.may_be_certain, 'more person', 'more people')} not decided"
        if blame.may_be_certain
        else ""
    )
    if not blame.sources:
        return (
            f"{len(blame.names):,} published numbers prove {counted(blame.certain, 'person', 'people')}{open_}.",
        )
    if all(not (source.certain or source.may_be_certain) for source in blame.sources):
        return (f"No output alone proves a value; {together}{open_}.",)
    alone = [
        f"{source.name} {counted(source.certain, 'person', 'people')}"
        + (f" ({source.may_be_certain:,.0f} more not decided)" if source.may_be_certain else "")
        for source in blame.sources
    ]
    return (f"Alone prove: {', '.join(alone)}; {together}{open_}.",)


def _reason(reason: BlameReason) -> str:
    """Return one reason in words."""
    people = counted(
        reason.records if isinstance(reason.records, int | float) else 0, "person", "people"
    )
    if not reason.numbers:
        return f"What is known in any case proves {people}."
    if len(reason.numbers) == 1:
        return f"{reason.numbers[0]}: proves {people}."
    least = "together" if reason.minimal else "together (one of them may not be needed)"
    *others, last = reason.numbers
    return f"{'; '.join(others)} and {last}: {least} prove {people}."


def _least(blame: Blame) -> tuple[str, ...]:
    least, all_ = blame.least, len(blame.names)
    if not blame.certain and not blame.may_be_certain:
        return ()
    if least.problem:
        return (f"Withholding does not help: {least.problem}.",)
    if not least.is_safe:
        bound = f"At least {least.lower_bound:,} of {all_:,} numbers must be withheld"
        return (f"{bound}; which ones was not found in time.",)
    most = "no fewer suffice" if least.is_optimal else f"at least {least.lower_bound:,} have to go"
    return (
        (
            f"Withholding {least.cost:,} of {all_:,} numbers is enough: then nobody's value is "
            f"proved ({most})."
        ),
    )
