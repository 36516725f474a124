"""What changed since a revision, as git tells it, committed or not; and digests of the files that audits rest on."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib.resources.abc import Traversable
from pathlib import Path

from treewarden.jobs.audit_request import AuditFiles, FileForm
from treewarden.jobs.gate.config import (
    Configuration,
    ConfigurationError,
    GateConfig,
    given_settings,
    resolved,
    said_in,
)
from treewarden.jobs.gate.models import GateModel, effective, matches
from treewarden.policies.shipped import shipped_packs
from treewarden.ppdm_models.limits import archived
from treewarden.ppdm_models.tables.counting.addresses import (
    TableAddress,
    digest_at,
    has_no_records,
    parted,
)

# Digests of what audits rest on: each file's bytes are read once a run, and again only where it changed meanwhile.

MOST_PACKS = 32
"""So many packs that extend each other are followed; more are a circle, which reading them refuses."""

Stamp = tuple[int, int, int]


class Digests:
    """Remembers the digest of each file of this run."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Stamp | None, str]] = {}

    def digest_of(self, path: Path) -> str:
        """Return the SHA-256 of a file's bytes; of a folder, of the archive that it is read as.

        Raises:
            OSError: it cannot be read.
            TreewardenError: it is a folder that holds too much.
        """
        stamp = _stamp(path)
        known = self._known.get(path)
        if known is None or stamp is None or known[0] != stamp:
            known = self._known[path] = (stamp, _digest(path))
        return known[1]

    def of_table(self, path: Path | TableAddress) -> str:
        """Return the digest of a table: of a folder, a pattern or a database file it is taken each time.

        Of what a server holds it is that of the address alone.

        Raises:
            OSError: it cannot be read.
            TreewardenError: it is no table any more.
        """
        if isinstance(path, TableAddress):
            return hashlib.sha256(str(path).encode()).hexdigest()
        return digest_at(path) if has_no_records(path) else self.digest_of(parted(path)[0])


def key_of(model: GateModel, digests: Digests, version: str, today: date) -> str:
    """Return what the result of an audit is kept under: a hash of all that the result depends on.

    Raises:
        OSError: a file cannot be read.
        TreewardenError: a folder cannot be read.
    """

    def digest_if_given(path: Path | None) -> str:
        return "" if path is None else digests.digest_of(path)

    rests_on = {
        "treewarden": version,
        "name": model.name,
        "file": model.file,
        "model": digests.digest_of(model.path),
        "table": "" if model.table is None else digests.of_table(model.table),
        "packs": [_digest_of_pack(each, digests) for each in packs(model.policy)],
        "files": _digests_of_files(model.files, digests),
        "waivers": digest_if_given(model.waivers),
        "days": [] if model.waivers is None else _days(model.waivers, today),
        "baseline": digest_if_given(model.baseline),
        "attestations": [digests.digest_of(attestation) for attestation in model.attestations],
        "trust": [digests.digest_of(each) for each in model.trust],
        "attested_until": str(today) if model.attestations else "",
        "earlier": [
            [digests.digest_of(path), digests.of_table(table)] for path, table in model.earlier
        ],
        "id": model.key,
        "called": [each.name for each in model.inputs],
        "fail_on": model.fail_on,
        "settings": given_settings(model.settings),
    }
    text = json.dumps(rests_on, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _digests_of_files(files: AuditFiles, digests: Digests) -> dict[str, list[str]]:
    """Return the digests of what is read beside model and table, by the name of each."""
    return {
        given.name: [
            digests.of_table(value)
            if given.spec.form is FileForm.TABLE
            else digests.digest_of(value)
            for value in given.values
        ]
        for given in files.given_files()
    }


def packs(policy: str | Path) -> Iterator[Path | Traversable]:
    """Yield the file of a pack and of those that it extends, as far as they can be read."""
    shipped = shipped_packs()
    following: str | Path | None = policy
    for _ in range(MOST_PACKS):
        if following is None:
            return
        file = shipped.get(following) if isinstance(following, str) else following
        if file is None:
            return
        yield file
        try:
            said = tomllib.loads(file.read_text("utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
            return  # then reading the pack fails too
        base = said.get("extends")
        if not isinstance(base, str):
            return
        following = base if base in shipped or not isinstance(file, Path) else file.parent / base


def _digest_of_pack(file: Path | Traversable, digests: Digests) -> str:
    if isinstance(file, Path):
        return digests.digest_of(file)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _stamp(path: Path) -> Stamp | None:
    """Return what changes with a file's bytes; None of a folder, whose files change without it."""
    said = path.stat()
    return None if path.is_dir() else (said.st_size, said.st_mtime_ns, said.st_ino)


def _digest(path: Path) -> str:
    if path.is_dir():
        return hashlib.sha256(archived(path)).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _days(waivers: Path, today: date) -> list[tuple[str, int]]:
    """Return the days in a file of waivers, and whether each is over, today, or to come: so may what counts change."""
    try:
        said = tomllib.loads(waivers.read_text("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return []  # then reading the waivers fails too
    return sorted({(str(each), (each > today) - (each < today)) for each in _dates(said)})


def _dates(output: object) -> Iterator[date]:
    if isinstance(output, datetime):
        yield output.date()
    elif isinstance(output, date):
        yield output
    elif isinstance(output, dict | list):
        for each in output.values() if isinstance(output, dict) else output:
            yield from _dates(each)


SECONDS = 300


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The files that changed, of which git follows what, and the configuration as it was (None: not readable)."""

    configuration: Configuration
    files: frozenset[Path]
    deleted: frozenset[Path]
    followed: frozenset[Path]
    before: GateConfig | None

    def touches(self, model: GateModel) -> bool:
        """Return whether anything changed that the audit of a model rests on; what git does not follow may have."""
        now = self._is(model)
        if now is None or self._was(model) != now:
            return True
        if model.is_on_server or any(self.has_changed(path) for path in model.inputs):
            return True
        # A pack that ships changes with treewarden, which no repository but its own follows.
        shipped = list(shipped_packs().values())
        chain = [each for each in packs(model.policy) if isinstance(each, Path)]
        return any(
            resolved(path) in self.files if path in shipped else self.has_changed(path)
            for path in chain
        )

    @property
    def gone(self) -> tuple[str, ...]:
        """The models that were configured before or are now, and are deleted."""
        saids = [self.configuration.said, *([self.before] if self.before else [])]
        root = resolved(self.configuration.root)
        files = sorted(
            path.relative_to(root).as_posix()
            for path in self.deleted
            if path.is_relative_to(root) and not path.exists()
        )
        return tuple(
            file for file in files if any(matches(gate_config, file) for gate_config in saids)
        )

    def _is(self, model: GateModel) -> object:
        section = matches(self.configuration.said, model.file)
        return section and effective(self.configuration.said, section)

    def _was(self, model: GateModel) -> object:
        if self.before is None:
            return None
        section = matches(self.before, model.file)
        return section and effective(self.before, section)

    def has_changed(self, path: Path) -> bool:
        """Return whether a file, or one of a folder, changed, or is none that git follows."""
        real = resolved(path)
        if path.is_dir():
            inside = [resolved(each) for each in path.rglob("*") if each.is_file()]
            gone = any(file.is_relative_to(real) for file in self.files)
            return gone or any(self.has_changed(each) for each in inside)
        # A link may change without the file that it leads to, and the other way round.
        links = {resolved(path.parent) / path.name, real}
        return bool(links & self.files) or not links <= self.followed


def changes_since(configuration: Configuration, revision: str) -> ChangedFiles:
    """Return what changed since the point where a revision and the present parted.

    Raises:
        ConfigurationError: this is no repository of git, or it has no such revision.
    """
    top = resolved(Path(_git(configuration.root, "rev-parse", "--show-toplevel").rstrip("\n")))
    base = _base(top, revision)

    def files(*arguments: str) -> frozenset[Path]:
        said = _git(top, *arguments)
        return frozenset(top / name for name in said.split("\0") if name)

    diff = ("diff", "--name-only", "--no-renames", "-z")
    changed = files(*diff, base) | files(*diff, "--cached", base)
    new = files("ls-files", "--others", "--exclude-standard", "-z")
    deleted = files(*diff, "--diff-filter=D", base)
    followed = files("ls-files", "-z")
    return ChangedFiles(
        configuration, changed | new, deleted, followed, _before(configuration, top, base)
    )


def _base(top: Path, revision: str) -> str:
    if revision.startswith("-"):
        raise ConfigurationError(
            f"--changed-since {revision}", "not a revision; name a commit or a branch"
        )
    commit = _tried(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if commit is None and revision == "HEAD":  # before the first commit everything is new
        return _git(top, "hash-object", "-t", "tree", os.devnull).strip()
    if commit is None:
        problem = (
            "git has no such revision here; name a commit or a branch; if the clone is shallow: git "
            "fetch --unshallow"
        )
        raise ConfigurationError(f"--changed-since {revision}", problem)
    base = _tried(top, "merge-base", commit.strip(), "HEAD")
    if base is None:
        problem = (
            "has no commit in common with HEAD; if the clone is shallow: git fetch --unshallow"
        )
        raise ConfigurationError(f"--changed-since {revision}", problem)
    return base.strip()


def _before(configuration: Configuration, top: Path, base: str) -> GateConfig | None:
    """Return the configuration as it was, None where there was none that can be read."""
    name = resolved(configuration.path).relative_to(top).as_posix()
    text = _tried(top, "show", f"{base}:{name}")
    if text is None:
        return None
    try:
        return said_in(text.encode("utf-8", "surrogateescape"), configuration.path.name)
    except ConfigurationError:
        return None


def _tried(folder: Path, *arguments: str) -> str | None:
    """Return what git says, None where it refuses.

    Raises:
        ConfigurationError: there is no git.
    """
    done = _run(folder, arguments)
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def _git(folder: Path, *arguments: str) -> str:
    done = _run(folder, arguments)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        problem = f"git cannot tell what changed ({said[0] if said else 'no reason given'})"
        raise ConfigurationError(str(folder), f"{problem}; leave out --changed-since")
    return os.fsdecode(done.stdout)


def _run(folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-c", "core.quotepath=off", *arguments]
    environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False, timeout=SECONDS
        )
    except FileNotFoundError as error:
        problem = "the program git is not installed; install it, or leave out --changed-since"
        raise ConfigurationError("git", problem) from error
    except subprocess.TimeoutExpired as error:
        problem = f"no answer in {SECONDS} s; leave out --changed-since"
        raise ConfigurationError("git", problem) from error
