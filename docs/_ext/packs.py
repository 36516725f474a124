"""Reference page of the policy packs that ship: every clause with its limit, its reason and its source."""

from __future__ import annotations

from audit.measures import measures
from docs._ext.words import escaped, table
from policies.judging.figures import figure
from policies.pack import Clause, load_pack
from policies.rules import rules
from policies.shipped import shipped_packs


def packs_page() -> str:
    """Return the page of packs."""
    opening = (
        "# Policy packs\n\nThe policies that ship. A clause of severity *warning* is reported and never changes the "
        "verdict. [Write a policy](../../policy.md) says how to make your own; the [measures](measures.md) are "
        "described on a page of their own.\n"
    )
    return "\n".join([opening, *map(_pack, shipped_packs())])


def _pack(name: str) -> str:
    pack = load_pack(name)
    rows = [_row(clause) for clause in pack.clauses]
    reasons = "\n".join(map(_reason, pack.clauses))
    return (
        f"## `{name}`\n\n**{escaped(pack.title)}.** {escaped(pack.description)} Version {pack.version}.\n\n"
        f"{table(('Clause', 'Asks for', 'Severity'), rows)}\n\nWhy, and where each limit is from:\n\n{reasons}\n\n"
        f"The file, with what was considered for each limit:\n\n"
        f"```{{literalinclude}} ../../../policies/packs/{name}.toml\n:language: toml\n```\n"
    )


def _row(clause: Clause) -> tuple[str, str, str]:
    settings = ", ".join(f"{key} = {value}" for key, value in clause.parameters.items())
    measured = f"[`{clause.measure}`](measures.md#{clause.measure.replace('_', '-')})"
    measured += f" ({escaped(settings)})" if settings else ""
    limit = figure(clause.limit, measures()[clause.measure].unit).replace(" ", "&nbsp;")
    demand = f"{measured} {rules()[clause.rule].words} {limit}"
    return f"`{clause.id}`", demand, clause.severity


def _reason(clause: Clause) -> str:
    source = f" ({escaped(clause.source)})" if clause.source else ""
    return f"- `{clause.id}`: {escaped(clause.why)}{source}"
