"""A party's notes, in JSON: what each of its own nodes tests. The skeleton and all parties' notes make the tree."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator

from treewarden.ppdm_models.errors import PartyError, os_reason, toml_problem
from treewarden.ppdm_models.methods.vertical.messages import role
from treewarden.ppdm_models.methods.vertical.party_view import PartyAttribute, Skeleton, WholeTree
from treewarden.ppdm_models.methods.vertical.session import Name, Text
from treewarden.ppdm_models.tree.predicate import (
    Always,
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
)
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Tree

SCHEMA: Literal["treewarden-notes/2"] = "treewarden-notes/2"
MOST_BYTES = 2**26


@dataclass(frozen=True, slots=True)
class Notes:
    """What a party's nodes test in a session, by their serial numbers; attributes have no records here."""

    session: str
    party: str
    nodes: Mapping[int, PartyAttribute]


class _NoteNode(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    attribute: Text
    branches: Annotated[tuple[str, ...], Field(min_length=1)]
    edges: tuple[float, ...] | None
    missing: StrictInt | None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        own = len(self.branches) - (self.missing is not None)
        if self.missing not in (None, own):
            raise ValueError("the branch of missing cells must be the last one")
        if self.edges is None:
            return self
        is_rising = all(low < high for low, high in itertools.pairwise(self.edges))
        if own != len(self.edges) + 1 or not is_rising or not all(map(math.isfinite, self.edges)):
            raise ValueError("edges must lie between the branches, beginning with the lowest")
        return self


class _NotesFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Annotated[Literal["treewarden-notes/2"], Field(alias="schema")]
    session: Text
    party: Name
    nodes: dict[Annotated[int, Field(ge=1)], _NoteNode]


def notes_of(
    session: str, party: str, nodes: Mapping[int, int], attributes: Sequence[PartyAttribute]
) -> bytes:
    """Return a party's notes as a file; ``nodes`` are the numbers of its attributes by serial numbers."""
    told = {
        str(serial): {
            "attribute": attributes[number].name,
            "branches": list(attributes[number].categories),
            "edges": attributes[number].edges,
            "missing": attributes[number].missing,
        }
        for serial, number in nodes.items()
    }
    said = {"schema": SCHEMA, "session": session, "party": party, "nodes": told}
    return (json.dumps(said, ensure_ascii=False, indent=1) + "\n").encode()


def read_notes(path: Path) -> Notes:
    """Read a party's notes.

    Raises:
        PartyError: they are not there, too long, or no notes.
    """
    where = f"{path.parent.name}/{path.name}"
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        problem = f"cannot be read ({os_reason(error)}); give the folder that a party wrote"
        raise PartyError(where, problem) from error
    if len(body) > MOST_BYTES:
        raise PartyError(where, f"is longer than {MOST_BYTES:,} bytes; give a party's notes")
    try:
        notes_file = _NotesFile.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"holds no notes of this version ({toml_problem(first).partition(';')[0]})"
        raise PartyError(where, f"{problem}; give what a party of the session wrote") from error
    nodes = {
        serial: PartyAttribute(
            note_node.attribute,
            note_node.branches,
            np.zeros(0, np.int64),
            note_node.edges,
            note_node.missing,
        )
        for serial, note_node in notes_file.nodes.items()
    }
    return Notes(notes_file.session, notes_file.party, nodes)


# The tree that all sides know together, to be published: tests and labels, and no count, as nobody has any.

MULTIWAY_ID3 = Learner(Criterion.ENTROPY, multiway=True, tool=Tool.TREEWARDEN, lists_columns=True)


def full_tree(
    whole_tree: WholeTree, attributes: Sequence[PartyAttribute], classes: Sequence[str], target: str
) -> Tree:
    """Return the tree with everybody's attributes; these stand in the order of their ranks."""
    features = tuple(map(feature_of, attributes))

    def branch(number: int, slot: int) -> Predicate:
        return test_of(attributes[whole_tree.attributes[number]], slot)

    nodes = _nodes(whole_tree.skeleton, classes, branch)
    return Tree(
        tuple(nodes), features, target, tuple(classes), learner=MULTIWAY_ID3, source="vertical"
    )


def skeleton_tree(
    skeleton: Skeleton, parties: tuple[str, ...], classes: Sequence[str], target: str
) -> Tree:
    """Return the tree as the miner knows it: what is tested has no name but its owner's and a number."""
    features: dict[str, Feature] = {}

    def branch(number: int, slot: int) -> CategoryTest:
        place = skeleton.places[number]
        name = f"{role(place.owner, parties)} {place.serial}"
        values = tuple(str(1 + each) for each in range(len(place.children)))
        features[name] = Feature(name, numeric=False, values=values)
        return CategoryTest(name, (values[slot],))

    nodes = _nodes(skeleton, classes, branch)
    return Tree(
        tuple(nodes),
        tuple(features.values()),
        target,
        tuple(classes),
        learner=MULTIWAY_ID3,
        source="skeleton",
    )


def feature_of(attribute: PartyAttribute) -> Feature:
    """Return an attribute as trees have it."""
    if attribute.edges is not None:
        return Feature(attribute.name, numeric=True)
    return Feature(attribute.name, numeric=False, values=attribute.categories[: attribute.missing])


def test_of(attribute: PartyAttribute, slot: int) -> Predicate:
    """Return what is asked of a record for a branch."""
    if slot == attribute.missing:
        return MissingTest(attribute.name)
    if attribute.edges is None:
        return CategoryTest(attribute.name, (attribute.categories[slot],))
    edges = (-math.inf, *attribute.edges, math.inf)
    low, high = edges[slot], edges[slot + 1]
    return NumericTest(attribute.name, low, high, high_closed=not math.isinf(high))


def _nodes(
    skeleton: Skeleton, classes: Sequence[str], branch: Callable[[int, int], Predicate]
) -> list[Node]:
    """Return the nodes with their labels; ``branch`` gives the test of a place's branch."""
    above: dict[int, tuple[int, int]] = {}
    nodes = []
    for number, place in enumerate(skeleton.places):
        parent, slot = above.get(number, (None, 0))
        test = Always() if parent is None else branch(parent, slot)
        label = classes[place.label] if place.is_leaf else None
        nodes.append(Node(number, str(number), parent, place.children, test, label))
        above |= {child: (number, slot) for slot, child in enumerate(place.children)}
    return nodes


# The skeleton and all parties' notes, put together: the tree with everybody's attributes.


def joined_tree(skeleton: Tree, parties: Sequence[Notes]) -> Tree:
    """Return the tree; its features are those that are tested, in the order of the notes.

    Raises:
        PartyError: the notes are not those of the skeleton's session, or a party's are not there.
    """
    tested = _tested(parties)
    features = {feature.name: feature for feature in skeleton.features}
    for name, attribute in tested.items():
        if name not in features:
            problem = f"has notes of node {name!r}, which the skeleton does not have"
            raise PartyError(name.partition(" ")[0], f"{problem}; give notes of the same session")
        if len(features[name].values) != len(attribute.categories):
            problem = f"has {len(attribute.categories)} branches at node {name!r}, and the skeleton"
            advice = f"has {len(features[name].values)}; give notes of the same session"
            raise PartyError(name.partition(" ")[0], f"{problem} {advice}")
    for name in features:
        if name not in tested:
            problem = (
                f"nobody's notes say what node {name!r} tests; give the folders of all parties"
            )
            raise PartyError("tree.json", problem)
    nodes = tuple(replace(node, test=_named(node, tested)) for node in skeleton.nodes)
    return replace(
        skeleton, nodes=nodes, features=_features(parties, skeleton.target), source="joined"
    )


def _tested(parties: Sequence[Notes]) -> dict[str, PartyAttribute]:
    """Return what is tested by the names that the skeleton has for it."""
    names = [party.party for party in parties]
    for name in names:
        if names.count(name) > 1:
            raise PartyError(
                name, "two of the folders belong to this party; give one folder for each party"
            )
    return {
        f"{party.party} {serial}": attribute
        for party in parties
        for serial, attribute in party.nodes.items()
    }


def _named(node: Node, tested: dict[str, PartyAttribute]) -> Predicate:
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
                problem = f"uses the name {attribute.name!r} for an attribute"
                if attribute.name == target:
                    raise PartyError(
                        notes.party, f"{problem}, but the class has it; rename it in the notes"
                    )
                problem += f", but {other} uses it too; rename one of them in the notes"
                raise PartyError(notes.party, problem)
            if before != feature:
                problem = f"has notes of {attribute.name!r} with different branches"
                raise PartyError(notes.party, f"{problem}; give notes of one session")
    return tuple(feature for _, feature in found.values())
