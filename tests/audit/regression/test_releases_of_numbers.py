"""What several releases prove of people's numbers, against every way in which these may be."""

import itertools
import random
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.tiers import seeds
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.joint.releases import ReleaseView
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression import inference
from treewarden.audit.regression.releases import OTHER_STEPS, join_numbers
from treewarden.audit.regression.rows import mean_sums
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table_bytes

PLACES = "abcdef"


def table_of(people):
    """Return a table as CSV of (id, place, score)."""
    return "id,place,score\n" + "".join(f"{n},{place},{score}\n" for n, place, score in people)


def tree_of(people, leaf_of):
    """Return a tree as PMML whose leaves tell the mean of the people of some places."""
    leaves, places = defaultdict(list), defaultdict(set)
    for _, place, score in people:
        leaves[leaf_of[place]].append(score)
        places[leaf_of[place]].add(place)
    nodes = (
        "".join(
            f'<Node id="{n}" score="{np.mean(scores)!r}" recordCount="{len(scores)}">'
            '<SimpleSetPredicate field="place" booleanOperator="isIn"><Array type="string">'
            f"{' '.join(sorted(places[leaf]))}</Array></SimpleSetPredicate></Node>"
            for n, (leaf, scores) in enumerate(sorted(leaves.items()), start=1)
        )
        .replace("np.float64(", "")
        .replace(')"', '"')
    )
    return (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
        '<DataField name="place" optype="categorical" dataType="string"/>'
        '<DataField name="score" optype="continuous" dataType="double"/></DataDictionary>'
        '<TreeModel functionName="regression" splitCharacteristic="multiSplit"><MiningSchema>'
        '<MiningField name="place"/><MiningField name="score" usageType="target"/></MiningSchema>'
        f'<Node id="0" score="0" recordCount="{len(people)}"><True/>{nodes}</Node></TreeModel></PMML>'
    ).encode()


def joined(releases, leaf_ofs, seconds=5.0):
    """Return what releases prove, each of people and of which places share a leaf; with who is in which."""
    tables = [
        read_table_bytes(table_of(people).encode(), f"t{n}.csv")
        for n, people in enumerate(releases)
    ]
    models = [
        open_model(tree_of(people, leaf_of), f"m{n}.pmml").model
        for n, (people, leaf_of) in enumerate(zip(releases, leaf_ofs, strict=True))
    ]
    people = [
        build_population(model, table, sensitive="score")
        for model, table in zip(models, tables, strict=True)
    ]
    shared = shared_people(models, tables, people, "id")
    held = [ReleaseView(forest_of(m, p), p) for m, p in zip(models, people, strict=True)]
    return join_numbers(held, shared, TimeBudget(FOREVER, seconds)), shared, held


def some_releases(seed):
    """Return people who have numbers from 0 to 3, releases of some of them, and which places share a leaf."""
    chance = random.Random(seed)
    everybody = [(n, chance.choice(PLACES), chance.randrange(4)) for n in range(6)]
    everybody += [(6, "a", 0), (7, "b", 1)]
    releases, leaf_ofs = [], []
    for _ in range(chance.choice([2, 2, 3])):
        releases.append([each for each in everybody if each[0] >= 6 or chance.random() < 0.8])
        parts = chance.choice([1, 2, 3])
        leaf_ofs.append({place: chance.randrange(parts) for place in PLACES})
    return everybody, releases, leaf_ofs


def worlds(everybody, releases, leaf_ofs):
    """Return every way in which the numbers may be that gives all leaves their sums and tables their range, (W, n)."""
    ranges = [
        [{score for *_, score in people} for people in releases if each in people]
        for each in everybody
    ]
    ends = [
        range(
            max((min(one) for one in of), default=0), min((max(one) for one in of), default=0) + 1
        )
        for of in ranges
    ]
    found = np.array(list(itertools.product(*ends)))
    true = np.array([score for *_, score in everybody])
    for people, leaf_of in zip(releases, leaf_ofs, strict=True):
        for leaf in set(leaf_of.values()):
            inside = [n for n, place, _ in people if leaf_of[place] == leaf]
            found = found[found[:, inside].sum(axis=1) == true[inside].sum()]
        # Somebody has the least number that the release's table is known to have, and somebody the greatest.
        ids = [n for n, *_ in people]
        for end in (np.min, np.max):
            found = found[end(found[:, ids], axis=1) == end(true[ids])]
    return found


def of_groups(everybody, releases, release, own, shared):
    """Yield the profiles of a release with the ids of those who are in them."""
    members = [{n for n, *_ in people} for people in releases]
    for profile, group in enumerate(shared.groups(release).tolist()):
        is_in = (shared.places[:, group] >= 0).tolist()
        place = own.columns["place"].text(profile)
        yield (
            profile,
            [
                n
                for n, at, _ in everybody
                if at == place and [n in each for each in members] == is_in
            ],
        )


@pytest.fixture(autouse=True)
def only_sums(monkeypatch):
    """Let leaves tell exact sums and nothing else, as those of boosted models do; a printed mean may be rounded."""

    def sums(*given):
        found = mean_sums(*given)
        exact = np.rint((found.low + found.high) / 2)
        return replace(found, low=exact, high=exact, is_all=True)

    monkeypatch.setattr(inference, "mean_sums", sums)


@pytest.mark.parametrize("seed", seeds(60, quick=12))
def test_the_ends_of_all_numbers_hold_all_worlds_and_what_is_reached_is_among_them(seed):
    everybody, releases, leaf_ofs = some_releases(seed)
    found, shared, held = joined(releases, leaf_ofs)
    if isinstance(found, Undetermined):
        assert "the same value" in found.reason
        return
    every = worlds(everybody, releases, leaf_ofs)
    for release, each in enumerate(held):
        own = shared.seen_by(release, each.population)
        told = found.seen_by(release)
        for profile, inside in of_groups(everybody, releases, release, own, shared):
            least, most = every[:, inside].min(), every[:, inside].max()
            assert len(inside) == told.counts[profile] == own.counts[profile]
            assert told.low[profile] <= least <= told.reached_low[profile]
            assert told.reached_high[profile] <= most <= told.high[profile]


def test_most_of_what_is_open_is_settled_at_both_ends():
    settled = ends = 0
    for seed in range(12):
        found, *_ = joined(*some_releases(seed)[1:])
        if not isinstance(found, Undetermined) and OTHER_STEPS not in found.bounds.left:
            told = found.bounds
            settled += (told.low == told.reached_low).sum() + (told.high == told.reached_high).sum()
            ends += 2 * len(told.low)
    assert ends > 60
    assert settled > 0.9 * ends


@pytest.mark.parametrize(("lacks", "ends"), [((), (0, 5)), ((3,), (1, 4))])
def test_of_two_people_in_the_same_leaves_one_may_have_what_the_other_leaves_of_their_sum(
    lacks, ends
):
    # The two of a have 2 and 3. Others alone have the ends of each range: 0 or, in a release without them, 1; and 5.
    people = [(1, "a", 2), (2, "a", 3), (3, "b", 0), (4, "c", 5), (5, "d", 1)]
    alone = {"a": 0, "b": 1, "c": 2, "d": 3}
    fewer = [each for each in people if each[0] not in lacks]
    told = joined([people, fewer], [alone, alone])[0].bounds
    (both,) = np.flatnonzero(told.low < told.high).tolist()
    assert (told.low[both], told.reached_low[both]) == (ends[0], ends[0])
    assert (told.reached_high[both], told.high[both]) == (ends[1], ends[1])


ONE_LEAF = dict.fromkeys(PLACES, 0)
BEFORE = [(1, "a", 10), (2, "a", 50), (3, "b", 90), (4, "b", 30)]
NEW = (5, "c", 70)


def test_who_joined_is_the_difference_of_two_totals():
    found, shared, held = joined([BEFORE, [*BEFORE, NEW]], [ONE_LEAF, ONE_LEAF])
    told = found.seen_by(1)
    own = shared.seen_by(1, held[1].population)
    (newcomer,) = np.flatnonzero(told.is_exact).tolist()
    assert own.describe(newcomer) == "place = c, in m0.pmml = no"
    assert told.low[newcomer] == told.high[newcomer] == 70
    assert found.bounds.differences == (
        "Of the one person in m1.pmml but not in m0.pmml, the number is 70: the difference of the two totals "
        "proves it.",
    )
    assert not found.seen_by(0).is_exact.any()


def test_of_several_who_joined_the_sum_is_known():
    found, *_ = joined([BEFORE, [*BEFORE, NEW, (6, "d", 20)]], [ONE_LEAF, ONE_LEAF])
    assert "Of the 2 people" in found.bounds.differences[0]
    assert "the sum of their numbers is 90" in found.bounds.differences[0]


def test_two_ways_of_parting_the_same_people_tell_more_than_each():
    ways = [{"a": 0, "b": 0, "c": 1}, {"a": 0, "b": 1, "c": 0}]
    people = [(1, "a", 10), (2, "b", 50), (3, "c", 90), (4, "c", 40)]
    alone, *_ = joined([people, people], [ways[0], ways[0]])
    both, *_ = joined([people, people], ways)
    assert (both.bounds.width <= alone.bounds.width).all()
    assert (both.bounds.width < alone.bounds.width).any()


def test_a_person_whose_number_changed_is_an_error():
    changed = [*BEFORE[:-1], (4, "b", 31)]
    with pytest.raises(TreewardenError, match="another value of 'score'"):
        joined([BEFORE, changed], [ONE_LEAF, ONE_LEAF])


def test_a_release_of_other_numbers_proves_nothing(monkeypatch):
    other = [*BEFORE[:-1], (4, "b", 31)]
    monkeypatch.setitem(
        globals(), "tree_of", lambda people, leaf_of, made=tree_of: made(other, leaf_of)
    )
    found, *_ = joined([BEFORE, BEFORE], [ONE_LEAF, ONE_LEAF])
    assert isinstance(found, Undetermined)
    assert found.reason.startswith("m0.pmml: its leaf values do not match")
