"""The columns that a model tests and that were assumed known, as documents name them."""

from __future__ import annotations

from treewarden.audit.assumed_columns import AssumedColumns, ProvedColumn, assumed_columns
from treewarden.audit.result import Audit
from treewarden.reports.document.assumed_known import MOST_IN_A_LINE, one_line
from treewarden.reports.document.parts import AssumedKnown, ProvedBySizes, number
from treewarden.reports.document.words import counted, listed


def assumed_known(audit: Audit) -> AssumedKnown:
    """Return what an audit assumed known and did not judge, in full and in one line."""
    found = assumed_columns(audit)
    return AssumedKnown(
        columns=found.names,
        proved=tuple(_proved(each, found) for each in found.proved),
        incomplete=found.incomplete if found.names else (),
        summary=one_line(
            found.names, [f"{each.column} of {_people(each)}" for each in found.proved]
        ),
    )


def secret_steps(found: AssumedKnown) -> tuple[str, ...]:
    """Return what to do where sizes prove something of columns that were assumed known; nothing elsewhere."""
    names = list(dict.fromkeys(each.column for each in found.proved))
    if not names:
        return ()
    more = len(names) - MOST_IN_A_LINE
    said = listed([*names[:MOST_IN_A_LINE], *([f"{more:,} more"] if more > 0 else [])])
    return (
        f"Decide whether {said} may be learned of people, as something follows from the sizes of leaves. Where it may "
        "not, audit again with that column as the secret (--secret COLUMN).",
    )


def _people(each: ProvedColumn) -> str:
    return counted(each.people, "person", "people")


def _proved(each: ProvedColumn, found: AssumedColumns) -> ProvedBySizes:
    release = f" of {each.release}" if len({one.release for one in found.proved}) > 1 else ""
    tree = f"tree {each.tree + 1}, " if each.is_of_several else ""
    where = f"{tree}node {each.node}{release} ({each.path})"
    return ProvedBySizes(
        column=each.column,
        people=number(each.people),
        release=each.release,
        tree=each.tree,
        node=each.node,
        path=each.path,
        text=(
            f"{each.column} of {_people(each)}: an adversary who knows the other tested columns can prove on which "
            f"side of a split it lies, of {counted(each.people_of_node, 'person', 'people')} in {where}"
        ),
    )
