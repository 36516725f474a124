"""LightGBM dumps (``dump_model`` as JSON): nested trees with the exact number of records at every node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened, Rewritable, Strippable
from treewarden.ppdm_models.formats.common.boosted import paired
from treewarden.ppdm_models.formats.common.json import (
    Steps,
    as_list,
    as_number,
    as_object,
    as_text,
    as_whole,
    opens_json,
    pointer,
    read_json,
    refused,
    written_json,
)
from treewarden.ppdm_models.formats.common.origin import telling
from treewarden.ppdm_models.formats.lightgbm._growth import growth_of, rate_in
from treewarden.ppdm_models.formats.lightgbm._model import (
    LightgbmHeader,
    TestMaker,
    category_names,
    ensemble_of,
)
from treewarden.ppdm_models.formats.lightgbm._nested import Flat, NestedReader, changed_in, flat_of
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind


class LightgbmDump(Format):
    """Reads and rewrites dumps of all versions, those without ``feature_infos`` too."""

    publish_instead = "publish what booster.save_model('model.txt') writes"
    how_to_export = "write it again with json.dump(booster.dump_model(), file)"
    rewrites = True
    drops_trees = True

    def sniff(self, data: bytes) -> bool:
        parts = (b'"tree_info"', b'"feature_names"', b'"num_tree_per_iteration"')
        return opens_json(data) == b"{" and all(part in data for part in parts)

    def open(self, data: bytes, source: str) -> Opened:
        return _LightgbmDump(data, source)


class _LightgbmDump(Rewritable, Strippable):
    """The bytes stay, not the document: each change takes a fresh one, and uses it up."""

    def __init__(self, data: bytes, source: str) -> None:
        document = _document(data, source)
        header = _header(document, source)
        leaks = tuple(_leaks(document, source))
        super().__init__(_read(document, header), leaks)
        self.data, self.source = data, source

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        document = _document(self.data, self.source)
        if LeakKind.EXTREMES in kinds and "feature_infos" in document:
            infos = as_object(document["feature_infos"], self.source, ["feature_infos"])
            document["feature_infos"] = {
                name: info
                for name, info in infos.items()
                if isinstance(info, dict) and info.get("values")
            }
        return written_json(document, self.data)

    def rewrite(self, changed: Model) -> bytes:
        """Return the file with pruned nodes as leaves, and withheld nodes without count and weight.

        ``leaf_count``, ``leaf_weight``, ``internal_count`` and ``internal_weight`` go together: a weight is the count
        wherever the second derivative is 1. Gains stay.
        """
        document, source = _document(self.data, self.source), self.source
        flats = _flats(document, source)
        info = as_list(document["tree_info"], source, ["tree_info"])
        pairs = paired(self.model, changed, drops=True)
        if len(pairs) < len(info):
            del info[len(pairs) :]
            document.pop("feature_importances", None)  # they count the splits of all trees
        for index, (old, new) in enumerate(pairs):
            if old.nodes != new.nodes:
                changed_in(flats[index], new)
                entry = as_object(info[index], source, ["tree_info", index])
                entry["num_leaves"] = len(new.leaves)
        return written_json(document, self.data)


def _document(data: bytes, source: str) -> dict[str, object]:
    return as_object(read_json(data, source), source, [])


def _read(document: dict[str, object], header: LightgbmHeader) -> Ensemble:
    nested_reader = NestedReader(_flats(document, header.source), header.source, ["tree_info"])
    tests = TestMaker(header, nested_reader.read_splits())
    forest = nested_reader.forest(tests.splits(len(nested_reader.nodes)))
    ensemble = ensemble_of(header, forest, tests.features, nested_reader.linear())
    growth = growth_of(
        header,
        forest,
        nested_reader.weights(),
        rates=_rates(document, header.source),
        linear=nested_reader.linear(),
        setting=_settings(document).get,
        gains=nested_reader.gains(),
    )
    return replace(ensemble, growth=growth)


def _rates(document: dict[str, object], source: str) -> list[float | None]:
    trees = as_list(document.get("tree_info"), source, ["tree_info"])
    return [rate_in(tree.get("shrinkage")) if isinstance(tree, dict) else None for tree in trees]


def _settings(document: dict[str, object]) -> dict[str, str]:
    """Return the training parameters that a dump says: the constraints alone."""
    said = document.get("monotone_constraints")
    return {"monotone_constraints": ",".join(map(str, said))} if isinstance(said, list) else {}


def _flats(document: dict[str, object], source: str) -> list[Flat]:
    trees = as_list(document.get("tree_info"), source, ["tree_info"])
    if len(trees) > limits.TREES:
        raise refused(
            source,
            ["tree_info"],
            f"more than {limits.TREES:,} trees, which is the limit; train a model with fewer trees",
        )
    found = []
    for index, raw in enumerate(trees):
        steps: Steps = ["tree_info", index]
        tree = as_object(raw, source, steps)
        found.append(flat_of(tree.get("tree_structure"), source, steps))
    return found


def _header(document: dict[str, object], source: str) -> LightgbmHeader:
    at = ["feature_names"]
    names = tuple(as_text(name, source, at) for name in as_list(document.get(*at), source, at))
    objective = document.get("objective")
    average = document.get("average_output", False) is True
    return LightgbmHeader(
        source,
        names,
        as_whole(document.get("num_tree_per_iteration"), source, ["num_tree_per_iteration"]),
        None if objective is None else as_text(objective, source, ["objective"]),
        average,
        domains=_domains(document, names, source),
        categories=_categories(document, source),
        resampled=True if average else None,
    )


def _domains(
    document: dict[str, object], names: tuple[str, ...], source: str
) -> dict[int, tuple[int, ...]]:
    infos = as_object(document.get("feature_infos", {}), source, ["feature_infos"])
    found = {}
    for index, name in enumerate(names):
        at = ["feature_infos", name]
        values = as_object(infos.get(name, {}), source, at).get("values")
        codes = as_list(values if values is not None else [], source, at)
        if codes:
            found[index] = tuple(as_whole(code, source, at, low=-1) for code in codes)
    return found


def _categories(document: dict[str, object], source: str) -> tuple[tuple[str, ...], ...]:
    at = ["pandas_categorical"]
    lists = as_list(document.get("pandas_categorical") or [], source, at)
    found = [category_names(values) for values in lists]
    if None in found:
        raise refused(source, at, "is not a list of lists of categories")
    return tuple(names for names in found if names is not None)


def _leaks(document: dict[str, object], source: str) -> Iterator[Leak]:
    at = ["feature_names"]
    for index, name in enumerate(as_list(document.get(*at), source, at)):
        kind = telling(str(name))
        if kind is not None:
            yield Leak(kind, pointer([*at, index]), f"a feature's name looks like a {kind}")
    infos = as_object(document.get("feature_infos", {}), source, ["feature_infos"])
    for name, raw in infos.items():
        place = ["feature_infos", name]
        info = as_object(raw, source, place)
        if "min_value" in info and not info.get("values"):
            for end in ("min_value", "max_value"):
                as_number(info.get(end), source, [*place, end])
            yield Leak(
                LeakKind.EXTREMES,
                pointer(place),
                f"the smallest and the largest {name!r} of the training data, each the value of one record",
                records=1,
                removable=True,
            )
    for index, names in enumerate(_categories(document, source)):
        yield Leak(
            LeakKind.CATEGORIES,
            pointer(["pandas_categorical", index]),
            f"lists the {len(names)} categories that a column of the training table had, including "
            "categories of a single record",
        )


FORMAT = LightgbmDump()
