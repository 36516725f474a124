"""Requests as they are typed on the command line, with the user's own paths and options, ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path

from treewarden.audit.options import DEFAULT, KNOWLEDGE
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.jobs.audit_request import EXCEPTIONS, JUDGMENT_SPECS, JudgmentForm, Request
from treewarden.ppdm_models.files.load import WRITTEN_SUFFIXES
from treewarden.ppdm_models.tables.counting.addresses import TableAddress
from treewarden.ppdm_models.tree.ensemble import claims_privacy
from treewarden.reports.building.steps import repair_target

REPAIRED = "-repaired"
REDACTED = "-redacted"
GROWN = "-grown"
GROWN_FORMAT = "pmml"
OF_AUDIT_ALONE = ("time_limit", "attack")
"""Options that mean another thing to a repair, or nothing."""


def shell_command(*words: str) -> str:
    """Return words as one line for a shell."""
    return " ".join(shlex.quote(word) for word in words)


def repair_command(
    request: Request, subject: AuditInputs, *, is_list: bool = False, is_grown: bool = False
) -> str:
    """Return the command that repairs the model, lists all changes, or grows a tree in its place.

    It is "" where the files are not on disk, no format says the model, its columns have the names of a table, or it
    claims differential privacy.
    """
    is_refused = request.options.columns or claims_privacy(subject.tree)
    target = None if is_refused else GROWN_FORMAT if is_grown else repair_target(subject.tree)
    if target is None or not _is_typed(request) or request.data is None:
        return ""
    assert isinstance(request.model, Path)
    words = ["--data", str(request.data), *_options(request, OF_AUDIT_ALONE), *_files(request)]
    words += ["--to", target] if target else []
    suffix = WRITTEN_SUFFIXES.get(target, request.model.suffix)
    output = _free(request.model, GROWN if is_grown else REPAIRED, suffix)
    words += ["--grow"] if is_grown else []
    words += ["--list"] if is_list else ["-o", typed_path(output)]
    return shell_command("treewarden", "repair", typed_path(request.model), *words)


def audit_command(request: Request, *more: str) -> str:
    """Return the command of the audit itself, with further words; "" where the files are not on disk."""
    models = [earlier.model for earlier in request.earlier] + [request.model]
    tables = [earlier.data for earlier in request.earlier] + [request.data]
    if not _is_typed(request) or not all(isinstance(model, Path) for model in models):
        return ""
    words = [typed_path(model) for model in models if isinstance(model, Path)]
    for table in tables if len(set(map(str, tables))) > 1 else tables[-1:]:
        words += [] if table is None else ["--data", str(table)]
    words += ["--id", request.key] if request.key is not None else []
    words += [*_options(request), *_files(request)]
    words += _judgment(request, EXCEPTIONS)
    if request.data is None and "--data" not in more:
        words.append("--no-table")
    return shell_command("treewarden", "audit", *words, *more)


def redact_command(model: Path) -> str:
    """Return the command that takes out of a file what can go of all that stands outside its trees."""
    output = typed_path(_free(model, REDACTED, model.suffix))
    return shell_command("treewarden", "redact", typed_path(model), "-o", output)


def convert_command(request: Request, target: str) -> str:
    """Return the command that writes a model's trees alone, and audits them; "" where a file is not on disk."""
    if not isinstance(request.model, Path):
        return ""
    output = _free(request.model, "", WRITTEN_SUFFIXES[target])
    again = audit_command(replace(request, model=output))
    convert = shell_command("treewarden", "convert", typed_path(request.model), typed_path(output))
    return f"{convert} && {again}" if again else ""


def typed_path(path: Path) -> str:
    """Return a path as an argument that no command takes for an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def _is_typed(request: Request) -> bool:
    """Return whether all files of a request are on disk, so that a command can name them."""
    files = (request.model, request.data, *request.files.values)
    are_files = all(file is None or isinstance(file, Path | TableAddress) for file in files)
    return are_files and isinstance(request.policy, str) and isinstance(request.model, Path)


def _files(request: Request) -> Iterator[str]:
    for given in request.files.given_files():
        for value in given.values:
            yield from (f"--{given.spec.flag}", str(value))
    yield from _judgment(request, [name for name in JUDGMENT_SPECS if name not in EXCEPTIONS])


def _judgment(request: Request, names: Iterable[str]) -> Iterator[str]:
    """Yield what judges a request, or is accepted; the policy always, so that a command says by what it judges."""
    for name in names:
        spec, value = JUDGMENT_SPECS[name], getattr(request, name)
        is_usual = value == spec.default and spec.form is not JudgmentForm.POLICY
        if value is not None and not is_usual:
            yield from (f"--{name.replace('_', '-')}", str(value))


def _options(request: Request, left_out: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield what was said beside the files, where it is not what holds by itself."""
    left_out = (*left_out, *(KNOWLEDGE if request.files.knowledge is not None else ()))
    for option_field in fields(request.options):
        name = option_field.name
        value, flag = getattr(request.options, name), f"--{name.replace('_', '-')}"
        if value == getattr(DEFAULT, name) or name in left_out:
            continue
        if isinstance(value, bool):
            yield flag if value else f"--no-{flag[2:]}"
        elif isinstance(value, tuple):
            for column in value:
                yield from (flag, _as_csv(column))
        else:
            yield from (flag, str(value))


def _as_csv(name: str) -> str:
    is_plain = not any(sign in name for sign in ',"\n\r') and name == name.strip()
    return name if is_plain else '"{}"'.format(name.replace('"', '""'))


def _free(model: Path, suffix: str, ending: str) -> Path:
    """Return a file that is not there yet, where the command is typed."""
    number, end = 1, ""
    while (free := Path(f"{model.stem}{suffix}{end}{ending}")).exists():
        number += 1
        end = f"-{number}"
    return free
