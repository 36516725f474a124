"""Repairs: how one is asked for from an audit, the changes that it proposes, and how one of them is taken."""

from __future__ import annotations

from treewarden.service.schemas.audits import Audit, Verdict
from treewarden.service.schemas.base import Body, Id, shown_as
from treewarden.service.schemas.models import Version


class NewRepair(Body):
    """A search for a change that passes, with all that the audit was asked.

    ``table_id`` is the same table uploaded anew, where that of the audit is erased. With ``tries_all`` changes are
    audited too that cost more than one that passes.
    """

    model_config = shown_as({"tries_all": False})

    table_id: Id | None = None
    tries_all: bool = False


class Repairs(Body):
    """The repairs of an audit, newest first, and whether one can be asked for now.

    ``why_not`` says why none can, and what to do; "" where one can. ``needs_table``: whether the table has to come with
    it again.
    """

    can_start: bool
    needs_table: bool
    why_not: str = ""
    items: tuple[Audit, ...] = ()


class Proposal(Body):
    """A change that was tried, best first. ``cost`` says in words what is lost.

    ``title``, ``cost`` and ``problem`` need the permission ``internal``, as they may tell of few people; without it
    they are empty. ``href`` is the file where one is kept, which is where the change passes; ``model_version_id`` the
    version that it became.
    """

    n: int
    name: str
    title: str = ""
    remedies: tuple[str, ...]
    verdict: Verdict
    is_recommended: bool
    cost: dict[str, str]
    failing: tuple[str, ...]
    problem: str = ""
    href: str | None = None
    model_version_id: Id | None = None


class Proposals(Body):
    """What a repair tried. ``message``, ``refusals`` and ``advice`` need the permission ``internal``."""

    message: str = ""
    refusals: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    items: tuple[Proposal, ...] = ()


class Taking(Body):
    """How a proposal is taken: with ``audits``, the new version is audited at once where the table is still there."""

    model_config = shown_as({"audits": True})

    audits: bool = True


class Taken(Body):
    """The version that a proposal became, and its audit; ``why_no_audit`` says what to do where there is none."""

    version: Version
    audit: Audit | None = None
    why_no_audit: str = ""
