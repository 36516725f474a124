"""How a model that fails in the gate is repaired: what to type, and where the new file goes."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from treewarden.jobs.gate.config import given_settings, path_from_here
from treewarden.jobs.gate.models import GateModel
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import WRITTEN_SUFFIXES, read_model
from treewarden.reports.building.redacted import AUDIT_COMMAND
from treewarden.reports.building.steps import repair_target
from treewarden.reports.document.gate import Gate

MOVE = ("move", "/Y") if os.name == "nt" else ("mv",)
"""How a file is put in the place of another."""


def repair_steps(model: GateModel, again: str) -> Iterator[tuple[str, str]]:
    """Yield what to do and what to type, in turn; ``again`` is the command that runs the gate once more.

    The repaired file takes the place of the old one: beside it, it would be a model that the gate does not know.
    """
    repair = _repair_of(model)
    if repair is None:
        return
    yield f"Repair {model.name}:", repair.command
    move = shlex.join((*MOVE, repair.output, path_from_here(repair.place)))
    place = "replace the model by the repaired file"
    if repair.place != model.path:
        path = json.dumps((PurePosixPath(model.file).parent / repair.place.name).as_posix())
        place = (
            f"put the repaired file beside the model, write path = {path} for it in the configuration, "
            f"delete {path_from_here(model.path)}"
        )
        named = {path_from_here(model.path): path_from_here(repair.place)}
        again = shlex.join(named.get(word, word) for word in shlex.split(again))
    yield f"Then {place}, and run the gate again:", f"{move} && {again}"


@dataclass(frozen=True, slots=True)
class _GateRepair:
    """How a model is repaired: the ``command``, the file that it writes here, and the place of that in the end."""

    command: str
    output: str
    place: Path


def _repair_of(model: GateModel) -> _GateRepair | None:
    """Return how a model is repaired.

    None where more than its files and its sensitive column is configured, or no format that is written says it.
    """
    data = _data_words(model)
    if data is None:
        return None
    try:
        target = repair_target(read_model(model.path))
    except TreewardenError:  # the file was changed since it was audited
        return None
    if target is None:
        return None
    ending = WRITTEN_SUFFIXES.get(target, model.path.suffix)
    output = f"{model.path.stem}-repaired{ending}"
    words = ["treewarden", "repair", path_from_here(model.path), *data]
    words += ["--policy", path_from_here(model.policy), *(["--to", target] if target else [])]
    words += ["-o", output, *(["--force"] if Path(output).exists() else [])]
    place = model.path.with_suffix(ending)
    if place != model.path and place.exists():  # of another model
        place = model.path.with_name(output)
    return _GateRepair(shlex.join(words), output, place)


def cause_steps(models: Sequence[GateModel], gate: Gate) -> Iterator[tuple[str, str]]:
    """Yield the command that shows why a table cannot be used, of the first model whose entry does not say it."""
    untold = {entry.name for entry in gate.entries if AUDIT_COMMAND in entry.headline}
    model = next((model for model in models if model.name in untold), None)
    data = None if model is None else _data_words(model)
    if model is not None and data is not None:
        command = shlex.join(["treewarden", "audit", path_from_here(model.path), *data])
        yield f"See why {model.name} has no audit, where you have access to its table:", command


def _data_words(model: GateModel) -> list[str] | None:
    """Return what names the table and its sensitive column; None where more is configured."""
    settings = given_settings(model.settings)
    others = (model.files.values, model.earlier, model.table is None)
    if any(others) or set(settings) - {"sensitive"}:
        return None
    words = ["--data", path_from_here(model.table)]
    return words + (["--sensitive", settings["sensitive"]] if settings else [])
