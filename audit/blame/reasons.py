"""Minimal reasons: sets of published numbers that prove a value, of which none can be missed (MUSes).

Found by QuickXplain (Junker 2004): what proves a value is halved again and again, with about k log n questions for k of
n numbers. Each removal is then tried: a reason is called minimal only where a table was found for each of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treewarden.audit.blame.certainty import Answer, CertaintyOracle, groups_of
from treewarden.audit.blame.result import ProofReason
from treewarden.ppdm_models.arrays import BoolArray

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
    for number in sorted(retained):
        if not left.any() or oracle.clock.is_over:
            break
        alone = [
            group
            for group in groups_of(left)
            if oracle.is_proved_at_once(frozenset({number}), group)
        ]
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
    others = [
        other
        for other in groups_of(left)
        if other != group and oracle.is_proved_at_once(reason.numbers, other)
    ]
    return [other for other in others if _is_minimal(oracle, reason.numbers, other)]


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
