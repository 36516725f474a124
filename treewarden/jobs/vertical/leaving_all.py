"""What playing all sides leaves on disk: the trees, the log of everybody, and what each side learnt."""

from __future__ import annotations

from collections.abc import Sequence

import treewarden
from treewarden.jobs.auditing import Audited
from treewarden.jobs.vertical.leaving import FLOW, FORMAT, LEAKAGE, MESSAGES, PAGE, TREE, said
from treewarden.jobs.vertical.playing import Outcome
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.methods.vertical.leakage import cells_split, seen_by
from treewarden.ppdm_models.methods.vertical.messages import MINER
from treewarden.reports.building.vertical import About, leakage_document
from treewarden.reports.building.vertical_audits import audited

SKELETON = "skeleton.json"
FULL_FILES = (TREE, SKELETON, LEAKAGE, PAGE, MESSAGES, FLOW)


def files_of(
    outcome: Outcome, audits: Sequence[tuple[str, Audited]], name: str
) -> dict[str, bytes]:
    """Return what playing all sides leaves, by name."""
    session, log = outcome.joined.session, outcome.played.log
    shown = cells_split(outcome.known, outcome.joined.holding.attributes)
    sides = [seen_by(MINER, session, log, (), shown)]
    sides += [
        seen_by(number, session, log, part.attributes, shown)
        for number, part in enumerate(outcome.joined.parts)
    ]
    about = About(name, session, outcome.tree.target or "", treewarden.__version__)
    document = leakage_document(
        about,
        log,
        sides,
        outcome.played.skeleton,
        [audited(which, each.decision) for which, each in audits],
        is_left_out=not audits,
    )
    return {
        TREE: converted(outcome.tree, FORMAT),
        SKELETON: converted(outcome.skeleton, FORMAT),
        **said(document, log, session.parties),
    }
