"""All that honest sides say is within the limits, and what real sides have no use for is not."""

import numpy as np
import pytest

from tests.ppdm_models.methods.vertical.cases import TENNIS, dealt, table
from treewarden.ppdm_models.methods.vertical.messages import MINER, MessageKind
from treewarden.ppdm_models.methods.vertical.party_view import Holding, PartyAttribute
from treewarden.ppdm_models.methods.vertical.session import Mode
from treewarden.ppdm_models.methods.vertical.taking_part import play
from treewarden.ppdm_models.methods.vertical.transport import IDEAL, MessageLimits

*TENNIS_COLUMNS, TENNIS_LABEL = table(TENNIS, ["outlook", "temp", "humidity", "windy", "play"])


def wide(name, categories=1_000, records=1_200):
    """A column with as many categories as there can be."""
    codes = np.arange(records) % categories
    return PartyAttribute(name, tuple(map(str, range(categories))), codes)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    ("attributes", "label", "owners"),
    [
        (TENNIS_COLUMNS, TENNIS_LABEL, [0, 0, 1, 1]),
        (TENNIS_COLUMNS, TENNIS_LABEL, [2, 2, 2, 2]),
        ([wide("a")], wide("label", 2), [1]),
    ],
)
def test_what_honest_sides_say_is_within_the_limits(mode, attributes, label, owners):
    session, holdings = dealt(attributes, label, owners, max(owners) + 1, mode=mode)
    log = play(session, holdings, [Holding(each.attributes) for each in holdings]).log
    limits = MessageLimits(session, session.records)
    said = [each for each in log.entries if each.kind not in IDEAL]
    assert all(
        each.size <= limits.body_limit(each.kind, each.sender, each.receiver) for each in said
    )


@pytest.mark.parametrize("kind", sorted(IDEAL))
def test_nothing_of_the_ideal_box_is_taken(kind):
    session, _ = dealt(TENNIS_COLUMNS, TENNIS_LABEL, [0, 0, 1, 1], 2)
    assert MessageLimits(session, 0).body_limit(kind, 0, MINER) < 0


def test_the_miner_has_no_table_and_nobody_asks_about_records_that_are_not_announced():
    session, _ = dealt(TENNIS_COLUMNS, TENNIS_LABEL, [0, 0, 1, 1], 2)
    limits = MessageLimits(session, 0)
    assert limits.body_limit(MessageKind.MASKED_TABLE, MINER, 0) == 0
    assert limits.body_limit(MessageKind.ASK, MINER, 0) == 0
