"""Joins a chain of models into one ensemble, where it is sums of trees and then a regression on their totals.

That is how the PMML of boosted classifiers looks (JPMML, Nyoka, R's gbm): one MiningModel per class, then a
RegressionModel with coefficients of 1 and a normalisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._values import Failure, number
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member, NonTreeModel
from treewarden.ppdm_models.tree.predicate import Always
from treewarden.ppdm_models.tree.tree import Task, Tree

LINKS = {
    (Task.CLASSIFICATION, "logit"): Link.LOGISTIC,
    (Task.CLASSIFICATION, "softmax"): Link.SOFTMAX,
    (Task.REGRESSION, "none"): Link.IDENTITY,
    (Task.REGRESSION, "exp"): Link.EXP,
    (Task.REGRESSION, "logit"): Link.LOGISTIC,
    (Task.REGRESSION, "softmax"): Link.LOGISTIC,
}
SUMS = (Combination.SUM, Combination.WEIGHTED_SUM)


@dataclass(frozen=True, slots=True)
class LastRegression:
    """One output of the last regression: a constant, and at most one total with its factor."""

    label: str
    intercept: float
    predictor: str | None
    factor: float


def joined_chain(chain: Ensemble, parts: Sequence[Element], fail: Failure) -> Ensemble | None:
    """Return a chain as one ensemble with outputs, base and link; None where it is not of that shape.

    ``parts`` are the elements of its members.
    """
    last = parts[-1]
    method = last.get("normalizationMethod") or "none"
    link = LINKS.get((chain.task, method))
    tables = _tables(last) if last.name == "RegressionModel" else None
    totals = _totals(chain, parts)
    if link is None or not tables or totals is None:
        return None
    if chain.task is Task.REGRESSION:
        return (
            _joined(chain, tables, totals, (), link)
            if len(tables) == 1 and link is not Link.LOGISTIC
            else None
        )
    if link is Link.LOGISTIC:
        if (
            len(tables) != 2
            or tables[0].predictor is None
            or tables[1] != LastRegression(tables[1].label, 0.0, None, 1.0)
        ):
            return None
        return _joined(chain, tables[:1], totals, (tables[1].label, tables[0].label), link)
    labels = tuple(table.label for table in tables)
    if len(set(labels)) < len(labels):
        return None
    return _joined(chain, tables, totals, labels, link)


def _joined(
    chain: Ensemble,
    tables: Sequence[LastRegression],
    totals: dict[str, Ensemble],
    labels: tuple[str, ...],
    link: Link,
) -> Ensemble | None:
    members: list[Member] = []
    base: list[float] = []
    used: list[str] = []
    notes = list(chain.notes)
    for output, table in enumerate(tables):
        base.append(table.intercept)
        if table.predictor is None:
            continue
        if table.predictor not in totals or table.predictor in used:
            return None
        total = totals[table.predictor]
        used.append(table.predictor)
        notes += total.notes
        base[-1] += table.factor * (total.base[0] if total.base else 0.0)
        weighted = total.combination is Combination.WEIGHTED_SUM
        members += [
            replace(
                member,
                weight=(member.weight if weighted else 1.0) * table.factor,
                output=output if labels and link is Link.SOFTMAX else None,
            )
            for member in total.members
        ]
    if not members or len(used) < len(totals):
        return None
    declared = set(chain.classes)
    if declared and declared == set(labels) and link is Link.SOFTMAX:
        place = [chain.classes.index(label) for label in labels]
        members = [
            replace(member, output=None if member.output is None else place[member.output])
            for member in members
        ]
        base = [value for _, value in sorted(zip(place, base, strict=True))]
        labels = chain.classes
    plain = all(member.weight == 1.0 for member in members)
    return replace(
        chain,
        members=tuple(members),
        combination=Combination.SUM if plain else Combination.WEIGHTED_SUM,
        classes=labels,
        base=tuple(base) if any(base) else (),
        link=link,
        notes=tuple(dict.fromkeys(notes)),
    )


def _tables(regression: Element) -> list[LastRegression] | None:
    """Return the outputs of a regression; None where one is more than a factor times one earlier result."""
    last_regressions = []
    for table in regression.all("RegressionTable"):
        terms = list(table.all("NumericPredictor"))
        element = table.first("CategoricalPredictor", "PredictorTerm")
        intercept = number(table.get("intercept") or "0")
        if element is not None or len(terms) > 1 or intercept is None:
            return None
        factor = number(terms[0].get("coefficient")) if terms else 1.0
        exponent = number(terms[0].get("exponent") or "1") if terms else 1.0
        if factor is None or exponent != 1.0:
            return None
        name = (terms[0].get("name") or "") if terms else None
        last_regressions.append(
            LastRegression(table.get("targetCategory") or "", intercept, name, factor)
        )
    return last_regressions


def _totals(chain: Ensemble, parts: Sequence[Element]) -> dict[str, Ensemble] | None:
    """Return the sums of trees of a chain by the name of their result; None where another part is among them."""
    totals: dict[str, Ensemble] = {}
    for member, part in zip(chain.members[:-1], parts[:-1], strict=True):
        total = _as_sum(member)
        output = part.first("Output")
        results = [] if output is None else list(output.all("OutputField"))
        named = [
            item.get("name") or ""
            for item in results
            if (item.get("feature") or "predictedValue") == "predictedValue"
            and not any(child.name != "Extension" for child in item.children)
        ]
        if total is None or len(named) != 1 or named[0] in totals:
            return None
        totals[named[0]] = total
    return totals if isinstance(chain.members[-1].model, NonTreeModel) else None


def _as_sum(member: Member) -> Ensemble | None:
    model = member.model
    if not isinstance(member.test, Always) or isinstance(model, NonTreeModel):
        return None
    if isinstance(model, Tree):
        if model.task is not Task.REGRESSION:
            return None
        alone = Member(model, name=member.name)
        return Ensemble((alone,), Combination.SUM, model.features, model.target, task=model.task)
    is_sum = (
        model.combination in SUMS
        and model.link is Link.IDENTITY
        and model.task is Task.REGRESSION
        and all(isinstance(part.model, Tree) and part.output is None for part in model.members)
    )
    return model if is_sum else None
