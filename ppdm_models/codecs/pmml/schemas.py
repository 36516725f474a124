"""The mining schemas of PMML models inside each other: which fields are active, and which one is predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.codecs.pmml.values import Failure

TARGETS = ("predicted", "target")


@dataclass(frozen=True, slots=True)
class Schemas:
    """What the schemas of some models say together.

    ``active`` are the MiningFields of each active field, the outermost model's first; ``own`` the active fields of the
    innermost model; ``target`` what is predicted, "" where no schema says it.
    """

    active: Mapping[str, Sequence[Element]]
    own: Sequence[str]
    target: str
    notes: Sequence[str]


def read_schemas(models: Sequence[Element], own_ids: Mapping[str, str], fail: Failure) -> Schemas:
    """Return what the schemas of models say, the outermost first; ``own_ids`` lead from other names to the fields.

    Raises:
        TreeFormatError: a field is active twice in one model, or one tree predicts several.
    """
    active: dict[str, list[Element]] = {}
    own: list[str] = []
    target, notes = "", list[str]()
    for model in models:
        own = []
        targets: dict[str, Element] = {}
        schema = model.first("MiningSchema")
        assert schema is not None
        for field in schema.all("MiningField"):
            said, usage = field.get("name") or "", field.get("usageType") or "active"
            name = own_ids.get(said, said)
            if usage in TARGETS:
                targets[name] = field
                target = name
            if usage != "active":
                continue
            if name in own:
                raise fail(field, f"the field {name!r} is active twice")
            own.append(name)
            active.setdefault(name, []).append(field)
        if len(targets) > 1:
            notes.append(_several(model, models[-1], targets, target, fail))
    return Schemas(active, own, target, notes)


def _several(
    model: Element, innermost: Element, targets: Mapping[str, Element], target: str, fail: Failure
) -> str:
    """Return in words that a model predicts several fields.

    Raises:
        TreeFormatError: it is one tree, which has one score.
    """
    names = " and ".join(repr(name[:80]) for name in list(targets)[:12])
    if model is innermost and model.first("Node") is not None:
        raise fail(
            list(targets.values())[1],
            f"contradictory: the tree predicts {names}; keep the MiningField of the one that its scores are of",
        )
    return (
        f"{fail.source}:{model.line}: predicts {names}; what is said of a target is of {target!r}"
    )
