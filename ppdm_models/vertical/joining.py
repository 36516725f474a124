"""The skeleton and all parties' notes, put together: the tree with everybody's attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.tree.predicate import CategoryTest, Predicate
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree
from treewarden.ppdm_models.vertical.holding import Attribute
from treewarden.ppdm_models.vertical.notes_file import Notes
from treewarden.ppdm_models.vertical.published import feature_of, test_of


def joined_tree(skeleton: Tree, parties: Sequence[Notes]) -> Tree:
    """Return the tree; its features are those that are tested, in the order of the notes.

    Raises:
        PartyError: the notes are not those of the skeleton's session, or a party's are not there.
    """
    tested = _tested(parties)
    known = {each.name: each for each in skeleton.features}
    for name, attribute in tested.items():
        if name not in known:
            problem = f"has notes of node {name!r}, which the skeleton does not have"
            raise PartyError(name.partition(" ")[0], f"{problem}; give notes of the same session")
        if len(known[name].values) != len(attribute.categories):
            problem = f"has {len(attribute.categories)} branches at node {name!r}, and the skeleton"
            advice = f"has {len(known[name].values)}; give notes of the same session"
            raise PartyError(name.partition(" ")[0], f"{problem} {advice}")
    for name in known:
        if name not in tested:
            problem = (
                f"nobody's notes say what node {name!r} tests; give the folders of all parties"
            )
            raise PartyError("tree.json", problem)
    nodes = tuple(replace(node, test=_named(node, tested)) for node in skeleton.nodes)
    return replace(
        skeleton, nodes=nodes, features=_features(parties, skeleton.target), source="joined"
    )


def _tested(parties: Sequence[Notes]) -> dict[str, Attribute]:
    """Return what is tested by the names that the skeleton has for it."""
    names = [each.party for each in parties]
    for name in names:
        if names.count(name) > 1:
            raise PartyError(name, "has notes in two folders; give each party's once")
    return {
        f"{each.party} {serial}": attribute
        for each in parties
        for serial, attribute in each.nodes.items()
    }


def _named(node: Node, tested: dict[str, Attribute]) -> Predicate:
    if not isinstance(node.test, CategoryTest):
        return node.test
    attribute = tested[node.test.feature]
    return test_of(attribute, int(node.test.values[0]) - 1)


def _features(parties: Sequence[Notes], target: str) -> tuple[Feature, ...]:
    found: dict[str, tuple[str, Feature]] = {}
    for notes in parties:
        for attribute in notes.nodes.values():
            feature = feature_of(attribute)
            other, before = found.setdefault(attribute.name, (notes.party, feature))
            if other != notes.party or attribute.name == target:
                whose = "the class" if attribute.name == target else f"an attribute of {other} too"
                problem = f"calls an attribute {attribute.name!r}, as {whose} is called"
                raise PartyError(notes.party, f"{problem}; rename it in the notes")
            if before != feature:
                problem = f"has notes of {attribute.name!r} with different branches"
                raise PartyError(notes.party, f"{problem}; give notes of one session")
    return tuple(feature for _, feature in found.values())
