"""A party's notes, in JSON: what each of its own nodes tests. With the notes of all, the skeleton is the tree."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.vertical.holding import Attribute
from treewarden.ppdm_models.vertical.session_file import Name, Text

SCHEMA: Literal["treewarden-notes/2"] = "treewarden-notes/2"
MOST_BYTES = 2**26


@dataclass(frozen=True, slots=True)
class Notes:
    """What a party's nodes test in a session, by their serial numbers; attributes have no records here."""

    session: str
    party: str
    nodes: Mapping[int, Attribute]


class _Node(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    attribute: Text
    branches: Annotated[tuple[str, ...], Field(min_length=1)]
    edges: tuple[float, ...] | None
    missing: StrictInt | None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        own = len(self.branches) - (self.missing is not None)
        if self.missing not in (None, own):
            raise ValueError("the branch of missing cells has to be the last one")
        if self.edges is None:
            return self
        is_rising = all(low < high for low, high in itertools.pairwise(self.edges))
        if own != len(self.edges) + 1 or not is_rising or not all(map(math.isfinite, self.edges)):
            raise ValueError("edges have to lie between the branches, from the lowest one on")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Annotated[Literal["treewarden-notes/2"], Field(alias="schema")]
    session: Text
    party: Name
    nodes: dict[Annotated[int, Field(ge=1)], _Node]


def notes_of(
    session: str, party: str, nodes: Mapping[int, int], attributes: Sequence[Attribute]
) -> bytes:
    """Return a party's notes as a file; ``nodes`` are the numbers of its attributes by serial numbers."""
    told = {
        str(serial): {
            "attribute": attributes[number].name,
            "branches": list(attributes[number].categories),
            "edges": attributes[number].edges,
            "missing": attributes[number].missing,
        }
        for serial, number in nodes.items()
    }
    said = {"schema": SCHEMA, "session": session, "party": party, "nodes": told}
    return (json.dumps(said, ensure_ascii=False, indent=1) + "\n").encode()


def read_notes(path: Path) -> Notes:
    """Read a party's notes.

    Raises:
        PartyError: they are not there, too long, or no notes.
    """
    where = f"{path.parent.name}/{path.name}"
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        problem = f"cannot be read ({error.strerror}); give the folder that a party wrote"
        raise PartyError(where, problem) from error
    if len(body) > MOST_BYTES:
        raise PartyError(where, f"is longer than {MOST_BYTES:,} bytes; give a party's notes")
    try:
        said = _File.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        problem = f"holds no notes of this version ({place}: {first['msg'].removeprefix('Value error, ')})"
        raise PartyError(where, f"{problem}; give what a party of the session wrote") from error
    nodes = {
        serial: Attribute(
            each.attribute, each.branches, np.zeros(0, np.int64), each.edges, each.missing
        )
        for serial, each in said.nodes.items()
    }
    return Notes(said.session, said.party, nodes)
