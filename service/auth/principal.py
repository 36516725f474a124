"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from treewarden.service.errors import ForbiddenError

# What may be done, and which role may do it.


class Permission(StrEnum):
    """What a route asks for, and what a token can be limited to.

    ``gate`` is to ask whether something may be released, ``read`` all that a pipeline may know, ``internal`` reports
    with what only those may see who may see the table, ``submit`` models, tables, audits, and wishes for waivers and
    releases, ``review`` to decide on these, ``policies`` to write packs, ``admin`` people, tokens of others, webhooks,
    retention and workers.
    """

    GATE = "gate"
    READ = "read"
    INTERNAL = "internal"
    SUBMIT = "submit"
    REVIEW = "review"
    POLICIES = "policies"
    ADMIN = "admin"


class Role(StrEnum):
    """What somebody is in an organisation."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    REVIEWER = "reviewer"
    POLICY_OWNER = "policy_owner"
    ADMINISTRATOR = "administrator"


_VIEW = frozenset({Permission.GATE, Permission.READ})
_SEE = _VIEW | {Permission.INTERNAL}
ALLOWED: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEW,
    Role.SUBMITTER: _SEE | {Permission.SUBMIT},
    Role.REVIEWER: _SEE | {Permission.REVIEW},
    Role.POLICY_OWNER: _SEE | {Permission.POLICIES, Permission.REVIEW},
    Role.ADMINISTRATOR: frozenset(Permission),
}
"""An administrator may do all; that nobody decides about what is his own holds for him too."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody of an organisation who was recognised, and what may be done in this request.

    ``permissions`` are those of the role, or fewer where a token is limited. ``token_id`` and ``session_id`` say how
    somebody was recognised; both are None for the command line.
    """

    organisation_id: str
    account_id: str
    name: str
    role: Role
    permissions: frozenset[Permission]
    token_id: str | None = None
    session_id: str | None = None

    def may(self, permission: Permission) -> bool:
        """Return whether something may be done."""
        return permission in self.permissions

    def check(self, permission: Permission) -> None:
        """Check that something may be done.

        Raises:
            ForbiddenError: it may not.
        """
        if not self.may(permission):
            problem = (
                f"{self.role} {self.name!r} may not do this, because the permission "
                f"{permission.value!r} is missing; ask an administrator"
            )
            raise ForbiddenError("account", problem)
