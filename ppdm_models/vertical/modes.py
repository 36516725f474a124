"""What each side needs for the mode of a session."""

from __future__ import annotations

from treewarden.ppdm_models.vertical.by_ids import IdsView
from treewarden.ppdm_models.vertical.by_shares import Dealing, SharedView
from treewarden.ppdm_models.vertical.channel import Channel
from treewarden.ppdm_models.vertical.holding import Holding
from treewarden.ppdm_models.vertical.miner import Helper, Relaying
from treewarden.ppdm_models.vertical.session import Mode, Session
from treewarden.ppdm_models.vertical.view import View


def view_of(session: Session, holding: Holding, channel: Channel, key: bytes) -> View:
    """Return what a party knows the nodes by; ``key`` is that of all parties."""
    if session.mode is Mode.IDS:
        return IdsView(session, holding, channel, key)
    return SharedView(session, holding, channel, key)


def helper_of(session: Session, channel: Channel) -> Helper:
    """Return what the miner does for the parties."""
    return Relaying(session, channel) if session.mode is Mode.IDS else Dealing(session, channel)
