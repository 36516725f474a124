"""Ways to damage a model file, for tests that a reader refuses what it cannot read and never fails otherwise."""

import copy
import json

WRONG = (
    *(None, True, False, -1, 0, 1, 2, 3, 0.5, -0.0, 1e308, -1e308, 2**31, 2**64, 10**400, 1e-320),
    *("", "nan", "0.5f", "\ud800", "x" * 200, [], {}, [[]], [1], ["a"], {"a": 1}, [None], [{}]),
)


def containers(document):
    """Return all objects and lists of a document that hold something."""
    found, stack = [], [document]
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list) and value:
            found.append(value)
            stack.extend(value.values() if isinstance(value, dict) else value)
    return found


def damaged(document, random):
    """Return a copy of a document with one to three things wrong."""
    document = copy.deepcopy(document)
    for _ in range(random.randint(1, 3)):
        places = containers(document)
        if not places:
            return document
        place = random.choice(places)
        key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
        kind = random.choice(("drop", "wrong", "wrong", "twice", "elsewhere"))
        if kind == "drop":
            del place[key]
        elif kind == "wrong":
            place[key] = copy.deepcopy(random.choice(WRONG))
        elif kind == "twice" and isinstance(place, list):
            place.insert(key, copy.deepcopy(place[key]))
        else:
            place[key] = copy.deepcopy(random.choice(places))
    return document


def damaged_json(data, random):
    """Return JSON bytes with something wrong inside, or cut short, or with a byte changed."""
    kind = random.randint(0, 9)
    if kind == 0:
        return data[: random.randrange(len(data))]
    if kind == 1:
        return with_a_wrong_byte(data, random)
    text = json.dumps(damaged(json.loads(data), random))
    return text.encode("utf-8", "surrogatepass")


def with_a_wrong_byte(data, random):
    """Return the bytes with up to three changed."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 3)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)
