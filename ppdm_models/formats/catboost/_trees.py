"""The two shapes of CatBoost's trees: one question per level (symmetric), or nested nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    belongs,
    compared,
    grown,
    summed,
    unique,
)
from treewarden.ppdm_models.tree.tree import Feature, Node

# The questions a CatBoost model asks: borders of numbers, categories by hash, and statistics of the target.

TREATMENTS = ("AsIs", "AsFalse", "AsTrue")
HASHES = 2**32


@dataclass(frozen=True, slots=True)
class CatboostSplits:
    """The features of a model, raw and derived, and what its splits mean.

    ``numbers`` gives a float feature's name and whether a missing value answers yes; ``categories`` a categorical
    feature's name; ``hashes`` the category behind an unsigned 32-bit hash; ``unnamed`` the features with a hash that
    no category is given for; ``statistics`` the name and border of a target statistic by the number of its split.
    """

    numbers: Mapping[int, tuple[str, bool]]
    categories: Mapping[int, str]
    hashes: Mapping[int, str]
    unnamed: frozenset[int]
    statistics: Mapping[int, tuple[str, float]]
    features: tuple[Feature, ...]
    notes: tuple[str, ...]

    def branches(self, split: JsonPart, no: object, yes: object) -> tuple[Branch, Branch]:
        """Return the two ways on from a split.

        Raises:
            TreeFormatError: the split is of an unknown kind, or names an unknown feature.
        """
        kind = split["split_type"].text()
        if kind not in KINDS:
            raise split.refused(f"unknown split_type {kind!r}; have {', '.join(KINDS)}")
        return KINDS[kind](self, split, no, yes)


def read_splits(info: JsonPart) -> CatboostSplits:
    """Return what ``features_info`` says.

    Raises:
        TreeFormatError: it is malformed, or two features share a name or a number.
    """
    numbers = _by_index(info, "float_features")
    categories = _by_index(info, "categorical_features")
    hashes = {
        item["hash"].whole(high=HASHES - 1): item["value"].label()
        for item in info.get("cat_features_hash") or ()
    }
    tested = {index: _hashes(part) for index, part in categories.items()}
    unnamed = frozenset(index for index, some in tested.items() if not some <= hashes.keys())
    statistics = _statistics(info)
    computed = tuple(dict.fromkeys(name for name, _ in statistics.values()))
    flat = {
        part["flat_feature_index"].whole(): (part, part.steps[-2] == "float_features")
        for part in (*numbers.values(), *categories.values())
    }
    if len(flat) < len(numbers) + len(categories):
        raise info.refused("two features have the same flat_feature_index")
    derived = [f"hash of {_name(categories[index])}" for index in sorted(unnamed)]
    names = [_name(part) for _, (part, _) in sorted(flat.items())]
    unique([*names, *derived, *computed], "features", info.source, limits.FEATURES)
    raw = [
        Feature(_name(part), numeric=numeric, single=numeric)
        for _, (part, numeric) in sorted(flat.items())
    ]
    return CatboostSplits(
        numbers={index: (_name(part), _missing_is_yes(part)) for index, part in numbers.items()},
        categories={index: _name(part) for index, part in categories.items()},
        hashes=hashes,
        unnamed=unnamed,
        statistics=statistics,
        features=(
            *raw,
            *(Feature(name, numeric=False) for name in derived),
            *(Feature(name, numeric=True, single=True) for name in computed),
        ),
        notes=_notes(info.source, derived, computed),
    )


def _notes(source: str, derived: list[str], computed: tuple[str, ...]) -> tuple[str, ...]:
    notes = []
    if derived:
        notes.append(f"{source}: categories are known by their hashes only ({', '.join(derived)})")
    if computed:
        notes.append(
            f"{source}: {len(computed)} features are statistics of the target, not values of a record; "
            "predictions need them computed"
        )
    return tuple(notes)


def _by_index(info: JsonPart, kind: str) -> dict[int, JsonPart]:
    json_parts = {part["feature_index"].whole(): part for part in info.get(kind) or ()}
    if len(json_parts) < len(info.get(kind) or ()):
        raise info.refused(f"two {kind} have the same feature_index")
    return json_parts


def _name(part: JsonPart) -> str:
    for key in ("feature_name", "feature_id"):
        name = part.get(key)
        if name is not None and name.value != "":
            return name.text()
    return f"feature {part['flat_feature_index'].whole()}"


def _missing_is_yes(part: JsonPart) -> bool:
    json_part = part.get("nan_value_treatment")
    treatment = "AsIs" if json_part is None else json_part.text()
    if treatment not in TREATMENTS:
        raise part.refused(
            f"unknown nan_value_treatment {treatment!r}; have {', '.join(TREATMENTS)}"
        )
    return treatment == "AsTrue"


def _hashes(part: JsonPart) -> set[int]:
    """Return the unsigned hashes that a categorical feature is compared with."""
    return {
        value.whole(low=-HASHES, high=HASHES - 1) % HASHES for value in part.get("values") or ()
    }


def _statistics(info: JsonPart) -> dict[int, tuple[str, float]]:
    """Return each border of each target statistic: the file numbers all borders in a row, these after the others."""
    before = (("float_features", "borders"), ("categorical_features", "values"))
    position = sum(
        len(part.get(key) or ()) for kind, key in before for part in info.get(kind) or ()
    )
    found = {}
    for index, ctr in enumerate(info.get("ctrs") or ()):
        name = f"target statistic {index} ({ctr['ctr_type'].text()})"
        for border in ctr["borders"]:
            found[position] = (name, border.single())
            position += 1
    return found


def _number(
    splits: CatboostSplits, split: JsonPart, no: object, yes: object
) -> tuple[Branch, Branch]:
    index = split["float_feature_index"]
    if index.whole() not in splits.numbers:
        raise index.refused("no float feature has this number")
    name, missing_is_yes = splits.numbers[index.whole()]
    above, below = compared(name, ">", split["border"].single())
    return Branch(no, below, not missing_is_yes), Branch(yes, above, missing_is_yes)


def _category(
    splits: CatboostSplits, split: JsonPart, no: object, yes: object
) -> tuple[Branch, Branch]:
    part = split["cat_feature_index"]
    index, value = part.whole(), split["value"].whole(low=-HASHES, high=HASHES - 1) % HASHES
    if index not in splits.categories:
        raise part.refused("no categorical feature has this number")
    name, category = splits.categories[index], splits.hashes.get(value)
    if index in splits.unnamed:
        name, category = f"hash of {name}", str(value)
    if category is None:
        raise split.refused("a category that the features do not list")
    equal, predicate = belongs(name, [category])
    return Branch(no, predicate, takes_missing=True), Branch(yes, equal)


def _statistic(
    splits: CatboostSplits, split: JsonPart, no: object, yes: object
) -> tuple[Branch, Branch]:
    border = split["border"].single()
    name, expected = splits.statistics.get(split["split_index"].whole(), ("", None))
    if border != expected:
        raise split.refused("no target statistic has this number and border")
    above, below = compared(name, ">", border)
    return Branch(no, below, takes_missing=True), Branch(yes, above)


def _estimated(
    splits: CatboostSplits, split: JsonPart, no: object, yes: object
) -> tuple[Branch, Branch]:
    raise split.refused("a feature computed from text or embeddings; such models are not read")


KINDS: dict[str, Callable[[CatboostSplits, JsonPart, object, object], tuple[Branch, Branch]]] = {
    "FloatFeature": _number,
    "OneHotFeature": _category,
    "OnlineCtr": _statistic,
    "EstimatedFeature": _estimated,
}


def symmetric(part: JsonPart, splits: CatboostSplits) -> tuple[Node, ...]:
    """Return the nodes of a symmetric tree: the first split at the root, as it was grown.

    Leaf number ``sum(2**i for each split i that answers yes)``; its values stand together, one per output.

    Raises:
        TreeFormatError: the numbers of splits, values and weights do not fit each other.
    """
    levels = [splits.branches(split, None, None) for split in part.get("splits") or ()]
    if 2 ** (min(len(levels), 40) + 1) - 1 > limits.NODES:
        raise part.refused(f"{len(levels)} splits make more than {limits.NODES:,} nodes")
    size = 2 ** len(levels)
    values = part["leaf_values"].numbers()
    weights = _weights(part)
    if not values or len(values) % size or (weights is not None and len(weights) != size):
        raise part.refused(f"the values or weights are not one per leaf of {len(levels)} splits")
    width = len(values) // size

    def draft_of(handle: tuple[int, int]) -> Draft:
        depth, leaf = handle
        if depth < len(levels):
            no, yes = levels[depth]
            ways = (
                Branch((depth + 1, leaf), no.test, no.takes_missing),
                Branch((depth + 1, leaf + 2**depth), yes.test, yes.takes_missing),
            )
            return Draft(name=f"level {depth}, from leaf {leaf}", branches=ways)
        records = None if weights is None else weights[leaf]
        return _leaf(f"leaf {leaf}", values[leaf * width : (leaf + 1) * width], records)

    return summed(grown((0, 0), draft_of, part.where))


def nested(part: JsonPart, splits: CatboostSplits) -> tuple[Node, ...]:
    """Return the nodes of a tree whose splits hold their ``left`` (no) and ``right`` (yes) side.

    Raises:
        TreeFormatError: a node is neither a split nor a leaf, or nests too deep.
    """

    def draft_of(node: JsonPart) -> Draft:
        split = node.get("split")
        if split is not None:
            return Draft(
                name=node.pointer, branches=splits.branches(split, node["left"], node["right"])
            )
        weight = node.get("weight")
        return _leaf(
            node.pointer, node["value"].numbers(), None if weight is None else weight.amount()
        )

    return summed(grown(part, draft_of, part.where))


def _weights(part: JsonPart) -> tuple[float, ...] | None:
    weights = part.get("leaf_weights")
    return None if weights is None else tuple(weight.amount() for weight in weights)


def _leaf(name: str, values: tuple[float, ...], records: float | None) -> Draft:
    if len(values) == 1:
        return Draft(name=name, score=values[0], records=records)
    return Draft(name=name, outputs=values, records=records)
