"""BigML's JSON models: counts at every node, and much of the training data in summaries."""

from __future__ import annotations

from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import unique
from treewarden.ppdm_models.formats.rare._bigml import BigmlFields, Field, leaks_of, nodes_of
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Task,
    Tree,
)


class BigmlJson(Format):
    """One model, as the service gives it or without its envelope."""

    def sniff(self, data: bytes) -> bool:
        return (
            opens_json(data) == b"{"
            and b'"model_fields"' in data
            and b'"predicate"' in data
            and b'"root"' in data
        )

    def open(self, data: bytes, source: str) -> Opened:
        model = _model(read_part(data, source))
        boosted = model.get("boosted_ensemble")
        if boosted is not None and boosted.flag():
            raise model.refused("one tree of a boosted ensemble, whose others are not in the file")
        leaks = leaks_of(model)
        return Opened(_tree(model), leaks)


def _tree(model: JsonPart) -> Tree:
    fields = _fields(model)
    nodes = nodes_of(model["model"]["root"], fields)
    tree = Tree(
        nodes=nodes,
        features=fields.features,
        target=fields.target.name,
        classes=fields.classes,
        task=Task.CLASSIFICATION if fields.classes else Task.REGRESSION,
        missing=Missing.LAST_PREDICTION,
        source=model.source,
        format="bigml_json",
    )
    weights = model.get("weight_field")
    judged = with_support(tree)
    if weights is None:
        return judged
    note = f"{model.source}: records have weights, so a leaf's value need not be that of most of its records"
    unused = ("the weighted class numbers of its nodes",) if fields.classes else ()
    return replace(judged, notes=(*judged.notes, note), unused=unused)


def _model(document: JsonPart) -> JsonPart:
    inner = document.get("object")
    return document if inner is None else inner


def _fields(model: JsonPart) -> BigmlFields:
    parts = dict(model["model"]["fields"].entries())
    target = _target(model)
    if target not in parts:
        raise model.refused(f"the objective field {target[:80]!r} is none of its fields")
    fields = {key: _field(part) for key, part in parts.items()}
    names = [field.name for field in fields.values()]
    unique(names, "fields", model.source, limits.FEATURES)
    classes = fields[target].labels if not fields[target].numeric else ()
    unique(classes, "classes", model.source, limits.CLASSES)
    if not fields[target].numeric and not classes:
        raise parts[target].refused("no categories, so the classes are not known")
    ordered = sorted(
        (key for key in fields if key != target), key=lambda key: (fields[key].place, key)
    )
    features = tuple(
        Feature(fields[key].name, numeric=fields[key].numeric, values=fields[key].labels)
        for key in ordered
    )
    return BigmlFields(fields, fields[target], classes, features)


def _target(model: JsonPart) -> str:
    json_part = model.get("objective_field")
    return model["objective_fields"].at(0).text() if json_part is None else json_part.text()


def _field(part: JsonPart) -> Field:
    kind = part["optype"].text()
    summary, place = part.get("summary"), part.get("column_number")
    listed = None if summary is None else summary.get("categories")
    labels = unique(
        (item.at(0).label() for item in listed or ()), "categories", part.where, limits.FEATURES
    )
    return Field(
        name=part["name"].text(),
        kind=kind,
        labels=labels if kind == "categorical" else (),
        place=0 if place is None else place.whole(),
    )


FORMAT = BigmlJson()
