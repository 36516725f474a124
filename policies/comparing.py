"""Whether one clause or policy requires at least as much as another, for every model and table.

A clause asks for as much as another if its verdict is never better. That is proved from what the clauses say, or it is
not claimed: what is neither proved stricter nor looser is DIFFERENT. Proofs go by these facts.

- Two atoms on the same measure with the same parameters compare by their limits; at the same limit, a rule that a
  reading at the limit breaks asks for more.
- ``all`` is the worst of its parts, ``any`` the best, and ``not`` turns the order round.
- An atom on a measure of leaves reads its worst leaf. So it makes no difference where it alone is judged; and where
  atoms are combined without ``not``, to combine their worst leaves (``scope = "model"``) asks for more than leaf by
  leaf.
- Another adversary (``under``) or other models (``when``) are not compared.
- Of a file without its table less is known of single leaves than of the worst. There a combination that no reading
  breaks or meets, as its limits are out of reach, may be told of the model and not of its places.

The same comparison refuses changes that a policy makes to one that it extends, where they may require less and give no
reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from treewarden.policies.clause import (
    BELIEF,
    CERTAINTIES,
    Atom,
    Clause,
    Pack,
    Part,
    Scope,
    Waivers,
    is_same_anywhere,
    reads_worst_leaf,
)
from treewarden.policies.rules import rules
from treewarden.policies.validation import REASON
from treewarden.policies.verdict import SEVERITIES
from treewarden.ppdm_models.errors import PolicyError

COARSER: tuple[Scope, ...] = ("leaf", "tree", "model")


class Strictness(StrEnum):
    """What a new clause asks for, beside the old one."""

    EQUAL = "equal"
    STRICTER = "stricter"
    LOOSER = "looser"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class ClauseDifference:
    """A clause that two packs do not share as it is: None where one of them lacks it."""

    clause: str
    old: Clause | Waivers | None
    new: Clause | Waivers | None
    strictness: Strictness


def compared(old: Pack, new: Pack) -> tuple[ClauseDifference, ...]:
    """Return how a new pack differs from an old one, clause by clause by their ids, in the order of the new one.

    A clause that was added is stricter, but for one that ends a doubt; one that is gone is looser. What a pack makes of
    models that no clause which counts was about before is not compared: they were undetermined.
    """
    before, now = ({each.id: each for each in pack.clauses} for pack in (old, new))
    clause_differences = []
    for name, clause in now.items():
        if name not in before:
            clause_differences.append(ClauseDifference(name, None, clause, added(old, clause)))
        elif clause != before[name]:
            clause_differences.append(
                ClauseDifference(name, before[name], clause, changed(old, clause))
            )
    clause_differences += [
        ClauseDifference(name, clause, None, Strictness.LOOSER)
        for name, clause in before.items()
        if name not in now
    ]
    if old.waivers != new.waivers:
        how = stricter_waivers(old.waivers, new.waivers)
        clause_differences.append(ClauseDifference("[waivers]", old.waivers, new.waivers, how))
    return tuple(clause_differences)


def stricter(old: Clause, new: Clause) -> Strictness:
    """Return what is proved of a new clause beside an old one."""
    if old.under != new.under or old.when != new.when:
        return Strictness.DIFFERENT
    return _strictness(_clause_as_strict(new, old), _clause_as_strict(old, new))


def added(old: Pack, clause: Clause) -> Strictness:
    """Return what a clause that a pack lacks makes of it."""
    return Strictness.DIFFERENT if _ends_doubt(old, clause) else Strictness.STRICTER


def changed(old: Pack, clause: Clause) -> Strictness:
    """Return what another clause in the place of the one of its name makes of a pack."""
    before = next(each for each in old.clauses if each.id == clause.id)
    strictness = stricter(before, clause)
    is_as_strict = strictness in (Strictness.EQUAL, Strictness.STRICTER)
    if is_as_strict and (_ends_doubt(old, clause) or _eases_doubt(old, before, clause)):
        return Strictness.DIFFERENT
    return strictness


def stricter_waivers(old: Waivers, new: Waivers) -> Strictness:
    """Return what is proved of new settings of waivers beside old ones."""
    return _strictness(_waivers_as_strict(new, old), _waivers_as_strict(old, new))


def part_as_strict(new: Part, old: Part) -> bool:
    """Return whether the new part is proved never to have a better verdict, both judged at the same place."""
    return _as_strict(new, old, {})


def _strictness(as_strict: bool, as_loose: bool) -> Strictness:
    if as_strict:
        return Strictness.EQUAL if as_loose else Strictness.STRICTER
    return Strictness.LOOSER if as_loose else Strictness.DIFFERENT


def _clause_as_strict(new: Clause, old: Clause) -> bool:
    if SEVERITIES.index(new.severity) < SEVERITIES.index(old.severity):
        return False
    if not part_as_strict(new, old):
        return False
    # Either step may come first: what the parts say, or where they are judged.
    return any(_coarser(part, new.scope, old.scope) for part in (new, old))


def _coarser(part: Part, new: Scope | None, old: Scope | None) -> bool:
    """Return whether a part judged at the new scope is proved never to have a better verdict than at the old one."""
    now, before = new or "model", old or "model"
    if now == before or is_same_anywhere(part):
        return True
    if not all(reads_worst_leaf(atom.call.measure) for atom in part.atoms):
        return False
    if now not in COARSER or before not in COARSER:
        return False
    is_coarser = COARSER.index(now) > COARSER.index(before)
    return set(_signs(part)) == {is_coarser}


def _signs(part: Part, sign: bool = True) -> Iterator[bool]:
    """Yield for each atom whether a worse verdict on it makes the whole worse, or better."""
    if part.form == "atom":
        yield sign
    for each in part.parts:
        yield from _signs(each, not sign if part.form == "not" else sign)


def _as_strict(new: Part, old: Part, proved: dict[tuple[int, int], bool]) -> bool:
    key = id(new), id(old)
    if key not in proved:
        proved[key] = _proved(new, old, proved)
    return proved[key]


def _proved(new: Part, old: Part, proved: dict[tuple[int, int], bool]) -> bool:
    if old.form == "all":
        return all(_as_strict(new, each, proved) for each in old.parts)
    if new.form == "any":
        return all(_as_strict(each, old, proved) for each in new.parts)
    if new.form == "all" and any(_as_strict(each, old, proved) for each in new.parts):
        return True
    if old.form == "any" and any(_as_strict(new, each, proved) for each in old.parts):
        return True
    if new.form == "not" and old.form == "not":
        return _as_strict(old.parts[0], new.parts[0], proved)
    if new.form == "not" and new.parts[0].form == "not":
        return _as_strict(new.parts[0].parts[0], old, proved)
    if old.form == "not" and old.parts[0].form == "not":
        return _as_strict(new, old.parts[0].parts[0], proved)
    if new.form == "atom" and old.form == "atom":
        return _atom_as_strict(new.atom, old.atom)
    return False


def _atom_as_strict(new: Atom, old: Atom) -> bool:
    one, other = rules()[new.rule], rules()[old.rule]
    if new.call != old.call or one.risk != other.risk:
        return False
    if new.limit == old.limit:
        return one.is_strict or not other.is_strict
    return (new.limit > old.limit) == (one.risk == "low")


def _waivers_as_strict(new: Waivers, old: Waivers) -> bool:
    graver = SEVERITIES.index(new.unused) >= SEVERITIES.index(old.unused)
    fewer = old.undetermined or not new.undetermined
    return graver and fewer and new.longest_days <= old.longest_days


def _ends_doubt(old: Pack, clause: Clause) -> bool:
    """Return whether a clause is the first to speak of who believes the labels, where certainty is limited.

    Until then a limit on certainty that holds only for whoever does not believe them is doubted.
    """
    return (
        _limits_belief(clause)
        and any(_limits_on_certainty(each) for each in old.clauses)
        and not _always_limits_belief(old)
    )


def _eases_doubt(old: Pack, before: Clause, clause: Clause) -> bool:
    """Return whether the lowest limit on certainty is higher than it was: beyond it, belief in labels is doubted."""
    was, now = _limits_on_certainty(before), _limits_on_certainty(clause)
    return bool(was and now) and min(now) > min(was) and not _always_limits_belief(old)


def _limits_on_certainty(clause: Clause) -> list[float]:
    return [atom.limit for atom in clause.atoms if atom.call.measure in CERTAINTIES]


def _always_limits_belief(pack: Pack) -> bool:
    """Return whether belief is limited of all models of which certainty is."""
    beliefs = [
        clause.when
        for clause in pack.clauses
        if _limits_belief(clause) and clause.severity == "error"
    ]
    certainties = [clause.when for clause in pack.clauses if _limits_on_certainty(clause)]
    return bool(beliefs) and (
        None in beliefs or (bool(certainties) and all(when in beliefs for when in certainties))
    )


def _limits_belief(clause: Clause) -> bool:
    return any(atom.call.measure == BELIEF for atom in clause.demanded)


AS_STRICT = (Strictness.EQUAL, Strictness.STRICTER)


def refuse_looser(base: Pack, clause: Clause, override: Mapping[str, Any], place: str) -> None:
    """Refuse an override that is not shown to ask for as much as what it overrides, unless it says why.

    Raises:
        PolicyError: it may ask for less, and does not say why.
    """
    if "loosen" in override:
        return
    old = next((each for each in base.clauses if each.id == clause.id), None)
    if old is None:
        if added(base, clause) not in AS_STRICT:
            raise PolicyError(place, f"measure: {_doubt(base)}; {REASON}")
        return
    how = changed(base, clause)
    if how in AS_STRICT:
        return
    key = _first_looser(base, old, clause, override)
    raise PolicyError(place, f"{key}: {_looser(base, old, clause, key, how)}, or {REASON}")


def refuse_looser_waivers(
    base: Pack, waivers: Waivers, override: Mapping[str, Any], where: str
) -> None:
    """Refuse settings of waivers that allow more than those that are extended, unless they say why.

    Raises:
        PolicyError: they allow more, and do not say why.
    """
    if "loosen" in override or stricter_waivers(base.waivers, waivers) in AS_STRICT:
        return
    for key in override:
        alone = base.waivers.model_copy(update={key: getattr(waivers, key)})
        if stricter_waivers(base.waivers, alone) not in AS_STRICT:
            was = getattr(base.waivers, key)
            problem = f"{key}: {getattr(waivers, key)} allows more than the {was} of {base.name!r}"
            raise PolicyError(f"{where}: [waivers]", f"{problem}; keep that, or {REASON}")


def _first_looser(base: Pack, old: Clause, clause: Clause, override: Mapping[str, Any]) -> str:
    """Return the first key that alone would make it looser; else all keys."""
    for key in override:
        fields = {"all": "every", "any": "some", "not": "negated"}
        if key == "id" or old.is_combined != clause.is_combined:
            continue
        name = fields.get(key, key)
        alone = old.model_copy(update={name: getattr(clause, name)})
        if changed(base, alone) not in AS_STRICT:
            return key
    return ", ".join(key for key in override if key != "id")


def _looser(base: Pack, old: Clause, clause: Clause, key: str, how: Strictness) -> str:
    name = repr(base.name)
    if key == "limit" and old.limit is not None and clause.limit is not None:
        way = "more" if rules()[old.rule].risk == "low" else "less"
        problem = f"{clause.limit:g} is looser than {old.limit:g} in {name}"
        return f"{problem}; give {old.limit:g} or {way}"
    if how is Strictness.LOOSER:
        return f"this requires less than {name} does; leave it out"
    return f"this may require less than {name} does; leave it out, give the check another id"


def _doubt(base: Pack) -> str:
    return (
        f"{base.name!r} limits certainty and does not limit label_disclosure, so its verdict can be UNDETERMINED; "
        "a check that limits it may let more pass"
    )
