"""Reference page of the built-in policies: every check with its limit, its reason and its source."""

from __future__ import annotations

from docs._ext.words import escaped, table
from treewarden.audit.measures import measures
from treewarden.policies.clause import Part
from treewarden.policies.judging.figures import figure
from treewarden.policies.pack import Clause, load_pack
from treewarden.policies.rules import rules
from treewarden.policies.shipped import packs_of_tables, shipped_packs


def packs_page() -> str:
    """Return the page of packs."""
    opening = (
        "# Built-in policies\n\nChecks with the severity *warning* or *note* are advisory: they change the verdict "
        "only with `--fail-on`. [Write a policy](../../policy.md) shows how to write your own. Each check limits a "
        "[metric](measures.md).\n"
    )
    return "\n".join(
        [
            opening,
            *(_pack(name, "packs") for name in shipped_packs()),
            *(_pack(name, "packs_of_tables") for name in packs_of_tables()),
        ]
    )


def _pack(name: str, folder: str) -> str:
    pack = load_pack(name)
    rows = [_row(clause) for clause in pack.clauses]
    reasons = "\n".join(map(_reason, pack.clauses))
    return (
        f"## `{name}`\n\n**{escaped(pack.title)}.** {escaped(pack.description)} Version {pack.version}.\n\n"
        f"{table(('Check', 'Requires', 'Severity'), rows)}\n\nReasons and sources:\n\n{reasons}\n\n"
        f"The file, with the considerations for each limit:\n\n"
        f"```{{literalinclude}} ../../../policies/{folder}/{name}.toml\n:language: toml\n```\n"
    )


def _row(clause: Clause) -> tuple[str, str, str]:
    demand = _demand(clause)
    if clause.scope is not None:
        demand += f", decided by {clause.scope}"
    if clause.under is not None:
        demand += f", as if the adversary knew `{clause.under.words}`"
    return f"`{clause.id}`", demand, clause.severity


def _demand(part: Part) -> str:
    if part.form == "not":
        return f"not ({_demand(part.parts[0])})"
    if part.is_combined:
        joint = " and " if part.form == "all" else " or "
        return joint.join(f"({_demand(each)})" for each in part.parts)
    atom = part.atom
    settings = ", ".join(f"{key} = {value}" for key, value in part.parameters.items())
    measured = f"[`{part.measure}`](measures.md#{part.measure.replace('_', '-')})"
    measured += f" ({escaped(settings)})" if settings else ""
    limit = figure(atom.limit, measures()[part.measure].unit).replace(" ", "&nbsp;")
    return f"{measured} {rules()[atom.rule].words} {limit}"


def _reason(clause: Clause) -> str:
    source = f" ({escaped(clause.source)})" if clause.source else ""
    return f"- `{clause.id}`: {escaped(clause.why)}{source}"
