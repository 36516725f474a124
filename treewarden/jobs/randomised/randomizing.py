"""A table as a file in, the same records with noise in a new file, and what that gives away, judged by a policy."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import treewarden
from treewarden.audit.randomised.measuring import randomisation_of
from treewarden.audit.randomised.result import Randomisation
from treewarden.audit.stages import Step, silent
from treewarden.jobs.randomised.roles import Roles, Wanted, roles_of
from treewarden.jobs.randomised.warnings import FOLLOWING_UNDETERMINED, warnings_of
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.finding import doubt
from treewarden.policies.judging.randomised import judge_randomised
from treewarden.policies.pack import Pack
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.methods.randomised.manifest import Manifest, Plan, planned
from treewarden.ppdm_models.methods.randomised.streaming import Hider
from treewarden.ppdm_models.tables.batches import batch_file, open_batches

RECORD_ORDER = "record-order"
"""What the finding is called that says that the records' order tells their values."""


@dataclass(frozen=True, slots=True)
class Randomised:
    """What was made of a table: its manifest, what it gives away, the verdict on that, and what to say besides.

    ``stamp`` is what would be another one if the table changed since.
    """

    manifest: Manifest
    randomisation: Randomisation
    decision: Decision
    warnings: tuple[str, ...]
    stamp: tuple[int, int, int]


def randomise(
    wanted: Wanted, pack: Pack, output: Path, written: Path, step: Step = silent
) -> Randomised:
    """Write a table with noise into a new file ``written``, and judge it as what is called ``output`` later.

    Nothing of the table is kept: it passes by once, or twice where domains are read off it.

    Raises:
        TableError: the table cannot be read, lacks a column, or a cell of a hidden column holds no finite number; or it
            changed meanwhile.
        DomainError: the domains are not understood, or do not hold what is in the table.
        OutputError: the form of the output cannot hold a column.
        ValueError: there is no such noise, level or confidence.
    """
    table = open_batches(wanted.table)
    stamp = table.stamp()
    with step(f"looking at the columns of {table.source}"):
        roles = roles_of(table, wanted)
    plans = tuple(
        planned(domain, wanted.noise, wanted.level, wanted.confidence) for domain in roles.domains
    )
    hider = Hider(table, plans, roles.kept, wanted.label)
    form, delimiter = output.suffix.lower(), table.delimiter or ","
    with (
        step(f"hiding {len(plans)} columns of {table.source}"),
        batch_file(written, form, hider.schema, delimiter, hider.unlike) as file,
    ):
        for batch in hider.hidden():
            file.write(batch)
    table.check_unchanged(stamp)
    manifest = _manifest(wanted, roles, plans, hider.records, output.name, written)
    with step("attacking what is hidden"):
        found = randomisation_of(
            manifest,
            hider.counts,
            hider.moments,
            hider.missing,
            has_too_many_classes=hider.labels.are_too_many,
        )
    decision = _doubting_order(judge_randomised(found, pack), hider)
    said = warnings_of(found, hider.following)
    return Randomised(manifest, found, decision, said, stamp)


def _manifest(
    wanted: Wanted, roles: Roles, plans: tuple[Plan, ...], records: int, name: str, written: Path
) -> Manifest:
    with written.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Manifest(
        version=treewarden.__version__,
        file=name,
        sha256=digest,
        records=records,
        columns=tuple(plan.hidden for plan in plans),
        clear=roles.clear,
        harmless=roles.harmless,
        label=wanted.label,
    )


def _doubting_order(decision: Decision, hider: Hider) -> Decision:
    """Return a decision that is no pass where the order of the records tells their values: nothing measures that."""
    telling = [
        name for name, found in hider.following.items() if abs(found) > FOLLOWING_UNDETERMINED
    ]
    if not telling:
        return decision
    reason = (
        f"records stand in an order that tells their values of {telling[0]!r}, so the mean of neighbours gives them "
        "away whatever the noise; shuffle the records of the table first"
    )
    verdict = max(decision.verdict, Verdict.UNDETERMINED)
    return replace(
        decision, verdict=verdict, findings=(doubt(RECORD_ORDER, reason), *decision.findings)
    )
