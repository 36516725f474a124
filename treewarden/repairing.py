"""Repairs a tree as a file: every proposal is audited as it would be read by whoever gets it."""

from __future__ import annotations

from dataclasses import dataclass

from audit.run import Audit
from policies.repair import Repair, repair
from ppdm_models.errors import RemedyError
from ppdm_models.load import formats, load_tree
from ppdm_models.tree import Tree
from treewarden.subject import Subject


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair, and the file that it recommends, in the format that the original came in (None: none passes)."""

    repair: Repair
    file: bytes | None

    @property
    def audit(self) -> Audit:
        """The audit of the tree that is recommended, else of the original."""
        best = self.repair.recommended
        return self.repair.audit if best is None or best.audit is None else best.audit


def repair_file(subject: Subject, name: str) -> Repaired:
    """Look for a change that passes; ``name`` is what the repaired file will be called.

    Raises:
        RemedyError: the original's format is only read, so no repair could be written in it.
        TreewardenError: the original cannot be audited.
    """
    _written(subject.tree)

    def audit(tree: Tree) -> Audit:
        if tree is subject.tree:
            return subject.audit(tree)
        return subject.audit(load_tree(_written(tree), name))

    found = repair(subject.tree, subject.population, audit, subject.pack)
    best = found.recommended
    return Repaired(found, None if best is None else _written(best.proposal.tree))


def _written(tree: Tree) -> bytes:
    plugins = formats()
    data = plugins[tree.format].write(tree)
    if data is None:
        can = ", ".join(name for name, plugin in plugins.items() if plugin.write(tree) is not None)
        problem = f"the format {tree.format} is only read here; give the model as {can}"
        raise RemedyError(tree.source, problem)
    return data
