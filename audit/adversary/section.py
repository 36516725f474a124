"""What parts of a knowledge file have in common: nothing in them may be unknown, and nothing is changed later."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of a knowledge file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


"""Settings that every part shares."""
