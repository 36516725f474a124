"""Repairs a tree as a file: every proposal is audited as it would be read by whoever gets it."""

from __future__ import annotations

from dataclasses import dataclass

from audit.run import Audit
from policies.repair import Repair, repair
from ppdm_models.convert import MODELS, converted
from ppdm_models.ensemble import Ensemble
from ppdm_models.errors import RemedyError
from ppdm_models.load import formats, load_tree
from ppdm_models.tree import Tree
from treewarden.subject import Subject


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repair, and the file that it recommends (None: none passes)."""

    repair: Repair
    file: bytes | None

    @property
    def audit(self) -> Audit:
        """The audit of the tree that is recommended, else of the original."""
        best = self.repair.recommended
        return self.repair.audit if best is None or best.audit is None else best.audit


def repair_file(subject: Subject, name: str, target: str | None = None) -> Repaired:
    """Look for a change that passes; ``name`` is what the repaired file will be called, ``target`` its format.

    Without a target it is written as the original was: the original file with its tree changed where its format can do
    that, else the tree alone.

    Raises:
        RemedyError: the model is an ensemble, or its format is only read and no other is asked for.
        OutputError: the format cannot say something that the tree holds.
        TreewardenError: the original cannot be audited.
    """
    own = subject.tree
    if isinstance(own, Ensemble):
        problem = "an ensemble; only single trees are repaired, so train it anew with larger leaves"
        raise RemedyError(own.source, problem)
    _written(subject, own, target)

    def audit(tree: Tree) -> Audit:
        if tree is own:
            return subject.audit(tree)
        data = _written(subject, tree, target)
        return subject.audit(load_tree(data, name), data)

    found = repair(own, subject.population, audit, subject.pack)
    best = found.recommended
    file = None if best is None else _written(subject, best.proposal.tree, target)
    return Repaired(found, file)


def _written(subject: Subject, tree: Tree, target: str | None) -> bytes:
    plugins, own = formats(), subject.tree
    if target is not None and target != own.format:
        return converted(tree, target)
    plugin = plugins[own.format]
    data = plugin.rewrite(subject.data, own.source, tree)
    data = plugin.write(tree) if data is None else data
    if data is None:
        raise RemedyError(
            own.source,
            f"the format {own.format} is only read here, so the repaired tree cannot be written in it; "
            f"say --to {' or --to '.join(reversed(MODELS))} to have the tree alone",
        )
    return data
