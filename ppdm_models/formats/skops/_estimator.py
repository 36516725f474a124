"""The estimator of a skops file: behind the pipelines around it, with its names, classes and scalers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.sklearn._arrays import CRITERIA, class_label, other_columns
from treewarden.ppdm_models.formats.skops._parts import SkopsPart
from treewarden.ppdm_models.formats.skops._pipeline_columns import (
    NOT_FOLLOWED,
    all_followed,
    is_identity,
    learns_from_table,
    steps_of,
)
from treewarden.ppdm_models.formats.skops._table_tests import Derived, MatrixOrigin
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Learner

POLICY_TREE = "PolicyTree"
"""What treewarden's learners that grow under a policy are called."""
PRIVATE_TREE = "PrivateTree"
"""What treewarden's learner with differential privacy is called."""
TREES = ("DecisionTree", "ExtraTree", POLICY_TREE, PRIVATE_TREE)
FORESTS = ("RandomForest", "ExtraTrees")
BOOSTED = ("GradientBoosting",)
BINNED = ("HistGradientBoosting",)
BAGGED = ("Bagging",)
REWEIGHTED = ("AdaBoost",)
VOTED = ("Voting",)
KINDS = tuple(
    f"{name}{task}"
    for name in (*TREES, *FORESTS, *BOOSTED, *BINNED, *BAGGED, *REWEIGHTED, *VOTED)
    for task in ("Classifier", "Regressor")
)
PRIVATE = "diffprivlib"
"""The library whose estimators claim differential privacy; their classes are called as those of scikit-learn."""
READ = (
    "supported: DecisionTree, ExtraTree, RandomForest, ExtraTrees, Bagging, AdaBoost, GradientBoosting, "
    "HistGradientBoosting, and VotingClassifier and VotingRegressor of trees and forests"
)
OF_VOTERS = "use DecisionTree, ExtraTree, RandomForest and ExtraTrees estimators"
STACKED = (
    "its last estimator is fitted on what the others predict; publish one of estimators_ alone"
)
ONE_BY_ONE = "give its estimator alone: trees handle several classes without it"
BY_TARGET = "audit each of estimators_ with its own target"
ADVICE = {
    **dict.fromkeys(("StackingClassifier", "StackingRegressor"), STACKED),
    **dict.fromkeys(("OneVsRestClassifier", "OneVsOneClassifier"), ONE_BY_ONE),
    **dict.fromkeys(("MultiOutputClassifier", "MultiOutputRegressor"), BY_TARGET),
    "CalibratedClassifierCV": (
        "its calibrators are fitted on the target, and each fold has a model of its own; publish the estimator "
        "without them, fitted on all records, and audit that"
    ),
    "FixedThresholdClassifier": "audit its estimator_, and publish that and the threshold",
    "TunedThresholdClassifierCV": "audit its estimator_, and publish that and best_threshold_",
    "TransformedTargetRegressor": (
        "its trees predict a changed target; change the column in the table, and fit the regressor alone"
    ),
}
"""What to do with an estimator around others that is not read, by its class."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted estimator, with what the pipeline before it does.

    ``names`` are those of the columns that go into the pipeline, and ``columns`` what the estimator sees of them; None
    where nobody can say, so that names and thresholds are the estimator's own. ``is_voter`` says that it is one of the
    estimators of another, which numbered the classes for it; ``is_scaled_by_table`` that a step before it was fitted,
    ``is_behind_unknown`` that its columns are those of a step that cannot be followed.
    """

    part: SkopsPart
    known: Mapping[str, SkopsPart]
    names: tuple[str, ...]
    classes: tuple[str, ...]
    columns: Sequence[Derived] | None = None
    notes: tuple[str, ...] = field(default=())
    is_voter: bool = False
    is_scaled_by_table: bool = False
    is_behind_unknown: bool = False

    @property
    def width(self) -> int:
        """The number of columns that the estimator sees."""
        return len(self.names if self.columns is None else self.columns)

    def table(self, *, single: bool = True) -> MatrixOrigin | None:
        """Return what the estimator's columns were made of; None where they are the table's own."""
        return None if self.columns is None else MatrixOrigin(self.columns, self.names, single)

    def plain(self, name: str, default: object = None) -> object:
        """Return one of its settings."""
        return self.known[name].plain() if name in self.known else default


def fitted_of(root: SkopsPart, names: Sequence[str] = (), *, strict: bool = False) -> Fitted:
    """Return the estimator at the end of the pipelines around it, if any.

    ``names`` are those of the table's columns where the estimator saw none. A step that cannot be followed back to the
    table is noted, or refused where ``strict``.

    Raises:
        TreeFormatError: it is no estimator that is read, not fitted, or something contradicts itself.
    """
    part, steps = behind_pipelines(root)
    if part.kind not in KINDS:
        advice = ADVICE.get(part.kind)
        if advice is not None:
            raise part.refused(f"{part.kind} is not supported; {advice}")
        raise part.refused(f"{part.kind[:60]} is not supported here; {READ}{_alone(part.kind)}")
    skops_parts = part.attributes()
    if part.kind.startswith(VOTED):
        skops_parts = _with_size(skops_parts)
    features = _feature_count(part, skops_parts)
    working = [(name, step) for name, step in steps if not is_identity(step)]
    columns, said, width, places = None, tuple[str, ...](), features, [skops_parts]
    if working:
        first = working[0][1].attributes()
        columns, said = _columns(part, working, first, features, strict=strict)
        if columns is not None:
            width, places = _feature_count(working[0][1], first), [first]
        elif _keeps_names(working):
            places.append(first)
    found = _names(part, places, width) or _given_names(part, names, width)
    is_classifier = part.kind.endswith("Classifier")
    classes, noted = _classes(part, skops_parts) if is_classifier else ((), ())
    return Fitted(
        part,
        skops_parts,
        found,
        classes,
        columns,
        (*said, *noted, *_private(part, skops_parts)),
        is_scaled_by_table=any(learns_from_table(step) for _, step in working),
        is_behind_unknown=bool(working) and columns is None,
    )


def _with_size(skops_parts: Mapping[str, SkopsPart]) -> dict[str, SkopsPart]:
    """Return the attributes of estimators that vote with the number of columns, which the first of them tells."""
    listed = skops_parts.get("estimators_")
    voters = [] if listed is None else listed.items()
    inner = voters[0].attributes() if voters and voters[0].loader == "ObjectNode" else {}
    if voters and not voters[0].kind.startswith((*TREES, *FORESTS)):
        raise voters[0].refused(f"one of its estimators is a {voters[0].kind[:60]}; {OF_VOTERS}")
    size = {name: inner[name] for name in ("n_features_in_",) if name in inner}
    return {**size, **skops_parts}


def grew_under_policy(part: SkopsPart) -> bool:
    """Return whether an estimator is one of treewarden's, whose splits a policy allowed."""
    return part.kind.startswith(POLICY_TREE) and part.module.partition(".")[0] == "treewarden"


def policy_growth(part: SkopsPart, settings: Mapping[str, object]) -> Learner:
    """Return how a tree was grown under a policy; a fixed seed tells which cuts were drawn."""
    seed = "random_state"
    is_seeded = seed in part.attributes() and settings.get(seed, seed) is not None
    return Learner(
        criterion=CRITERIA.get(str(settings.get("criterion", ""))),
        all_features=False,
        multiway=False,
        tool=Tool.POLICY_TREE,
        unmodelled=(seed,) if is_seeded else (),
        lists_columns=True,
    )


def behind_pipelines(root: SkopsPart) -> tuple[SkopsPart, list[tuple[str, SkopsPart]]]:
    """Return the estimator at the end of the pipelines around it, and the steps before it, by name."""
    part, steps = root, list[tuple[str, SkopsPart]]()
    while part.kind == "Pipeline":
        named = steps_of(part)
        steps.extend(named[:-1])
        part = named[-1][1]
    return part, steps


def matrix_before(root: SkopsPart, names: Sequence[str] = ()) -> MatrixOrigin | None:
    """Return what the steps of a pipeline make of the table for its last one; None where they leave it as it is.

    ``names`` are those of the table's columns where the first step saw none.

    Raises:
        TreeFormatError: a step is not fitted or cannot be followed back to the table; names it.
    """
    part, steps = behind_pipelines(root)
    working = [(name, step) for name, step in steps if not is_identity(step)]
    if not working:
        return None
    first = working[0][1].attributes()
    width = _feature_count(working[0][1], first)
    columns = all_followed(working, width)
    return MatrixOrigin(columns, _names(part, [first], width) or _given_names(part, names, width))


def claims_privacy(part: SkopsPart) -> bool:
    """Return whether an estimator is of a learner whose trees claim differential privacy."""
    library = part.module.partition(".")[0]
    return library == PRIVATE or (part.kind.startswith(PRIVATE_TREE) and library == "treewarden")


def _private(part: SkopsPart, skops_parts: Mapping[str, SkopsPart]) -> tuple[str, ...]:
    """Return a note that names the claim of a tree to differential privacy."""
    if not claims_privacy(part):
        return ()
    epsilon = skops_parts["epsilon"].plain() if "epsilon" in skops_parts else None
    is_number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    said = f", epsilon = {epsilon:g}" if is_number else ""
    note = (
        f"{part.source}: {part.module.partition('.')[0]} {part.kind[:60]}{said}: the file has no counts; the claim of "
        "differential privacy is judged by the check 'epsilon' of a policy"
    )
    return (note,)


def _alone(kind: str) -> str:
    if not kind.startswith(("XGB", "LGBM", "CatBoost")):
        return ""
    return f"; audit the fitted pipeline in Python, or give the {kind[:60]} alone and the table as the steps make it"


def _columns(
    part: SkopsPart,
    working: list[tuple[str, SkopsPart]],
    seen: Mapping[str, SkopsPart],
    features: int,
    *,
    strict: bool,
) -> tuple[Sequence[Derived] | None, tuple[str, ...]]:
    """Return what the steps before the estimator make of the table, where that can be told, and a note on them."""
    said = ", ".join(f"{name!r} ({step.kind[:60]})" for name, step in working)
    try:
        columns = all_followed(working, _feature_count(working[0][1], seen))
    except TreeFormatError:
        if strict:
            raise
        note = (
            "comes before the tree, so features and thresholds do not refer to the "
            "columns of the table"
        )
        return None, (f"{part.source}: {said} {note}",)
    if len(columns) != features:
        raise part.refused(
            f"expects {features} features, but the steps before it produce {len(columns)}"
        )
    note = "comes before the tree; thresholds are given on raw values"
    return columns, (f"{part.source}: {said} {note}",)


def _keeps_names(steps: list[tuple[str, SkopsPart]]) -> bool:
    return all(step.kind in ("StandardScaler", "MinMaxScaler") for _, step in steps)


def _feature_count(part: SkopsPart, skops_parts: Mapping[str, SkopsPart]) -> int:
    count = next(
        (
            skops_parts[name].plain()
            for name in ("n_features_in_", "n_features_")
            if name in skops_parts
        ),
        None,
    )
    if not isinstance(count, int) or isinstance(count, bool):
        if part.kind in NOT_FOLLOWED:  # some do not say how many columns they saw
            raise part.refused(f"a {part.kind} {NOT_FOLLOWED[part.kind]}")
        raise part.refused(f"this {part.kind[:60]} is not fitted; call fit first")
    if not 0 < count <= limits.FEATURES:
        raise part.refused(
            f"the model has {count} features; give one with 1 to {limits.FEATURES:,}"
        )
    return count


def _names(
    part: SkopsPart, places: Sequence[Mapping[str, SkopsPart]], features: int
) -> tuple[str, ...]:
    """Return the names that were seen by the first of some objects that saw any; none where none did."""
    for place in places:
        if "feature_names_in_" in place:
            found = tuple(str(name) for name in place["feature_names_in_"].array().reshape(-1))
            if len(found) != features:
                raise part.refused(f"has {len(found)} feature names, but {features} features")
            if len(set(found)) < features:
                raise part.refused("two features have the same name")
            return found
    return ()


def _given_names(part: SkopsPart, names: Sequence[str], features: int) -> tuple[str, ...]:
    """Return the names that were given, or the places of the features."""
    if not names:
        return tuple(f"x{place}" for place in range(features))
    if len(names) != features:
        raise part.refused(other_columns(len(names), features))
    if len(set(names)) < features:
        raise part.refused("two columns have the same name; rename one of them")
    return tuple(names)


def _classes(
    part: SkopsPart, skops_parts: Mapping[str, SkopsPart]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels, and a note where the file does not have them."""
    if "classes_" in skops_parts:
        if skops_parts["classes_"].loader == "ListNode":
            raise skops_parts["classes_"].refused(
                "it predicts several outputs; fit one estimator for each"
            )
        found = skops_parts["classes_"].array()
        labels = tuple(class_label(label) for label in found.tolist()) if found.ndim == 1 else ()
        if not 0 < len(labels) <= limits.CLASSES or len(set(labels)) < len(labels):
            raise skops_parts["classes_"].refused("this is not a list of different classes")
        return labels, ()
    count = skops_parts["n_classes_"].plain() if "n_classes_" in skops_parts else None
    if not isinstance(count, int) or not 0 < count <= limits.CLASSES:
        raise part.refused("contains neither the classes nor their number")
    note = f"{part.source}: the class labels are not in the file, so class numbers are used"
    return tuple(map(str, range(count))), (note,)
