"""Refuses what a pack says over the pack that it extends, where that may ask for less and nobody says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treewarden.policies.clause import Clause, Pack, Waivers
from treewarden.policies.comparing import Strictness, added, changed, stricter_waivers
from treewarden.policies.rules import rules
from treewarden.policies.validation import REASON
from treewarden.ppdm_models.errors import PolicyError

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
        problem = f"{clause.limit:g} is looser than the {old.limit:g} of {name}"
        return f"{problem}; give {old.limit:g} or {way}"
    if how is Strictness.LOOSER:
        return f"this requires less than {name} does; leave it out"
    return f"this may require less than {name} does; leave it out, give the check another id"


def _doubt(base: Pack) -> str:
    return (
        f"{base.name!r} limits certainty and does not limit label_disclosure, so its verdict can be UNDETERMINED; "
        "a check that limits it may let more pass"
    )
