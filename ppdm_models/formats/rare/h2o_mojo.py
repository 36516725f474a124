"""H2O's MOJO archives: the packed trees of a random forest or gradient boosting, with how many records reached each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, read_json
from treewarden.ppdm_models.formats.common.node_order import bounded, features_named, simplest
from treewarden.ppdm_models.formats.common.origin import stray_files
from treewarden.ppdm_models.formats.rare._h2o_model import Ini, bare_tree, ensemble_of, read_ini
from treewarden.ppdm_models.formats.rare._h2o_nodes import H2oColumn, nodes_of
from treewarden.ppdm_models.limits import entries, is_archive
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import (
    Ensemble,
    Model,
    Shrinkage,
    TreeSampling,
    shrinkage_of,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Node

ORDERS = {"LITTLE_ENDIAN": "<", "BIG_ENDIAN": ">"}
TREES = re.compile(r"trees/t(\d{2,4})_(\d{3,6})\.bin")
DETAILS = "experimental/modelDetails.json"
PARTS = re.compile(
    r"model\.ini|trees/t\d+_\d+(_aux)?\.bin|domains/[^/]+\.txt|experimental/(modelDetails\.json|README\.md)"
)
PLAIN_ENCODINGS = ("AUTO", "Enum")


class H2oMojo(Format):
    """Reads what ``download_mojo`` writes, from version 1.2 on."""

    publish_instead = (
        "write one tree as JSON from H2O (docs/recipes/h2o.md); train models of several trees with XGBoost, LightGBM, "
        "CatBoost or scikit-learn"
    )
    how_to_export = "export it again (docs/recipes/h2o.md)"

    def sniff(self, data: bytes) -> bool:
        return is_archive(data) and b"model.ini" in data and b"trees/t" in data

    def open(self, data: bytes, source: str) -> Opened:
        files = entries(data, source)
        ini = read_ini(files, source)
        stray = stray_files(files, lambda name: PARTS.fullmatch(name) is not None)
        leaks = (*_leaks(files, ini, source), *stray)
        return Opened(_read(files, ini), leaks)


def _read(files: Mapping[str, bytes], ini: Ini) -> Model:
    source, names = ini.source, _trees(files, ini)
    order = ORDERS.get(ini.text("endianness"))
    if order is None:
        raise ini.refused(f"the endianness {ini.text('endianness')[:40]!r} is unknown")
    predictors = ini.columns[: ini.predictors]
    forest = bounded(
        (
            nodes_of(
                files[name],
                files.get(name.replace(".bin", "_aux.bin")),
                predictors,
                order,
                f"{source}: {name}",
            )
            for name in names
        ),
        source,
    )
    return simplest(_ensemble(ini, forest, predictors, names, files))


def _trees(files: Mapping[str, bytes], ini: Ini) -> list[str]:
    """Return the names of the trees, those of one iteration together; none may be missing or left over."""
    groups, each = ini.whole("n_trees"), ini.whole("n_trees_per_class")
    if not 0 < groups * each <= limits.TREES:
        raise ini.refused(
            f"the model has {groups * each:,} trees; give a model with 1 to {limits.TREES:,} trees"
        )
    names = [f"trees/t{k:02d}_{group:03d}.bin" for group in range(groups) for k in range(each)]
    there = {name for name in files if TREES.fullmatch(name)}
    if set(names) != there:
        odd = min(set(names) ^ there)
        what = "missing" if odd in names else "one file too many"
        raise ini.refused(
            f"the file states {groups} groups of trees with {each} each, but {odd} is {what}"
        )
    return names


def _ensemble(
    ini: Ini,
    forest: Sequence[tuple[Node, ...]],
    predictors: tuple[H2oColumn, ...],
    names: list[str],
    files: Mapping[str, bytes],
) -> Ensemble:
    source = ini.source
    values = {column.name: column.labels for column in predictors if column.labels}
    tested = (node for nodes in forest for node in nodes)
    features = features_named([column.name for column in predictors], tested, source, values=values)
    trees = [with_support(bare_tree(nodes, features, source)) for nodes in forest]
    labels = ini.response.labels if ini.response is not None else ()
    each = ini.whole("n_trees_per_class")
    document = {
        "params": _params(ini, labels),
        "trees": [
            {"name": _name(index // each, index % each, labels)} for index in range(len(names))
        ],
    }
    part = JsonPart(document, source)
    ensemble = ensemble_of(part, part["params"], trees, features)
    target = "" if ini.response is None else ini.response.name
    members = tuple(
        replace(member, model=replace(member.model, target=target, format="h2o_mojo"))  # type: ignore[arg-type]  # made above, of trees
        for member in ensemble.members
    )
    json_parts = _settings(files, source)
    return replace(
        ensemble,
        members=members,
        target=target,
        format="h2o_mojo",
        sampling=TreeSampling(_resampled(ini, json_parts)),
        shrinkage=_shrinkage(ini, json_parts),
        notes=(*ensemble.notes, *_notes(ini)),
    )


def _params(ini: Ini, labels: tuple[str, ...]) -> dict[str, object]:
    """Return what PrintMojo says of the model."""
    link = ini.settings.get("link_function")
    return {
        "algo": ini.text("algo"),
        "classifier": bool(labels),
        "class_labels": list(labels),
        "n_tree_groups": ini.whole("n_trees"),
        "n_trees_in_group": ini.whole("n_trees_per_class"),
        "base_score": ini.number("init_f", 0.0),
        **({} if link is None else {"link_function": link}),
    }


def _name(group: int, output: int, labels: tuple[str, ...]) -> str:
    return f"Tree {group}, Class {labels[output]}" if output < len(labels) else f"Tree {group}"


def _settings(files: Mapping[str, bytes], source: str) -> dict[object, JsonPart | None]:
    """Return the training parameters by name, where the details hold them."""
    details = _details(files, source)
    listed = None if details is None else details.get("parameters")
    return {part["name"].value: part.get("actual_value") for part in listed or ()}


def _shrinkage(ini: Ini, settings: Mapping[object, JsonPart | None]) -> Shrinkage | None:
    """Return how leaves were shrunk, where the details of a model for the squared error say it."""
    rate, annealing = settings.get("learn_rate"), settings.get("learn_rate_annealing")
    is_squared = ini.settings.get("distribution") == "gaussian"
    if not is_squared or rate is None or annealing is None or annealing.number() != 1.0:
        return None
    return shrinkage_of(rate.number(), 0.0)


def _resampled(ini: Ini, settings: Mapping[object, JsonPart | None]) -> bool | None:
    """Whether each tree saw a sample: a forest always; boosting where the details do not say that it took all."""
    if ini.text("algo") != "gbm":
        return True
    rate = settings.get("sample_rate")
    by_class = settings.get("sample_rate_per_class")
    return None if rate is None else rate.number() < 1.0 or by_class is not None


def _details(files: Mapping[str, bytes], source: str) -> JsonPart | None:
    where = f"{source}: {DETAILS}"
    if DETAILS not in files:
        return None
    return JsonPart(read_json(files[DETAILS], where, allow_nan=True, allow_twins=True), where)


def _notes(ini: Ini) -> Iterator[str]:
    encoding = ini.settings.get("_genmodel_encoding", "AUTO")
    if encoding not in PLAIN_ENCODINGS:
        yield f"{ini.source}: its columns are computed from those of the records ({encoding}) and stay separate fields"


def _leaks(files: Mapping[str, bytes], ini: Ini, source: str) -> Iterator[Leak]:
    if "timestamp" in ini.settings:
        yield Leak(LeakKind.TIMESTAMP, "model.ini", "when the model was saved")
    if "uuid" in ini.settings:
        yield Leak(LeakKind.IDENTIFIER, "model.ini", "the number that names this model")
    for name in sorted(name for name in files if name.startswith("domains/")):
        what = "all values of a column, including values of a single record"
        yield Leak(LeakKind.CATEGORIES, name, what)
    details = _details(files, source)
    if details is None:
        return
    names = {part["name"].value for part in details.get("parameters") or ()}
    if "seed" in names:
        what = "all training parameters, the random seed among them"
        yield Leak(LeakKind.REPLAY, DETAILS, what)
    if details.get("output") is not None:
        what = "how well the training records are predicted, in tables per class and threshold"
        yield Leak(LeakKind.TARGET_STATISTICS, DETAILS, what)


FORMAT = H2oMojo()
