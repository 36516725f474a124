"""Tries what is said of who knows only some columns on random small cases: all tables that fit are listed, and judge.

    python -m tests.judges.run_partial --cases 5000 --seed 0

Half of the cases are networks of people over leaves (who can be where, and the classes of each leaf). The others are
trees that were grown on a few people, of whom one column is known, both or none, or of whom one column is secret,
perhaps with everybody's class known: there every value of the hidden columns is tried for everybody. Certain,
excluded, possible, how many can have a value and where people can be must be those of the list; where leaves do not
count their classes, what is proved and what is shown must not contradict it; the estimate must be the optimum that
another method finds; and nobody who knows more may be certain of less. Prints the seed of every miss
and one line that counts them; the exit code is 1 where there is a miss.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.judges.partial_cases import (
    Small,
    drawn,
    every_table,
    every_value,
    fitting,
    optimum,
    tree_and_people,
)
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.fitting.flows import Rooms, ends
from treewarden.audit.partial.fitting.margin_fitting import GAP, fit_margins
from treewarden.audit.partial.reachability import proofs, shares
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.partial.target_inference import TargetInference, infer_target
from treewarden.audit.partial.tree_context import TreeContext, leaf_table
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IntArray

NO_SPLITS = Knowledge(split=SplitLevel.NONE)
OFF = 1e-6
"""How far two methods may be apart in a share: the other one stops scaling short of the optimum."""
SECONDS = 5.0
MOST_RECORDS = 5


@dataclass
class Trial:
    """One case's outcome: what missed in words, and what was tried."""

    seed: int
    misses: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


def trial(seed: int) -> Trial:
    """Judge the case of a seed."""
    found, rng = Trial(seed), np.random.default_rng(seed)
    if seed % 4 == 1:
        _judge_tree(found, rng)
    elif seed % 4 == 3:
        _judge_feature(found, rng)
        _judge_uncounted(found, rng)
    else:
        _judge_network(found, drawn(rng))
    return found


def _judge_network(found: Trial, case: Small) -> None:
    found.tried["networks"] += 1
    net = case.network
    placed, classes = fit_margins(net), case.classes.astype(float)
    proved = proofs(net, classes, classes)
    tables = np.array(list(case.tables()))
    found.tried["tables"] += len(tables)
    people = tables.sum(axis=2)
    found.claim((proved.excluded == (people.max(axis=0) == 0)).all(), "excluded")
    found.claim((proved.possible == (people.max(axis=0) > 0)).all(), "possible")
    whole = people.min(axis=0) == case.people[:, None]
    found.claim((proved.certain == whole).all(), "certain")
    found.tried["certain"] += int(whole.any(axis=1).sum())
    held = np.rint(net.over_groups(classes)).astype(np.int64)
    rooms = Rooms(held, held.sum(axis=1)[:, None] - held)
    flows = ends(net, lambda _, at: rooms.at(at), held.shape[1])
    found.claim((flows.least == people.min(axis=0)).all(), "the fewest people")
    found.claim((flows.most == people.max(axis=0)).all(), "the most people")
    found.tried["ends"] += flows.least.size * 2
    movable = net.movable.toarray()[:, net.group_of]
    found.claim(
        ((movable > 0) == (tables.sum(axis=3).max(axis=0) > 0)).all(), "where people can be"
    )
    found.claim((placed.gap <= GAP).all(), f"gap {placed.gap.max()}")
    sizes = classes.sum(axis=1)
    own = shares(net, placed, classes / sizes[:, None], sizes)
    off = np.abs(own - optimum(case, movable)).max()
    found.claim(off <= OFF, f"the estimate is off by {off}")


def _judge_tree(found: Trial, rng: np.random.Generator) -> None:
    found.tried["trees"] += 1
    tree, population = tree_and_people(rng, int(rng.integers(3, MOST_RECORDS + 1)))
    before: TargetInference | None = None
    for known in ([], [str(rng.choice(population.qi))], list(population.qi)):
        seen = infer_target(TreeContext(tree, population, NO_SPLITS), known, clock(SECONDS))
        assert isinstance(seen, TargetInference)
        worlds = seen.worlds
        assert not isinstance(worlds, Undetermined)
        tables = every_table(tree, population, known)
        found.tried["tables"] += len(tables)
        counts = tables[0].sum(axis=1)
        whole = (tables.min(axis=0) == counts[:, None]).any(axis=1)
        found.claim((worlds.certain == whole).all(), f"certain, knowing {known}")
        found.claim(
            (worlds.excluded == (tables.max(axis=0) == 0)).all(), f"excluded, knowing {known}"
        )
        found.claim(not worlds.open_profiles.any(), f"not decided, knowing {known}")
        _judge_ends(found, worlds, tables, f"knowing {known}")
        found.tried["certain"] += int(whole.sum())
        if before is not None:
            _judge_less(found, before, seen, is_all=len(known) == len(population.qi))
        before = seen


def _judge_feature(found: Trial, rng: np.random.Generator) -> None:
    tree, population = tree_and_people(rng, int(rng.integers(3, MOST_RECORDS + 1)))
    tested = [feature.name for feature in tree.used_features()]
    if not tested:
        found.tried["trees of one leaf"] += 1
        return
    found.tried["secret columns"] += 1
    name = str(rng.choice(tested))
    secret = secret_of(population, name, None, "the secret")
    for known in ([], [each for each in population.qi if each != name]):
        for knows_target in (False, True):
            seen = infer_attribute(
                TreeContext(tree, population, NO_SPLITS),
                secret,
                known,
                knows_target=knows_target,
                until=clock(SECONDS),
            )
            assert isinstance(seen, TargetInference)
            worlds, said = seen.worlds, f"knowing {known}, classes {knows_target}"
            assert not isinstance(worlds, Undetermined)
            tables = every_value(tree, population, known, name, knows_target=knows_target)
            found.tried["tables"] += len(tables)
            counts = tables[0].sum(axis=1)
            whole = (tables.min(axis=0) == counts[:, None]).any(axis=1)
            found.claim((seen.population.counts == counts).all(), f"people, {said}")
            found.claim((worlds.certain == whole).all(), f"certain of a feature, {said}")
            is_out = tables.max(axis=0) == 0
            found.claim((worlds.excluded == is_out).all(), f"excluded of a feature, {said}")
            _judge_ends(found, worlds, tables, said)
            found.tried["certain of a feature"] += int(whole.sum())


def _judge_uncounted(found: Trial, rng: np.random.Generator) -> None:
    """Hold what is proved to who knows everybody's class against all tables, where leaves do not count classes."""
    tree, population = tree_and_people(rng, int(rng.integers(4, MOST_RECORDS + 1)), classes=3)
    tested = [feature.name for feature in tree.used_features()]
    if not tested:
        found.tried["trees of one leaf"] += 1
        return
    name = str(rng.choice(tested))
    secret = secret_of(population, name, None, "the secret")
    known = [each for each in population.qi if each != name][int(rng.integers(2)) :]
    for level in (LeafLevel.LABELS, LeafLevel.RATES):
        knowledge = NO_SPLITS.model_copy(update={"leaf": level})
        until = clock(SECONDS)
        seen = infer_attribute(
            TreeContext(tree, population, knowledge), secret, known, knows_target=True, until=until
        )
        assert isinstance(seen, TargetInference)
        worlds, said = seen.worlds, f"knowing {known}, {level.value} and classes"
        assert not isinstance(worlds, Undetermined)
        fits = fitting(leaf_table(tree, population, knowledge))
        tables = every_value(tree, population, known, name, knows_target=True, fits=fits)
        found.tried["tables"] += len(tables)
        found.tried["leaves that are not counted"] += 1
        least, most = tables.min(axis=0), tables.max(axis=0)
        found.claim((worlds.low <= least).all(), f"the fewest people, {said}")
        found.claim((worlds.high >= most).all(), f"the most people, {said}")
        found.claim((worlds.reached_low >= least).all(), f"the fewest people shown, {said}")
        found.claim((worlds.reached_high <= most).all(), f"the most people shown, {said}")


def _judge_ends(found: Trial, worlds: ConsistentTables, tables: IntArray, said: str) -> None:
    """Hold that how many people can have each value is known to the last person, and shown by tables."""
    least, most = tables.min(axis=0), tables.max(axis=0)
    found.claim((worlds.low == least).all(), f"the fewest people, {said}")
    found.claim((worlds.high == most).all(), f"the most people, {said}")
    found.claim((worlds.reached_low == least).all(), f"the fewest people shown, {said}")
    found.claim((worlds.reached_high == most).all(), f"the most people shown, {said}")
    found.tried["ends"] += 2 * least.size


def _judge_less(
    found: Trial, less: TargetInference, more: TargetInference, *, is_all: bool
) -> None:
    """Hold that who knows more is certain of no fewer; of who knows all, that nobody else's surest guess is surer."""
    certain = []
    for seen in (less, more):
        assert not isinstance(seen.worlds, Undetermined)
        certain.append(float(seen.population.counts[seen.worlds.certain].sum()))
    found.claim(certain[0] <= certain[1], "who knows more is certain of fewer")
    if is_all:
        sure = []
        for seen in (less, more):
            assert not isinstance(seen.posterior, Undetermined)
            sure.append(float(seen.posterior.values.max()))
        found.claim(sure[0] <= sure[1] + OFF, "who knows all is less sure of anybody")


def trials(seeds: range, jobs: int, cluster: str | None = None) -> Iterator[Trial]:
    """Judge seeds over processes, in order."""
    return in_order(trial, [(seed,) for seed in seeds], jobs, cluster)


def main() -> int:
    """Run the cases; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    ask_where(parser)
    asked = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began, missed, tried = time.monotonic(), 0, Counter[str]()
    seeds = range(asked.seed, asked.seed + asked.cases)
    for found in trials(seeds, asked.jobs, asked.cluster):
        tried += found.tried
        missed += bool(found.misses)
        for said in found.misses:
            print(f"seed {found.seed}: {said}", flush=True)
    told = ", ".join(f"{count:,} {name}" for name, count in tried.items())
    seconds = time.monotonic() - began
    print(f"{asked.cases:,} cases, {missed} misses: {told} ({seconds:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
