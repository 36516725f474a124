"""What changed since a revision, as git tells it: what is committed since, and what is not committed yet."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treewarden.jobs.gate.config import (
    Configuration,
    ConfigurationError,
    Said,
    resolved,
    said_in,
)
from treewarden.jobs.gate.digests import packs
from treewarden.jobs.gate.models import GateModel, effective, matches
from treewarden.policies.shipped import shipped_packs

SECONDS = 300


@dataclass(frozen=True, slots=True)
class Changes:
    """The files that changed, of which git follows what, and the configuration as it was (None: not readable)."""

    configuration: Configuration
    files: frozenset[Path]
    deleted: frozenset[Path]
    followed: frozenset[Path]
    before: Said | None

    def touches(self, model: GateModel) -> bool:
        """Return whether anything changed that the audit of a model rests on; what git does not follow may have."""
        now = self._is(model)
        if now is None or self._was(model) != now:
            return True
        if model.is_on_server or any(self._touches(path) for path in model.inputs):
            return True
        # A pack that ships changes with treewarden, which no repository but its own follows.
        shipped = list(shipped_packs().values())
        chain = [each for each in packs(model.policy) if isinstance(each, Path)]
        return any(
            resolved(path) in self.files if path in shipped else self._touches(path)
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
        return tuple(file for file in files if any(matches(said, file) for said in saids))

    def _is(self, model: GateModel) -> object:
        section = matches(self.configuration.said, model.file)
        return section and effective(self.configuration.said, section)

    def _was(self, model: GateModel) -> object:
        if self.before is None:
            return None
        section = matches(self.before, model.file)
        return section and effective(self.before, section)

    def _touches(self, path: Path) -> bool:
        real = resolved(path)
        if path.is_dir():
            inside = [resolved(each) for each in path.rglob("*") if each.is_file()]
            gone = any(each.is_relative_to(real) for each in self.files)
            return gone or any(self._touches(each) for each in inside)
        # A link may change without the file that it leads to, and the other way round.
        links = {resolved(path.parent) / path.name, real}
        return bool(links & self.files) or not links <= self.followed


def changes_since(configuration: Configuration, revision: str) -> Changes:
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
    return Changes(
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
        problem = "git has no such revision here; name a commit or a branch, or fetch more where the clone is shallow"
        raise ConfigurationError(f"--changed-since {revision}", problem)
    base = _tried(top, "merge-base", commit.strip(), "HEAD")
    if base is None:
        problem = (
            "has no commit in common with the present; where the clone is shallow fetch more of it"
        )
        raise ConfigurationError(f"--changed-since {revision}", problem)
    return base.strip()


def _before(configuration: Configuration, top: Path, base: str) -> Said | None:
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
        problem = "the program git is not there; install it, or leave out --changed-since"
        raise ConfigurationError("git", problem) from error
    except subprocess.TimeoutExpired as error:
        problem = f"no answer in {SECONDS} s; leave out --changed-since"
        raise ConfigurationError("git", problem) from error
