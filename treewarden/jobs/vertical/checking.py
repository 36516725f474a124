"""Whether what a session left in a folder is the tree that plain ID3 grows on the joined table."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from treewarden.jobs.vertical.columns import Numbers, holding_of
from treewarden.jobs.vertical.leaving import LEAKAGE, TREE
from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.files.load import load_model, read_bytes
from treewarden.ppdm_models.methods.vertical.id3 import plain_id3
from treewarden.ppdm_models.methods.vertical.notes import full_tree, skeleton_tree
from treewarden.ppdm_models.methods.vertical.party_view import Known, Skeleton
from treewarden.ppdm_models.methods.vertical.session import Parties, Stops
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.document.vertical import Agreed


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether the trees are the same, and of what size each is; ``of`` says what was compared."""

    of: str
    is_same: bool
    found: int
    expected: int


def checked(table: Path, folder: Path, parties: Parties | None) -> Checked:
    """Grow plain ID3 on the joined table, and compare it with the tree in a folder.

    A folder of a miner holds a skeleton: ``parties`` say whose each column of the table is. Of equally good attributes
    plain ID3 takes the first column: of a full tree in its own order, of a skeleton in that of the parties.

    Raises:
        PartyError: the folder does not hold what a session leaves, or it is not said who holds what.
        TableError: the table cannot be read, or lacks a column.
    """
    tree = load_model(read_bytes(folder / TREE), TREE)
    if not isinstance(tree, Tree):
        raise PartyError(TREE, "holds several trees; give the folder that a session wrote")
    agreed = agreed_in(folder / LEAKAGE)
    joined = read_table(table)
    names = [each.name for each in tree.features]
    is_full = set(names) <= set(joined.columns)
    if not is_full:
        if parties is None:
            problem = "is a skeleton; say with --parties whose each column of the table is"
            raise PartyError(TREE, problem)
        names = [name for own in parties.columns for name in own if name != tree.target]
    target = tree.target or ""
    holding = holding_of(joined, names, target, tree.classes, Numbers.BINS)
    if holding.classes is None:
        raise PartyError(table.name, joined.lacks(target))
    known = plain_id3(
        holding.attributes,
        holding.classes,
        len(tree.classes),
        Stops(agreed.min_records, agreed.depth),
    )
    if is_full or parties is None:
        expected, of = full_tree(known, holding.attributes, tree.classes, target), "tree"
    else:
        owners = [
            number
            for number, own in enumerate(parties.columns)
            for name in own
            if name != tree.target
        ]
        skeleton = _owned(known, owners)
        expected, of = (
            skeleton_tree(skeleton, parties.names, tree.classes, target),
            "skeleton",
        )
    return Checked(of, expected.nodes == tree.nodes, len(tree.nodes), len(expected.nodes))


def _owned(known: Known, owners: list[int]) -> Skeleton:
    """Return the skeleton with the owner of each attribute, whose nodes are numbered as it comes to win them."""
    serials: dict[int, itertools.count[int]] = defaultdict(lambda: itertools.count(1))
    places = []
    for place, attribute in zip(known.skeleton.places, known.attributes, strict=True):
        if not place.is_leaf:
            owner = owners[attribute]
            place = replace(place, owner=owner, serial=next(serials[owner]))  # noqa: PLW2901
        places.append(place)
    return Skeleton(tuple(places))


def agreed_in(path: Path) -> Agreed:
    """Return what the sides of a session had agreed on, as a leakage document says.

    Raises:
        PartyError: there is none.
    """
    try:
        return Agreed.model_validate(json.loads(path.read_bytes())["session"])
    except OSError as error:
        raise PartyError(
            path.name, f"cannot be read ({error.strerror}); give the folder of a session"
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise PartyError(
            path.name, "is no leakage document; give the folder of a session"
        ) from error
