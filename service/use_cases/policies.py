"""Policy packs: those that ship, and an organisation's own with their versions."""

from __future__ import annotations

import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from sqlalchemy import Row, ScalarSelect, Select, func, insert, select

from treewarden.policies.comparing import Strictness, compared
from treewarden.policies.explain.sentences import difference_text, explained
from treewarden.policies.explain.sentences import toml as written
from treewarden.policies.pack import Pack as Policy
from treewarden.policies.pack import load_pack, read_over, read_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.ppdm_models.errors import PolicyError
from treewarden.service.auth.principal import Principal
from treewarden.service.database.tables import account, pack, pack_version
from treewarden.service.errors import ConflictError, InvalidError, NotFoundError, as_invalid, new_id
from treewarden.service.ledger.log import record
from treewarden.service.schemas.releases import NewPack, Pack, PackDifference
from treewarden.service.site import Unit
from treewarden.service.use_cases.accounts.attempts import is_text, was_added

MOST_UNDERSTOOD = 64
"""So many texts of packs are kept as they were understood."""
Standing = Literal["not set", "at least", "laxer", "different"]
STANDINGS: tuple[tuple[Strictness, Standing], ...] = (
    (Strictness.LOOSER, "laxer"),
    (Strictness.DIFFERENT, "different"),
)


@dataclass(frozen=True, slots=True)
class ChosenPack:
    """A version of a pack: ``toml`` says all of it, ``pack_version_id`` is None for one that ships."""

    name: str
    n: int
    digest: str
    pack_version_id: str | None
    toml: str


@dataclass(frozen=True, slots=True)
class PackComparison:
    """What a policy asks for beside the least one of an organisation, and how the two differ, clause by clause."""

    standing: Standing
    lines: tuple[str, ...] = ()


def chosen_pack(unit: Unit, organisation_id: str, name: str) -> ChosenPack:
    """Return a pack by ``name``, or a version of one of the organisation by ``name@2``.

    Raises:
        NotFoundError: there is none.
    """
    if name in _shipped_names():
        shipped = _shipped(name)
        return ChosenPack(name, 1, shipped.digest, None, shipped.toml)
    found = _version(unit, organisation_id, name)
    return ChosenPack(found.name, found.n, found.digest, found.id, found.toml)


def list_packs(unit: Unit, principal: Principal) -> tuple[Pack, ...]:
    """Return the newest version of each pack: the organisation's own by name, then those that ship."""
    is_newest = pack_version.c.n == _newest_number()
    rows = unit.connection.execute(
        _versions(principal.organisation_id).where(is_newest).order_by(pack.c.name)
    )
    return (*(_own_pack(row) for row in rows), *(_listed(name) for name in _shipped_names()))


def get_pack(unit: Unit, principal: Principal, name: str) -> Pack:
    """Return a version of a pack, in sentences and as TOML; for the name see ``chosen_pack``.

    Raises:
        NotFoundError: there is none.
    """
    if name in _shipped_names():
        return _shipped(name)
    return _own_pack(_version(unit, principal.organisation_id, name), is_whole=True)


def add_pack(unit: Unit, principal: Principal, new: NewPack) -> Pack:
    """Add a version of a pack; its own name says of which, and the first version makes the pack.

    It may extend packs that ship and the organisation's own; all that it takes from them is put in now.

    Raises:
        InvalidError: it is not understood, extends something else, or has the name of a pack that ships.
        ConflictError: it says what the newest version says, or somebody else adds one just now.
    """
    policy = _read(unit, principal.organisation_id, new.toml)
    toml = written(policy)
    if _as_read(policy.name) in map(_as_read, _shipped_names()):
        problem = (
            f"{policy.name!r} can be mistaken for the name of a built-in policy; choose another"
        )
        raise InvalidError("name", problem)
    if set(policy.name) & set("@/") or len(policy.name) > 200 or not policy.name.isprintable():
        problem = "contains an @, a / or an invisible character, or is too long; choose another"
        raise InvalidError("name", problem)
    own = unit.connection.execute(
        select(pack)
        .where(pack.c.organisation_id == principal.organisation_id, pack.c.name == policy.name)
        .with_for_update()
    ).first()
    pack_id = own.id if own is not None else _begin(unit, principal, policy.name)
    last = unit.connection.execute(
        select(pack_version)
        .where(pack_version.c.pack_id == pack_id)
        .order_by(pack_version.c.n.desc())
        .limit(1)
    ).first()
    if last is not None and last.digest == policy.digest:
        raise ConflictError(
            "toml", f"requires the same as version {last.n}; change it, or keep that version"
        )
    n = 1 if last is None else last.n + 1
    made = new_id()
    unit.connection.execute(
        insert(pack_version).values(
            id=made,
            organisation_id=principal.organisation_id,
            pack_id=pack_id,
            n=n,
            digest=policy.digest,
            toml=toml,
            note=new.note,
            created_by=principal.account_id,
            created_at=unit.now,
        )
    )
    record(unit, principal, "pack.version", "pack", made, {"name": policy.name, "n": n})
    return get_pack(unit, principal, f"{policy.name}@{n}")


def diff_packs(unit: Unit, principal: Principal, old: str, new: str) -> PackDifference:
    """Return clause by clause which of two packs is stricter.

    Raises:
        NotFoundError: there is no such pack.
    """
    one, two = (_policy(unit, principal.organisation_id, name) for name in (old, new))
    clause_differences = compared(one, two)
    looser = (Strictness.LOOSER, Strictness.DIFFERENT)
    return PackDifference(
        from_pack=old,
        to_pack=new,
        is_at_least_as_strict=not any(
            clause_difference.strictness in looser for clause_difference in clause_differences
        ),
        lines=tuple(map(difference_text, clause_differences)),
    )


def compare_with_least(
    unit: Unit, organisation_id: str, least: str | None, name: str, digest: str
) -> PackComparison:
    """Return what a policy asks for beside the least one; ``digest`` is that of the policy as an audit used it.

    What cannot be proved, or cannot be looked at any more, is ``different``: that is never taken for enough.
    """
    if least is None:
        return PackComparison("not set")
    try:
        one, two = (chosen_pack(unit, organisation_id, each) for each in (least, name))
    except NotFoundError:
        return PackComparison("different", (f"{least!r} or {name!r} no longer exists",))
    if two.digest != digest:
        return PackComparison("different", (f"{name!r} has different requirements by now",))
    return _compared(one.toml, two.toml)


@lru_cache(maxsize=MOST_UNDERSTOOD)
def _compared(old: str, new: str) -> PackComparison:
    clause_differences = compared(_understood(old, "least"), _understood(new, "policy"))
    lines = tuple(map(difference_text, clause_differences))
    for strictness, standing in STANDINGS:
        if any(
            clause_difference.strictness is strictness for clause_difference in clause_differences
        ):
            return PackComparison(standing, lines)
    return PackComparison("at least", lines)


def longest_days(unit: Unit, principal: Principal) -> int:
    """Return for how many days a waiver may hold by that pack of an organisation that lets it hold longest."""
    packs = (
        _policy(unit, principal.organisation_id, each.name) for each in list_packs(unit, principal)
    )
    return max(each.waivers.longest_days for each in packs)


def days_allowed(chosen: ChosenPack) -> int:
    """Return for how many days a waiver may hold by a pack."""
    return _understood(chosen.toml, chosen.name).waivers.longest_days


def _as_read(name: str) -> str:
    """Return what people take a name for, whatever its letters look like in detail."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _policy(unit: Unit, organisation_id: str, name: str) -> Policy:
    chosen = chosen_pack(unit, organisation_id, name)
    return _understood(chosen.toml, chosen.name)


@lru_cache(maxsize=MOST_UNDERSTOOD)
def _understood(toml: str, name: str) -> Policy:
    """Return a pack that was added; the same text is read once, as every list and form asks for it."""
    return read_pack(toml.encode(), name)


def _read(unit: Unit, organisation_id: str, text: str) -> Policy:
    """Read a pack that may extend packs by name, and no file.

    Raises:
        InvalidError: it is not understood, or extends what is no pack here.
    """
    data = text.encode("utf-8", "replace")
    extended = _extended(data)
    try:
        if extended is None or extended in _shipped_names():
            return read_pack(data, "pack")
        return read_over(data, "pack", _policy(unit, organisation_id, extended))
    except NotFoundError as error:
        have = f"{', '.join(_shipped_names())} or one of your own"
        problem = f"{extended!a:.80} is neither a built-in policy nor one of yours; use {have}"
        raise InvalidError("extends", problem) from error
    except PolicyError as error:
        raise as_invalid(error) from error


def _extended(data: bytes) -> str | None:
    """Return what a pack extends; None where it does not, or says so in a way that whoever reads it refuses."""
    try:
        given = tomllib.loads(data.decode("utf-8-sig")).get("extends")
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, str) else None


def _begin(unit: Unit, principal: Principal, name: str) -> str:
    made = new_id()
    row = insert(pack).values(
        id=made,
        organisation_id=principal.organisation_id,
        name=name,
        created_by=principal.account_id,
        created_at=unit.now,
    )
    if not was_added(unit, row):
        raise ConflictError(
            "name", f"another person has just added a policy {name!r}; look at it first"
        )
    return made


def _versions(organisation_id: str) -> Select[Any]:
    return _every().where(pack_version.c.organisation_id == organisation_id)


@cache
def _every() -> Select[Any]:
    """Return what selects all versions of packs; put together once, as that takes longer than many a query."""
    return (
        select(pack_version, pack.c.name, account.c.name.label("by"))
        .join(pack, pack.c.id == pack_version.c.pack_id)
        .join(account, account.c.id == pack_version.c.created_by)
    )


@cache
def _newest_number() -> ScalarSelect[Any]:
    """Return what selects the number of the newest version of a pack."""
    every = pack_version.alias("every")
    return select(func.max(every.c.n)).where(every.c.pack_id == pack.c.id).scalar_subquery()


def _version(unit: Unit, organisation_id: str, name: str) -> Row[Any]:
    own, _, number = name.rpartition("@") if "@" in name else (name, "", "")
    own = own if is_text(own) else ""  # which none is called
    statement = _versions(organisation_id).where(pack.c.name == own)
    if number:
        n = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
        statement = statement.where(pack_version.c.n == n)
    found: Row[Any] | None = unit.connection.execute(
        statement.order_by(pack_version.c.n.desc()).limit(1)
    ).first()
    if found is None:
        problem = f"there is no such policy; use {', '.join(_shipped_names())} or one of your own"
        raise NotFoundError(f"pack {name[:80]!r}", problem)
    return found


def _own_pack(row: Row[Any], *, is_whole: bool = False) -> Pack:
    policy = _understood(row.toml, row.name)
    return Pack(
        id=row.id,
        name=row.name,
        n=row.n,
        digest=row.digest,
        is_shipped=False,
        summary=policy.title,
        note=row.note,
        clauses=len(policy.clauses),
        created_by=row.by,
        created_at=row.created_at,
        plain=_plain(policy) if is_whole else (),
        toml=row.toml if is_whole else "",
    )


@cache
def _shipped_names() -> tuple[str, ...]:
    return tuple(shipped_packs())


@cache
def _shipped(name: str) -> Pack:
    """Return a pack that ships, which is read once: it changes with the program alone."""
    policy = load_pack(name)
    return Pack(
        id=None,
        name=name,
        n=1,
        digest=policy.digest,
        is_shipped=True,
        summary=policy.title,
        clauses=len(policy.clauses),
        plain=_plain(policy),
        toml=written(policy),
    )


@cache
def _listed(name: str) -> Pack:
    return _shipped(name).model_copy(update={"plain": (), "toml": ""})


def _plain(policy: Policy) -> tuple[str, ...]:
    return tuple(explained(policy).splitlines())
