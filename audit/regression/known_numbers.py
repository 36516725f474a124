"""Known numbers of people, as rows over the same cells that the sums of leaves are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.engine.problem import KNOWN_FACT
from treewarden.audit.facts.kinds import known_people
from treewarden.audit.facts.rows import TRUTH_TOLERANCE_SHARE, DroppedRow
from treewarden.audit.joint.cells import PeopleCells
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import FACT
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.rows import NumberRows, part_of
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

NOT_SURE_WHO = (
    "a known number belongs to one of several people who match the fact, so it is not used "
    "for proofs"
)


@dataclass(frozen=True, slots=True, eq=False)
class KnownNumbers:
    """Facts: of those whom ``inside`` (F, P) names one person has the number ``values`` (F,).

    ``dropped`` are facts that the true table breaks, which are no knowledge.
    """

    inside: BoolArray
    values: FloatArray
    dropped: tuple[DroppedRow, ...] = ()

    def of_groups(self, profile: IndexArray) -> KnownNumbers:
        """Return the facts of those whose profile, or -1 for none, is given, (G,)."""
        return replace(self, inside=self.inside[:, np.maximum(profile, 0)] & (profile >= 0))


def known_numbers(knowledge: Knowledge, population: Population) -> KnownNumbers | None:
    """Return whose numbers are known from elsewhere, None where nobody's are.

    Raises:
        KnowledgeError: a fact names what is not there, or no number.
    """
    numbers = population.numbers
    if not knowledge.facts or isinstance(numbers, Undetermined):
        return None
    inside, values, dropped = [], [], []
    room = TRUTH_TOLERANCE_SHARE * max(abs(numbers.low), abs(numbers.high))
    for fact in knowledge.facts:
        profiles, value = known_people(fact, population)
        is_possible = (numbers.least[profiles] - room <= value) & (
            value <= numbers.most[profiles] + room
        )
        if not is_possible.any():
            problem = "nobody in the true table who matches the fact has that number"
            dropped.append(DroppedRow(FACT, fact.words, problem, is_published=False))
            continue
        here = np.zeros(len(population.counts), dtype=bool)
        here[profiles] = True
        inside.append(here)
        values.append(value)
    shape = (len(inside), len(population.counts))
    is_meant = np.array(inside, dtype=bool).reshape(shape)
    return KnownNumbers(is_meant, np.array(values, dtype=np.float64), tuple(dropped))


def parts_of(facts: Sequence[KnownNumbers]) -> IndexArray | None:
    """Return which of the people facts tell apart, a number for each part, (P,); None where there are no facts."""
    inside = [part.inside for part in facts if len(part.values)]
    if not inside:
        return None
    packed = np.packbits(np.concatenate(inside), axis=0)
    return np.unique(packed, axis=1, return_inverse=True)[1].reshape(-1).astype(np.intp)


def with_known(rows: NumberRows, facts: Sequence[KnownNumbers]) -> NumberRows:
    """Return rows with one for each known number of one person alone; facts never part a cell.

    Of those who are not alone nothing is added: that one of several people has a number is no row.
    """
    added, number = [], 0
    for part in facts:
        inside = part.inside[:, rows.cells.first]
        for fact in np.flatnonzero(inside @ rows.cells.sizes == 1).tolist():
            values, place = part.values[[fact]], np.where(inside[fact], 0, -1)
            origin = np.array([KNOWN_FACT]), np.array([number])
            added.append(part_of(place, (values, values), *origin, rows.cells, rows.scale))
            number += 1
    return replace(rows, parts=(*rows.parts, *added))


def are_of_one(facts: Sequence[KnownNumbers], cells: PeopleCells) -> bool:
    """Whether each known number is that of one person alone, so that rows say all of it.

    Of one of several people nothing is left to say where one of them alone is known to have that number.
    """
    people, sure = cells.sizes.astype(np.float64), set[tuple[int, float]]()
    unsure = []
    for part in facts:
        for own, value in zip(part.inside[:, cells.first], part.values.tolist(), strict=True):
            if own @ people == 1.0:
                sure.add((int((own & (people > 0)).argmax()), value))
            else:
                unsure.append((own, value))
    return all(any(own[cell] and same == value for cell, same in sure) for own, value in unsure)
