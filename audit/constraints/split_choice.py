"""Choice of a split: no compared candidate was better (Zhu & Du 2010, internal constraint)."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.rows import Case, LeftOut, Row
from treewarden.audit.knowledge.knowledge import Knowledge, possible_criteria
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.ppdm_models.tree.tool import Tool

CRITERION_WORDS = {
    SplitLevel.GINI: "the Gini index",
    SplitLevel.ENTROPY: "the entropy (information gain)",
    SplitLevel.GAIN_RATIO: "the gain ratio",
}


class SplitChoice(Constraint):
    """Yields, per inner node and attribute, the candidates that the learner is known to have compared.

    What it may have compared is left out: so are splits on quasi-identifiers that the file does not list, as many files
    list only the columns that some node tests. Of columns that are no quasi-identifiers the adversary does
    not know who has which value. Under sampling weights the learner compared weighed impurities, which rows over people
    say only where all weights at the node are equal; elsewhere they are left out. Where a file names the criterion only
    by what it prints at nodes, it does not say whether all columns were compared: if the true table shows a better
    split, they were not, and all are left out. Where neither the file nor anybody names the criterion, the candidates
    by each that the program may have used are left out.
    """

    def words(self, knowledge: Knowledge, target: str) -> Iterator[str]:
        by = CRITERION_WORDS.get(knowledge.split)
        if knowledge.split is SplitLevel.AS_PUBLISHED:
            yield (
                "Perhaps by which criterion the splits were chosen. The file does not name it, so proofs do not use "
                "it, and a check passes only if it does with each usual one"
            )
        elif by is None:
            yield "Not how the splits were chosen"
        else:
            yield f"That each split was chosen by {by}, so that no other split would have been better"

    def rows(self, case: Case) -> Iterator[Row | LeftOut]:
        learner = case.tree.learner
        if learner.tool is Tool.POLICY_TREE:
            return  # its choice proves nothing, or is left out: see ``policy_growth``
        is_known = case.knowledge.split.is_criterion
        criteria = possible_criteria(case.knowledge, case.tree)
        if not is_known and not criteria and (learner.all_features or learner.criterion is None):
            return
        # Heavy, and most files say nothing of splits.
        from treewarden.audit.facts.node_candidates import compared_rows, drawn_rows, supposed_rows

        if is_known:
            yield from compared_rows(case)
        elif criteria:
            yield from supposed_rows(case, criteria)
        else:
            yield from drawn_rows(case)


CONSTRAINT = SplitChoice()
