"""People whose value follows from the file and their known columns, though an adversary has no other data.

An adversary knows the columns of one person, and that the person is in the table, but not who else is. The file alone
bounds how many records of each class have these values, in every table that fits (see ``records_rebuilt``). Where no
record of another class may share the values, the person's class is proved. With ``others`` = k an adversary also knows
k whole records: then up to k people with these values and another class are told apart, in the worst case for the
person. It is not proved where the table has more than k of them: any of them and the person may be exchanged.

For the notion: Garfinkel, Abowd, Martindale: Understanding database reconstruction attacks on public data, 2018.
"""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.reading import Interval, Measurement, Undetermined

NOT_OF_TARGET = Undetermined("this is computed for the target of the model only")
NO_PROOFS = Undetermined("it was not computed which records every consistent table has")
NO_RECORDS = Undetermined(
    "what the file proves of whole records was not decided, so this is not either"
)
MANY_PAIRS = Undetermined("there are too many groups of people and combinations of values")


class ColumnsRebuilt(Measure):
    """Known columns are those of each adversary (``--knows``)."""

    unit = "records"
    plain = "people whose value is proved for an adversary who has only the file and their known columns"
    short = "values proved without other data"
    risk = "high"
    limits = (0.0, np.inf)
    reads = frozenset({EvidenceSource.REBUILT, EvidenceSource.TRUTH})
    is_of_knowledge = True
    parameters = {
        "others": Parameter(
            0, "how many other whole records an adversary knows, the worst ones", whole=True
        )
    }

    def words(self, parameters: Parameters) -> str:
        others = float(parameters["others"])
        return f"{self.plain}, and {others:g} known records" if others else self.plain

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        rebuilt, population = evidence.rebuilt, evidence.population
        truth = population.truth
        if isinstance(truth, Undetermined):
            return Measurement(truth)
        if evidence.secret is not None:
            return Measurement(NOT_OF_TARGET)
        if isinstance(rebuilt, Undetermined):
            return Measurement(NO_RECORDS)
        if population.weight is not None or not population.records:
            return Measurement(Undetermined("the table has no people, or people with weights"))
        most = float(parameters["others"])
        real = truth.sum(axis=1, keepdims=True) - truth
        high = float(truth[real <= most].sum())
        if rebuilt.proofs is None:
            return Measurement(NO_PROOFS if high else Interval(0.0, 0.0))
        if rebuilt.proofs.high.shape[1] != truth.shape[1]:
            return Measurement(NOT_OF_TARGET)
        known = {name: population.columns[name] for name in population.qi}
        others = rebuilt.proofs.most_others(known, len(truth))
        if others is None:
            return Measurement(MANY_PAIRS)
        # Known records leave nobody of another class only where no table has more such records than the real one.
        is_proved = (others <= real) & (real <= most)
        return Measurement(Interval(float(truth[is_proved].sum()), high))


MEASURE = ColumnsRebuilt()
