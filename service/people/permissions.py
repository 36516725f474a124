"""What may be done, and which role may do it."""

from __future__ import annotations

from enum import StrEnum


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
