"""Sides on machines of their own: each pair under TLS 1.3, where both ends show a certificate of their role."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ppdm_models.vertical.connected import Connected
from ppdm_models.vertical.errors import ProtocolError
from ppdm_models.vertical.faults import Fault
from ppdm_models.vertical.gathering import Gathering
from ppdm_models.vertical.session_file import Meeting


@asynccontextmanager
async def met(meeting: Meeting, own: int, certificates: Path) -> AsyncIterator[Connected]:
    """Meet the other sides, and give the channel to them; its ``log`` holds what this side sent and received.

    However the body ends, the others hear it: at once where it fails or is cancelled. When another side fails, the body
    is woken from whatever it waits for. A side that answers no more is waited for as long as the session file says
    (``connected.patience``), and each side ends some seconds after that.

    Raises:
        ProtocolError: a side did not come, broke the protocol, was late, or ended; ``who`` says which.
        PartyError: this side's own certificates or address cannot be used.
    """
    body = asyncio.current_task()
    sides = Connected(meeting, own, body)
    gathering = Gathering(sides, certificates)
    try:
        await gathering.begin()
        await sides.together()
        yield sides
    except (asyncio.CancelledError, KeyboardInterrupt):
        is_ours = sides.is_cancelled and body is not None and body.uncancel() == 0
        if is_ours and sides.failure is not None:
            raise sides.failure from sides.failure.__cause__
        sides.fail(own, Fault.STOPPED)
        raise
    except BaseException as error:
        if sides.is_cancelled and body is not None:
            body.uncancel()
        found = _of_protocol(error)
        if sides.failure is None and found is None:
            sides.trouble(error)
            raise
        if sides.failure is None and found is not None:
            sides.fail(found.who, Fault.BREAKS, problem=found.problem)
        if sides.failure is None or error is sides.failure:
            raise
        raise sides.failure from error
    finally:
        await gathering.end()
        await sides.leave()


def _of_protocol(error: BaseException) -> ProtocolError | None:
    """Return the first error of the protocol in what a body ended with, be it a group."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_of_protocol, error.exceptions)), None)
    return error if isinstance(error, ProtocolError) else None
