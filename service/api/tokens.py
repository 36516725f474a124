"""Tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from treewarden.service.api._answers import takes_no_key
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.schemas.base import Id, Page, PageRequest
from treewarden.service.schemas.people import MadeToken, NewToken, Token
from treewarden.service.use_cases.accounts.authentication import (
    create_token,
    list_tokens,
    revoke_token,
)

ROUTER = APIRouter(tags=["people"], dependencies=[Depends(takes_no_key)])


@ROUTER.get("/tokens", **reads(Permission.READ))
def get_tokens(
    principal: Who, unit: Reading, query: Annotated[PageRequest, Query()]
) -> Page[Token]:
    """Return one's own tokens; administrators see those of all."""
    return list_tokens(unit, principal, query)


@ROUTER.post("/tokens", status_code=201, **asks(Permission.READ))
def post_token(principal: Who, unit: Writing, new: NewToken) -> MadeToken:
    """Make a token; its secret is shown this once."""
    return create_token(unit, principal, new)


@ROUTER.delete("/tokens/{token_id}", **asks(Permission.READ))
def delete_token(principal: Who, unit: Writing, token_id: Id) -> Token:
    """Have a token let nobody in any more."""
    return revoke_token(unit, principal, token_id)
