"""Random trees for property tests: every kind of test, whatever may be published, awkward names."""

import math
from dataclasses import replace

from hypothesis import strategies as st

from treewarden.ppdm_models.tree.nodes import Impurity
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    AnyOf,
    CategoryTest,
    MissingTest,
    NumericTest,
)
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Learner,
    Missing,
    Node,
    NoTrueChild,
    Quality,
    Task,
    Tree,
)

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=6)
AWKWARD = st.sampled_from(
    [
        '"',
        "'",
        "a, b",
        "<script>",
        "line\nbreak",
        "tab\there",
        "&amp;",
        " padded ",
        "",
        "Zoë",
        "back\\",
        '\\"',
        "]]>",
        "=1",
    ]
)
NAMES = ANY_TEXT | AWKWARD
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SINGLES = st.floats(allow_nan=False, allow_infinity=False, width=32)
COUNTS = st.integers(0, 40).map(float)
ENDS = st.lists(st.floats(0, 9), min_size=2, max_size=2).map(sorted)
MIXED = st.builds(
    lambda criterion, ends: Impurity(criterion, *ends),
    st.sampled_from([Criterion.GINI, Criterion.ENTROPY]),
    ENDS,
)
IMPURITIES = st.none() | MIXED


@st.composite
def features(draw):
    names = draw(st.lists(NAMES, min_size=3, max_size=5, unique=True))
    numeric = [Feature(name, numeric=True, single=draw(st.booleans())) for name in names[:-2]]
    categorical = [
        Feature(
            name,
            numeric=False,
            values=tuple(draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))),
        )
        for name in names[-2:]
    ]
    return (*numeric, *categorical)


def intervals(draw, feature):
    numbers = SINGLES if feature.single else NUMBERS
    ends = sorted(draw(st.lists(numbers, min_size=1, max_size=3, unique=True)))
    closed = [draw(st.booleans()) for _ in ends]
    lows, highs = [-math.inf, *ends], [*ends, math.inf]
    return [
        NumericTest(
            feature.name,
            low,
            high,
            low_closed=index > 0 and not closed[index - 1],
            high_closed=index < len(ends) and closed[index],
        )
        for index, (low, high) in enumerate(zip(lows, highs, strict=True))
    ]


def point(draw, feature):
    at = draw(SINGLES if feature.single else NUMBERS)
    rest = AnyOf((NumericTest(feature.name, high=at), NumericTest(feature.name, low=at)))
    return [NumericTest(feature.name, at, at, low_closed=True, high_closed=True), rest]


def each_category(draw, feature):
    cut = draw(st.integers(1, len(feature.values) - 1))
    first, rest = feature.values[:cut], feature.values[cut:]
    return [
        CategoryTest(feature.name, first),
        *(CategoryTest(feature.name, (value,)) for value in rest),
    ]


def a_set(draw, feature):
    cut = draw(st.integers(1, len(feature.values)))
    values = feature.values[:cut]
    return [CategoryTest(feature.name, values), CategoryTest(feature.name, values, negated=True)]


def whether_missing(draw, feature):
    return [MissingTest(feature.name), MissingTest(feature.name, negated=True)]


def splits(draw, known):
    numeric = draw(st.sampled_from([feature for feature in known if feature.numeric]))
    categorical = draw(st.sampled_from([feature for feature in known if not feature.numeric]))
    kind = draw(
        st.sampled_from([intervals, intervals, point, each_category, a_set, whether_missing, None])
    )
    if kind is None:
        first, second = a_set(draw, categorical), point(draw, numeric)
        both = [AllOf((first[0], second[0])), AllOf((first[0], second[1]))]
        return [*both, first[1]]
    return kind(draw, numeric if kind in (intervals, point) else categorical)


@st.composite
def trees(draw):
    """A tree whose children split their node, with numbers that add up."""
    known = draw(features())
    classes = tuple(draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)))
    task = draw(st.sampled_from(list(Task)))
    classes = classes if task is Task.CLASSIFICATION else ()
    shape = grown(draw, known)
    nodes = published(draw, named(draw, shape), classes)
    quality, nodes = nodes
    return Tree(
        nodes=tuple(nodes),
        features=known,
        target=draw(NAMES.filter(lambda name: name not in [feature.name for feature in known])),
        classes=classes,
        task=task,
        learner=Learner(
            draw(st.none() | st.sampled_from(list(Criterion))),
            draw(st.integers(1, 99)),
            draw(st.booleans()),
            draw(st.none() | st.booleans()),
            tool=draw(st.sampled_from(list(Tool))),
            lists_columns=draw(st.booleans()),
            draws_cuts=draw(st.booleans()),
        ),
        quality=quality,
        missing=draw(st.sampled_from(list(Missing))),
        no_true_child=draw(st.sampled_from(list(NoTrueChild))),
    )


def grown(draw, known):
    nodes = [Node(0, "", None)]
    pending = [0]
    while pending:
        index = pending.pop()
        if len(nodes) > 8 or not draw(st.booleans()):
            continue
        tests = splits(draw, known)
        below = range(len(nodes), len(nodes) + len(tests))
        nodes += [
            Node(child, "", index, test=test) for child, test in zip(below, tests, strict=True)
        ]
        default = draw(st.none() | st.sampled_from(below))
        nodes[index] = replace(nodes[index], children=tuple(below), default_child=default)
        pending += below
    return in_document_order(nodes)


def in_document_order(nodes):
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack += reversed(nodes[order[-1]].children)
    number = {old: new for new, old in enumerate(order)}
    return [
        replace(
            nodes[old],
            index=number[old],
            parent=number.get(nodes[old].parent),
            children=tuple(number[child] for child in nodes[old].children),
            default_child=number.get(nodes[old].default_child),
        )
        for old in order
    ]


def named(draw, nodes):
    names = draw(st.lists(NAMES, min_size=len(nodes), max_size=len(nodes), unique=True))
    return [replace(node, name=name) for node, name in zip(nodes, names, strict=True)]


def published(draw, nodes, classes):
    scores = st.none() | (st.sampled_from(classes) if classes else NUMBERS)
    nodes = [replace(node, score=draw(scores)) for node in nodes]
    if classes:
        nodes = [replace(node, impurity=draw(IMPURITIES)) for node in nodes]
    kind = draw(st.sampled_from(["nothing", "people", "weights", "shares"]))
    if kind == "nothing":
        return Quality.ABSENT, nodes
    if kind == "people":
        return draw(st.sampled_from([Quality.EXACT, Quality.DERIVED])), people(draw, nodes, classes)
    if kind == "shares" and classes:
        return Quality.NORMALISED, [
            replace(node, class_shares=shares(draw, len(classes))) for node in nodes
        ]
    quality = draw(st.sampled_from([Quality.WEIGHTED, Quality.HESSIAN, Quality.INCONSISTENT]))
    weights = st.floats(0, 1e6)
    nodes = [replace(node, records=draw(st.none() | weights)) for node in nodes]
    if classes:
        size = len(classes)
        lists = st.lists(weights, min_size=size, max_size=size).map(tuple)
        nodes = [replace(node, class_counts=draw(st.none() | lists)) for node in nodes]
    return quality, nodes


def people(draw, nodes, classes):
    counts = {}
    for node in reversed(nodes):
        if node.children:
            below = [counts[child] for child in node.children]
            counts[node.index] = tuple(math.fsum(column) for column in zip(*below, strict=True))
        else:
            counts[node.index] = tuple(draw(COUNTS) for _ in classes or (0,))
    found = []
    for node in nodes:
        own = counts[node.index]
        shown = (
            tuple(draw(st.sampled_from([count, count, None])) for count in own) if classes else None
        )
        if shown is not None and (draw(st.booleans()) or all(count is None for count in shown)):
            shown = None
        found.append(
            replace(node, records=draw(st.sampled_from([math.fsum(own), None])), class_counts=shown)
        )
    return found


def shares(draw, size):
    parts = [draw(st.integers(0, 9)) for _ in range(size)]
    total = sum(parts) or 1
    parts = parts if sum(parts) else [1, *parts[1:]]
    return draw(st.sampled_from([None, tuple(part / total for part in parts)]))
