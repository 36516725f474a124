"""Policies in sentences: what each clause asks for, what breaks it, and what it needs to be told."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping

from treewarden.audit.measures import EvidenceSource, measures
from treewarden.policies.clause import Clause, Part, Waivers, When, said_of
from treewarden.policies.comparing import ClauseDifference
from treewarden.policies.judging.applicability import KINDS
from treewarden.policies.judging.figures import figure, limit_text
from treewarden.policies.pack import Pack
from treewarden.policies.rules import rules

WIDTH = 100
NEEDS = {
    EvidenceSource.LEAVES: "the people in each leaf",
    EvidenceSource.TRUTH: "people's true values",
    EvidenceSource.ESTIMATE: "the probabilities that an adversary can derive (docs/maximum-entropy.md)",
    EvidenceSource.WORLDS: "proofs: which values are the same in every table that could have produced the file",
    EvidenceSource.CELLS: "how often each value can occur",
    EvidenceSource.FILE: "everything in the file except the trees",
    EvidenceSource.SHAPE: "the number of people, splits and leaves",
    EvidenceSource.NOISE: "the noisy and the true table",
    EvidenceSource.TOGETHER: "the leaves of all trees combined",
    EvidenceSource.NUMBERS: "the narrowest interval that is proved for each person's value",
    EvidenceSource.REBUILT: "the complete records that follow from the file alone",
    EvidenceSource.MEMBERS: "membership: which people of a register were in the table",
    EvidenceSource.CLAIM: "the result for a claim of differential privacy",
    EvidenceSource.CONTRIBUTIONS: "the contribution of each record to leaf totals",
}
OWN, AUTHORS = "own judgement", "judgement of the policy's authors"
PLACES = {
    "leaf": "in each leaf",
    "profile": "for each group of people with equal quasi-identifiers",
    "tree": "in each tree of an ensemble",
    "model": "for the model as a whole",
}


def explained(pack: Pack) -> str:
    """Return the whole policy in words, clause by clause."""
    return "\n".join(_lines(pack)) + "\n"


def _lines(pack: Pack) -> Iterator[str]:
    yield f"{pack.name} {pack.version}: {pack.title}"
    yield from _wrapped(pack.description)
    if pack.bases:
        names = ", ".join(f"{base.name} {base.version}" for base in pack.bases)
        yield from _wrapped(f"It extends {names}.")
    for each in pack.dropped:
        yield from _wrapped(f"It leaves out {each.id!r}: {each.reason}")
    yield from _wrapped(
        "A check that cannot be decided never passes. By default, checks of severity "
        "“error” are required, and the others are advisory."
    )
    for clause in pack.clauses:
        yield ""
        yield f"{clause.id} ({clause.severity})"
        for line in sentences(clause):
            yield from _wrapped(line)


def sentences(clause: Clause) -> Iterator[str]:
    """Yield what a clause asks for, what breaks it, under what it is judged, and why."""
    yield _sentence(demand(clause))
    yield (
        f"Fails if {breaks(clause) if clause.is_combined else f'the value is {_too_far(clause)}'}."
    )
    if clause.scope is not None:
        yield f"Checked {PLACES[clause.scope]}. The worst result counts."
    if clause.under is not None:
        yield f"Checked as if an adversary knew only this about the model: {clause.under_words}."
    if clause.when is not None:
        yield f"Applies to {_models(clause)} only."
    yield f"Computed from {_needs(clause)}."
    if clause.why:
        yield f"Why: {clause.why}"
    if clause.source:
        yield f"Source: {clause.source.replace(OWN, AUTHORS)}"
    for guidance in clause.guidance:
        said = f": {guidance.says}" if guidance.says else ""
        yield f"Guidance: {guidance.document} ({guidance.paragraph}){said}"
    if clause.loosen is not None:
        yield f"Requires less than the policy that it extends, because: {clause.loosen}"


def demand(part: Part) -> str:
    """Return what has to hold, in words."""
    if part.form == "not":
        return f"not ({demand(part.parts[0])})"
    if part.parts:
        return _joined(
            part, [demand(each) for each in part.parts], " and " if part.form == "all" else " or "
        )
    return f"{_quantity(part)}: {asks(part)}"


def asks(part: Part) -> str:
    """Return what an atom asks of its measure, in words."""
    return limit_text(rules()[part.rule].words, part.atom.limit, measures()[part.measure].unit)


def breaks(part: Part) -> str:
    """Return what must be so for it not to hold, in words."""
    if part.form == "not":
        return demand(part.parts[0])
    if part.parts:
        return _joined(
            part, [breaks(each) for each in part.parts], " or " if part.form == "all" else " and "
        )
    return f"{_quantity(part)}: {_too_far(part)}"


def difference_text(difference: ClauseDifference) -> str:
    """Return in a line what became of a clause from one policy to the other."""
    which = " (new check)" if difference.old is None else ""
    which = " (removed)" if difference.new is None else which
    return f"{difference.strictness.value:9}  {difference.clause}{which}: {'; '.join(_changes(difference))}"


def _changes(difference: ClauseDifference) -> Iterator[str]:
    old, new = difference.old, difference.new
    if isinstance(old, Waivers) or isinstance(new, Waivers):
        one, two = (each.model_dump() if isinstance(each, Waivers) else {} for each in (old, new))
        yield from (
            f"{key} {one.get(key)} before, {two[key]} now"
            for key in two
            if one.get(key) != two[key]
        )
    elif new is None:
        assert old is not None
        yield demand(old)
    elif old is None:
        yield demand(new)
    else:
        if demand(old) != demand(new):
            is_limit = (
                not old.is_combined and not new.is_combined and _quantity(old) == _quantity(new)
            )
            say = asks if is_limit else demand
            yield f"{say(old)} before, {say(new)} now"
        for name in ("severity", "scope", "under_words", "when"):
            was, now = getattr(old, name), getattr(new, name)
            if was != now:
                yield f"{name.removesuffix('_words')} {_setting(was)} before, {_setting(now)} now"
        if (old.why, old.source, old.guidance) != (new.why, new.source, new.guidance):
            yield "its reason, source or guidance was changed"


def _setting(value: object) -> str:
    if isinstance(value, When):
        said = value.model_dump(exclude_unset=True)
        return ", ".join(f"{key} {' or '.join(words)}" for key, words in said.items())
    return str(value or "not set")


def _joined(part: Part, words: list[str], by: str) -> str:
    several = [
        f"({each})" if inner.is_combined else each
        for each, inner in zip(words, part.parts, strict=True)
    ]
    return by.join(several)


def _too_far(part: Part) -> str:
    """Return which readings break an atom."""
    rule = rules()[part.rule]
    below, above = ("at most", "at least") if rule.is_strict else ("less than", "more than")
    return f"{below if rule.risk == 'low' else above} {_limit(part)}"


def _quantity(part: Part) -> str:
    call = part.atom.call
    return measures()[call.measure].words(dict(call.parameters))


def _limit(part: Part) -> str:
    return figure(part.atom.limit, measures()[part.measure].unit)


def _needs(clause: Clause) -> str:
    evidence_sources = {
        source for atom in clause.atoms for source in measures()[atom.call.measure].reads
    }
    *first, last = [words for source, words in NEEDS.items() if source in evidence_sources]
    return f"{', '.join(first)} and {last}" if first else last


def _models(clause: Clause) -> str:
    when = clause.when
    assert when is not None
    kinds = " or ".join(KINDS[kind] for kind in when.model)
    tasks = " or ".join(when.task)
    return f"{kinds}, {tasks}" + (f", in {' or '.join(when.format)}" if when.format else "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False
    )


# A policy as one whole TOML file, with everything that it takes from other policies put in.

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml(pack: Pack) -> str:
    """Return a file that reads back as the same policy, but for where its clauses came from."""
    return "\n".join(_toml_lines(pack)) + "\n"


def _toml_lines(pack: Pack) -> Iterator[str]:
    if pack.bases:
        yield f"# Complete, with everything it inherits from {', '.join(f'{b.name} {b.version}' for b in pack.bases)}."
    for name in ("name", "version", "title", "description"):
        yield f"{name} = {_value(getattr(pack, name))}"
    if pack.waivers != Waivers():
        yield ""
        yield "[waivers]"
        said = pack.waivers.model_dump(mode="json", exclude_defaults=True, exclude={"loosen"})
        yield from _pairs(said)
    for each in pack.dropped:
        yield f"# Left out: {json.dumps(each.id)} ({json.dumps(each.reason, ensure_ascii=False)})"
    for clause in pack.clauses:
        yield ""
        yield "[[check]]"
        yield from _clause(clause)


def _clause(clause: Clause) -> Iterator[str]:
    said = said_of(clause)
    loosened = said.pop("loosen", None)
    if loosened is not None:
        yield f"# Requires less than the policy that it extends: {json.dumps(loosened, ensure_ascii=False)}"
    first = ("id", "measure", "parameters", "rule", "limit", "all", "any", "not", "scope")
    ordered = sorted(said, key=lambda key: first.index(key) if key in first else len(first))
    yield from _pairs({key: said[key] for key in ordered})


def _pairs(entries: Mapping[str, object]) -> Iterator[str]:
    for key, value in entries.items():
        line = f"{key} = {_value(value)}"
        if len(line) > WIDTH and isinstance(value, list):
            yield f"{key} = ["
            yield from (f"    {_value(each)}," for each in value)
            yield "]"
        else:
            yield line


def _value(value: object) -> str:
    """Return a value as TOML writes it; its strings are those of JSON."""
    if isinstance(value, Mapping):
        return (
            "{ "
            + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
            + " }"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
