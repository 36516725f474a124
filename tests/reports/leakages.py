"""Documents of what sides of a session learnt, for tests: of sessions that are played, and of one side's own log."""

from dataclasses import replace

from tests.kit.small_audits import audit_of, evidence_of, flat_tree, pack_of
from tests.ppdm_models.methods.vertical.cases import TENNIS, dealt, table
from treewarden.policies.judging.judge import judge
from treewarden.ppdm_models.methods.vertical.messages import MINER, Log
from treewarden.ppdm_models.methods.vertical.party_view import cells_split, seen_by
from treewarden.ppdm_models.methods.vertical.session import Mode
from treewarden.ppdm_models.methods.vertical.taking_part import play
from treewarden.reports.building.vertical import About, audited, leakage_document

COLUMNS = table(TENNIS, ["outlook", "temp", "humidity", "windy", "play"])
MIXED = [[5, 5], [5, 5]]
PURE = [[10, 0], [0, 10]]


def dealt_tennis(owners=(0, 0, 1, 1), parties=2, mode=Mode.IDS, names=None, stops=None):
    """Return the session and the holdings of the table about tennis; party 0 holds the class."""
    *attributes, label = COLUMNS
    session, holdings = dealt(attributes, label, owners, parties, 0, stops, mode)
    return replace(session, parties=names or session.parties), holdings


def all_sides(asked=0, name="tennis", audits=(), **how):
    """Return the document of a session of which all sides were played."""
    session, holdings = dealt_tennis(**how)
    found = play(session, holdings)
    shown = cells_split(found.shared_tree(session), COLUMNS[:-1])
    sides = [seen_by(MINER, session, found.log, (), shown)]
    sides += [
        seen_by(number, session, found.log, own.attributes, shown)
        for number, own in enumerate(holdings)
    ]
    about = About(name, session, "play", "0", asked)
    judged = [audited(which, each) for which, each in audits]
    return leakage_document(about, found.log, sides, found.skeleton, judged)


def one_side(who, log=None, asked=0, blocks=None, **how):
    """Return the document of a side of a real session, from the part of a played log that it would have."""
    session, holdings = dealt_tennis(**how)
    played = play(session, holdings)
    own = Log()
    own.entries = [
        each
        for each in (log or played.log).entries
        if who in (each.sender, each.receiver) and min(each.sender, each.receiver) >= MINER
    ]
    held = () if who == MINER else holdings[who].attributes
    seen = seen_by(who, session, own, held, None, blocks=blocks)
    about = About("tennis", session, "play", "0", asked)
    whose = "the miner" if who == MINER else session.parties[who]
    return leakage_document(about, own, [seen], None, whose=whose)


def decision(leaves, most=0.9):
    """Return what a pack that caps how surely a label is true makes of a tree with these leaves."""
    tree = flat_tree(leaves)
    pack = pack_of(("label_disclosure", "at_most", most))
    return judge(audit_of(evidence_of(tree), pack), pack)
