"""LightGBM models as ``save_model`` writes them: text, arrays per tree, and the training parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from treewarden.ppdm_models.formats import Format, Opened, Rewritable, Strippable
from treewarden.ppdm_models.formats.common.boosted import paired
from treewarden.ppdm_models.formats.common.json import as_list, read_json
from treewarden.ppdm_models.formats.common.origin import is_place, telling
from treewarden.ppdm_models.formats.lightgbm._arrays import (
    BESIDE,
    arrays_of,
    changed_in,
    forest_of,
    is_bare,
    shape_and_splits,
)
from treewarden.ppdm_models.formats.lightgbm._growth import (
    are_gains,
    gains_in,
    growth_of,
    rate_in,
    unexplained_lines,
    weights_in,
)
from treewarden.ppdm_models.formats.lightgbm._lines import LightgbmLines, lines_of
from treewarden.ppdm_models.formats.lightgbm._model import (
    LightgbmHeader,
    TestMaker,
    category_names,
    ensemble_of,
)
from treewarden.ppdm_models.formats.lightgbm._unread import (
    HEADER,
    LISTS,
    OF_TREE,
    WRITTEN_OTHERWISE,
    codes_in,
    rest_of,
    written_plainly,
)
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, Shrinkage, shrinkage_of
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

INTERVAL = re.compile(r"\[[^:\]]*:[^:\]]*\]")
PANDAS = "pandas_categorical:"
PLACES = (
    "data",
    "valid",
    "input_model",
    "output_model",
    "output_result",
    "forcedsplits_filename",
    "forcedbins_filename",
    "parser_config_file",
    "machine_list_filename",
    "machines",
)
"""The parameters that name files or machines."""

OTHERWISE = ("lambda_l1", "max_delta_step", "path_smooth", "linear_tree", "reg_sqrt")
"""The parameters that, unless 0, make the number of a leaf in another way than its residuals and their count."""


class LightgbmText(Format):
    """Reads and rewrites model files of versions 2 to 4."""

    how_to_export = "save it again with booster.save_model('model.txt')"
    rewrites = True
    drops_trees = True
    rounds_leaves = True
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        head = data[:65536].replace(b"\r", b"")
        return head.startswith(b"tree\n") and b"\nnum_class=" in head

    def open(self, data: bytes, source: str) -> Opened:
        return _OpenedText(lines_of(data, source))


class _OpenedText(Rewritable, Strippable):
    """The lines stay, and each change is made in a copy of their list."""

    def __init__(self, document: LightgbmLines) -> None:
        super().__init__(_read(document), _leaks(document))
        self.document = document

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        document = self._copy()
        if LeakKind.EXTREMES in kinds and "feature_infos" in document.header:
            infos = (document.value_of("feature_infos") or "").split(" ")
            kept = ["none" if INTERVAL.fullmatch(info) else info for info in infos]
            document.put("feature_infos", " ".join(kept), document.header)
        if LeakKind.PATH in kinds:
            for key in PLACES:
                if document.setting(key):
                    line = document.settings[key]
                    document.lines[line] = document.lines[line].replace(
                        f"[{key}: {document.setting(key)}]", f"[{key}: ]"
                    )
        if LeakKind.REPLAY in kinds:
            gone = {document.settings[key] for key in _seeds(document)}
            document.take_out(gone)
        if LeakKind.AVERAGES in kinds:
            document.take_out(set(unexplained_lines(document)))
        if LeakKind.UNKNOWN in kinds:
            places = {key: document.setting(key) or "" for key in PLACES}
            odd = [key for key, said in places.items() if not all(map(is_place, said.split(",")))]
            document.take_out({document.settings[key] for key in odd if places[key]})
            rest = list(rest_of(document, frozenset(PLACES)))
            for at in (at for at, what in rest if what == WRITTEN_OTHERWISE):
                document.lines[at] = written_plainly(document.lines[at])
            strange = {at for at, what in rest if what != WRITTEN_OTHERWISE}
            document.take_out({at for at in strange if _can_go(document, at)})
        return document.written()

    def rewrite(self, changed: Model) -> bytes:
        """Return the file with pruned nodes as leaves, and withheld nodes with the count and the weight 0.

        That concerns ``leaf_count``, ``leaf_weight``, ``internal_count`` and ``internal_weight``: a weight is the
        count wherever the second derivative is 1. Gains stay, and so do the importances of features; they go where
        trees at the end do, as they count the splits of all. Where inner nodes have no numbers any more, nothing is
        left of what nodes say beside their leaves' values: gains and importances go too, and the lines of all these.
        """
        document = self._copy()
        pairs = paired(self.model, changed, drops=True)
        if len(pairs) < len(document.trees):
            document.drop(len(pairs))
        bare = [block for block, pair in zip(document.trees, pairs, strict=True) if is_bare(*pair)]
        for block, (old, new) in zip(document.trees, pairs, strict=True):
            if old.nodes != new.nodes:
                changed_in(document, block, old, new)
        if bare:
            told = {block.keys[key] for block in bare for key in BESIDE if key in block.keys}
            document.take_out(told | set(document.importances))
        return document.written()

    def _copy(self) -> LightgbmLines:
        return replace(self.document, lines=list(self.document.lines))


def _read(document: LightgbmLines) -> Ensemble:
    header = _header(document)
    each = [arrays_of(document, block) for block in document.trees]
    shape, lightgbm_splits = shape_and_splits(each, lambda tree: f"{document.source}: tree {tree}")
    tests = TestMaker(header, lightgbm_splits)
    splits = tests.splits(int(sum(len(lightgbm_nodes.lefts) for lightgbm_nodes in each)))
    forest = forest_of(each, shape, splits, [block.start + 1 for block in document.trees])
    linear = [lightgbm_nodes.is_linear for lightgbm_nodes in each]
    ensemble = ensemble_of(header, forest, tests.features, linear)
    growth = growth_of(
        header,
        forest,
        weights_in(document, document.trees, forest),
        rates=[rate_in(document.value_of("shrinkage", block.keys)) for block in document.trees],
        linear=linear,
        setting=document.setting,
        gains=gains_in(document, document.trees, forest),
        importances=are_gains(document, each),
    )
    return replace(ensemble, growth=growth)


def _header(document: LightgbmLines) -> LightgbmHeader:
    names = tuple((document.value_of("feature_names") or "").split())
    outputs = document.value_of("num_tree_per_iteration") or document.value_of("num_class") or "1"
    infos = (document.value_of("feature_infos") or "").split()
    return LightgbmHeader(
        document.source,
        names,
        int(outputs) if outputs.isascii() and outputs.isdecimal() and len(outputs) < 8 else 0,
        document.value_of("objective") or "",
        "average_output"
        in [line.rstrip("\r") for line in document.lines[: document.trees[0].start]],
        domains=_domains(infos, names),
        categories=_categories(document),
        resampled=_resampled(document),
        shrinkage=_shrinkage(document),
    )


def _shrinkage(document: LightgbmLines) -> Shrinkage | None:
    """Return how leaves were shrunk; None where the parameters do not say so, or make them otherwise."""
    plain = {key: document.setting(key) for key in OTHERWISE}
    if document.setting("boosting") != "gbdt" or set(plain.values()) != {"0"}:
        return None
    rate, ridge = (_number(document, key) for key in ("learning_rate", "lambda_l2"))
    if rate is None or ridge is None:
        return None
    return shrinkage_of(rate, ridge, document.setting("boost_from_average") == "1")


def _number(document: LightgbmLines, key: str) -> float | None:
    try:
        return float(document.setting(key) or "")
    except ValueError:
        return None


def _domains(infos: list[str], names: tuple[str, ...]) -> dict[int, tuple[int, ...]]:
    """Return the codes that ``feature_infos`` lists for categorical features, as in ``-1:4:0:2``."""
    if len(infos) != len(names):
        return {}
    return {
        index: tuple(map(int, info.split(":")))
        for index, info in enumerate(infos)
        if codes_in(info)
    }


def _pandas_line(document: LightgbmLines) -> int | None:
    at = [number for number, line in enumerate(document.lines) if line.startswith(PANDAS)]
    return at[-1] if at else None


def _categories(document: LightgbmLines) -> tuple[tuple[str, ...], ...]:
    line = _pandas_line(document)
    text = "" if line is None else document.lines[line].removeprefix(PANDAS).strip()
    if not text or text == "null":
        return ()
    lists = as_list(
        read_json(text.encode(), f"{document.source}:{(line or 0) + 1}"), document.source, []
    )
    found = [category_names(values) for values in lists]
    if None in found:
        raise document.refused(line, "is not a list of lists of categories")
    return tuple(names for names in found if names is not None)


def _resampled(document: LightgbmLines) -> bool | None:
    """Whether each tree saw a sample of the records, as the parameters say."""
    if not document.settings:
        return None
    if document.setting("boosting") in ("rf", "goss"):
        return True
    if document.setting("data_sample_strategy") == "goss":
        return True
    bagged = document.setting("bagging_freq") not in (None, "0")
    fractions = ("bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction")
    return bagged and any(document.setting(key) not in (None, "1") for key in fractions)


def _can_go(document: LightgbmLines, line: int) -> bool:
    """Return whether the model is the same without a line: not where its reader takes something from it."""
    held = {
        *document.header.values(),
        *(at for tree in document.trees for at in tree.keys.values()),
    }
    key = document.lines[line].partition("=")[0]
    return line > 0 and (line not in held or key not in (*HEADER, *OF_TREE, *LISTS))


def _seeds(document: LightgbmLines) -> list[str]:
    return [key for key in document.settings if key == "seed" or key.endswith("_seed")]


def _leaks(document: LightgbmLines) -> Iterator[Leak]:
    for line, kind, what, records, removable in sorted(_telling_lines(document)):
        yield Leak(kind, f"line {line + 1}", what, records, removable)


def _telling_lines(
    document: LightgbmLines,
) -> Iterator[tuple[int, LeakKind, str, int | None, bool]]:
    for name in (document.value_of("feature_names") or "").split():
        kind = telling(name)
        if kind is not None:
            yield (
                document.header["feature_names"],
                kind,
                f"the feature's name {name!r} looks like a {kind}",
                None,
                False,
            )
    for name, info in zip(
        (document.value_of("feature_names") or "").split(),
        (document.value_of("feature_infos") or "").split(),
        strict=False,
    ):
        if INTERVAL.fullmatch(info):
            what = f"the smallest and the largest {name!r} of the training data, each the value of one record"
            yield document.header["feature_infos"], LeakKind.EXTREMES, what, 1, True
        elif codes_in(info):
            what = (
                f"lists the codes of the categories that {name!r} had in training, including categories of "
                "a single record"
            )
            yield document.header["feature_infos"], LeakKind.CATEGORIES, what, None, False
    for key in PLACES:
        said = document.setting(key)
        if said:
            what = f"the training parameter {key!r} names files or machines"
            yield document.settings[key], LeakKind.PATH, what, None, True
            if not all(map(is_place, said.split(","))):
                what = f"the training parameter {key!r} holds more than names of files or machines"
                yield document.settings[key], LeakKind.UNKNOWN, what, None, True
    seeds = _seeds(document)
    if seeds:
        what = (
            f"the seeds of the training ({', '.join(seeds)}): with a part of the data, an adversary can "
            "repeat the training"
        )
        yield document.settings[seeds[0]], LeakKind.REPLAY, what, None, True
    unexplained = list(unexplained_lines(document))
    if unexplained:
        what = (
            "internal_value and internal_weight of trees whose leaves do not explain them: averages of the training "
            "records, or anything else"
        )
        yield unexplained[0], LeakKind.AVERAGES, what, None, True
    for at, what in rest_of(document, frozenset(PLACES)):
        is_removable = what == WRITTEN_OTHERWISE or _can_go(document, at)
        yield at, LeakKind.UNKNOWN, what, None, is_removable
    line = _pandas_line(document)
    for names in _categories(document):
        what = (
            f"lists the {len(names)} categories that a column of the training table had, including "
            "categories of a single record"
        )
        yield line or 0, LeakKind.CATEGORIES, what, None, False


FORMAT = LightgbmText()
