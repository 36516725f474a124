"""One table in, all sides of a session played in this process, the tree and what each side learnt out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import treewarden
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import Step, silent
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import JudgedAudit, audit_file
from treewarden.jobs.inputs import ModelBytes
from treewarden.jobs.vertical.columns import NumberHandling, classes_of, holding_of
from treewarden.jobs.vertical.meeting import (
    FLOW,
    FORMAT,
    LEAKAGE,
    MESSAGES,
    PAGE,
    TREE,
    session_files,
)
from treewarden.policies.pack import Pack
from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.methods.vertical.messages import MINER, ProtocolError, role
from treewarden.ppdm_models.methods.vertical.notes import full_tree, skeleton_tree
from treewarden.ppdm_models.methods.vertical.party_view import (
    Codes,
    Holding,
    PartyAttribute,
    WholeTree,
    cells_split,
    seen_by,
)
from treewarden.ppdm_models.methods.vertical.session import Mode, Parties, Session, Stops
from treewarden.ppdm_models.methods.vertical.taking_part import Played, play
from treewarden.ppdm_models.tables.read_table import read_table, table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.vertical import About, audited, leakage_document


@dataclass(frozen=True, slots=True)
class PlayRequest:
    """What is to be played: who holds which columns of a table, and how."""

    table: Path
    parties: Parties
    source: str
    target: str
    mode: Mode
    min_records: int
    numbers: NumberHandling


@dataclass(frozen=True, slots=True)
class JoinedTable:
    """A table as all parties would hold it together, and the session about it."""

    table: Table
    session: Session
    holding: Holding

    @property
    def parts(self) -> tuple[Holding, ...]:
        """What each party holds."""
        by_rank = self.holding.attributes
        return tuple(
            self.holding.restrict_to(
                {by_rank[rank].name for rank in ranks},
                holds_class=number == self.session.labelled,
            )
            for number, ranks in enumerate(self.session.ranks)
        )


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """What came of it: who was to learn what, what was said, and the trees of all together and of the miner."""

    joined: JoinedTable
    played: Played
    known: WholeTree
    tree: Tree
    skeleton: Tree


def joined(play_request: PlayRequest) -> JoinedTable:
    """Read the table, and give each party its columns; attributes are ranked as the table has them.

    Raises:
        TableError: the table cannot be read, lacks a column, or a column cannot be used.
        PartyError: no party holds the class.
    """
    parties, target = play_request.parties, play_request.target
    labelled = parties.holder(target, play_request.source)
    table = read_table(play_request.table)
    held = {column for columns in parties.columns for column in columns} - {target}
    for column in sorted(held - set(table.columns)):
        raise PartyError(play_request.source, table.lacks(column))
    names = [name for name in table.columns if name in held]
    classes = classes_of(table, target)
    holding = holding_of(table, names, target, classes, play_request.numbers)
    ranks = tuple(
        tuple(rank for rank, name in enumerate(names) if name in columns)
        for columns in parties.columns
    )
    stops = Stops(play_request.min_records, parties.depth)
    session = Session(
        parties=parties.names,
        ranks=ranks,
        records=table.rows,
        classes=classes,
        labelled=labelled,
        stops=stops,
        mode=play_request.mode,
    )
    return JoinedTable(table, session, holding)


def played(request: PlayRequest, step: Step = silent) -> SessionOutcome:
    """Play all sides.

    Raises:
        TableError: the table cannot be read, lacks a column, or a column cannot be used.
        PartyError: no party holds the class, or a side fails.
    """
    with step(f"reading {request.table.name}"):
        joined_table = joined(request)
    with step(f"playing {len(joined_table.session.parties)} parties and the miner"):
        try:
            result = play(joined_table.session, joined_table.parts)
        except ProtocolError as error:
            raise PartyError(
                role(error.who, joined_table.session.parties), error.problem
            ) from error
    whole_tree, session = result.shared_tree(joined_table.session), joined_table.session
    attributes = joined_table.holding.attributes
    tree = full_tree(whole_tree, attributes, session.classes, request.target)
    skeleton = skeleton_tree(result.skeleton, session.parties, session.classes, request.target)
    return SessionOutcome(joined_table, result, whole_tree, tree, skeleton)


def audits_of(
    outcome: SessionOutcome, policy: str | Pack, step: Step = silent
) -> tuple[tuple[str, JudgedAudit], ...]:
    """Audit the tree with everybody's attributes, and the skeleton as whoever knows each person's branches sees it.

    Raises:
        TreewardenError: no audit is possible.
    """
    target = outcome.tree.target
    tables = (
        ("full tree", outcome.tree, outcome.joined.table),
        ("skeleton", outcome.skeleton, _branches(outcome)),
    )
    found = []
    for name, tree, table in tables:
        model = ModelBytes(converted(tree, FORMAT), f"{name}")
        request = Request(model, table, AuditOptions(sensitive=target), policy=policy)
        with step(f"auditing the {name}"):
            found.append((name, audit_file(request, step)))
    return tuple(found)


def _branches(outcome: SessionOutcome) -> Table:
    """Return for each node of the skeleton which branch each record would take there, and the class."""
    attributes, holding = outcome.joined.holding.attributes, outcome.joined.holding
    columns: dict[str, list[str]] = {}
    for feature, attribute in zip(
        outcome.skeleton.features, _tested(outcome.known, attributes), strict=True
    ):
        columns[feature.name] = [str(1 + code) for code in attribute.codes.tolist()]
    classes = outcome.joined.session.classes
    codes: Codes = np.zeros(0, np.int64) if holding.classes is None else holding.classes
    columns[outcome.tree.target] = [classes[code] for code in codes.tolist()]
    return table_of(columns, outcome.joined.table.source)


def _tested(whole_tree: WholeTree, attributes: tuple[PartyAttribute, ...]) -> list[PartyAttribute]:
    return [
        attributes[number]
        for number, place in zip(whole_tree.attributes, whole_tree.skeleton.places, strict=True)
        if not place.is_leaf
    ]


# What playing all sides leaves on disk: the trees, the log of everybody, and what each side learnt.

SKELETON = "skeleton.json"
FULL_FILES = (TREE, SKELETON, LEAKAGE, PAGE, MESSAGES, FLOW)


def files_of(
    outcome: SessionOutcome, audits: Sequence[tuple[str, JudgedAudit]], name: str
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
        [audited(which, judged_audit.decision) for which, judged_audit in audits],
        is_left_out=not audits,
    )
    return {
        TREE: converted(outcome.tree, FORMAT),
        SKELETON: converted(outcome.skeleton, FORMAT),
        **session_files(document, log, session.parties),
    }
