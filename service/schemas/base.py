"""What all bodies have in common, and a page of a list."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$",
    ),
]
"""One line with something in it."""


def _without_folders(name: str) -> str:
    last = name.rpartition("/")[2]
    if not last.strip() or last == ".":
        raise ValueError("names a folder; give the name of a file")
    return last


FileName = Annotated[Name, AfterValidator(_without_folders)]
"""What a file is called, without the folders that it came from: a report takes no others."""
Prose = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class Body(BaseModel):
    """Frozen; a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def shown_as(example: dict[str, Any]) -> ConfigDict:
    """Return what a body is declared with whose description shows an example."""
    return ConfigDict(json_schema_extra={"examples": [example]})


Item = TypeVar("Item")


class Page(Body, Generic[Item]):
    """A part of a list, newest first; ``next`` is the cursor of the following part, null at the end."""

    items: tuple[Item, ...]
    next: str | None = None


class PageRequest(Body):
    """Which part of a list: ``cursor`` is what the page before said."""

    cursor: str = Field(default="", max_length=200)
    limit: int = Field(default=50, ge=1, le=200)
