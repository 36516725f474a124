"""The least to withhold so that nobody's value is proved, with a proof: implicit hitting sets over minimal reasons.

Withholding makes nobody certain exactly where it hits every reason of everybody (Reiter 1987). The cheapest set that
hits the reasons known so far is a lower bound; once nobody is certain without it, it is the optimum (MaxHS, Davies and
Bacchus 2011). One table of counts is the cell suppression problem (Fischetti and Salazar 2000).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.blame.certainty import CertaintyOracle, groups_of
from treewarden.audit.blame.reasons import find_reason
from treewarden.audit.blame.result import LeastWithholding
from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.proofs.cpsat import solver_module

SECONDS = 10.0
"""What the solver may take for the cheapest set that hits all known reasons."""
WITHOUT_ANY = "somebody's value is proved by what stays known whatever is withheld"


@dataclass(frozen=True, slots=True)
class _HittingSet:
    chosen: frozenset[int]
    bound: int


def withhold_least(
    oracle: CertaintyOracle, ties: tuple[frozenset[int], ...] = ()
) -> LeastWithholding:
    """Return the cheapest numbers to withhold after which nobody is certain, as far as the oracle's clock goes.

    Of ``ties`` all numbers go or none does. Where time ends first, what is returned is safe where that could be shown,
    and the bound holds.
    """
    numbers, reasons = oracle.numbers, dict[frozenset[int], None]()
    costs, everything = numbers.costs, numbers.everything
    bound, safe = 0, None
    while True:
        hit = _cheapest_hit(list(reasons), costs.tolist(), ties, oracle.clock)
        bound = max(bound, hit.bound)
        found = oracle.certain_groups(everything - hit.chosen)
        if not found.is_certain.any() and not found.is_open.any():
            safe = hit.chosen
        if safe is not None or oracle.clock.is_over or not found.is_certain.any():
            break
        retained, before = everything - hit.chosen, len(reasons)
        certain = found.is_certain
        while certain.any() and not oracle.clock.is_over:
            group = next(groups_of(certain))
            reason = find_reason(oracle, retained, group)
            if reason is None:
                break
            if not reason.numbers:
                return LeastWithholding(
                    frozenset(), 0, 0, is_safe=False, reasons=len(reasons), problem=WITHOUT_ANY
                )
            reasons[reason.numbers] = None
            # The next reason of this round shares no number with this one, which raises the bound fastest.
            retained = retained - reason.numbers
            certain = oracle.certain_groups(retained).is_certain
        if len(reasons) == before:
            break
    if safe is None and reasons:
        hits = frozenset().union(*reasons)
        hits = hits.union(*(tie for tie in ties if tie & hits))
        safe = hits if _is_safe(oracle, hits) else None
    if safe is None:
        return LeastWithholding(frozenset(), 0, bound, is_safe=False, reasons=len(reasons))
    cost = int(costs[sorted(safe)].sum())
    return LeastWithholding(safe, cost, bound, is_safe=True, reasons=len(reasons))


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
    solver = module.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_time_in_seconds = max(min(clock.left, SECONDS), 0.1)
    status = solver.solve(model)
    if status not in (module.OPTIMAL, module.FEASIBLE):
        return _HittingSet(frozenset(is_chosen), 0)
    chosen = frozenset(number for number, each in is_chosen.items() if solver.value(each))
    return _HittingSet(chosen, int(np.ceil(solver.best_objective_bound - 1e-6)))
