"""Tries proofs of membership on boosted models, against every part of a small register that grows the same file.

    python -m tests.judges.run_boosted_membership --files 3000 --seed 0

A case draws a register of up to nine people and settings of a library, and grows a model on each part of it of some
size; where the register has no classes, under all classes of the members too. Parts that give equal files are what an
adversary cannot tell apart: what is proved of one of them must hold for all. Prints the seed of every miss, and how
much of what holds for all was proved, by library; the exit code is 1 after a miss.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tests.judges.inverter_learners import LEARNERS, Lesson, NotGrownError, Published, is_there
from treewarden.audit.inverters import GrownCase
from treewarden.audit.membership.candidates import Candidates, MembershipInference
from treewarden.audit.membership.of_model import infer_boosted_members, known_cuts
from treewarden.audit.progress import clock
from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, trees_of

SECONDS = 5.0
COLUMNS = ("a", "b", "c")
SAMPLING = {"subsample", "bagging_fraction", "bootstrap_type", "max_features", "rsm"}
"""Settings that veil sums and that thresholds hold under. Others that a file withholds are taken to be the library's
own: where sums agree with these by chance, what follows is as wrong as they are, and nobody is judged by it.
"""
MOST_PER_CASE = 20
"""So many different files of one register are judged."""
TRIED = tuple(name for name in LEARNERS if name != "Spark")


@dataclass
class Tally:
    """What was tried and what missed, in words."""

    files: int = 0
    told: int = 0
    fixed: int = 0
    proved: int = 0
    misses: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class BoostedCase:
    """People of a register, values (n, 3) and classes (n,), and how many of them are members."""

    values: FloatArray
    classes: IntArray
    members: int
    is_labelled: bool

    def parts(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield each set of members that may be, with their classes."""
        for chosen in itertools.combinations(range(len(self.values)), self.members):
            people = np.array(chosen)
            if self.is_labelled:
                yield people, self.classes[people]
                continue
            for classes in itertools.product((0, 1), repeat=self.members):
                yield people, np.array(classes)


def drawn(seed: int) -> BoostedCase:
    """Return a case by its seed."""
    random = np.random.default_rng(seed)
    is_labelled = bool(random.random() < 0.8)
    people = int(random.integers(7, 10)) if is_labelled else 6
    kinds = int(random.choice([3, 8, 30]))
    values = random.integers(0, kinds, size=(people, len(COLUMNS))).astype(float)
    if random.random() < 0.3:
        values = values * 0.1
    return BoostedCase(
        values=values,
        classes=random.integers(0, 2, size=people),
        members=int(random.integers(4, people - 1)) if is_labelled else 4,
        is_labelled=is_labelled,
    )


def grown(
    case: BoostedCase, learner: str, people: IntArray, classes: IntArray, seed: int
) -> Published:
    """Return the model that a learner grows on some people, with settings drawn by the seed.

    Raises:
        NotGrownError: it grows none.
    """
    table = pd.DataFrame(case.values[people], columns=list(COLUMNS))
    grow = LEARNERS[learner][1]
    return grow(Lesson(table, classes, 2, may_weigh=False), np.random.default_rng(seed))


def file_key(model: Ensemble) -> bytes:
    """Return what is published of a model, equal where files are."""
    assert model.growth is not None
    growth = model.growth
    parts = [
        repr((growth.start, growth.facts, growth.rounds, growth.refused, model.classes)).encode()
    ]
    for tree, numbers in zip(trees_of(model), growth.trees, strict=True):
        parts.append(
            repr([(node.children, node.test, node.records) for node in tree.nodes]).encode()
        )
        for array in (
            numbers.values,
            numbers.counts,
            numbers.hessians,
            numbers.gains,
            numbers.second,
        ):
            parts.append(b"-" if array is None else array.tobytes())
    return b"|".join(parts)


def judge(learner: str, seed: int) -> Tally:
    """Judge the files of one register and learner."""
    case, tally = drawn(seed), Tally()
    alike: dict[bytes, list[tuple[IntArray, IntArray]]] = defaultdict(list)
    models: dict[bytes, Published] = {}
    for people, classes in case.parts():
        if len(np.unique(classes)) < 2:
            continue
        try:
            published = grown(case, learner, people, classes, seed)
        except (NotGrownError, ValueError):
            continue
        model = published.model
        is_known = published.is_plain or not SAMPLING.isdisjoint(published.settings)
        if not is_known or not isinstance(model, Ensemble) or model.growth is None:
            continue
        key = file_key(model)
        models.setdefault(key, published)
        alike[key].append((people, classes))
    for key in itertools.islice(alike, MOST_PER_CASE):
        _judge_file(case, models[key], alike[key], tally, f"{learner}, seed {seed}")
    return tally


def _judge_file(
    case: BoostedCase,
    published: Published,
    parts: list[tuple[IntArray, IntArray]],
    tally: Tally,
    where: str,
) -> None:
    model = published.model
    assert isinstance(model, Ensemble)
    assert model.growth is not None
    candidates, group_of = _candidates(case, *parts[0])
    trees = tuple(trees_of(model))
    stops = np.stack([route(tree, candidates.columns) for tree in trees])
    people = candidates.sizes.astype(np.float64)
    cuts = known_cuts(GrownCase(model.growth, trees, stops, people, 2), candidates)
    is_exact = published.settings.get("tree_method") == "exact"
    if is_exact and cuts is not None and cuts.rule.learner.is_of_table:
        return  # whoever does not know the method takes it to be the default, by chance rightly
    found = infer_boosted_members(model.growth, trees, stops, candidates, clock(SECONDS))
    tally.files += 1
    if not isinstance(found, MembershipInference):
        return
    tally.told += 1
    inside = np.stack(
        [np.bincount(group_of[people], minlength=len(candidates.sizes)) for people, _ in parts]
    )
    least, most = inside.min(axis=0), inside.max(axis=0)
    if (found.low > least).any() or (found.high < most).any():
        tally.misses.append(f"{where}: proved {found.low} to {found.high}, are {least} to {most}")
    if (found.reached_low < least).any() or (found.reached_high > most).any():
        tally.misses.append(f"{where}: shown {found.reached_low} to {found.reached_high}")
    sizes = candidates.sizes
    tally.fixed += int(sizes[(least == sizes) | (most == 0)].sum())
    tally.proved += int((found.proved_in + found.proved_out).sum())


def _candidates(
    case: BoostedCase, people: IntArray, classes: IntArray
) -> tuple[Candidates, IntArray]:
    """Return the register with some members, and the group of each person."""
    keys = case.values
    if case.is_labelled:
        keys = np.hstack([case.values, case.classes[:, None]])
    kinds, group_of = np.unique(keys, axis=0, return_inverse=True)
    group_of = group_of.reshape(-1)
    members = np.zeros((len(kinds), 2), dtype=np.int64)
    np.add.at(members, (group_of[people], classes), 1)
    candidates = Candidates(
        columns={name: NumericColumn(kinds[:, n]) for n, name in enumerate(COLUMNS)},
        sizes=np.bincount(group_of),
        class_of=kinds[:, -1].astype(np.intp) if case.is_labelled else None,
        members=members,
        classes=("0", "1"),
    )
    return candidates, group_of


def main() -> None:
    """Judge files until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learners", nargs="+", default=[name for name in TRIED if is_there(name)])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    totals = {name: Tally() for name in given.learners}
    seed = given.seed
    while sum(tally.files for tally in totals.values()) < given.files:
        for name, total in totals.items():
            tally = judge(name, seed)
            for counted in ("files", "told", "fixed", "proved"):
                setattr(total, counted, getattr(total, counted) + getattr(tally, counted))
            total.misses += tally.misses
            for miss in tally.misses:
                print("MISS", miss, flush=True)
        seed += 1
    for name, total in totals.items():
        print(
            f"{name}: {total.files:,} files, {len(total.misses)} misses; {total.told:,} told anything; "
            f"of {total.fixed:,} people whose membership all parts share {total.proved:,} were proved "
            f"({total.proved / max(total.fixed, 1):.1%})"
        )
    sys.exit(any(total.misses for total in totals.values()))


if __name__ == "__main__":
    main()
