"""What a clause may be bound to: what the adversary knows, which models it is about, which guidance it serves."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from treewarden.audit.adversary.knowledge import Knowledge, LeafLevel, SplitLevel

Kind = Literal["tree", "ensemble", "forest", "boosted"]
TaskName = Literal["classification", "regression"]
Text = Annotated[str, Field(strict=True, min_length=1)]


def _as_list(said: object) -> object:
    """Return one word as a list of it."""
    return [said] if isinstance(said, str) else said


def _one_or_more(words: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 (what pydantic takes)
    one = {"type": "string", "enum": list(words)} if words else {"type": "string", "minLength": 1}
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})


class Section(BaseModel):
    """A table of a pack's file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Under(Section):
    """What the adversary knows for one clause, whatever the audit assumes else: keys of the knowledge file."""

    leaf: LeafLevel | None = None
    split: SplitLevel | None = None
    marginal: StrictBool | None = None
    accuracy: StrictBool | None = None
    strict_labels: StrictBool | None = None
    min_leaf: Annotated[int, Field(strict=True, ge=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Under:
        if not self.settings:
            raise PydanticCustomError("said", "says nothing; leave it out")
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """What is said, by key, in one order."""
        each = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value for name, value in each if value is not None}

    @property
    def words(self) -> str:
        """The same as it is typed; two that say the same read the same."""
        return ", ".join(f"{name} = {_typed(value)}" for name, value in self.settings.items())

    def of(self, knowledge: Knowledge) -> Knowledge:
        """Return the knowledge of an audit with this in its place."""
        return knowledge.model_copy(update=self.settings)


class When(Section):
    """The models a clause is about; a clause that does not apply is not judged, and the report says so."""

    model: Annotated[
        tuple[Kind, ...],
        Field(min_length=1),
        BeforeValidator(_as_list),
        _one_or_more(get_args(Kind)),
    ] = ("tree", "ensemble")
    task: Annotated[
        tuple[TaskName, ...],
        Field(min_length=1),
        BeforeValidator(_as_list),
        _one_or_more(get_args(TaskName)),
    ] = ("classification", "regression")
    format: Annotated[tuple[Text, ...], BeforeValidator(_as_list), _one_or_more()] = ()

    @model_validator(mode="after")
    def _says_something(self) -> When:
        if not self.model_fields_set:
            raise PydanticCustomError("said", "says nothing; leave it out")
        if "format" in self.model_fields_set and not self.format:
            raise PydanticCustomError("said", "format is empty; name one or leave it out")
        return self


class Guidance(Section):
    """A paragraph of a law or a guideline that a clause serves, for the table of a compliance report."""

    document: Text
    paragraph: Text
    says: str = ""


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
