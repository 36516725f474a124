"""What the operators behind the trees of an ONNX graph make of their scores and labels: a link, or nothing known.

Of scores are followed: sums with and products by constants, before the link; the logistic function, softmax and the
exponential as links, the last one times a positive constant; copies, casts between floating numbers, and whatever
gives each class its name (ZipMap). Of labels, casts and tables that give each another name. What an output comes from
otherwise is named, and its predictions are then not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.node_order import unique
from treewarden.ppdm_models.formats.onnx._file import (
    FLOATS,
    OnnxTable,
    Operator,
    floats,
    ints,
    texts,
)
from treewarden.ppdm_models.formats.onnx._graph import (
    OF_TREES,
    STANDARD,
    OnnxGraph,
    in_order,
    is_of_trees,
    kind_of,
    setting,
)
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Combination, Link

# What the numbers at the leaves of an ONNX tree operator mean: classes or targets, and how they are combined.

POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
LINKS = {"NONE": Link.IDENTITY, "SOFTMAX": Link.SOFTMAX, "LOGISTIC": Link.LOGISTIC}
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the numbers of the leaves add to: outputs, their start, and what becomes of them.

    ``lone`` says that a classifier of two classes publishes one number per leaf; ``positive`` that none of its leaf
    numbers is negative, so that it is the share of the second class.
    """

    classes: tuple[str, ...]
    width: int
    base: tuple[float, ...]
    link: Link
    combination: Combination
    lone: bool = False
    positive: bool = False


def read_meaning(operator: Operator, table: OnnxTable) -> Meaning:
    """Return what the leaves' numbers mean, as onnxruntime takes them.

    Raises:
        TreeFormatError: a setting is unknown, or does not fit the leaves.
    """
    post, aggregate = _choice(operator, "post_transform", POST, "NONE"), "SUM"
    if operator.kind == "TreeEnsembleClassifier":
        classes = _classes(operator)
        width = len(classes)
    else:
        classes = ()
        width = _whole(operator, "n_targets", 1)
        aggregate = _choice(operator, "aggregate_function", AGGREGATES, "SUM")
    used = {output for leaf in table.leaves.values() for output, _ in leaf}
    if any(not 0 <= output < width for output in used):
        raise operator.refused(f"a leaf is for output {max(used)}, but there are {width} outputs")
    if width * len(table.leaves) > limits.CLASS_NUMBERS:
        raise operator.refused(
            f"{width:,} outputs at {len(table.leaves):,} leaves are too many; train a smaller model"
        )
    lone = len(classes) == 2 and len(used) == 1
    positive = lone and all(weight >= 0 for leaf in table.leaves.values() for _, weight in leaf)
    base = _base(operator, width, lone)
    combination = _combination(operator, aggregate, base)
    link = LINKS.get(post, Link.UNKNOWN)
    if positive and post != "PROBIT" or (lone and post == "SOFTMAX"):
        link = Link.IDENTITY  # onnxruntime takes such a number as it is
    if width == 1 and post != "NONE":
        link = Link.UNKNOWN
    return Meaning(
        classes=classes,
        width=width,
        base=base,
        link=link,
        combination=combination,
        lone=lone,
        positive=positive,
    )


def _combination(operator: Operator, aggregate: str, base: tuple[float, ...]) -> Combination:
    if aggregate in ("SUM", "AVERAGE"):
        return Combination.WEIGHTED_SUM if aggregate == "AVERAGE" else Combination.SUM
    if aggregate == "MAX" and not any(base):
        return Combination.MAX
    raise operator.refused(f"its trees are combined by {aggregate}, which is not supported")


def _choice(operator: Operator, name: str, choices: Sequence[str], default: str) -> str:
    """Return a setting that is a word, or in version 5 the number of the word."""
    said = operator.attributes.get(name, default)
    if isinstance(said, int) and 0 <= said < len(choices):
        return choices[said]
    if said not in choices:
        raise operator.refused(f"unknown {name} {said!r}; known values: {', '.join(choices)}")
    return str(said)


def _whole(operator: Operator, name: str, default: int) -> int:
    said = operator.attributes.get(name, default)
    if not isinstance(said, int) or not 0 < said <= limits.CLASSES:
        raise operator.refused(f"{name} is {said!r}, not a number from 1 to {limits.CLASSES:,}")
    return said


def _classes(operator: Operator) -> tuple[str, ...]:
    if operator.attributes.get("classlabels_strings"):
        labels = texts(operator, "classlabels_strings")
    else:
        labels = [str(number) for number in ints(operator, "classlabels_int64s")]
    if len(labels) < 2:
        raise operator.refused("a classifier needs at least two classes")
    return unique(labels, "classes", operator.source, limits.CLASSES)


def _base(operator: Operator, width: int, lone: bool) -> tuple[float, ...]:
    base = tuple(floats(operator, "base_values", optional=True))
    if lone and base:
        start = base[-1]
        return (-start, start)
    if base and len(base) != width:
        raise operator.refused(f"there are {len(base)} base_values for {width} outputs")
    return base


COPIES = ("Identity", "Dropout")
RESHAPES = ("Reshape", "Squeeze", "Unsqueeze", "Flatten")
"""They keep the numbers and their order: of one number per record nothing else is changed."""
AFTER_LINKS = {"Sigmoid": Link.LOGISTIC, "Exp": Link.EXP}
LARGEST = 1e30


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the trees: factor * sum + base, behind a link; ``base`` has one number per output, or one for all."""

    factor: float = 1.0
    base: tuple[float, ...] = (0.0,)
    link: Link = Link.IDENTITY


@dataclass(frozen=True, slots=True)
class OnnxLabels:
    """The label of a record: the name of each class, in the order of the trees' classes."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnfollowedInput:
    """Something else: made of trees by an operator that is not supported (``kind``), or of no tree at all ("")."""

    kind: str = ""


State = Scores | OnnxLabels | UnfollowedInput
NOTHING = UnfollowedInput()


@dataclass(frozen=True, slots=True)
class After:
    """What becomes of the trees' scores: their state, the names of the classes, and what is not supported."""

    scores: Scores
    names: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def followed(graph: OnnxGraph, meaning: Meaning) -> After:
    """Return what the outputs of a graph are of its trees.

    Raises:
        TreeFormatError: operators read each other in a circle, or a constant is damaged.
    """
    plain = After(Scores(), meaning.classes)
    if not graph.outputs:
        return plain
    states: dict[str, State] = {}
    for node in in_order(graph, graph.outputs):
        made = (
            _of_trees(node, meaning) if is_of_trees(node) else _made(node, states, graph, meaning)
        )
        states |= {name: state for name, state in zip(node.output, made, strict=False) if name}
    found = [states.get(name, NOTHING) for name in graph.outputs]
    scores = list(dict.fromkeys(state for state in found if isinstance(state, Scores)))
    names = list(dict.fromkeys(state.names for state in found if isinstance(state, OnnxLabels)))
    unknown = [state.kind for state in found if isinstance(state, UnfollowedInput) and state.kind]
    if not scores and not names and not unknown:
        unknown = ["outputs that do not come from trees"]
    if len(scores) > 1 or len(names) > 1:
        unknown.append("several outputs, which differ")
    if names and (len(set(names[0])) < len(names[0])):
        unknown.append("labels that two classes share")
    return After(
        scores[0] if scores else Scores(),
        names[0] if names and not unknown else meaning.classes,
        tuple(dict.fromkeys(unknown)),
    )


def _of_trees(node: Any, meaning: Meaning) -> tuple[State, ...]:  # noqa: ANN401  # protobuf
    if node.op_type == "TreeEnsembleClassifier":
        return OnnxLabels(meaning.classes), Scores()
    return (Scores(),)


def _made(
    node: Any,  # noqa: ANN401  # protobuf
    states: Mapping[str, State],
    graph: OnnxGraph,
    meaning: Meaning,
) -> tuple[State, ...]:
    """Return what an operator makes, one state per output; the first operator that is not supported gives its name."""
    read = [states.get(name, NOTHING) for name in node.input]
    lost = next(
        (state for state in read if isinstance(state, UnfollowedInput) and state.kind), None
    )
    if lost is not None:
        return (lost,) * len(node.output)
    if all(isinstance(state, UnfollowedInput) for state in read) and not _has_parts(node):
        return (NOTHING,) * len(node.output)
    state: State | None = None
    if node.domain in (*STANDARD, OF_TREES):
        for at, one in enumerate(read):
            if isinstance(one, Scores) and all(o is one or o == NOTHING for o in read):
                state = _of_scores(node, at, one, graph, meaning)
            elif isinstance(one, OnnxLabels) and all(o is one or o == NOTHING for o in read):
                state = _of_labels(node, at, one, graph)
            if state is not None:
                break
    return (UnfollowedInput(kind_of(node)) if state is None else state,) * len(node.output)


def _has_parts(node: Any) -> bool:  # noqa: ANN401  # protobuf
    """Whether an operator holds a graph of its own, which may read any value of the outer one."""
    return any(item.HasField("g") or len(item.graphs) for item in node.attribute)


def _of_scores(
    node: Any,  # noqa: ANN401  # protobuf
    at: int,
    state: Scores,
    graph: OnnxGraph,
    meaning: Meaning,
) -> State | None:
    """Return what an operator makes of scores, its input number ``at``; None where that is not known."""
    kind, width = node.op_type, meaning.width
    if kind in COPIES and at == 0 or (kind == "ZipMap" and node.domain == OF_TREES):
        return state
    if kind == "Cast":
        return state if setting(node, "to", 1) in FLOATS else None
    if kind in RESHAPES:
        return state if width == 1 and at == 0 else None
    if kind == "ArgMax":
        return _argmax(node, state, meaning)
    is_plain = state.link is Link.IDENTITY and meaning.link is Link.IDENTITY
    if is_plain and kind in AFTER_LINKS:
        return replace(state, link=AFTER_LINKS[kind]) if not meaning.classes else None
    if is_plain and kind == "Softmax" and not meaning.classes:
        axis = setting(node, "axis", -1)
        return replace(state, link=Link.SOFTMAX) if width > 1 and axis in (1, -1) else None
    if kind == "Neg":
        return _changed(state, -1.0, (0.0,), width) if is_plain and not meaning.classes else None
    if kind not in ("Add", "Sub", "Mul", "Div", "Sum") or len(node.input) > 2 or meaning.classes:
        return None
    other = graph.constant(node.input[1 - at]) if len(node.input) == 2 else np.zeros(1)
    if not isinstance(other, np.ndarray) or len(other) not in (1, width):
        return None
    return _arithmetic(kind, at, state, other.astype(np.float64), width, is_plain=is_plain)


def _arithmetic(
    kind: str, at: int, state: Scores, constant: np.ndarray, width: int, *, is_plain: bool
) -> Scores | None:
    """Return scores after one operation with a constant; of exponentials, products by a positive one."""
    if not np.isfinite(constant).all() or np.abs(constant).max() > LARGEST:
        return None
    if kind in ("Mul", "Div"):
        if (kind == "Div" and (at == 1 or not constant.all())) or not constant.all():
            return None
        factors = constant if kind == "Mul" else 1.0 / constant
        if state.link is Link.EXP and (factors > 0).all():
            logs = tuple(math.log(factor) for factor in factors.tolist())
            return replace(state, base=_added(state.base, logs))
        if not is_plain or len(set(factors.tolist())) > 1:
            return state if (factors == 1).all() else None
        return _changed(state, float(factors[0]), (0.0,), width)
    if not constant.any() and (kind != "Sub" or at == 0):
        return state
    if not is_plain:
        return None
    if kind == "Sub":
        turned = _changed(state, -1.0 if at == 1 else 1.0, (0.0,), width)
        return _changed(turned, 1.0, tuple((constant if at == 1 else -constant).tolist()), width)
    return _changed(state, 1.0, tuple(constant.tolist()), width)


def _changed(state: Scores, factor: float, added: tuple[float, ...], width: int) -> Scores:
    base = tuple(factor * each for each in state.base)
    return replace(state, factor=factor * state.factor, base=_added(base, added))


def _added(one: tuple[float, ...], two: tuple[float, ...]) -> tuple[float, ...]:
    size = max(len(one), len(two))
    pair = (each if len(each) == size else each * size for each in (one, two))
    return tuple(a + b for a, b in zip(*pair, strict=True))


def _argmax(node: Any, state: Scores, meaning: Meaning) -> State | None:  # noqa: ANN401  # protobuf
    """Return the places of the largest scores as labels, where these are the trees' own."""
    if setting(node, "axis", 0) not in (1, -1) or setting(node, "select_last_index", 0) != 0:
        return None
    is_own = state == Scores() and len(meaning.classes) > 1
    return OnnxLabels(tuple(map(str, range(len(meaning.classes))))) if is_own else None


def _of_labels(node: Any, at: int, state: OnnxLabels, graph: OnnxGraph) -> State | None:  # noqa: ANN401  # protobuf
    """Return what an operator makes of a label; None where that is not known."""
    kind = node.op_type
    if kind in COPIES or (kind in RESHAPES and at == 0):
        return state
    if kind == "Cast":
        return state
    if kind == "ArrayFeatureExtractor" and node.domain == OF_TREES and at == 1:
        return _named(state, graph.constant(node.input[0]))
    if kind == "Gather" and at == 1:
        return _named(state, graph.constant(node.input[0]))
    if kind == "LabelEncoder" and node.domain == OF_TREES:
        return _encoded(node, state)
    return None


def _named(state: OnnxLabels, names: object) -> OnnxLabels | None:
    """Return labels that are places in a list of names as these."""
    if isinstance(names, np.ndarray):
        names = [number_text(number) for number in names.tolist()]
    places = [int(name) if name.isdecimal() and len(name) < 9 else -1 for name in state.names]
    if not isinstance(names, list) or not all(0 <= place < len(names) for place in places):
        return None
    return OnnxLabels(tuple(str(names[place]) for place in places))


def _encoded(node: Any, state: OnnxLabels) -> OnnxLabels | None:  # noqa: ANN401  # protobuf
    """Return labels as a table of keys and values names them."""
    lists: list[list[str]] = []
    for part in ("keys", "values"):
        found = [
            said
            for suffix in ("strings", "int64s", "floats")
            if isinstance(said := setting(node, f"{part}_{suffix}", []), list) and said
        ]
        if len(found) != 1:
            return None
        lists.append([_name(value) for value in found[0]])
    keys, values = lists
    if len(keys) != len(values) or not set(state.names) <= set(keys):
        return None
    table = dict(zip(keys, values, strict=True))
    return OnnxLabels(tuple(table[name] for name in state.names))


def _name(value: object) -> str:
    return number_text(value) if isinstance(value, float) else str(value)
