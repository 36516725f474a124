"""``treewarden.toml``: which models a gate audits, with which table, policy and settings."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
)

from treewarden.audit.knowledge.declared import End
from treewarden.audit.knowledge.toml_words import in_words
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.terminal.outputs import real

NAME = "treewarden.toml"
ABSENT = "absent"
"""In place of a table: there is none, and only what the model's file says by itself is judged."""

Text = Annotated[StrictStr, Field(min_length=1)]


def _alone(value: object) -> object:
    """Return one word as a list of it."""
    return (value,) if isinstance(value, str) else value


Seconds = StrictInt | StrictFloat


def resolved(path: Path) -> Path:
    """Return a path without links; links in a circle stay as they are, and are no file."""
    return Path(real(path))


class ConfigurationError(TreewardenError):
    """The configuration of a gate is not understood, or does not fit the files there are."""


class _GateSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SharedSettings(_GateSection):
    """What can be said for all models, and for one of them otherwise."""

    policy: Text | None = None
    waivers: Text | None = None
    baseline: Text | None = None
    fail_on: Severity | None = None


class GateSettings(_GateSection):
    """How an audit is done, as the options of ``treewarden audit`` say it."""

    sensitive: Text | None = None
    qi: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    weights: Text | None = None
    sampling_weights: Text | None = None
    knows: Annotated[tuple[Text, ...], Field(min_length=1), BeforeValidator(_alone)] | None = None
    secret: Text | None = None
    bins: Annotated[tuple[End, ...], Field(min_length=1)] | None = None
    target_known: StrictBool | None = None
    leaf: Literal["labels", "rates", "counts", "as-published"] | None = None
    split: Literal["none", "gini", "entropy", "gain-ratio", "as-published"] | None = None
    learner: Literal["rpart", "scikit-learn", "spark", "treewarden", "weka"] | None = None
    marginal: StrictBool | None = None
    accuracy: StrictBool | None = None
    row_order: Literal["known", "unknown"] | None = None
    solver: Literal["auto", "casadi", "cyipopt"] | None = None
    time_limit: Annotated[Seconds, Field(gt=0)] | None = None
    rows: Literal["integer", "real"] | None = None
    worlds: StrictBool | None = None
    worlds_budget: Annotated[Seconds, Field(ge=0, le=1e9)] | None = None
    worlds_all: StrictBool | None = None
    strict_ties: StrictBool | None = None

    @property
    def given(self) -> dict[str, Any]:
        """What was said, without all that was left to its default."""
        return {
            name: getattr(self, name)
            for name in GateSettings.model_fields
            if getattr(self, name) is not None
        }


class EarlierSection(_GateSection):
    """A release before a model: its file, and its table where that is another than the model's."""

    path: Text
    table: Text | None = None


class ModelSection(SharedSettings, GateSettings):
    """One ``[[model]]``: the files it is about, and what holds for them; None where the whole file says it.

    ``earlier`` are the releases that were published before, and ``id`` the column that says who is who in their tables.
    """

    path: Annotated[tuple[Text, ...], Field(min_length=1)]
    name: Text | None = None
    table: Text
    knowledge: Text | None = None
    adversary: tuple[Text, ...] = ()
    earlier: tuple[EarlierSection, ...] = ()
    id: Text | None = None

    @field_validator("earlier", mode="before")
    @classmethod
    def _paths_of_earlier(cls, value: object) -> object:
        """Return what is earlier as sections: a path alone is that of a model whose table is the section's own."""
        each = [value] if isinstance(value, str | dict) else value
        if not isinstance(each, list | tuple):
            return each
        return tuple({"path": one} if isinstance(one, str) else one for one in each)

    @field_validator("path", "adversary", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class GateConfig(SharedSettings):
    """The whole file."""

    policy: Text = "standard"
    fail_on: Severity = "error"
    models: Annotated[tuple[ModelSection, ...], Field(alias="model", min_length=1)]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that was read; ``repository`` is the folder that no path leaves, but for tables."""

    path: Path
    repository: Path
    said: GateConfig

    @property
    def root(self) -> Path:
        """The folder that all its paths start from."""
        return self.path.parent


def find_configuration(start: Path) -> Path:
    """Return the configuration in a folder or the nearest one above it, up to the top of the repository.

    Raises:
        ConfigurationError: there is none.
    """
    for folder in _upwards(start):
        if (folder / NAME).is_file():
            return folder / NAME
    problem = "not here, nor above it in the repository; write a first one: treewarden gate --init"
    raise ConfigurationError(NAME, problem)


def read_configuration(path: Path) -> Configuration:
    """Read a configuration; the files it names are not looked at.

    Raises:
        ConfigurationError: it cannot be read, or a key is missing, unknown or wrong.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        problem = f"{reason}; give the configuration, or write a first one: treewarden gate --init"
        raise ConfigurationError(str(path), problem) from error
    path = Path(os.path.abspath(path))
    return Configuration(path, list(_upwards(path.parent))[-1], said_in(data, path.name))


def said_in(data: bytes, where: str) -> GateConfig:
    """Return what the bytes of a configuration say.

    Raises:
        ConfigurationError: they are not TOML, or a key is missing, unknown or wrong.
    """
    try:
        said = tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(where, f"not a TOML file ({error}); mend it") from error
    if not said.get("model"):
        problem = 'no [[model]] in it; add one with path and table, or see "treewarden gate --init"'
        raise ConfigurationError(where, problem)
    try:
        return GateConfig.model_validate(said)
    except ValidationError as error:
        place, problem = _first_problem(error, said)
        raise ConfigurationError(f"{where}: {place}", problem) from error


def _upwards(start: Path) -> Iterator[Path]:
    """Yield a folder and those above it up to the one that git keeps; without git, the folder alone."""
    start = Path(os.path.abspath(start))
    folders = (start, *start.parents)
    top = next((each for each in folders if (each / ".git").exists()), start)
    for folder in folders:
        yield folder
        if folder == top:
            return


def _first_problem(error: ValidationError, said: Mapping[str, Any]) -> tuple[str, str]:
    """Return where the first thing that is wrong stands, and what to do about it."""
    # A key that is misspelt is often missing too: the slip is what to tell.
    problems = sorted(
        error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden"
    )
    first = problems[0]
    parts = list(first["loc"])
    place = "the top of the file"
    section: type[BaseModel] = GateConfig
    if parts[0] == "model" and len(parts) > 1:
        place, section = _section(said, int(parts[1])), ModelSection
        parts = parts[2:]
    key = ".".join(str(part) for part in parts) or "model"
    if first["type"] == "extra_forbidden":
        keys = ", ".join(_keys(section))
        return place, f"unknown key {key!r}; have {keys}"
    if first["type"] == "missing":
        more = f' (a file, or "{ABSENT}" where there is none)' if key == "table" else ""
        return place, f"{key!r} is missing; add it{more}"
    return place, f"{key!r} is {first['input']!r:.80}: {in_words(first)}"


def _keys(section: type[BaseModel]) -> list[str]:
    """Return the keys a section has, its own before those that it shares with others."""
    names = {name: each.alias or name for name, each in section.model_fields.items()}
    own = [name for name in names if name in section.__annotations__]
    return [names[name] for name in dict.fromkeys((*own, *names))]


def _section(said: Mapping[str, Any], number: int) -> str:
    """Return a ``[[model]]`` by its place and what it is about."""
    sections = said["model"]
    path = sections[number].get("path") if isinstance(sections[number], dict) else None
    about = f" ({path!r:.60})" if path else ""
    return f"[[model]] number {number + 1}{about}"
