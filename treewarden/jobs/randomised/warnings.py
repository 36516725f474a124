"""What is said of a table of noisy records beside its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treewarden.audit.randomised.result import Randomisation
from treewarden.ppdm_models.methods.randomised.intervals import FEWEST_RECORDS
from treewarden.ppdm_models.methods.randomised.noise import Classes, Gaussian, Uniform
from treewarden.reports.document.words import count, counted, listed

FOLLOWING_UNDETERMINED = 0.5
FOLLOWING_TOLD = 0.1
"""From which correlation of records with the next ones on their order is said to tell something."""
RELATED = 0.5

PRIVACY_OF = {
    Uniform.kind: "uniform noise gives no differential privacy, whatever its width",
    Gaussian.kind: "noise of this size is no claim of differential privacy; Gaussian noise gives some of it (epsilon, "
    "delta), by far less than its level suggests",
    Classes.kind: "classes are no noise: they give no differential privacy, and everybody's class is in clear",
}


def warnings_of(found: Randomisation, following: Mapping[str, float]) -> tuple[str, ...]:
    """Return the warnings in words; ``following`` is the correlation of records with the next ones, by column."""
    return tuple(_warnings(found, following))


def _warnings(found: Randomisation, following: Mapping[str, float]) -> Iterator[str]:
    for each in found.related:
        if abs(each.correlation) > RELATED:
            yield (
                f"{each.first!r} and {each.second!r} go together (correlation {each.correlation:.2f}), so that each "
                "gives away part of the other; the attack's width says how much"
            )
    for name, correlation in following.items():
        if FOLLOWING_TOLD < abs(correlation) <= FOLLOWING_UNDETERMINED:
            yield (
                f"records have {name!r} in common with the next ones (correlation {correlation:.2f}), so that their "
                "order tells something; shuffle the table first"
            )
    if found.label:
        yield f"the class {found.label!r} is published as it is; all figures suppose that it is used"
    if found.clear:
        names = listed([repr(name) for name in found.clear])
        yield (
            f"published as they are, and nobody said that they may be: {names}; hide them, leave them out with --drop, "
            "or say --clear"
        )
    for kind in dict.fromkeys(column.said.noise for column in found.columns):
        yield PRIVACY_OF[kind]
    off_data = [repr(each.said.name) for each in found.columns if each.said.domain == "data"]
    if off_data:
        yield (
            f"domains read off the data stand in the manifest: the least and the largest value: {listed(off_data)}; "
            "declare them with --domains"
        )
    for column in found.columns:
        if column.missing:
            yield (
                f"{column.said.name!r} has no value in {counted(column.missing, 'record', 'records')}; they stay "
                "without one, so that everybody sees who they are"
            )
    if found.records < FEWEST_RECORDS:
        yield (
            f"{counted(found.records, 'record', 'records')}, and {count(FEWEST_RECORDS)} are needed to reconstruct "
            "distributions; expect little of them"
        )
