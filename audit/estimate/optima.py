"""Which estimates are as good as the one that is given, and the ends between which they lie.

A problem that is not convex may have several optima that no reading may choose between: points of one flat optimum,
optima of about the same entropy that the starts of a search ended at, and the mirror images of an estimate in which
classes that no row tells apart differ. Each is as good an estimate as the one given, so readings span them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.estimate.mirrors import mirror_images
from treewarden.audit.estimate.solved import Solved, entropies, shares
from treewarden.audit.estimate.violated import VIOLATION_SHARE
from treewarden.audit.solver.elastic import is_flat
from treewarden.audit.solver.task import AS_GOOD_NATS, SAME_SHARE
from treewarden.audit.system.system import System, max_violation
from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Span:
    """Ends (P, m) between which estimates lie that are equally good, and how many blocks have more than one.

    ``flat`` counts the blocks with a flat optimum, ``several`` those with optima apart from each other.
    """

    low: FloatArray
    high: FloatArray
    flat: int
    several: int


def span(system: System, solved: Iterable[Solved], values: FloatArray) -> Span:
    """Return the ends between which estimates as good as ``values`` (P, m) lie.

    A flat block was solved once more with ten times the weight of the eps term: another point of the same flat optimum.
    The ends are what the estimates span that were met, not a proof that no other lies outside.
    """
    low, high = values.copy(), values.copy()
    flat = several = 0
    for one in solved:
        if not one.answer.is_accepted or one.reduced.program.is_convex:
            continue
        inside, own = one.reduced.profiles, values[one.reduced.profiles]
        met = (*one.met(), *_images(one))
        apart = list(_as_good(system, one, met, values))
        several += bool(apart) or _differ_in(own, one.reduced.alike)
        if is_flat(one.reduced.program, one.reduced.chains, one.answer.split):
            flat += 1
            if one.answer.other is not None:
                apart.append(shares(one.reduced, one.answer.other))
        points = np.stack([own, *apart])
        low[inside], high[inside] = _with_mirrors(points, one.reduced.alike)
    return Span(low, high, flat, several)


def _images(one: Solved) -> Iterator[FloatArray]:
    """Yield mirror images (K, m) of a block's answer, but for the places of classes that no row tells apart."""
    form = one.reduced
    held = np.zeros(form.program.size, dtype=np.intp)
    if not one.is_symmetric:
        for klass in form.alike.tolist():
            numbers = form.cell[:, klass]
            held[numbers[numbers >= 0]] = klass + 1
    for z in mirror_images(form.program, one.answer.z, held):
        yield shares(form, z)


def _as_good(
    system: System, one: Solved, met: Iterable[FloatArray], values: FloatArray
) -> Iterator[FloatArray]:
    """Yield what was met of a block (K, m) that is as good and, put in ``values`` (P, m), breaks no row."""
    counts, inside = system.case.population.counts, one.reduced.profiles
    least = one.entropy(counts) - AS_GOOD_NATS * float(counts[inside].sum())
    for point in met:
        if not _is_another(point, values[inside]):
            continue
        if float(entropies(point, counts[inside]).sum()) < least:
            continue
        whole = values.copy()
        whole[inside] = point
        if max_violation(system, whole * counts[:, None]) <= VIOLATION_SHARE:
            yield point


def _is_another(point: FloatArray, own: FloatArray) -> bool:
    return bool(np.abs(point - own).max(initial=0.0) > SAME_SHARE)


def _differ_in(own: FloatArray, alike: IndexArray) -> bool:
    """Return whether an estimate tells classes apart that no row tells apart: then it has mirror images."""
    return (
        bool(np.ptp(own[:, alike], axis=1).max(initial=0.0) > SAME_SHARE) if len(alike) else False
    )


def _with_mirrors(points: FloatArray, alike: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of points (N, K, m) and of what becomes of them when classes ``alike`` change places."""
    low, high = points.min(axis=0), points.max(axis=0)
    if len(alike):
        low[:, alike] = low[:, alike].min(axis=1, keepdims=True)
        high[:, alike] = high[:, alike].max(axis=1, keepdims=True)
    return low, high
