"""Every class occurs: scikit-learn and policy trees name exactly the classes of their table.

A program that is not known may do the same. Of whole records only: one record of a class is enough, which the estimate
cannot tell from none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.class_facts import leaf_facts
from treewarden.audit.facts.grower import grower
from treewarden.audit.facts.rows import Case, LeftOut, Linear, Origin, WholeRecords
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.tool import Tool

WHY = "that every class that is named occurs, as it is not known how their learner names classes"
EXCLUDED = "that every class that is named occurs, as it may be that of a row with weight 0"


class ClassesOccur(Constraint):
    """Yields per class that some record has it, unless a leaf is known to hold one; left out of unknown programs.

    Left out, too, where rows of weight 0, who are nobody, may have given a class its name. Of the other programs that
    are known none names the classes of its table: R's factors and Weka's headers name classes that nobody has. What a
    label says, ``leaf_label`` says.
    """

    def rows(self, case: Case) -> Iterator[WholeRecords | LeftOut]:
        tool, learner = grower(case).tool, case.tree.learner
        names_all = tool in (Tool.SCIKIT_LEARN, Tool.POLICY_TREE)
        if not (names_all or tool is Tool.UNKNOWN) or learner.saw_noise:
            return
        rows = tuple(_row(case, klass) for klass in _unseen(case, tool))
        if names_all and not case.population.rows.excluded:
            yield from (WholeRecords(row) for row in rows)
        elif rows and _do_all_occur(case):
            why = EXCLUDED if names_all else WHY
            yield LeftOut(0, "", why, lines=rows)


def _unseen(case: Case, tool: Tool) -> list[int]:
    """Return the classes that some leaf may hold and none is known to hold."""
    seen = np.zeros(len(case.tree.classes), dtype=bool)
    possible = np.zeros(len(case.tree.classes), dtype=bool)
    for facts in leaf_facts(case):
        seen |= np.array([mass is not None and mass > 0 for mass in facts.masses], dtype=bool)
        possible |= np.array([mass is None for mass in facts.masses], dtype=bool)
        is_label_read = tool is Tool.UNKNOWN and not case.tree.learner.weighs_classes
        if facts.label is not None and is_label_read:
            seen[facts.label] = True
    return np.flatnonzero(possible & ~seen).tolist()


def _do_all_occur(case: Case) -> bool:
    """Whether every class occurs in the true table, as far as that is known: else it names others too."""
    truth = case.population.truth
    return isinstance(truth, Undetermined) or bool((truth.sum(axis=0) > 0).all())


def _row(case: Case, klass: int) -> Linear:
    everyone = np.arange(len(case.population.counts), dtype=np.intp)
    said = f"some record has class {case.tree.classes[klass]!r}, as it is named"
    classes, ones = np.full(len(everyone), klass, dtype=np.intp), np.ones(len(everyone))
    most = case.population.records
    return Linear(everyone, classes, ones, 1.0, most, Origin("classes_occur", said))


CONSTRAINT = ClassesOccur()
