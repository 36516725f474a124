"""The folders of a session's miner and parties in, the tree with everybody's attributes out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treewarden.jobs.vertical.checking import agreed_in
from treewarden.jobs.vertical.leaving import LEAKAGE, NOTES, TREE
from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.files.load import load_model, read_bytes
from treewarden.ppdm_models.formats.own import treewarden_json
from treewarden.ppdm_models.methods.vertical.notes import joined_tree, read_notes
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest
from treewarden.ppdm_models.tree.tree import Tree


def joined_folders(miner: Path, parties: Sequence[Path]) -> tuple[Tree, bytes]:
    """Return the tree, and it in our own format.

    Raises:
        PartyError: a folder does not hold what that side leaves, or folders are of different sessions.
        TreeFormatError: the skeleton cannot be read.
    """
    skeleton = load_model(read_bytes(miner / TREE), TREE)
    if not isinstance(skeleton, Tree) or not _is_skeleton(skeleton):
        problem = "is no skeleton; name the folder that a miner wrote first, then those of parties"
        raise PartyError(f"{miner.name}/{TREE}", problem)
    session = agreed_in(miner / LEAKAGE).name
    notes = [read_notes(each / NOTES) for each in parties]
    for folder, each in zip(parties, notes, strict=True):
        if each.session != session:
            problem = f"is of the session {each.session!r}, and the skeleton of {session!r}"
            advice = "give folders of one session"
            raise PartyError(f"{folder.name}/{NOTES}", f"{problem}; {advice}")
    tree = joined_tree(skeleton, notes)
    return tree, treewarden_json.FORMAT.write(tree)


def _is_skeleton(tree: Tree) -> bool:
    """Return whether a tree tests what only a number names: a party's name, and that of its node."""
    names = [each.name.rpartition(" ") for each in tree.features]
    return all(owner and number.isdecimal() for owner, _, number in names) and all(
        isinstance(node.test, CategoryTest | Always) for node in tree.nodes
    )
