"""The categories that CatBoost's trees ask for, by hashes of their texts, and how all splits of a file are numbered.

A category is the lower half of CityHash64 of its text in UTF-8 (Pike & Alakuijala 2011, version 1.0, which CatBoost
takes). Texts of up to 32 bytes are hashed here: a longer one cannot be told from another of the same hash.
"""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.formats.catboost._trees import HASHES
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.shapes import StrangePart

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
            yield StrangePart(place, "categories that no tree asks for")
    seen: set[object] = set()
    for part in info.get("cat_features_hash") or ():
        number = part["hash"]
        if number.value in seen:
            yield StrangePart(number.steps, "a hash that stands twice")
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
        first, last = _number(data, 0), _number(data, size - 8)
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
    one, two = _number(data, 0) * K1 & BITS, _number(data, 8)
    three, four = _number(data, size - 8) * K2 & BITS, _number(data, size - 16) * K0 & BITS
    left = _rotated((one - two) & BITS, 43) + _rotated(three, 30) + four
    right = one + _rotated(two ^ K3, 20) - three + size
    return _mixed(left & BITS, right & BITS)


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _rotated(number: int, places: int) -> int:
    return (number >> places | number << (64 - places)) & BITS


def _mixed(low: int, high: int) -> int:
    first = (low ^ high) * MIXER & BITS
    first ^= first >> 47
    second = (high ^ first) * MIXER & BITS
    return (second ^ second >> 47) * MIXER & BITS
