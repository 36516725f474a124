"""From a table of noisy records, judged or reconstructed, to the document that renderers print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treewarden.audit.randomised.result import HiddenColumn, Randomisation
from treewarden.audit.reading import exactly
from treewarden.policies.judging.decision import Decision
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.methods.randomised import reconstruction
from treewarden.ppdm_models.methods.randomised.manifest import Hidden, Manifest
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Gaussian, Uniform
from treewarden.reports.building.build import finding_part, policy_part
from treewarden.reports.building.worded import value, word
from treewarden.reports.document.methods import (
    Column,
    Distribution,
    Left,
    Origin,
    RandomisedDocument,
    Recovered,
    Related,
    Series,
)
from treewarden.reports.document.parts import File, Row, Value, number
from treewarden.reports.document.words import amount_text, count, counted, listed

CONFIDENTIAL = (
    "Confidential: this report shows the distribution of true values and the least "
    "protected records. Keep it with the table. Publish only the noisy table and its "
    "manifest."
)
CONFIDENTIAL_TRUE = (
    "Confidential: this report shows the distribution of true values. Keep it with the table."
)
OPEN = "This report contains only what everybody with the noisy table and its manifest can compute."
LIMITS = {
    Uniform.kind: (
        "It is not differential privacy: uniform noise excludes values outside its range."
    ),
    Gaussian.kind: (
        "It is not a claim of differential privacy: Gaussian noise gives that only for a "
        "stated sensitivity, and far less than a level suggests."
    ),
    ClassNoise.kind: "Value classes are not noise: everybody's class is published.",
}
ONCE = (
    "It holds for one release. With a second one of the same people, new noise can be "
    "averaged away. The same holds for a person with several records."
)
KNOWN = (
    "The adversary is assumed to know the noise, the domains, the class if it is "
    "published, and the distribution of values in each class. Other unchanged columns are "
    "not used. An adversary who knows more, or uses other attacks, may learn more."
)
MEANING = {
    PolicyVerdict.PASS: (
        "For an adversary who has the noisy table, the noise and the distribution of values, every "
        "hidden column remains as uncertain as the policy requires."
    ),
    PolicyVerdict.FAIL: (
        "An adversary who has the noisy table and the noise could narrow values down further than "
        "the policy allows."
    ),
    PolicyVerdict.UNDETERMINED: (
        "No check failed, but at least one could not be decided. Treat it as a FAIL."
    ),
}
NEXT = {
    PolicyVerdict.PASS: (
        "Publish the noisy table together with its manifest; both are needed to use it.",
        "Keep this one result: never randomise the same table for a second release.",
    ),
    PolicyVerdict.FAIL: (
        (
            "Raise --level, or choose Gaussian noise, which also protects values at the ends of a "
            "domain."
        ),
        (
            "Hide, or remove with --drop, columns that disclose others and columns in which nearly "
            "everybody has the same value."
        ),
    ),
    PolicyVerdict.UNDETERMINED: (
        "Read under “Findings” what could not be decided, and what is missing.",
        (
            "Remove columns that are not needed (--drop), or name those that may be published "
            "unchanged (--clear)."
        ),
    ),
}


def randomisation_document(
    randomisation: Randomisation,
    decision: Decision,
    figures: Sequence[reconstruction.ColumnDistribution],
    manifest: Manifest,
    warnings: tuple[str, ...] = (),
) -> RandomisedDocument:
    """Return the report of a table that was randomised, for its owner; ``figures`` are of its hidden columns."""
    column_distributions = {figure.said.name: figure for figure in figures}
    return RandomisedDocument(
        kind="randomisation",
        confidential=CONFIDENTIAL,
        title=f"Protection by noise in {randomisation.source}",
        verdict=word(decision.verdict),
        headline=_headline(randomisation, decision),
        meaning=MEANING[decision.verdict],
        next_steps=NEXT[decision.verdict],
        findings=tuple(map(finding_part, decision.findings)),
        fail_on=decision.fail_on,
        not_judged=tuple(Row(name=name, text=why) for name, why in decision.not_judged),
        records=randomisation.records,
        columns=tuple(
            _column(column.said, column.missing, column_distributions.get(column.said.name), column)
            for column in randomisation.columns
        ),
        related=tuple(
            Related(
                first=related_columns.first,
                second=related_columns.second,
                correlation=number(related_columns.correlation),
            )
            for related_columns in randomisation.related
        ),
        clear=randomisation.clear,
        harmless=randomisation.harmless,
        label=randomisation.label,
        limits=_limits(manifest),
        warnings=warnings,
        policy=policy_part(decision.pack),
        provenance=_origin(manifest, decision),
    )


def reconstruction_document(
    manifest: Manifest,
    figures: Sequence[reconstruction.ColumnDistribution],
    warnings: tuple[str, ...] = (),
) -> RandomisedDocument:
    """Return the report of what is recovered of a randomised table; nothing is judged."""
    is_open = all(figure.true is None for figure in figures)
    columns = counted(len(figures), "hidden column", "hidden columns")
    return RandomisedDocument(
        kind="reconstruction",
        confidential=OPEN if is_open else CONFIDENTIAL_TRUE,
        title=f"What can be recovered of {manifest.file}",
        verdict=None,
        headline=(
            f"The distribution of values in {columns}, from {count(manifest.records)} noisy records."
        ),
        meaning=(
            "A distribution describes the table as a whole. No single value is estimated: each "
            "record keeps its noise."
        ),
        next_steps=(
            (
                "Train a tree from the noisy table with treewarden grow, which reconstructs "
                "distributions class by class."
            ),
        ),
        findings=(),
        fail_on="error",
        not_judged=(),
        records=manifest.records,
        columns=tuple(_column(figure.said, figure.missing, figure, None) for figure in figures),
        related=(),
        clear=manifest.clear,
        harmless=manifest.harmless,
        label=manifest.label,
        limits=_limits(manifest),
        warnings=warnings,
        policy=None,
        provenance=_origin(manifest, None),
    )


def hidden_by(hidden: Hidden) -> str:
    """Return how a column is hidden, in words."""
    if hidden.noise == Uniform.kind:
        return f"uniform noise between -{hidden.parameter:,.6g} and {hidden.parameter:.6g}"
    if hidden.noise == Gaussian.kind:
        return f"Gaussian noise with a standard deviation of {hidden.parameter:,.6g}"
    return f"the middle of classes {hidden.parameter:,.6g} wide"


def _column(
    hidden: Hidden,
    missing: int,
    figure: reconstruction.ColumnDistribution | None,
    column: HiddenColumn | None,
) -> Column:
    return Column(
        name=hidden.name,
        noise=hidden.noise,
        hidden_by=hidden_by(hidden),
        level=number(hidden.level),
        confidence=number(hidden.confidence),
        parameter=number(hidden.parameter),
        low=number(hidden.low),
        high=number(hidden.high),
        is_whole=hidden.is_whole,
        values=hidden.values,
        domain="declared"
        if hidden.domain == "declared"
        else "taken from the data, which discloses its ends",
        missing=missing,
        left=None
        if column is None
        else Left(
            equivalent_width=_share(column.left.equivalent_width),
            loss=_share(column.left.loss),
            mean_width=_share(column.left.mean_width),
            worst_width=_share(column.left.worst_width),
        ),
        recovered=()
        if column is None
        else tuple(
            Recovered(
                attack=recovered_column.attack,
                width=_share(recovered_column.width),
                error=_share(recovered_column.error),
            )
            for recovered_column in column.recovered
        ),
        distribution=None if figure is None else _distribution(figure),
    )


def _distribution(figure: reconstruction.ColumnDistribution) -> Distribution:
    numbers = figure.own.edges
    error = figure.error
    return Distribution(
        reconstructed=_series(numbers, figure.shares),
        noisy=_series(figure.noisy_edges, figure.noisy),
        true=None if figure.true is None else _series(numbers, figure.true),
        error=None if error is None else _share(error),
        values=figure.values,
        steps=figure.steps,
        is_settled=figure.is_settled,
        summary=_summary(figure),
    )


def _summary(figure: reconstruction.ColumnDistribution) -> str:
    """Return what a picture shows, for whoever does not see it."""
    middle = float(figure.shares @ figure.own.middles)
    noisy = (figure.noisy_edges[:-1] + figure.noisy_edges[1:]) / 2
    said = [
        f"{count(figure.values)} values; the reconstructed mean is {amount_text(middle)}",
        f"the mean of the noisy values is {amount_text(float(figure.noisy @ noisy))}",
    ]
    if figure.true is not None and figure.error is not None:
        said.append(
            f"the mean of the true values is {amount_text(float(figure.true @ figure.own.middles))}"
        )
        said.append(
            f"{100 * figure.error:.1f} % of the distribution differs from the reconstruction"
        )
    steps = counted(figure.steps, "step", "steps")
    said.append(f"{'settled' if figure.is_settled else 'not settled'} after {steps}")
    return f"{'; '.join(said)}."


def _series(edges: NDArray[np.float64], shares: NDArray[np.float64]) -> Series:
    return Series(edges=tuple(map(float, edges)), shares=tuple(map(float, shares)))


def _share(share: float) -> Value:
    return value(exactly(share), "share")


def _headline(randomisation: Randomisation, decision: Decision) -> str:
    columns = counted(len(randomisation.columns), "hidden column", "hidden columns")
    if decision.verdict is PolicyVerdict.PASS:
        return f"{columns} may be published: the noise hides what the policy requires."
    failing = [finding.clause for finding in decision.failing]
    what = "not met" if decision.verdict is PolicyVerdict.FAIL else "not decided"
    return f"Do not publish this table as it is: {listed(failing)} {what}."


def _limits(manifest: Manifest) -> tuple[str, ...]:
    kinds = dict.fromkeys(column.noise for column in manifest.columns)
    label = (
        (
            (
                f"The class {manifest.label!r} is published unchanged: noise in other columns does not "
                "hide it."
            ),
        )
        if manifest.label
        else ()
    )
    return (*(LIMITS[kind] for kind in kinds), *label, ONCE, KNOWN)


def _origin(manifest: Manifest, decision: Decision | None) -> Origin:
    pack = None
    if decision is not None:
        named = decision.pack.name.replace("/", "_")
        pack = File(name=named, sha256=decision.pack.digest)
    return Origin(
        version=manifest.version,
        table=File(name=manifest.file, sha256=manifest.sha256),
        pack=pack,
    )
