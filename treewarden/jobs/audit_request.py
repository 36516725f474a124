"""The request for an audit: model, table, options, files and what judges it, each declared once for every interface."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from treewarden.audit.option_spec import KEY_OPTION, Concern, KeySetting, OptionDoor
from treewarden.audit.options import DEFAULT, KNOWLEDGE, OPTION_SPECS, AuditOptions
from treewarden.ppdm_models.tables.counting.addresses import TableAddress, parted

if TYPE_CHECKING:
    from treewarden.audit.knowledge.knowledge import Knowledge
    from treewarden.audit.reconstruction.domain import DeclaredDomain
    from treewarden.jobs.audit_inputs import DataDictionary
    from treewarden.jobs.inputs import ModelInput, OutputInput, TableInput
    from treewarden.policies.pack import Pack
    from treewarden.policies.verdict import Severity


class FileForm(StrEnum):
    """What is given: one file, several, a table in any form of ``--data``, or outputs, which may be data frames."""

    FILE = "file"
    FILES = "files"
    TABLE = "table"
    OUTPUTS = "outputs"


@dataclass(frozen=True, slots=True)
class FileSpec:
    """What a file means to the person who names it.

    ``flag`` is the name of its option and of its key in ``treewarden.toml``, ``argument`` that of its keyword in
    Python, ``body`` its field in the body of a request to the service, "" where the service has none. ``content`` says
    what it holds, as messages ask for it. One that is ``for_all`` can stand at the top of ``treewarden.toml`` too, for
    all models. One that ``needs_table`` is held against the training table. ``not_attested`` says what to do instead
    where an attestation cannot state it.
    """

    help: str
    concern: Concern
    form: FileForm
    flag: str = ""
    argument: str = ""
    content: str = "a file"
    for_all: bool = False
    needs_table: bool = False
    not_attested: str = ""
    body: str = ""

    @property
    def doors(self) -> OptionDoor:
        """Where it can be set beside the command line and Python."""
        return OptionDoor.ALL if self.body else OptionDoor.GATE

    @property
    def is_several(self) -> bool:
        """Whether more than one can be given."""
        return self.form in (FileForm.FILES, FileForm.OUTPUTS)


def file_option(concern: Concern, form: FileForm, help: str, **more: Any) -> Any:  # noqa: A002, ANN401  # as dataclasses.field; the field is typed
    """Return a field with its specification; nothing is given by default."""
    spec = FileSpec(help, concern, form, **more)
    default: object = () if spec.is_several else None
    return field(default=default, metadata={"spec": spec})


def flag_of(name: str) -> str:
    """Return the flag of an option of the command line, by the name of its field."""
    return f"--{name.replace('_', '-')}"


FLAG = re.compile(
    r"(?<![\w-])--([a-z][a-z-]*)(?:[ =]((?:[A-Z][A-Z_]*|[\w./#=-]*[\w/#])(?:,[\w-]+)*))?"
)
"""A flag in a message, and its value."""
_GOING_ON = "and or to with names is matches may for where if as needs does cannot divides which"
GOING_ON = frozenset(_GOING_ON.split())
"""Words of a sentence that goes on behind a flag: no values."""


class GivenFile(NamedTuple):
    """One of the files that are given: the name of its field, what it means, and the paths or what was read of them."""

    name: str
    spec: FileSpec
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class AuditFiles:
    """What is read beside model and table; each may be a file, and some may be in memory."""

    knowledge: Path | Knowledge | None = file_option(
        Concern.KNOWLEDGE,
        FileForm.FILE,
        (
            "A TOML file that states the adversary's knowledge. It replaces the options "
            f"{', '.join(map(flag_of, KNOWLEDGE[:-1]))} and {flag_of(KNOWLEDGE[-1])}, and can add facts about people."
        ),
        body="knowledge",
    )
    adversaries: tuple[Path, ...] = file_option(
        Concern.ADVERSARY,
        FileForm.FILES,
        "A TOML file with further adversaries, who know less than the main one. May be repeated.",
        flag="adversary",
    )
    dictionary: Path | DataDictionary | None = file_option(
        Concern.REPORT,
        FileForm.FILE,
        "A CSV file with labels for columns and values: column,label[,value,value_label]. For the report only.",
        content="a CSV file",
        for_all=True,
        body="dictionary_id",
    )
    population: TableInput | None = file_option(
        Concern.PUBLIC,
        FileForm.TABLE,
        (
            "A register of everybody who could be in the training table, of the same file types as --data. The "
            "audit then also judges membership: whether the file proves who was in the table."
        ),
        needs_table=True,
        body="register_id",
    )
    beside: tuple[OutputInput, ...] = file_option(
        Concern.PUBLIC,
        FileForm.OUTPUTS,
        (
            "A CSV or Excel file with another output that is published with the model: a table of "
            "characteristics, a cross table, a regression, a performance or survival table, or an "
            "anonymised table. The audit judges all of them together. May be repeated."
        ),
        flag="with",
        argument="beside",
        needs_table=True,
        not_attested="remove the outputs, and audit with them separately",
        body="output_ids",
    )
    domain: Path | DeclaredDomain | None = file_option(
        Concern.PUBLIC,
        FileForm.FILE,
        (
            "A TOML file with the values or ranges that are publicly known to be possible in each column. The "
            "audit uses it to find records that the model file alone reveals completely.  [default: the values in "
            "the table]"
        ),
        content="a TOML file",
        needs_table=True,
        body="domain",
    )

    def given_files(self) -> Iterator[GivenFile]:
        """Yield those that are given, in the order of their declaration."""
        for name, spec in FILE_SPECS.items():
            value = getattr(self, name)
            values = value if spec.is_several else () if value is None else (value,)
            if values:
                yield GivenFile(name, spec, values)

    @property
    def values(self) -> tuple[object, ...]:
        """All that is given, on disk or not."""
        return tuple(value for given in self.given_files() for value in given.values)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Those that are on disk, without the name of a sheet or a table in them."""
        return tuple(parted(value)[0] for value in self.values if isinstance(value, Path))

    @property
    def is_on_server(self) -> bool:
        """Whether a database holds one of them."""
        return any(isinstance(value, TableAddress) for value in self.values)


def _named(name: str, spec: FileSpec) -> FileSpec:
    flag = spec.flag or name
    return replace(spec, flag=flag, argument=spec.argument or flag)


FILE_SPECS: dict[str, FileSpec] = {
    file_field.name: _named(file_field.name, file_field.metadata["spec"])
    for file_field in fields(AuditFiles)
}
"""Every file by the name of its field, in the order in which help shows them."""
NO_FILES = AuditFiles()


def files_of(door: OptionDoor) -> dict[str, FileSpec]:
    """Return the files that can be set at a door, by the names of their fields."""
    return {name: spec for name, spec in FILE_SPECS.items() if door in spec.doors}


class JudgmentForm(StrEnum):
    """What is given: a policy (the name of a built-in one, or a file), a severity, or a file of exceptions."""

    POLICY = "policy"
    SEVERITY = "severity"
    EXCEPTIONS = "exceptions"


@dataclass(frozen=True, slots=True)
class JudgmentSpec:
    """What decides the verdict, or what is accepted in spite of it, to the person who sets it.

    The name of the field is the name of the flag, of the keyword in Python and of the key in ``treewarden.toml``, where
    it can stand for all models or for one. ``body`` is its field in the body of a request to the service, "" where the
    service has none; ``attested`` is the field of an attestation that states it: of the whole, or of a check.
    """

    help: str
    form: JudgmentForm
    default: str | None = None
    body: str = ""
    attested: str = ""

    @property
    def doors(self) -> OptionDoor:
        """Where it can be set beside the command line and Python."""
        return OptionDoor.ALL if self.body else OptionDoor.GATE


def judged_by(help: str, form: JudgmentForm, **more: Any) -> Any:  # noqa: A002, ANN401  # as dataclasses.field; the field is typed
    """Return a field of a request with its specification; a severity is left to the policy unless one is given."""
    spec = JudgmentSpec(help, form, **more)
    default = None if form is JudgmentForm.SEVERITY else spec.default
    return field(default=default, metadata={"spec": spec})


@dataclass(frozen=True, slots=True)
class Earlier:
    """A model that was published before, of the same people or of some of them, with its own table."""

    model: ModelInput
    data: TableInput


@dataclass(frozen=True, slots=True)
class Request:
    """The model and the table of an audit, and how it is done; each may be a file, or in memory.

    ``files`` are read beside model and table: what the adversary knows, and what else is published.
    ``policy`` is a pack that ships, by name, the path of another, or a pack. Without ``data`` only what the file of the
    model says by itself is judged. ``waivers`` and ``baseline`` are files that say what is accepted, ``name`` is the
    model's name in a gate, ``today`` decides which waivers have expired. Clauses of the severity ``fail_on`` or a
    graver one have to be met; None: what the pack itself has, errors if it is read from a file. ``earlier`` are the
    models that were published before, in that order; records of different tables are one person where the column
    ``key`` holds the same; without one that is not known, and nothing passes. ``key_setting`` is what messages call the
    naming of that column. ``estimator`` is what attacks train anew, where it is in memory.
    """

    model: ModelInput
    data: TableInput | None
    options: AuditOptions = DEFAULT
    files: AuditFiles = NO_FILES
    policy: str | Pack = judged_by(
        "A built-in policy ('treewarden policy list'), or a TOML file.",
        JudgmentForm.POLICY,
        default="standard",
        body="pack",
        attested="policy",
    )
    fail_on: Severity | None = judged_by(
        "Checks of this severity or higher are required; the others are advisory.",
        JudgmentForm.SEVERITY,
        default="error",
        attested="fail_on",
    )
    waivers: Path | None = judged_by(
        "A TOML file with accepted exceptions. Each names its owner and its last day.",
        JudgmentForm.EXCEPTIONS,
        body="waivers",
        attested="accepted",
    )
    baseline: Path | None = judged_by(
        "A file from --write-baseline. Findings that are already in it do not count, unless they got worse.",
        JudgmentForm.EXCEPTIONS,
        attested="accepted",
    )
    name: str = ""
    today: date | None = None
    earlier: tuple[Earlier, ...] = ()
    key: str | None = None
    key_setting: KeySetting = KEY_OPTION
    estimator: Any = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read, which nothing may overwrite."""
        given = (self.model, self.data, *map(self._path_of, JUDGMENT_SPECS))
        given += tuple(each for earlier in self.earlier for each in (earlier.model, earlier.data))
        paths = tuple(parted(each)[0] for each in given if isinstance(each, Path))
        return paths + self.files.paths

    def _path_of(self, name: str) -> Path | None:
        """Return the file of what judges it, by the name of the field; a built-in policy is taken for one too."""
        value = getattr(self, name)
        if isinstance(value, str) and JUDGMENT_SPECS[name].form is JudgmentForm.POLICY:
            return Path(value)
        return value if isinstance(value, Path) else None


JUDGMENT_SPECS: dict[str, JudgmentSpec] = {
    request_field.name: request_field.metadata["spec"]
    for request_field in fields(Request)
    if "spec" in request_field.metadata
}
"""What decides the verdict of a request, and what is accepted, by the names of its fields."""
EXCEPTIONS = tuple(
    name for name, spec in JUDGMENT_SPECS.items() if spec.form is JudgmentForm.EXCEPTIONS
)
"""Those that name what is accepted although a check fails: an audit takes them, a repair and an attestation do not."""


# Messages where no command line is what a user can change: its flags are keys of the gate's file, or of a request.

COMMAND = re.compile(r"treewarden [a-z]+[^;()]*")
KEYS = {"data": "table", "id": "id"}
"""What other flags than those of options, files and judgments are called."""


def keys_for_flags(text: str, door: OptionDoor, where: str) -> str:
    """Return a message with keys in place of flags, ``sensitive = "flu"``; ``where`` says whose keys they are.

    Flags of other commands stay as they are, and so do those that the door does not take.
    """
    if "--" not in text:
        return text
    spans = [match.span() for match in COMMAND.finditer(text)]

    def key_of(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        is_of_command = any(start <= match.start() < end for start, end in spans)
        if is_of_command or not _takes(door, name):
            return match[0]
        key, value = KEYS.get(name, name), match[2]
        if value is None:
            return f"'{key}'"
        if value in GOING_ON:
            return f"'{key}' {value}"
        return f"{key} = {_toml_value(name, value)}"

    told = FLAG.sub(key_of, text)
    return told if told == text else f"{told} ({where})"


def _takes(door: OptionDoor, name: str) -> bool:
    specs: Mapping[str, Any] = {**OPTION_SPECS, **FILE_SPECS, **JUDGMENT_SPECS}
    files = {spec.flag.replace("-", "_"): spec for spec in FILE_SPECS.values()}
    spec = specs.get(name) or files.get(name)
    return name in KEYS if spec is None else bool(door & spec.doors)


def _toml_value(name: str, value: str) -> str:
    spec = OPTION_SPECS.get(name)
    if spec is not None and tuple in spec.kinds:
        return json.dumps(value.split(","))
    is_number = spec is not None and bool(spec.kinds & {int, float})
    return value if is_number else json.dumps(value)
