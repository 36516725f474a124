"""A skeleton and all parties' notes make the tree; notes of anything else are refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.kit.tiers import examples
from tests.ppdm_models.methods.vertical.cases import TENNIS, dealt, sessions, table
from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.notes import (
    full_tree,
    joined_tree,
    notes_of,
    read_notes,
    skeleton_tree,
)
from treewarden.ppdm_models.methods.vertical.taking_part import play


def left_by(session, holdings, folder):
    """Return the skeleton, and the notes as they are read back from files."""
    found = play(session, holdings)
    classes = [str(each) for each in range(len(session.classes))]
    skeleton = skeleton_tree(found.skeleton, session.parties, classes, "label")
    parties = []
    for name, nodes, own in zip(session.parties, found.notes, holdings, strict=True):
        path = folder / f"{name}.json"
        path.write_bytes(notes_of("s", name.lower(), nodes, own.attributes))
        parties.append(replace(read_notes(path), party=name))
    return found, skeleton, parties


@given(case=sessions())
@settings(max_examples=examples(60), deadline=None)
def test_together_they_are_the_tree(tmp_path_factory, case):
    attributes, label, session, holdings = case
    found, skeleton, notes = left_by(session, holdings, tmp_path_factory.mktemp("notes"))
    tree = joined_tree(skeleton, notes)
    full = full_tree(found.shared_tree(session), attributes, label.categories, "label")
    assert tree.nodes == full.nodes
    assert set(tree.features) <= set(full.features)


@pytest.fixture
def tennis(tmp_path):
    *attributes, label = table(TENNIS, ["outlook", "temp", "humidity", "windy", "play"])
    session, holdings = dealt(attributes, label, [0, 0, 1, 1], 2)
    return left_by(session, holdings, tmp_path)[1:]


def without(notes, serial):
    return replace(notes, nodes={own: each for own, each in notes.nodes.items() if own != serial})


def named(notes, name):
    return replace(
        notes, nodes={own: replace(each, name=name) for own, each in notes.nodes.items()}
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda a, b: [a], "nobody's notes say what node 'P1 1' tests"),
        (lambda a, b: [a, without(b, 2)], "nobody's notes say what node 'P1 2' tests"),
        (lambda a, b: [a, replace(b, nodes=b.nodes | {3: b.nodes[1]})], "notes of node 'P1 3'"),
        (lambda a, b: [a, replace(b, party="P7")], "notes of node 'P7 1', which the skeleton"),
        (lambda a, b: [a, replace(b, nodes=b.nodes | {2: a.nodes[1]})], "has 3 branches at node"),
        (lambda a, b: [a, b, a], "P0: two of the folders belong to this party"),
        (lambda a, b: [a, named(b, "outlook")], "'outlook' for an attribute, but P0 uses it too"),
        (lambda a, b: [named(a, "label"), b], "'label' for an attribute, but the class has it"),
    ],
)
def test_notes_that_are_not_the_skeletons_are_refused(tennis, change, problem):
    skeleton, notes = tennis
    with pytest.raises(PartyError, match=problem):
        joined_tree(skeleton, change(*notes))


GOOD = {
    "attribute": "age",
    "branches": ["up to 3", "over 3", "missing"],
    "edges": [3.0],
    "missing": 2,
}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"edges": [3.0, 2.0]}, "edges must lie between the branches"),
        ({"edges": []}, "edges must lie between the branches"),
        ({"missing": 0}, "must be the last one"),
        ({"branches": []}, "at least 1 must be given"),
        ({"attribute": ""}, "at least 1 character"),
        ({"more": 1}, "unknown key"),
    ],
)
def test_notes_that_make_no_sense_are_refused_with_their_place(tmp_path, changed, problem):
    path = tmp_path / "notes.json"
    said = {"schema": "treewarden-notes/2", "session": "s", "party": "a", "nodes": {"1": GOOD}}
    path.write_text(json.dumps(said))
    assert read_notes(path).nodes[1].edges == (3.0,)
    path.write_text(json.dumps(said | {"nodes": {"1": GOOD | changed}}))
    with pytest.raises(PartyError, match=problem):
        read_notes(path)


@pytest.mark.parametrize("body", ["", "[]", "{", '{"schema": "treewarden-notes/1"}'])
def test_what_are_no_notes_is_said_to_be_none(tmp_path, body):
    path = tmp_path / "notes.json"
    path.write_text(body)
    with pytest.raises(PartyError, match="holds no notes of this version"):
        read_notes(path)
    with pytest.raises(PartyError, match="cannot be read"):
        read_notes(tmp_path / "other.json")
