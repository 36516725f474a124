"""The two shapes of CatBoost's trees: one question per level (symmetric), or nested nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from treewarden.ppdm_models.formats.common.shapes import StrangePart
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
            raise split.refused(f"unknown split_type {kind!r}; known values: {', '.join(KINDS)}")
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
        notes.append(
            f"{source}: the file contains only hashes of categories ({', '.join(derived)})"
        )
    if computed:
        notes.append(
            f"{source}: {len(computed)} features are statistics of the target, not values "
            "of a record, and must be computed before a prediction"
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
            f"unknown nan_value_treatment {treatment!r}; known values: {', '.join(TREATMENTS)}"
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
        raise index.refused("this is not the number of a float feature")
    name, missing_is_yes = splits.numbers[index.whole()]
    above, below = compared(name, ">", split["border"].single())
    return Branch(no, below, not missing_is_yes), Branch(yes, above, missing_is_yes)


def _category(
    splits: CatboostSplits, split: JsonPart, no: object, yes: object
) -> tuple[Branch, Branch]:
    part = split["cat_feature_index"]
    index, value = part.whole(), split["value"].whole(low=-HASHES, high=HASHES - 1) % HASHES
    if index not in splits.categories:
        raise part.refused("this is not the number of a categorical feature")
    name, category = splits.categories[index], splits.hashes.get(value)
    if index in splits.unnamed:
        name, category = f"hash of {name}", str(value)
    if category is None:
        raise split.refused("the features do not list this category")
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
    raise split.refused(
        "a feature is computed from text or embeddings, and such models "
        "are not supported; train without it"
    )


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
        raise part.refused(
            f"{len(levels)} splits make more than {limits.NODES:,} nodes, "
            "which is the limit; train shallower trees"
        )
    size = 2 ** len(levels)
    values = part["leaf_values"].numbers()
    weights = _weights(part)
    if not values or len(values) % size or (weights is not None and len(weights) != size):
        raise part.refused(_other_leaves(len(levels), len(values), weights))
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


def _other_leaves(levels: int, values: int, weights: tuple[float, ...] | None) -> str:
    """Return why values or weights cannot be those of the leaves below so many splits."""
    leaves = 2**levels
    splits = "1 split makes" if levels == 1 else f"{levels} splits make"
    if values and values % leaves == 0 and weights is not None:
        return f"{splits} {leaves} leaves, but the number of weights is {len(weights)}"
    return f"{splits} {leaves} leaves, but the number of values is {values}, which is not a multiple of it"


def _weights(part: JsonPart) -> tuple[float, ...] | None:
    weights = part.get("leaf_weights")
    return None if weights is None else tuple(weight.amount() for weight in weights)


def _leaf(name: str, values: tuple[float, ...], records: float | None) -> Draft:
    if len(values) == 1:
        return Draft(name=name, score=values[0], records=records)
    return Draft(name=name, outputs=values, records=records)


NOT_ITS_HASH = "a hash that is not that of its text, or of a text of more than 32 bytes"
K0, K1, K2, K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
MIXER = 0x9DDFEA08EB382D69
BITS = 2**64 - 1
MOST_BYTES = 32


def is_symmetric(document: JsonPart) -> bool:
    """Return whether the trees that count are the symmetric ones."""
    return document.get("oblivious_trees") is not None


def splits_of(document: JsonPart) -> Iterator[JsonPart]:
    for tree in document.get("oblivious_trees") or ():
        yield from tree.get("splits") or ()
    yield from (split for node in nodes_of(document) if (split := node.get("split")) is not None)


def nodes_of(document: JsonPart) -> Iterator[JsonPart]:
    pending = [] if is_symmetric(document) else list(document.get("trees") or ())
    while pending:
        node = pending.pop()
        yield node
        pending += [side for key in ("left", "right") if (side := node.get(key)) is not None]


def strange_categories(document: JsonPart, borders: int) -> Iterator[StrangePart]:
    """Yield hashes that no split asks, and numbers that do not follow; ``borders`` are counted before hashes are."""
    info = document["features_info"]
    features = list(info.get("categorical_features") or ())
    listed = [[part.whole(low=-HASHES) for part in each.get("values") or ()] for each in features]
    asked: list[set[int]] = [set() for _ in features]
    for split in splits_of(document):
        if split["split_type"].value != "OneHotFeature":
            continue
        index = split["cat_feature_index"].whole(high=max(len(features) - 1, 0))
        value, number = split["value"].whole(low=-HASHES), split.get("split_index")
        if value not in listed[index]:
            yield StrangePart((*split.steps, "value"), "a category that its feature does not list")
            continue
        asked[index].add(value)
        before = borders + sum(map(len, listed[:index])) + listed[index].index(value)
        if number is not None and number.value != before:
            yield StrangePart(number.steps, "not the number of its category")
    for index, values in enumerate(listed):
        if len(set(values)) < len(values) or asked[index] != set(values):
            place = (*features[index].steps, "values")
            yield StrangePart(place, "categories that no tree tests")
    seen: set[object] = set()
    for part in info.get("cat_features_hash") or ():
        number = part["hash"]
        if number.value in seen:
            yield StrangePart(number.steps, "a hash that occurs twice")
        elif city_hash(part["value"].label()) != number.value:
            yield StrangePart(number.steps, NOT_ITS_HASH)
        seen.add(number.value)


def unasked_texts(document: JsonPart) -> list[int]:
    """Return the places of the texts of categories, among all of them, that no tree asks for."""
    listed = document["features_info"].get("cat_features_hash")
    if listed is None:
        return []
    asked = {
        split["value"].whole(low=-HASHES) % HASHES
        for split in splits_of(document)
        if split["split_type"].value == "OneHotFeature"
    }
    hashes = [part["hash"].whole(high=HASHES - 1) for part in listed]
    return [place for place, number in enumerate(hashes) if number not in asked]


def city_hash(text: str) -> int | None:
    """Return the hash that CatBoost has for a category; None of a text that is longer than is hashed here."""
    data = text.encode("utf-8", "surrogatepass")
    size = len(data)
    if size > MOST_BYTES:
        return None
    if size > 16:
        whole = _hash_to_32(data)
    elif size > 8:
        first, last = _little_endian(data, 0), _little_endian(data, size - 8)
        whole = _mixed(first, _rotated((last + size) & BITS, size)) ^ last
    elif size >= 4:
        low, high = (int.from_bytes(data[at : at + 4], "little") for at in (0, size - 4))
        whole = _mixed((size + (low << 3)) & BITS, high)
    elif size:
        left = data[0] + (data[size >> 1] << 8)
        right = size + (data[-1] << 2)
        product = (left * K2 & BITS) ^ (right * K3 & BITS)
        whole = (product ^ product >> 47) * K2
    else:
        whole = K2
    return whole % HASHES


def _hash_to_32(data: bytes) -> int:
    size = len(data)
    one, two = _little_endian(data, 0) * K1 & BITS, _little_endian(data, 8)
    three, four = (
        _little_endian(data, size - 8) * K2 & BITS,
        _little_endian(data, size - 16) * K0 & BITS,
    )
    left = _rotated((one - two) & BITS, 43) + _rotated(three, 30) + four
    right = one + _rotated(two ^ K3, 20) - three + size
    return _mixed(left & BITS, right & BITS)


def _little_endian(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _rotated(number: int, places: int) -> int:
    return (number >> places | number << (64 - places)) & BITS


def _mixed(low: int, high: int) -> int:
    first = (low ^ high) * MIXER & BITS
    first ^= first >> 47
    second = (high ^ first) * MIXER & BITS
    return (second ^ second >> 47) * MIXER & BITS
