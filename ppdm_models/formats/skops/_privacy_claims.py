"""What an estimator in a skops file claims of differential privacy, and what gradient boosting keeps of residuals.

The estimators are diffprivlib's and treewarden's own private learner. diffprivlib 0.6 draws tests without looking at
records, and labels by permute-and-flip on counts that only grow. Its forest lets each record into one tree. It gives
every tree a whole number as ``random_state``, whatever its own is: a file of a forest always holds what its labels were
drawn from.

Trees of gradient boosting hold variances of residuals, and means of inner nodes, that no prediction needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.skops._estimator import (
    BAGGED,
    FORESTS,
    PRIVATE_TREE,
    Fitted,
    claims_privacy,
)
from treewarden.ppdm_models.formats.skops._parts import Array, FilePart, SkopsPart
from treewarden.ppdm_models.formats.skops._table_tests import RISING, Derived, largest
from treewarden.ppdm_models.tree.column import cut_grid
from treewarden.ppdm_models.tree.ensemble import Model, with_claim
from treewarden.ppdm_models.tree.privacy_claim import (
    BoundsOrigin,
    ClaimUnit,
    LabelMechanism,
    PrivacyClaim,
    ProducerFacts,
    SplitOrigin,
    TreeRecords,
    read_claim,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Tree

SEED = "random_state"
SPENT = "_BudgetAccountant__spent_budget"
CLAIM = "claim_"
"""The claim of treewarden's own learner, in words."""
BEHIND = (
    "its tests are about columns that a step before the tree computes, which is not followed, so the people of its "
    "leaves are not known; add these columns to the table, and train without the step"
)


def claiming(model: Model, fitted: Fitted) -> Model:
    """Return a model with the claim of its estimator, where it has one that is understood.

    Steps that were fitted before it make the ends of its columns: on the scale of the table, these come from there.
    """
    claim = read_claim_of(fitted) if claims_privacy(fitted.part) else None
    if claim is None:
        return model
    if fitted.is_scaled_by_table:
        claim = replace(claim, bounds_origin=BoundsOrigin.TABLE)
    if fitted.is_behind_unknown:
        producer = replace(claim.producer, unevaluated=(*claim.producer.unevaluated, BEHIND))
        claim = replace(claim, mechanism=LabelMechanism.UNKNOWN, producer=producer)
    return with_claim(model, claim)


def claiming_inside(tree: Tree, part: SkopsPart, fitted: Fitted) -> Tree:
    """Return one tree of an ensemble with the claim of its own estimator, which is about this tree alone.

    Whatever stands around it (a vote, Bagging) has read its list of classes from the table.
    """
    own = replace(fitted, part=part, known=part.attributes())
    found = claiming(tree, own)
    assert isinstance(found, Tree)
    claim = found.learner.claim
    if claim is None or part is fitted.part or fitted.part.kind.startswith(FORESTS):
        return found
    origin = claim.bounds_origin
    if origin is BoundsOrigin.PUBLIC:
        origin = BoundsOrigin.UNKNOWN
    claim = replace(claim, bounds_origin=origin, may_read_classes=True)
    if fitted.part.kind.startswith(BAGGED) and fitted.plain("bootstrap", True) is not False:
        claim = replace(claim, is_seeded=True)  # its seeds say who is in which sample
    return replace(found, learner=replace(found.learner, claim=claim))


def read_claim_of(fitted: Fitted) -> PrivacyClaim | None:
    """Return what an estimator claims; None where its epsilon is no number above 0."""
    if fitted.part.kind.startswith(PRIVATE_TREE):
        return _own_claim(fitted)
    epsilon = fitted.plain("epsilon")
    if not _is_number(epsilon) or not epsilon > 0:
        return None
    is_forest = fitted.part.kind.startswith(FORESTS)
    is_single_fit = fitted.plain("warm_start", False) is False
    return PrivacyClaim(
        epsilon=float(epsilon),
        unit=ClaimUnit.RECORD,
        mechanism=LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC,
        label_epsilon=float(epsilon),
        splits=SplitOrigin.INDEPENDENT,
        trees=TreeRecords.PARTS if is_forest and is_single_fit else TreeRecords.UNKNOWN,
        bounds=_bounds(fitted),
        may_read_classes=_may_read_classes(fitted),
        is_seeded=_is_seeded(fitted, is_forest=is_forest),
        spent=_spent(fitted.known),
    )


def _own_claim(fitted: Fitted) -> PrivacyClaim | None:
    said = fitted.plain(CLAIM)
    try:
        claim = read_claim(said, "the file") if isinstance(said, str) else None
    except ValueError:
        return None
    if claim is None:
        return None
    is_seeded = claim.is_seeded or _has_seed(fitted.known)
    bins = fitted.plain("bins")
    is_of_table = all(each.is_raw and each.filled is None for each in fitted.columns or ())
    claim = replace(
        claim,
        bounds=_bounds(fitted),
        producer=ProducerFacts(bins=bins if is_of_table and _are_bins(bins) else None),
        is_seeded=is_seeded,
    )
    if not all(_is_set(fitted.known.get(name)) for name in ("bounds", "classes")):
        claim = replace(claim, bounds_origin=BoundsOrigin.TABLE)
    epsilon = fitted.plain("epsilon")
    if _is_number(epsilon) and epsilon > claim.epsilon:
        claim = replace(claim, epsilon=float(epsilon))
    if claim.splits is SplitOrigin.PRIVATE and not _are_drawn(fitted.known):
        claim = replace(claim, splits=SplitOrigin.UNKNOWN)
    if not _is_as_set(claim, fitted):
        claim = replace(claim, mechanism=LabelMechanism.UNKNOWN)
    return claim


def _is_as_set(claim: PrivacyClaim, fitted: Fitted) -> bool:
    """Return whether a claim of treewarden's learner spends on labels what its settings say, by its own mechanism."""
    share, epsilon = fitted.plain("label_share"), fitted.plain("epsilon")
    if not _is_number(share) or not _is_number(epsilon) or claim.label_epsilon is None:
        return False
    is_split = claim.splits is not SplitOrigin.INDEPENDENT
    labels = epsilon * share if is_split else epsilon
    depths = _leaf_depths(fitted.known["tree_"]) if "tree_" in fitted.known else {0}
    has_tests = depths != {0}
    return (
        math.isclose(claim.label_epsilon, labels, rel_tol=1e-9)
        and (claim.mechanism, claim.delta) == (LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC, 0)
        and claim.trees is TreeRecords.UNKNOWN
        and is_split == has_tests
        and depths in ({0}, {fitted.plain("max_depth")})  # to stop early would tell of the records
    )


def _leaf_depths(tree: SkopsPart) -> set[int]:
    """Return how many tests lead to the leaves of a tree of scikit-learn, each number once."""
    nodes: Any = tree.attributes()["nodes"].array()
    below, found = [(0, 0)], set[int]()
    while below:
        node, depth = below.pop()
        children = int(nodes["left_child"][node]), int(nodes["right_child"][node])
        if children[0] < 0:
            found.add(depth)
        else:
            below += [(child, depth + 1) for child in children]
    return found


def _is_set(part: SkopsPart | None) -> bool:
    return part is not None and (part.loader != "JsonNode" or part.plain() is not None)


def _are_drawn(attributes: Mapping[str, SkopsPart]) -> bool:
    """Return whether each test of treewarden's private learner is a cut of its grid, which no record has a part in."""
    if not all(name in attributes for name in ("tree_", "bounds", "bins")):
        return False
    ends, bins = (
        read_bounds(attributes["bounds"], column_names(attributes)),
        attributes["bins"].plain(),
    )
    if not ends or not _are_bins(bins):
        return True  # between which ends it draws is not understood, and that is told by itself
    nodes: Any = attributes["tree_"].attributes()["nodes"].array()
    inner = nodes[nodes["left_child"] >= 0]
    grids = [cut_grid(low, high, bins) for _, low, high in ends]
    tests = zip(inner["feature"], inner["threshold"], strict=True)
    return all((grids[feature] == threshold).any() for feature, threshold in tests)


MOST_END = 1e300
"""Ends beyond are those of numbers of 64 bits."""
MOST_BINS = 1024
"""So many parts of a range treewarden's learner takes at most."""


def _are_bins(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and 1 <= value <= MOST_BINS


def column_names(attributes: Mapping[str, SkopsPart]) -> list[str]:
    """Return the names of the columns that an estimator sees; their places where it saw no names."""
    columns, width = attributes.get("feature_names_in_"), attributes.get("n_features_in_")
    if columns is not None:
        return [str(name) for name in columns.array().tolist()]
    count = None if width is None else width.plain()
    return [str(place) for place in range(count if isinstance(count, int) else 1)]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_seeded(fitted: Fitted, *, is_forest: bool) -> bool:
    """Return whether the file holds what some of its labels were drawn from: a number, or the state of a generator."""
    if _has_seed(fitted.known):
        return True
    parts = (
        fitted.known["estimators_"].items() if is_forest and "estimators_" in fitted.known else ()
    )
    return any(_has_seed(part.attributes()) for part in parts)


def _has_seed(attributes: Mapping[str, SkopsPart]) -> bool:
    return _is_set(attributes.get(SEED))


def _bounds(fitted: Fitted) -> tuple[tuple[str, float, float], ...]:
    """Return the ends of each column of the table; none where they are not told.

    Columns that steps before made something else of have none, such as numbers of categories. Behind a function that
    keeps their order, ends are those of the table.
    """
    part = fitted.known.get("bounds")
    if part is None:
        return ()
    if fitted.columns is None:
        return read_bounds(part, fitted.names)
    seen = read_bounds(part, column_names(fitted.known))
    if len(seen) != len(fitted.columns):
        return ()
    return tuple(
        (fitted.names[column.source], _end_of_table(column, low), _end_of_table(column, high))
        for column, (_, low, high) in zip(fitted.columns, seen, strict=True)
        if column.codes is None and all(name in RISING for name, _ in column.operations)
    )


def _end_of_table(column: Derived, end: float) -> float:
    """Return an end on the scale of the table; infinite behind a function, where it is a short number there."""
    if column.is_raw or not math.isfinite(end):
        return end
    if float(f"{end:.1e}") == end:
        return math.copysign(math.inf, end)
    found = largest(lambda number: column.transform(number) <= end)
    return float(f"{found:.9g}") if abs(found) < MOST_END else math.copysign(math.inf, found)


def read_bounds(part: SkopsPart, names: Sequence[str]) -> tuple[tuple[str, float, float], ...]:
    """Return the ends of each column by its name; none where they are not understood."""
    width = len(names)
    if part.loader == "DictNode":
        return _bounds_by_name(part.attributes(), names)
    if part.loader == "NdArrayNode":
        ends = _rows_of(part.array(), width)
    elif part.loader in ("TupleNode", "ListNode"):
        ends = [_numbers(item, width) for item in part.items()]
    else:
        return ()
    if len(ends) != 2 or not all(ends):
        return ()
    return tuple(zip(names, *ends, strict=True))


def _rows_of(array: Array, width: int) -> list[list[float]]:
    """Return the two rows of an array of bounds, with a number for each column; none where these are no numbers."""
    if array.dtype.kind not in "iuf" or array.shape not in ((2,), (2, 1), (2, width)):
        return []
    rows = array.reshape(2, -1).tolist()
    return [row * width if len(row) == 1 else row for row in rows]


def _bounds_by_name(
    entries: Mapping[str, SkopsPart], names: Sequence[str]
) -> tuple[tuple[str, float, float], ...]:
    found = []
    for name in names:
        pair = entries.get(name)
        ends = [] if pair is None else _numbers(pair, 2)
        if len(ends) != 2:
            return ()
        found.append((name, ends[0], ends[1]))
    return tuple(found)


def _may_read_classes(fitted: Fitted) -> bool:
    """Return whether the classes may have been read from the table: diffprivlib keeps those as a sorted array."""
    part = fitted.known.get("classes")
    return part is None or part.loader not in ("TupleNode", "ListNode")


def _numbers(part: SkopsPart, width: int) -> list[float]:
    """Return one number for each column; none where these are no numbers."""
    if part.loader in ("TupleNode", "ListNode"):
        listed = [item.plain() for item in part.items()]
        values = [float(value) for value in listed if _is_number(value)]
        return values if len(values) == len(listed) == width else []
    if part.loader != "NdArrayNode":
        value = part.plain()
        return [float(value)] * width if _is_number(value) else []
    try:
        found = part.array().reshape(-1)
    except TreeFormatError:
        return []
    if found.dtype.kind not in "iuf" or len(found) not in (1, width):
        return []
    numbers = [float(value) for value in found.tolist()]
    return numbers * width if len(numbers) == 1 else numbers


def _spent(attributes: Mapping[str, SkopsPart]) -> float | None:
    """Return what the accountant in the file adds up, of all that was fitted with it; None where none is understood."""
    if "accountant" not in attributes or attributes["accountant"].loader != "ObjectNode":
        return None
    budget = attributes["accountant"].attributes().get(SPENT)
    if budget is None or budget.loader != "ListNode":
        return None
    found = [entry.items()[:1] for entry in budget.items() if entry.loader == "TupleNode"]
    amounts = [part.plain() for parts in found for part in parts]
    numbers = [float(amount) for amount in amounts if _is_number(amount)]
    return math.fsum(numbers) if amounts and len(numbers) == len(amounts) else None


LEAF = -1
AVERAGES = "the variances of the residuals in each node and their means in inner nodes, which no prediction needs"


@dataclass(frozen=True, slots=True)
class ResidualArrays:
    """The arrays of a boosted tree, and the descriptions that name their files."""

    nodes: SkopsPart
    values: SkopsPart

    def are_told(self) -> bool:
        """Return whether a node says the variance of its residuals, or an inner one their mean."""
        nodes: Any = self.nodes.array()
        inner = nodes["left_child"] != LEAF
        return bool(nodes["impurity"].any() or self.values.array()[inner].any())


def residual_arrays(trees: Sequence[SkopsPart]) -> Iterator[ResidualArrays]:
    """Yield the arrays of checked trees."""
    for tree in trees:
        state = tree.attributes()["tree_"].attributes()
        yield ResidualArrays(state["nodes"], state["values"])


def residuals_left(estimator: SkopsPart, trees: Sequence[SkopsPart]) -> Iterator[Leak]:
    """Yield that the trees tell of residuals beside the values of their leaves."""
    if any(arrays.are_told() for arrays in residual_arrays(trees)):
        yield Leak(LeakKind.AVERAGES, estimator.place_of("estimators_"), AVERAGES)


def without_residuals(trees: Sequence[FilePart], *, are_boosted: bool = True) -> dict[str, Any]:
    """Return arrays by the name of their file, with 0 for what no prediction needs.

    Of trees that are not boosted, inner nodes keep their means.
    """
    cleared: dict[str, Any] = {}
    for arrays in residual_arrays(trees):
        nodes: Any = arrays.nodes.array().copy()
        values: Any = arrays.values.array().copy()
        if are_boosted:
            values[nodes["left_child"] != LEAF] = 0
        nodes["impurity"] = 0
        for part, array in ((arrays.nodes, nodes), (arrays.values, values)):
            assert isinstance(part, FilePart)
            cleared[str(part.raw.get("file"))] = array
    return cleared
