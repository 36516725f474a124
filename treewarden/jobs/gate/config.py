"""``treewarden.toml``: which models a gate audits, with which table, policy and settings."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    create_model,
    field_validator,
)

from treewarden.audit.knowledge.levels import End
from treewarden.audit.option_spec import Concern, Content, OptionDoor, OptionSpec
from treewarden.audit.options import OPTION_SPECS, AuditOptions, options_of
from treewarden.jobs.audit_request import JUDGMENT_SPECS, FileSpec, JudgmentForm, files_of
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.errors import (
    TreewardenError,
    near_text,
    reading_problem,
    toml_reason,
    toml_words,
    with_advice,
)
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


GATE_FILES = files_of(OptionDoor.GATE)
"""The files that a configuration can name, by the names of their fields."""


def _file_key(spec: FileSpec) -> Any:  # noqa: ANN401  # a type and a default, as pydantic reads them
    """Return the type and the default of the key of a file: one path or, where several can be given, a list."""
    if spec.is_several:
        kind = Annotated[tuple[Text, ...], BeforeValidator(_alone)]
        return kind, Field(default=(), alias=spec.flag)
    return Text | None, Field(default=None, alias=spec.flag)


def _file_keys(*, for_all: bool) -> dict[str, Any]:
    """Return the keys of files that can stand at the top of a configuration, or of those that cannot."""
    return {name: _file_key(spec) for name, spec in GATE_FILES.items() if spec.for_all is for_all}


if TYPE_CHECKING:

    class _SharedFiles(_GateSection):
        """The files that can be named for all models."""

    class _FilesOfModel(_GateSection):
        """The files that can be named for one model only."""

else:
    _SharedFiles = create_model("_SharedFiles", __base__=_GateSection, **_file_keys(for_all=True))
    _FilesOfModel = create_model(
        "_FilesOfModel", __base__=_GateSection, **_file_keys(for_all=False)
    )


if TYPE_CHECKING:

    class SharedSettings(_SharedFiles):
        """What can be said for all models, and for one of them otherwise: what judges it, and what is accepted."""

        policy: Text | None = None
        fail_on: Severity | None = None
        waivers: Text | None = None
        baseline: Text | None = None

else:
    SharedSettings = create_model(
        "SharedSettings",
        __base__=_SharedFiles,
        __module__=__name__,
        **{
            name: (
                (Severity if spec.form is JudgmentForm.SEVERITY else Text) | None,
                None,
            )
            for name, spec in JUDGMENT_SPECS.items()
            if OptionDoor.GATE in spec.doors
        },
    )


def _setting_of(spec: OptionSpec) -> Any:  # noqa: ANN401  # a type, as pydantic reads it
    """Return the type that a key of the configuration has for an option of an audit."""
    if spec.choices:
        return Literal[spec.choices]
    if spec.content is Content.NUMBERS:
        return Annotated[tuple[End, ...], Field(min_length=1)]
    if spec.content is Content.PAIRS:
        return Annotated[dict[Text, Text], Field(min_length=1)]
    if tuple in spec.kinds:
        names = Annotated[tuple[Text, ...], Field(min_length=1)]
        # An adversary may be one word: a preset, such as "neighbour".
        is_word = spec.concern is Concern.ADVERSARY
        return Annotated[names, BeforeValidator(_alone)] if is_word else names
    if bool in spec.kinds:
        return StrictBool
    if spec.kinds & {int, float}:
        low = Field(gt=spec.low) if spec.is_open else Field(ge=spec.low)
        return Annotated[Seconds if float in spec.kinds else StrictInt, low, Field(le=spec.high)]
    return Text


if TYPE_CHECKING:

    class GateSettings(_GateSection):
        """How an audit is done: the options of ``treewarden audit`` as keys, None where one is not given."""

else:
    GateSettings = create_model(
        "GateSettings",
        __base__=_GateSection,
        __module__=__name__,
        **{
            name: (_setting_of(OPTION_SPECS[name]) | None, None)
            for name in options_of(OptionDoor.GATE)
        },
    )


def given_settings(settings: GateSettings) -> dict[str, Any]:
    """Return the options that a section gives, without all that was left to its default."""
    values = ((name, getattr(settings, name)) for name in GateSettings.model_fields)
    return {name: value for name, value in values if value is not None}


def audit_options(settings: GateSettings, **more: Any) -> AuditOptions:  # noqa: ANN401  # options by name
    """Return how an audit is done: as a section says it, and ``more`` options that no section has."""
    given: dict[str, Any] = {
        name: tuple(map(str, value)) if isinstance(value, tuple) else value
        for name, value in given_settings(settings).items()
    }
    return AuditOptions(**given, **more)


class EarlierSection(_GateSection):
    """A release before a model: its file, and its table where that is another than the model's."""

    path: Text
    table: Text | None = None


class ModelSection(SharedSettings, _FilesOfModel, GateSettings):
    """One ``[[model]]``: the files it is about, and what holds for them; None where the whole file says it.

    ``earlier`` are the releases that were published before, and ``id`` the column that says who is who in their tables.
    """

    path: Annotated[tuple[Text, ...], Field(min_length=1), BeforeValidator(_alone)]
    name: Text | None = None
    table: Text
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


class GateConfig(SharedSettings):
    """The whole file; ``ignore`` are paths, folders or patterns of model files that need no audit."""

    policy: Text = "standard"
    fail_on: Severity = "error"
    ignore: Annotated[tuple[Text, ...], BeforeValidator(_alone)] = ()
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
    problem = "not found here or in a folder above; write a first one: treewarden gate --init"
    raise ConfigurationError(NAME, problem)


def read_configuration(path: Path) -> Configuration:
    """Read a configuration; the files it names are not looked at.

    Raises:
        ConfigurationError: it cannot be read, or a key is missing, unknown or wrong.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        give = "give the configuration, or write a first one: treewarden gate --init"
        problem = reading_problem(error, give, if_missing=give)
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
        raise ConfigurationError(
            where, f"not valid TOML ({toml_reason(error)}); correct the file"
        ) from error
    if not said.get("model"):
        problem = (
            'it has no [[model]]; add one with path and table, or run "treewarden gate --init"'
        )
        if said.get("models"):
            problem = "its sections are called [[models]]; rename each to [[model]]"
        raise ConfigurationError(where, problem)
    try:
        return GateConfig.model_validate(said)
    except ValidationError as error:
        place, problem = _first_problem(error, said)
        raise ConfigurationError(f"{where}: {place}", problem) from error


FEW_KEYS = 12
"""More keys than that are not listed where one of them is near."""
MEANT = {"data": "table", "model": "path", "file": "path"}
"""Other words for a key, which have no letters in common with it."""


def _upwards(start: Path) -> Iterator[Path]:
    """Yield a folder and those above it up to the one that git keeps; without git, the folder alone."""
    start = Path(os.path.abspath(start))
    folders = (start, *start.parents)
    top = next((each for each in folders if (each / ".git").exists()), start)
    for folder in folders:
        yield folder
        if folder == top:
            return


def _first_problem(error: ValidationError, table: Mapping[str, Any]) -> tuple[str, str]:
    """Return where the first thing that is wrong stands, and what to do about it."""
    # A key that is misspelt is often missing too: the slip is what to tell.
    problems = sorted(
        error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden"
    )
    first = problems[0]
    parts = list(first["loc"])
    place = "the top of the file"
    section: type[BaseModel] = GateConfig
    if parts[0] == "model" and len(parts) > 1:
        place, section = _section(table, int(parts[1])), ModelSection
        parts = parts[2:]
    key = ".".join(str(part) for part in parts) or "model"
    if key in OPTION_SPECS and OptionDoor.GATE not in OPTION_SPECS[key].doors:
        return place, f"{key!r} cannot be set for a gate; remove it (treewarden audit has --{key})"
    if first["type"] == "extra_forbidden":
        keys = _keys(section)
        near = near_text(MEANT.get(key, key), keys)
        if near and len(keys) > FEW_KEYS:
            return place, f"unknown key {key!r}{near}; all keys: docs/gate-configuration.md"
        return place, f"unknown key {key!r}{near}; use {', '.join(keys)}"
    if first["type"] == "missing":
        more = f' (a file, or "{ABSENT}" where there is none)' if key == "table" else ""
        return place, f"{key!r} is missing; add it{more}"
    return place, f"{key!r} is {first['input']!r:.80}: {with_advice(toml_words(first))}"


def _keys(section: type[BaseModel]) -> list[str]:
    """Return the keys a section has, its own before those that it shares with others."""
    names = {name: each.alias or name for name, each in section.model_fields.items()}
    own = [name for name in names if name in section.__annotations__]
    return [names[name] for name in dict.fromkeys((*own, *names))]


def _section(table: Mapping[str, Any], number: int) -> str:
    """Return a ``[[model]]`` by its place and what it is about."""
    sections = table["model"]
    path = sections[number].get("path") if isinstance(sections[number], dict) else None
    about = f" ({path!r:.60})" if path else ""
    return f"[[model]] number {number + 1}{about}"


def path_from_here(file: object) -> str:
    """Return a path as it is typed in this folder; what is outside of it, or no path, as it is."""
    if isinstance(file, Path) and file.is_absolute() and file.is_relative_to(Path.cwd()):
        return str(file.relative_to(Path.cwd()))
    return str(file)
