"""The models of a configuration: each with all that its audit rests on, by path and by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Any

from treewarden.audit.options import KNOWLEDGE, find_conflict
from treewarden.jobs.audit_request import (
    JUDGMENT_SPECS,
    NO_FILES,
    AuditFiles,
    FileForm,
    JudgmentForm,
)
from treewarden.jobs.gate.config import (
    ABSENT,
    GATE_FILES,
    Configuration,
    ConfigurationError,
    GateConfig,
    GateSettings,
    ModelSection,
    SharedSettings,
    audit_options,
    given_settings,
    resolved,
)
from treewarden.jobs.gate.model_files import is_like
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.errors import TableError, near_text
from treewarden.ppdm_models.tables.counting.addresses import (
    TableAddress,
    address_of,
    has_no_records,
    is_address,
    parted,
)

MAGIC = frozenset("*?[")
WAIVERS = "treewarden-waivers.toml"
"""What a file of waivers beside the configuration is called, where no other is named."""
SPARK = "metadata"
"""What a folder holds that is a model as Spark writes it: a pattern takes no other folders."""


@dataclass(frozen=True, slots=True)
class EarlierReleases:
    """The releases before a model, each with its table; ``key`` is the column that says who is who in these."""

    files: tuple[tuple[Path, Path | TableAddress], ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class GateModel:
    """One model to audit. ``file`` is its path from the configuration; ``table`` is None where there is none.

    ``policy`` is the name of a pack that ships, or a path; ``files`` are read beside model and table. Where there is no
    table, ``attestations`` that hold by one of the ``trust``ed keys stand for an audit.
    """

    name: str
    file: str
    path: Path
    table: Path | TableAddress | None
    policy: str | Path
    waivers: Path | None = None
    baseline: Path | None = None
    fail_on: Severity = "error"
    settings: GateSettings = field(default_factory=GateSettings)
    attestations: tuple[Path, ...] = ()
    trust: tuple[Path, ...] = ()
    releases: EarlierReleases = EarlierReleases()
    files: AuditFiles = NO_FILES

    def wherever(self) -> GateModel:
        """Return the same for a process that runs in another folder: options may name files by relative paths."""
        return replace(
            self,
            baseline=None if self.baseline is None else self.baseline.absolute(),
            attestations=tuple(path.absolute() for path in self.attestations),
            trust=tuple(path.absolute() for path in self.trust),
        )

    @property
    def judgment(self) -> dict[str, Any]:
        """What judges it, and what is accepted, by the names of the fields of a request."""
        return {name: getattr(self, name) for name in JUDGMENT_SPECS}

    @property
    def earlier(self) -> tuple[tuple[Path, Path | TableAddress], ...]:
        """The releases before it, each with its table."""
        return self.releases.files

    @property
    def key(self) -> str | None:
        """The column that says who is who in the tables of its releases."""
        return self.releases.key

    @property
    def is_on_server(self) -> bool:
        """Whether a database holds what it rests on, so that nobody knows what changed there."""
        tables = (self.table, *(table for _, table in self.earlier))
        return self.files.is_on_server or any(isinstance(each, TableAddress) for each in tables)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that were named for it, itself first."""
        given = (self.path, self.table, *self.files.values)
        given += tuple(self.judgment.values())
        given += (*self.attestations, *self.trust)
        given += tuple(each for release in self.earlier for each in release)
        return tuple(each for each in given if isinstance(each, Path))


def models_of(
    configuration: Configuration, new_baseline: Path | None = None
) -> tuple[GateModel, ...]:
    """Return all models in the order of their names; of a file that is named, only that it is there is checked.

    A baseline that is to be written anew counts as none.

    Raises:
        ConfigurationError: a file is not there or where it must not be, a pattern matches nothing, or two entries are
            about the same file or have the same name.
    """
    gate_models: list[GateModel] = []
    numbers: dict[Path, int] = {}
    names: dict[str, str] = {}
    for number, section in enumerate(configuration.said.models, start=1):
        place = f"{configuration.path.name}: [[model]] number {number}"
        _check(section, place)
        paths = _paths(configuration, section, place)
        if section.name is not None and len(paths) > 1:
            problem = f"'name' is {section.name!r}, and its path matches {len(paths)} files; leave out the name"
            raise ConfigurationError(place, problem)
        for path in paths:
            model = _model(configuration, section, path, place, new_baseline)
            first = numbers.setdefault(resolved(path), number)
            if first != number:
                problem = f"'path' matches {model.file}, which number {first} matches, too; change one of the two"
                raise ConfigurationError(place, problem)
            other = names.setdefault(model.name, model.file)
            if other != model.file:
                problem = f"'name' {model.name!r} is also the name of {other}; give each its own"
                raise ConfigurationError(place, problem)
            gate_models.append(model)
    return tuple(sorted(gate_models, key=lambda model: (model.name, model.file)))


def chosen(
    configuration: Configuration, models: Sequence[GateModel], wanted_path: Sequence[Path]
) -> tuple[GateModel, ...]:
    """Return the models that are wanted: by file, or by a folder that they are in; all where nothing is.

    Raises:
        ConfigurationError: one that is wanted is not configured.
    """
    if not wanted_path:
        return tuple(models)
    kept: set[str] = set()
    for each in wanted_path:
        path = resolved(each)
        here = [m.name for m in models if path in (resolved(m.path), *resolved(m.path).parents)]
        if not here:
            raise ConfigurationError(str(each), _unknown(configuration, each))
        kept.update(here)
    return tuple(model for model in models if model.name in kept)


def matches(gate_config: GateConfig, file: str) -> ModelSection | None:
    """Return the section that is about a file by its path from the configuration, whether or not it is there."""
    for section in gate_config.models:
        as_written = (*section.path, *(PureWindowsPath(path).as_posix() for path in section.path))
        for pattern in map(os.path.normpath, as_written):
            if pattern == file or is_like(Path(file).parts, Path(pattern).parts):
                return section
    return None


def effective(gate_config: GateConfig, section: ModelSection) -> dict[str, object]:
    """Return all that a section comes to, with what the whole file says for it; not which files it is about."""
    own = section.model_dump(exclude={"path"})
    shared = SharedSettings.model_fields
    return own | {
        key: own[key] if own[key] is not None else getattr(gate_config, key) for key in shared
    }


def _check(section: ModelSection, place: str) -> None:
    """Check that a section's settings do not contradict each other, as ``treewarden audit`` does."""
    given = given_settings(section)
    try:
        conflict = find_conflict(audit_options(section), repr)
    except ValueError as error:  # what no type of a key says: which of its names exclude each other
        raise ConfigurationError(place, str(error)) from error
    if conflict is not None:
        raise ConfigurationError(place, f"{conflict.name!r} {conflict.problem}")
    beside = [key for key in KNOWLEDGE if key in given]
    if _values_of(section, "knowledge") and beside:
        raise ConfigurationError(
            place,
            f"'knowledge' and {', '.join(beside)} cannot be combined; leave out {', '.join(beside)}",
        )
    own = {
        section.table,
        *(earlier_section.table or section.table for earlier_section in section.earlier),
    }
    if section.earlier and ABSENT in own:
        problem = (
            "'earlier': several models can be audited only with their tables; give the section a table, and an "
            "earlier model its own if it differs"
        )
        raise ConfigurationError(place, problem)
    if section.id is not None and ABSENT in own:
        problem = (
            "'id' names a column of the table, but the section has no table; add one, or remove "
            "'id'"
        )
        raise ConfigurationError(place, problem)
    for name, spec in GATE_FILES.items():
        if spec.needs_table and getattr(section, name) and ABSENT in own:
            problem = (
                f"{spec.flag!r} needs the training table, but the section has none; add one, or remove "
                f"{spec.flag!r}"
            )
            raise ConfigurationError(place, problem)
    if section.id is not None and section.earlier and len(own) < 2:
        problem = "'id' matches people across tables, but all releases share one; give each release its own table"
        raise ConfigurationError(place, problem)


def _paths(configuration: Configuration, section: ModelSection, place: str) -> list[Path]:
    """Return the files a section is about, in name order."""
    found: dict[Path, None] = {}
    for text in section.path:
        pattern = _portable(configuration, text)
        plain = _inside(configuration, pattern, "path", place)
        here = [plain] if plain.exists() else list(_globbed(configuration, pattern))
        if not here:
            is_pattern = MAGIC & set(pattern)
            problem = "matches no file" if is_pattern else "there is no such file"
            where = f"paths start from {configuration.root}"
            raise ConfigurationError(place, f"'path' is {pattern!r}: {problem}; {where}")
        found.update(dict.fromkeys(here))
    return sorted(found)


def _globbed(configuration: Configuration, pattern: str) -> Iterator[Path]:
    """Yield what a pattern matches, but for the files that say how models are judged."""
    if not MAGIC & set(pattern):
        return
    root = configuration.root
    try:
        matched = sorted(root.glob(os.path.normpath(pattern)))
    except (ValueError, NotImplementedError):
        return
    supporting = _supporting_files(configuration)
    for path in matched:
        if path in supporting:
            continue
        hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        if not hidden and (path.is_file() or (path / SPARK).is_dir()):
            yield path


def _supporting_files(configuration: Configuration) -> frozenset[Path]:
    """Return the configuration, and its files of policies, waivers, baselines, knowledge and adversaries."""
    config = configuration.said
    names: list[str | None] = [WAIVERS]
    for section in (config, *config.models):
        names += [
            getattr(section, name)
            for name, spec in JUDGMENT_SPECS.items()
            if spec.form is not JudgmentForm.SEVERITY
        ]
        for name, spec in GATE_FILES.items():
            if spec.form is not FileForm.TABLE:
                names += _values_of(section, name)
    root = configuration.root
    files = (Path(os.path.normpath(root / name)) for name in names if name is not None)
    return frozenset((configuration.path, *files))


def _model(
    configuration: Configuration,
    section: ModelSection,
    path: Path,
    place: str,
    new_baseline: Path | None,
) -> GateModel:
    gate_config = configuration.said
    file = path.relative_to(configuration.root).as_posix()
    policy = section.policy or gate_config.policy
    is_shipped = policy in shipped_packs()

    def there(key: str, value: str | None) -> Path | None:
        return None if value is None else _there(configuration, value, place, key)

    table = None if section.table == ABSENT else _table(configuration, section.table, place)
    return GateModel(
        name=section.name or file,
        file=file,
        path=path,
        table=table,
        policy=policy if is_shipped else _policy(configuration, policy, place),
        waivers=there("waivers", section.waivers or gate_config.waivers or _usual(configuration)),
        baseline=_baseline(
            configuration, section.baseline or gate_config.baseline, place, new_baseline
        ),
        files=_files(configuration, section, place),
        fail_on=section.fail_on or gate_config.fail_on,
        settings=GateSettings(**section.model_dump(include=set(GateSettings.model_fields))),
        releases=EarlierReleases(
            tuple(
                (
                    _earlier(configuration, earlier_section.path, place, path),
                    table
                    if earlier_section.table is None
                    else _table(configuration, earlier_section.table, place),
                )
                for earlier_section in section.earlier
                if table is not None
            ),
            section.id,
        ),
    )


def _files(configuration: Configuration, section: ModelSection, place: str) -> AuditFiles:
    """Return what is read beside a model and its table: as its section says, else as the whole file does."""
    found: dict[str, Any] = {}
    for name, spec in GATE_FILES.items():
        values = _values_of(section, name) or _values_of(configuration.said, name)
        read = _table if spec.form is FileForm.TABLE else _there
        paths = tuple(read(configuration, value, place, spec.flag) for value in values)
        found[name] = paths if spec.is_several else next(iter(paths), None)
    return AuditFiles(**found)


def _values_of(section: SharedSettings, name: str) -> tuple[str, ...]:
    """Return what a section, or the whole file, says of files of one kind; nothing where it has no such key."""
    value = getattr(section, name, None)
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _earlier(configuration: Configuration, value: str, place: str, model: Path) -> Path:
    """Return the file of a release before a model: a file, or a folder that is a model as Spark writes it."""
    path = _inside(configuration, value, "earlier", place)
    if not path.exists():
        problem = (
            f"'earlier' is {value!r}: there is no such file; paths start from {configuration.root}"
        )
        raise ConfigurationError(place, problem)
    if resolved(path) == resolved(model):
        raise ConfigurationError(place, f"'earlier' is {value!r}, the model itself; remove it")
    return path


def _table(
    configuration: Configuration, value: str, place: str, key: str = "table"
) -> Path | TableAddress:
    """Return a table, wherever it is: personal data has no place in most repositories."""
    if is_address(value):
        return _on_server(value, place, key)
    path = configuration.root / _portable(configuration, value)
    if not parted(path)[0].is_file() and not has_no_records(path):
        problem = (
            f"{key!r} is {value!r}: there is no such file; paths start from {configuration.root}"
        )
        instead = f'; if there is no table to give, write table = "{ABSENT}": fewer checks can then be decided'
        raise ConfigurationError(place, problem + (instead if key == "table" else ""))
    return path


def _on_server(value: str, place: str, key: str) -> TableAddress:
    try:
        table_address = address_of(value)
    except TableError as error:
        raise ConfigurationError(place, f"{key!r}: {error.problem}") from error
    if table_address.has_password:
        problem = f"{key!r} is {str(table_address)!r} with a password; do not store passwords in this file"
        instead = "leave it to the driver (PGPASSWORD, ~/.pgpass)"
        raise ConfigurationError(place, f"{problem}; {instead}")
    return table_address


def _policy(configuration: Configuration, value: str, place: str) -> Path:
    path = _inside(configuration, value, "policy", place)
    if not path.is_file():
        packs, near = ", ".join(shipped_packs()), near_text(value, shipped_packs())
        problem = f"'policy' is {value!r}: no such file or built-in policy{near}; built-in: {packs}"
        raise ConfigurationError(
            place, f"{problem}; for a file, paths start from {configuration.root}"
        )
    return path


def _there(configuration: Configuration, value: str, place: str, key: str) -> Path:
    path = _inside(configuration, value, key, place)
    if not path.is_file():
        problem = (
            f"{key!r} is {value!r}: there is no such file; paths start from {configuration.root}"
        )
        raise ConfigurationError(place, problem)
    return path


def _baseline(
    configuration: Configuration, value: str | None, place: str, new_baseline: Path | None
) -> Path | None:
    if value is None:
        return None
    path = _inside(configuration, value, "baseline", place)
    if new_baseline is not None and resolved(path) == resolved(new_baseline):
        return None
    if not path.is_file():
        problem = f"'baseline' is {value!r}: there is no such file; "
        problem += f"to write it: treewarden gate --write-baseline {value}"
        raise ConfigurationError(place, problem)
    return path


def _usual(configuration: Configuration) -> str | None:
    """Return the file of waivers that needs no naming, where it is there."""
    return WAIVERS if (configuration.root / WAIVERS).is_file() else None


def _portable(configuration: Configuration, value: str) -> str:
    r"""Return a path as this system writes it: ``models\loan.pmml`` is a path of Windows, unless it is a name here."""
    if os.sep == "\\" or "\\" not in value or (configuration.root / value).exists():
        return value
    return PureWindowsPath(value).as_posix()


def _inside(configuration: Configuration, value: str, key: str, place: str) -> Path:
    """Return a path that stays in the repository, where who reviews the configuration sees what it points to."""
    path = Path(os.path.normpath(configuration.root / _portable(configuration, value)))
    if not resolved(path).is_relative_to(resolved(configuration.repository)):
        problem = (
            f"{key!r} is {value!r}, which is outside the repository {configuration.repository}; "
            "move the file into the repository (only tables may be outside)"
        )
        raise ConfigurationError(place, problem)
    if not path.is_relative_to(configuration.root) and key == "path":
        problem = f"'path' is {value!r}, outside the folder of the configuration; move {configuration.path.name} up"
        raise ConfigurationError(place, problem)
    return path


def _unknown(configuration: Configuration, wanted_path: Path) -> str:
    name = configuration.path.name
    if not wanted_path.exists():
        return f"there is no such file; give the path of a model, or of a folder with models, that {name} lists"
    try:
        file = Path(os.path.abspath(wanted_path)).relative_to(configuration.root).as_posix()
    except ValueError:
        file = str(wanted_path)
    kind = (
        f'"{file}/*"'
        if wanted_path.is_dir() and not (wanted_path / SPARK).is_dir()
        else f'"{file}"'
    )
    return f'no model of {name}; add it there:  [[model]]  path = {kind}  table = "TABLE"  sensitive = "COLUMN"'
