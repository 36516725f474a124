"""Explainable boosting machines of InterpretML with differential privacy, as their ``to_json`` writes them.

Such a model adds up one number per column, by the bin that the value lies in: it is no ensemble of decision trees. It
is read for its claim and for what its file publishes; each term is held as a tree of its bins, which nobody judges as
leaves. Only ``detail="all"`` names the settings of privacy. Bins come from noisy counts, and scores from sums with
Gaussian noise (Nori et al. 2021, "Accuracy, interpretability, and differential privacy via explainable boosting").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    belongs,
    bounded,
    compared,
    grown,
    unique,
)
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Member,
    with_claim,
)
from treewarden.ppdm_models.tree.predicate import MissingTest
from treewarden.ppdm_models.tree.privacy_claim import BoundsOrigin, PrivacyClaim, ProducerFacts
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    NoTrueChild,
    Quality,
    Task,
    Tree,
)

NOT_PRIVATE = (
    "an explainable boosting machine (EBM), an additive model, which has no decision tree. Only EBMs that were "
    "trained with differential privacy are supported, and this file has no such settings; if the model was trained "
    'so, save it again: model.to_json(FILE, detail="all")'
)
ADDITIVE = "an additive model, whose terms are shown as one tree of bins each; its bins are not judged as leaves"
GAUSSIAN = (
    "the claim is of an additive model with Gaussian noise (DP-EBM), which treewarden recognises and "
    "does not evaluate"
)
TYPES_OF_TABLE = (
    "the types of the columns were found in the table (feature_types was not given), which the claimed epsilon does "
    "not cover"
)
EXACT_NUMBER = (
    "the file contains the exact number of training records (bag_weights), so the claim can hold only for a record "
    "that is changed, not for one that is added or removed"
)
SEED = "the seed of the noise: with a candidate table, training can be replayed"
LINKS = {"logit": Link.LOGISTIC, "mlogit": Link.SOFTMAX, "identity": Link.IDENTITY}


@dataclass(frozen=True, slots=True)
class EbmColumn:
    """A column as the file describes it: the cuts of a numeric one, the categories of each bin of another."""

    name: str
    cuts: tuple[float, ...] | None
    categories: tuple[tuple[str, ...], ...] = ()
    ends: tuple[float, float] | None = None

    @property
    def bins(self) -> int:
        """The number of bins, with those for missing values and for values that were not seen."""
        return 3 + len(self.cuts) if self.cuts is not None else 2 + len(self.categories)

    @property
    def feature(self) -> Feature:
        """The column as a feature."""
        if self.cuts is not None:
            return Feature(self.name, numeric=True)
        return Feature(self.name, False, tuple(name for bin in self.categories for name in bin))


class EbmJson(Format):
    """Reads those whose settings of privacy are in the file; others have no decision tree and claim nothing."""

    how_to_export = "write it again with ebm.to_json('model.json', detail='all')"

    def sniff(self, data: bytes) -> bool:
        return opens_json(data) == b"{" and b'"ebm"' in data and b'"term_features"' in data

    def open(self, data: bytes, source: str) -> Opened:
        ebm = read_part(data, source)["ebm"]
        settings = ebm.get("implementation_params")
        if settings is None or settings.get("epsilon") is None:
            raise TreeFormatError(source, NOT_PRIVATE)
        columns = _columns(ebm)
        claim = read_ebm_claim(ebm, settings, columns)
        model = with_claim(_model(ebm, columns, source), claim)
        leak = Leak(LeakKind.REPLAY, "/ebm/implementation_params/random_state", SEED)
        return Opened(model, [leak] if claim.is_seeded else [])


def read_ebm_claim(ebm: JsonPart, settings: JsonPart, columns: Sequence[EbmColumn]) -> PrivacyClaim:
    """Return the claim of a file, with what voids it and what keeps it open.

    Raises:
        TreeFormatError: epsilon or delta are no such numbers.
    """
    epsilon, delta = settings["epsilon"].number(), settings["delta"].number()
    if not (epsilon > 0 and 0 <= delta <= 1):
        raise settings.refused("epsilon must be a number above 0, and delta a number from 0 to 1")
    return PrivacyClaim(
        epsilon=epsilon,
        delta=delta,
        bounds_origin=BoundsOrigin.TABLE
        if _reads_bounds(ebm, settings, columns)
        else BoundsOrigin.UNKNOWN,
        bounds=tuple((column.name, *column.ends) for column in columns if column.ends is not None),
        is_seeded=settings.get("random_state") is not None,
        producer=ProducerFacts(unevaluated=(GAUSSIAN, *_doubts(ebm, settings))),
    )


def _reads_bounds(ebm: JsonPart, settings: JsonPart, columns: Sequence[EbmColumn]) -> bool:
    """Return whether the ends of a column, or of a numeric target, were taken from the table, as none were given."""
    given = settings.get("privacy_bounds")
    named = None if given is None or given.is_list else {name for name, _ in given.entries()}
    for index, column in enumerate(columns):
        if column.cuts is not None and (
            given is None or (named is not None and not named & {column.name, str(index)})
        ):
            return True
    ends = (settings.get("privacy_target_min"), settings.get("privacy_target_max"))
    return _task(ebm) is Task.REGRESSION and None in ends


def _doubts(ebm: JsonPart, settings: JsonPart) -> Iterator[str]:
    if settings.get("feature_types") is None:
        yield TYPES_OF_TABLE
    if ebm.get("bag_weights") is not None:
        yield EXACT_NUMBER


def _task(ebm: JsonPart) -> Task:
    outputs = ebm["outputs"]
    if len(outputs) != 1:
        raise outputs.refused("does not describe a single output")
    is_regression = outputs.at(0)["task"].text() == "regression"
    return Task.REGRESSION if is_regression else Task.CLASSIFICATION


def _columns(ebm: JsonPart) -> list[EbmColumn]:
    """Return the columns in the file's order.

    Raises:
        TreeFormatError: one is not described as such a file does, or two have one name.
    """
    found = []
    for part in ebm["features"]:
        name = part["name"].text()
        if part["type"].text() != "continuous":
            bins = tuple(
                tuple(each.label() for each in bin) if bin.is_list else (bin.label(),)
                for bin in part["categories"].at(0)
            )
            names = unique(
                (name for bin in bins for name in bin), "categories", part.where, limits.NODES
            )
            found.append(EbmColumn(name, None, bins if names else ()))
            continue
        cuts = tuple(cut.number() for cut in part["cuts"].at(0))
        if any(low >= high for low, high in zip(cuts, cuts[1:], strict=False)):
            raise part.refused("its cuts do not rise")
        low, high = part.get("min"), part.get("max")
        ends = None if low is None or high is None else (low.number(), high.number())
        found.append(EbmColumn(name, cuts, ends=ends))
    unique((column.name for column in found), "features", ebm.where, limits.FEATURES)
    return found


def _model(ebm: JsonPart, columns: Sequence[EbmColumn], source: str) -> Ensemble:
    """Return the terms as one tree each; of several classes, one for each class."""
    task, output = _task(ebm), ebm["outputs"].at(0)
    classes = (
        tuple(each.label() for each in output["classes"]) if task is Task.CLASSIFICATION else ()
    )
    base = tuple(each.number() for each in ebm["intercept"])
    features = tuple(column.feature for column in columns)
    by_name = {column.name: column for column in columns}
    members: list[tuple[int, tuple[Node, ...]]] = []
    if len(ebm["terms"]) * max(1, len(base)) > limits.TREES:
        raise ebm["terms"].refused("there are too many terms")
    for term in ebm["terms"]:
        scores = list(term["scores"])
        named = [each.text() for each in term["term_features"]]
        if len(named) != 1:
            raise term.refused(
                f"uses {len(named)} columns, but every term of a differentially private model uses one"
            )
        if named[0] not in by_name:
            raise term.refused(f"uses the column {named[0][:60]!r}, which is not in the file")
        column = by_name[named[0]]
        if len(scores) != column.bins:
            raise term.refused(
                f"it has {len(scores)} scores, but its column has {column.bins} bins"
            )
        for place in range(len(base)):
            numbers = [_score(each, place, len(base)) for each in scores]
            members.append((place, _nodes(column, numbers, source)))
    if not members:
        raise ebm["terms"].refused("it has no term")
    bounded((nodes for _, nodes in members), source)
    return Ensemble(
        tuple(
            Member(
                _tree(nodes, features, source),
                output=place if len(base) > 1 else None,
                name=str(index),
            )
            for index, (place, nodes) in enumerate(members)
        ),
        Combination.ADDITIVE,
        features,
        "",
        classes=classes,
        task=task,
        base=base,
        link=LINKS.get(output["link"].text(), Link.UNKNOWN),
        source=source,
        format="ebm_json",
        notes=(f"{source}: {ADDITIVE}", *(f"{source}: {text}" for text in _published(ebm))),
    )


def _published(ebm: JsonPart) -> Iterator[str]:
    """Yield what the file publishes beside scores."""
    if any(term.get("bin_weights") is not None for term in ebm["terms"]):
        yield "publishes a noisy number of records of each bin (bin_weights)"
    if ebm.get("bag_weights") is not None:
        yield "publishes the exact number of training records (bag_weights)"


def _score(part: JsonPart, place: int, outputs: int) -> float:
    return part.number() if outputs == 1 else part.at(place).number()


def _tree(nodes: tuple[Node, ...], features: tuple[Feature, ...], source: str) -> Tree:
    return Tree(
        nodes,
        features,
        "",
        task=Task.REGRESSION,
        missing=Missing.NONE,
        no_true_child=NoTrueChild.NULL_PREDICTION,
        quality=Quality.ABSENT,
        source=source,
    )


def _nodes(column: EbmColumn, scores: Sequence[float], source: str) -> tuple[Node, ...]:
    """Return a term as a tree: one bin for missing values, the bins of values, one for values that were not seen."""
    name, last = column.name, len(scores) - 1

    def leaf(place: int) -> Draft:
        return Draft(f"bin {place}", score=scores[place])

    def draft_of(handle: tuple[int, int]) -> Draft:
        low, high = handle
        if low == high:
            return leaf(low)
        if handle == (0, last):
            inner = (1, max(1, last - 1))
            ways = (
                Branch((0, 0), MissingTest(name)),
                Branch(inner, MissingTest(name, negated=True)),
            )
            return Draft("all", ways)
        if column.cuts is None:
            listed = tuple(
                Branch((place, place), belongs(name, column.categories[place - 1])[0])
                for place in range(low, high + 1)
            )
            return Draft("categories", listed)
        middle = (low + high) // 2
        under, over = compared(name, "<", column.cuts[middle - 1])
        return Draft(
            f"bins {low} to {high}",
            (Branch((low, middle), under), Branch((middle + 1, high), over)),
        )

    return grown((0, last), draft_of, source)


FORMAT = EbmJson()
