"""The nodes of one treelite tree: numbered, with tests on numbers or on lists of category numbers."""

from __future__ import annotations

from treewarden.ppdm_models.codecs.common.grow import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.codecs.treelite.header import Header
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import Node

OPERATORS = ("<", "<=", ">", ">=", "==")
LISTS = ("category_list", "categories_list", "matching_categories")
LISTS_ARE_RIGHT = ("category_list_right_child", "categories_list_right_child")
LARGEST_CATEGORY = 2**32 - 1


def nodes_of(part: Part, width: int, header: Header) -> tuple[Node, ...]:
    """Return the nodes of a tree whose leaves hold ``width`` values each.

    Raises:
        TreeFormatError: a node is malformed, or the nodes form no tree.
    """
    by_id: dict[int, Part] = {}
    for node in part["nodes"]:
        if by_id.setdefault(node["node_id"].whole(), node) is not node:
            raise node.refused("its node_id is that of another node")
    if not by_id:
        raise part.refused("no nodes")

    def draft_of(number: int) -> Draft:
        if number not in by_id:
            raise part.refused(f"no node {number}")
        return _draft(by_id[number], width, header)

    return grown(next(iter(by_id)), draft_of, part.where)


def bootstrapped(part: Part) -> bool:
    """Whether the file's own numbers say that records were drawn several times or had weights."""
    for node in part["nodes"]:
        counted, weighed = node.get("data_count"), node.get("sum_hess")
        if counted is not None and weighed is not None and counted.amount() != weighed.amount():
            return True
    return False


def _draft(node: Part, width: int, header: Header) -> Draft:
    name = str(node["node_id"].whole())
    counted = node.get("data_count")
    records = None if counted is None else counted.amount()
    value = node.get("leaf_value") or node.get("leaf_vector")
    if value is None:
        return Draft(name=name, branches=_branches(node, header.single), records=records)
    values = value.numbers()
    if len(values) != width:
        raise value.refused(f"{len(values)} values, where {width} are expected")
    if value.is_list and width > 1:
        return Draft(name=name, outputs=values, records=records)
    return Draft(name=name, score=values[0], records=records)


def _branches(node: Part, single: bool) -> tuple[Branch, Branch]:
    left, right = node["left_child"].whole(), node["right_child"].whole()
    feature = f"f{node['split_feature_id'].whole()}"
    to_left = node["default_left"].flag()
    yes, no = _tests(node, feature, single)
    return Branch(left, yes, to_left), Branch(right, no, not to_left)


def _tests(node: Part, feature: str, single: bool) -> tuple[Predicate, Predicate]:
    """Return the test of the left side, and of the right one."""
    listed = next((found for key in LISTS if (found := node.get(key)) is not None), None)
    if listed is None:
        operator, threshold = node["comparison_op"].text(), node["threshold"]
        if operator not in OPERATORS:
            raise node.refused(f"unknown comparison_op {operator!r}; have {', '.join(OPERATORS)}")
        return compared(feature, operator, threshold.single() if single else threshold.number())
    inside, outside = belongs(feature, (str(item.whole(high=LARGEST_CATEGORY)) for item in listed))
    on_right = next(
        (found for key in LISTS_ARE_RIGHT if (found := node.get(key)) is not None), None
    )
    return (outside, inside) if on_right is not None and on_right.flag() else (inside, outside)
