"""Accounts, and what holds for the organisation."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from treewarden.service.api._answers import takes_no_key
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id, Page, PageRequest
from treewarden.service.schemas.people import (
    Account,
    Changed,
    LeastPack,
    Made,
    NewAccount,
    Organisation,
    Retention,
)
from treewarden.service.use_cases.accounts import people

ROUTER = APIRouter(tags=["people"], dependencies=[Depends(takes_no_key)])


@ROUTER.get("/accounts", **reads(Permission.ADMIN))
def get_accounts(
    principal: Who, unit: Reading, query: Annotated[PageRequest, Query()]
) -> Page[Account]:
    """Return who may sign in."""
    return people.list_accounts(unit, principal, query)


@ROUTER.post("/accounts", status_code=201, **asks(Permission.ADMIN))
def post_account(principal: Who, unit: Writing, new: NewAccount) -> Made:
    """Make an account; its one-time password is shown this once."""
    return people.create_account(unit, principal, new)


@ROUTER.get("/accounts/{account_id}", **reads(Permission.ADMIN))
def get_account(principal: Who, unit: Reading, account_id: Id) -> Account:
    """Return an account."""
    return people.get_account(unit, principal, account_id)


@ROUTER.patch("/accounts/{account_id}", **asks(Permission.ADMIN))
def patch_account(principal: Who, unit: Writing, account_id: Id, changed: Changed) -> Account:
    """Change a role, or let somebody in no more, or again."""
    return people.change_account(unit, principal, account_id, changed)


@ROUTER.post("/accounts/{account_id}/password", **asks(Permission.ADMIN))
def post_password(principal: Who, unit: Writing, account_id: Id) -> Made:
    """Make a new one-time password; it is shown this once."""
    return people.new_password(unit, principal, account_id)


@ROUTER.get("/organisation", **reads(Permission.READ))
def get_organisation(principal: Who, unit: Reading) -> Organisation:
    """Return what holds for the organisation."""
    return people.get_organisation(unit, principal)


@ROUTER.put("/organisation", **asks(Permission.ADMIN))
def put_organisation(principal: Who, unit: Writing, body: Retention) -> Organisation:
    """Change what is kept, how long, and what reviewers tick off."""
    return people.set_retention(unit, principal, body)


@ROUTER.put("/organisation/least-pack", **asks(Permission.ADMIN))
def put_least_pack(principal: Who, unit: Writing, body: LeastPack) -> Organisation:
    """Say which policy every release should be judged by at least; null for none."""
    return people.set_least_pack(unit, principal, body)
