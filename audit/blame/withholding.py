"""What to withhold: the least so that nobody's value is proved.

It is found with a proof: implicit hitting sets over minimal reasons.

Withholding makes nobody certain exactly where it hits every reason of everybody (Reiter 1987). The cheapest set that
hits the reasons known so far is a lower bound; once nobody is certain without it, it is the optimum (MaxHS, Davies and
Bacchus 2011). One table of counts is the cell suppression problem (Fischetti and Salazar 2000).

A minimal reason (MUS) is a set of published numbers that proves a value, and of which none can be left out.

QuickXplain (Junker 2004) finds it: what proves a value is halved again and again, with about k log n questions for k of
n numbers. Each removal is then tried: a reason is called minimal only where a table was found for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.blame.certainty import Answer, CertaintyOracle, PublishedNumbers, groups_of
from treewarden.audit.blame.result import LeastWithholding, ProofReason
from treewarden.audit.consistent_tables.proofs import (
    limited_solver,
    solve_in_background,
    solver_module,
)
from treewarden.audit.progress import AT_LEAST, Clock, Share
from treewarden.ppdm_models.arrays import BoolArray

SEARCH_SHARE, EXTENDING_SHARE, MOST_EXTENSIONS = 0.6, 0.5, 6
"""Of the time: for the least, and of what is left for each larger set, of which so many are tried."""
SECONDS = 10.0
"""What the solver may take for the cheapest set that hits all known reasons."""
WITHOUT_ANY = "a person's value stays proved even if every number is withheld"


@dataclass(frozen=True, slots=True)
class _HittingSet:
    chosen: frozenset[int]
    bound: int


def withhold_least(
    oracle: CertaintyOracle,
    ties: tuple[frozenset[int], ...] = (),
    unit: int = 1,
    share: Share | None = None,
) -> LeastWithholding:
    """Return the cheapest numbers to withhold after which nobody is certain, as far as the oracle's clock goes.

    Of ``ties`` all numbers go or none does; ``unit`` of the numbers' costs make 1. Where time ends first, what is
    returned is safe where that could be shown, and the bound holds. ``share`` hears the bound whenever it rises.
    """
    numbers, reasons = oracle.numbers, dict.fromkeys(_reasons_alone(oracle.numbers))
    costs, everything = numbers.costs, numbers.everything
    bound, safe, until = 0, None, oracle.clock
    oracle.clock = until.share(SEARCH_SHARE)
    while True:
        hit = _cheapest_hit(list(reasons), costs.tolist(), ties, oracle.clock)
        bound = max(bound, hit.bound)
        if share is not None:
            share(bound / unit, float(costs.sum()) / unit, AT_LEAST)
        retained, before = everything - hit.chosen, len(reasons)
        certain, is_open = _certain_quickly(oracle, retained)
        if not certain.any() and not is_open.any():
            safe = hit.chosen
        if safe is not None or oracle.clock.is_over or not certain.any():
            break
        while certain.any() and not oracle.clock.is_over:
            group = next(groups_of(certain))
            reason = find_reason(oracle, retained, group)
            if reason is None:
                break
            if not reason.numbers:
                return LeastWithholding(
                    frozenset(),
                    0,
                    0,
                    is_safe=False,
                    reasons=len(reasons),
                    problem=WITHOUT_ANY,
                    unit=unit,
                )
            reasons[reason.numbers] = None
            # The next reason of this round shares no number with this one, which raises the bound fastest.
            retained = retained - reason.numbers
            certain, _ = _certain_quickly(oracle, retained)
        if len(reasons) == before:
            break
    if safe is None:
        oracle.clock = until
        safe = _found_safe(oracle, hit.chosen, frozenset().union(*reasons), ties)
    if safe is None:
        return LeastWithholding(
            frozenset(), 0, bound, is_safe=False, reasons=len(reasons), unit=unit
        )
    cost = int(costs[sorted(safe)].sum())
    return LeastWithholding(safe, cost, bound, is_safe=True, reasons=len(reasons), unit=unit)


def _reasons_alone(numbers: PublishedNumbers) -> list[frozenset[int]]:
    """Return the numbers that each prove somebody's value alone: a row of all of whose people one class is, or none."""
    of = numbers.problem
    if of.amounts is not None or of.matrix.nnz == 0 or int(of.matrix.data.min()) < 0:
        return []
    people = np.asarray(of.matrix @ of.sizes)
    is_alone = (people > 0) & ((of.low >= people) | ((of.high <= 0) & (of.classes == 2)))
    found = np.unique(numbers.number_of_row[is_alone]).tolist()
    return [frozenset({number}) for number in found if number >= 0]


def _certain_quickly(
    oracle: CertaintyOracle, retained: frozenset[int]
) -> tuple[BoolArray, BoolArray]:
    """Return who is certain, (C,), and who is not decided: of single rows where these prove anybody, else of all."""
    certain = oracle.proved_at_once(retained) & (oracle.numbers.true_class >= 0)
    if certain.any():
        return certain, np.zeros_like(certain)
    found = oracle.certain_groups(retained)
    return found.is_certain, found.is_open


def _found_safe(
    oracle: CertaintyOracle,
    chosen: frozenset[int],
    hits: frozenset[int],
    ties: tuple[frozenset[int], ...],
) -> frozenset[int] | None:
    """Return numbers without which nobody is certain, with no claim to be the least; None where none were found.

    They are some ``chosen`` ones, and a number about each person who is not shown to be open, again and again; or all
    numbers of all reasons, ``hits``, where that is tried in the end and costs no more.
    """
    until, everything = oracle.clock, oracle.numbers.everything
    for _ in range(MOST_EXTENSIONS):
        oracle.clock = until.share(EXTENDING_SHARE)
        certain, is_open = _certain_quickly(oracle, everything - chosen)
        if not (certain | is_open).any():
            return chosen
        more = _covering(oracle.numbers, everything - chosen, certain | is_open)
        if not more or until.is_over:
            break
        chosen = chosen | more
        chosen = chosen.union(*(tie for tie in ties if tie & chosen))
    oracle.clock = until
    hits = hits.union(*(tie for tie in ties if tie & hits))
    return hits if hits and _is_safe(oracle, hits) else None


def _covering(
    numbers: PublishedNumbers, retained: frozenset[int], is_asked: BoolArray
) -> frozenset[int]:
    """Return cheap numbers of those retained of which each group (C,) asked has one about it, if it has any."""
    left, chosen = is_asked.copy(), set[int]()
    of_row = numbers.number_of_row
    rows = np.flatnonzero(np.isin(of_row, sorted(retained)))
    inside = sparse.csr_array(numbers.problem.matrix[rows] != 0)
    while left.any() and len(rows):
        people = np.bincount(of_row[rows], inside @ left.astype(np.float64), len(numbers.names))
        best = int((people / numbers.costs).argmax())
        if not people[best]:
            break
        chosen.add(best)
        left &= ~np.asarray(inside[of_row[rows] == best].sum(axis=0) > 0).reshape(-1)
    return frozenset(chosen)


def _is_safe(oracle: CertaintyOracle, withheld: frozenset[int]) -> bool:
    """Whether nobody is certain without some numbers, each shown by a table."""
    found = oracle.certain_groups(oracle.numbers.everything - withheld)
    return not (found.is_certain | found.is_open).any()


def _cheapest_hit(
    reasons: list[frozenset[int]],
    costs: list[int],
    ties: tuple[frozenset[int], ...],
    clock: Clock,
) -> _HittingSet:
    """Return a cheapest set of numbers that hits each reason, and what each such set costs at least."""
    if not reasons:
        return _HittingSet(frozenset(), 0)
    module = solver_module()
    model = module.CpModel()
    is_chosen = {
        number: model.new_bool_var("") for number in sorted(frozenset().union(*reasons, *ties))
    }
    for reason in reasons:
        model.add_bool_or([is_chosen[number] for number in sorted(reason)])
    for tie in ties:
        first, *others = sorted(tie)
        for other in others:
            model.add(is_chosen[first] == is_chosen[other])
    model.minimize(sum(costs[number] * chosen for number, chosen in is_chosen.items()))
    solver = limited_solver(min(clock.left, SECONDS), np.inf)
    status = solve_in_background(solver, model)
    if status not in (module.OPTIMAL, module.FEASIBLE):
        return _HittingSet(frozenset(is_chosen), 0)
    chosen = frozenset(number for number, each in is_chosen.items() if solver.value(each))
    return _HittingSet(chosen, int(np.ceil(solver.best_objective_bound - 1e-6)))


_Proves = Callable[[frozenset[int]], bool]


def find_reason(
    oracle: CertaintyOracle, retained: frozenset[int], group: int
) -> ProofReason | None:
    """Return a reason among some numbers why a group is certain; None where time is over or it is not."""
    if oracle.is_proved_at_once(retained, group):

        def proves(numbers: frozenset[int]) -> bool:
            return oracle.is_proved_at_once(numbers, group)

        retained = _quick_xplain(oracle, proves, retained)
    elif oracle.ask(retained, group) is not Answer.PROVED:
        return None

    def is_proved(numbers: frozenset[int]) -> bool:
        return oracle.ask(numbers, group) is Answer.PROVED

    numbers = _quick_xplain(oracle, is_proved, retained)
    return ProofReason(numbers, (group,), _is_minimal(oracle, numbers, group))


def find_smallest(oracle: CertaintyOracle, reason: ProofReason) -> ProofReason:
    """Return a reason of the fewest numbers for the first group of a reason, as far as the oracle's clock goes.

    Every table in which the group has another value contradicts a number of each reason. So a smallest set that hits
    what such tables contradict is the smallest reason once it proves the value (Ignatiev and others 2015).
    """
    group, everything = reason.groups[0], oracle.numbers.everything
    if len(reason.numbers) <= 1 and reason.is_minimal:
        return replace(reason, is_smallest=True)
    hit_by_all = list[frozenset[int]]()
    ones = [1] * len(oracle.numbers.names)
    while not oracle.clock.is_over:
        hit = _cheapest_hit(hit_by_all, ones, (), oracle.clock)
        if hit.bound >= len(reason.numbers):
            return replace(reason, is_smallest=True)
        answer = oracle.ask(hit.chosen, group)
        if answer is Answer.PROVED and len(hit.chosen) == hit.bound:
            return ProofReason(hit.chosen, (group,), is_minimal=True, is_smallest=True)
        if answer is not Answer.SHOWN_OTHERWISE:
            break
        hit_by_all.append(_fewest_contradicted(oracle, hit.chosen, everything, group))
    return reason


def _fewest_contradicted(
    oracle: CertaintyOracle, retained: frozenset[int], everything: frozenset[int], group: int
) -> frozenset[int]:
    """Return numbers that a table contradicts in which a group has another value, and of which few can be left out."""
    broken = oracle.contradicted(retained, group)
    assert broken is not None  # a table was just shown
    for number in sorted(broken):
        if number in broken and len(broken) > 1:
            more = everything - broken | {number}
            if oracle.ask(more, group) is Answer.SHOWN_OTHERWISE:
                broken = oracle.contradicted(more, group) or broken
    return broken


def _quick_xplain(
    oracle: CertaintyOracle, proves: _Proves, retained: frozenset[int]
) -> frozenset[int]:
    """Return numbers of those that are retained which prove still, none of which was found to be missable."""
    if proves(frozenset()):
        return frozenset()
    order = sorted(retained, key=lambda number: (-int(oracle.numbers.costs[number]), number))
    return frozenset(_needed(proves, frozenset(), has_more=False, order=order))


def _needed(
    proves: _Proves, background: frozenset[int], order: list[int], *, has_more: bool
) -> list[int]:
    if has_more and proves(background):
        return []
    if len(order) == 1:
        return order
    half = len(order) // 2
    first, second = order[:half], order[half:]
    later = _needed(proves, background | set(first), second, has_more=bool(first))
    earlier = _needed(proves, background | set(later), first, has_more=bool(later))
    return earlier + later


def _is_minimal(oracle: CertaintyOracle, numbers: frozenset[int], group: int) -> bool:
    """Whether a table was found for the removal of each number in which the group has another value."""
    without = (oracle.ask(numbers - {number}, group) for number in sorted(numbers))
    return all(answer is Answer.SHOWN_OTHERWISE for answer in without)


def reasons_of_all(
    oracle: CertaintyOracle, retained: frozenset[int], is_certain: BoolArray
) -> tuple[list[ProofReason], BoolArray]:
    """Return reasons of groups that are certain, each with those it is a minimal one of; and who has none yet, (C,)."""
    left, found = is_certain.copy(), list[ProofReason]()
    if not left.any():
        return found, left
    # Tables that show who is open without any number answer for all of them at once.
    oracle.certain_groups(frozenset())
    for number in sorted(retained):
        if not left.any() or oracle.clock.is_over:
            break
        alone = groups_of(left & oracle.proved_at_once(frozenset({number})))
        groups = tuple(group for group in alone if _is_minimal(oracle, frozenset({number}), group))
        if groups:
            found.append(ProofReason(frozenset({number}), groups, is_minimal=True))
            left[list(groups)] = False
    for group in groups_of(left):
        if oracle.clock.is_over:
            break
        if not left[group]:
            continue
        reason = find_reason(oracle, retained, group)
        if reason is None:
            continue
        groups = (group, *_sharing(oracle, reason, left, group))
        found.append(ProofReason(reason.numbers, groups, reason.is_minimal))
        left[list(groups)] = False
    return found, left


def _sharing(
    oracle: CertaintyOracle, reason: ProofReason, left: BoolArray, group: int
) -> list[int]:
    """Return other groups whose values the same numbers prove, and none of them can be missed of either."""
    if not reason.is_minimal:
        return []
    proved = left & oracle.proved_at_once(reason.numbers)
    return [
        other
        for other in groups_of(proved)
        if other != group and _is_minimal(oracle, reason.numbers, other)
    ]


def shares_of_blame(
    reasons: list[ProofReason], people: np.ndarray, numbers: int
) -> tuple[float, ...]:
    """Return how many people each number is to blame for, (N,): of a reason of k numbers 1/k each (Shapley's value).

    It is exact where a group has one reason only; where it has several, it is that of the reason that was found.
    """
    shares = np.zeros(numbers)
    for reason in reasons:
        if reason.numbers:
            size = float(people[list(reason.groups)].sum())
            shares[sorted(reason.numbers)] += size / len(reason.numbers)
    return tuple(shares.tolist())
