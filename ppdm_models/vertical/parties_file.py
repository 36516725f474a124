"""The file that says which party holds which columns of a joined table, in TOML: for playing all of them.

    depth = 6

    [[party]]
    name = "alice"
    columns = ["outlook", "temp"]

    [[party]]
    name = "bobby"
    columns = ["humidity", "windy", "play"]

The class is one of the columns of one party.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.vertical.session_file import (
    MINER_NAME,
    MOST_ATTRIBUTES,
    MOST_PARTIES,
    Name,
    Text,
    file_bytes,
    problem_of,
)


@dataclass(frozen=True, slots=True)
class Parties:
    """Who holds what: names, and for each its columns; ``depth`` is how many tests may be on a path."""

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    depth: int | None = None

    def holder(self, column: str, where: str) -> int:
        """Return the party that holds a column.

        Raises:
            PartyError: none does.
        """
        for number, columns in enumerate(self.columns):
            if column in columns:
                return number
        raise PartyError(where, f"no party holds the class {column!r}; name it among one's columns")


class _Party(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    columns: Annotated[tuple[Text, ...], Field(max_length=MOST_ATTRIBUTES)]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    depth: Annotated[StrictInt, Field(ge=0)] | None = None
    party: Annotated[tuple[_Party, ...], Field(min_length=2, max_length=MOST_PARTIES)]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = [each.name for each in self.party]
        if len(set(names)) < len(names):
            raise ValueError("two parties have the same name")
        if MINER_NAME in names:
            raise ValueError("a party is called miner; choose another name")
        held: dict[str, str] = {}
        for each in self.party:
            for column in each.columns:
                other = held.setdefault(column, each.name)
                if other != each.name:
                    raise ValueError(
                        f"{column!r} is a column of {other} and of {each.name}; one of them has to hold it"
                    )
            if len(set(each.columns)) < len(each.columns):
                raise ValueError(f"a column of {each.name} is there twice")
        return self


def read_parties(path: Path) -> Parties:
    """Read the file.

    Raises:
        PartyError: it is not there, too long, not TOML, or does not say who holds what.
    """
    body = file_bytes(path)
    try:
        said = _File.model_validate(tomllib.loads(body.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        raise PartyError(path.name, problem_of(error)) from error
    names = tuple(each.name for each in said.party)
    return Parties(names, tuple(each.columns for each in said.party), said.depth)
