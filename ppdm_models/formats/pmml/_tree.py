"""Turns one PMML TreeModel (or, before version 4, DecisionTree) into a tree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._declared import Dictionary, read_target, rescaled
from treewarden.ppdm_models.formats.pmml._fields import Fields, read_tests
from treewarden.ppdm_models.formats.pmml._nodes import read_nodes
from treewarden.ppdm_models.formats.pmml._statistics import contradictions
from treewarden.ppdm_models.formats.pmml._values import Failure, number
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.partition import PartitionProblem, problems
from treewarden.ppdm_models.semantics.support import (
    REASONS,
    REPEATED_TOTALS,
    checked,
    plain_quality,
    with_support,
)
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.privacy_claim import CLAIM_WORDS, read_claim
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    SPLIT_SETTINGS,
    Criterion,
    Learner,
    Missing,
    Node,
    NoTrueChild,
    Quality,
    Stopping,
    Task,
    Tree,
    count_of,
)

# Finds in a PMML file how its tree was grown: our own extensions, or the settings scikit-learn's exporters embed.

PREFIX = "treewarden:"
SAMPLED = "sampled"
"""Our own extension of a MiningModel: whether each tree saw a sample of the records, not all of them."""
ESTIMATOR = re.compile(
    r"\b(Decision|Extra)Tree(Classifier|Regressor)\(((?:[^()]|\([^()]*\)){0,4000})\)"
)
SETTINGS_LENGTH = 100_000
SETTING = re.compile(r"\b(\w+)\s*=\s*('[^']*'|[^,\s]+)")
OWN = {
    "criterion",
    "min-leaf-records",
    "all-features",
    "multiway",
    "tool",
    "max-bins",
    "sets",
    "unmodelled",
    "lists-columns",
    "draws-cuts",
    "claim",
}
SETTINGS = {
    "quality": re.compile("|".join(Quality)),
    "criterion": re.compile("|".join(Criterion)),
    "min-leaf-records": re.compile(r"\d{1,16}"),
    "all-features": re.compile("true|false"),
    "multiway": re.compile("true|false"),
    "tool": re.compile("|".join(Tool)),
    "max-bins": re.compile(r"\d{1,16}"),
    "sets": re.compile("true|false"),
    "unmodelled": re.compile(
        rf"(?:{'|'.join(SPLIT_SETTINGS)})(?: (?:{'|'.join(SPLIT_SETTINGS)}))*"
    ),
    "lists-columns": re.compile("true|false"),
    "draws-cuts": re.compile("true|false"),
    "claim": CLAIM_WORDS,
}
"""What our own extensions of a tree model say, by their name without the prefix."""
SHOWN = 300
"""So many characters at most of each value are quoted where several contradict each other."""
CRITERIA = {"gini": Criterion.GINI, "entropy": Criterion.ENTROPY, "log_loss": Criterion.ENTROPY}


def extensions(model: Element) -> dict[str, str]:
    """Return our own extensions of a tree model, without their prefix.

    Raises:
        ValueError: one occurs with several values, of which none is better than the others.
    """
    found: dict[str, list[str]] = {}
    for item in model.all("Extension"):
        name = item.get("name") or ""
        if name.startswith(PREFIX):
            found.setdefault(name, []).append(item.get("value") or "")
    for name, values in found.items():
        if len(set(values)) > 1:
            shown = " and ".join(repr(value[:SHOWN]) for value in dict.fromkeys(values))
            raise ValueError(
                f"{name} occurs {len(values)} times, as {shown}; keep the one that holds"
            )
    return {name.removeprefix(PREFIX): values[0] for name, values in found.items()}


def said_sampled(model: Element) -> bool | None:
    """Return whether the trees of an ensemble saw samples, where an extension of our own says it.

    Raises:
        ValueError: it says both, or something else.
    """
    said = extensions(model).get(SAMPLED)
    return None if said is None else _yes_or_no(said)


def read_learner(root: Element, model: Element, records: Callable[[], float | None]) -> Learner:
    """Return what the file tells about the learner; ``records`` turns shares of all records into records.

    Raises:
        ValueError: one of our own extensions holds what it cannot hold.
    """
    own = extensions(model)
    if own.keys() & OWN:
        learner = Learner(
            criterion=Criterion(own["criterion"]) if "criterion" in own else None,
            min_leaf_records=_at_least_one(own.get("min-leaf-records", "1")),
            all_features=_yes_or_no(own.get("all-features", "true")),
            multiway=_yes_or_no(own["multiway"]) if "multiway" in own else None,
            tool=Tool(own.get("tool", Tool.UNKNOWN)),
            max_bins=_at_least_one(own["max-bins"]) if "max-bins" in own else None,
            sets=_yes_or_no(own["sets"]) if "sets" in own else None,
            unmodelled=tuple(own.get("unmodelled", "").split()),
            draws_cuts=_yes_or_no(own.get("draws-cuts", "false")),
            claim=read_claim(own["claim"], "the file") if "claim" in own else None,
        )
        if "lists-columns" in own:
            return replace(learner, lists_columns=_yes_or_no(own["lists-columns"]))
        return replace(learner, lists_columns=learner.usually_lists_columns)
    task = root.first("MiningBuildTask")
    pieces = [] if task is None else [_text(item) for item in task.all("Extension")]
    found = next(
        (
            match
            for piece in pieces
            for match in [ESTIMATOR.search(piece[:SETTINGS_LENGTH])]
            if match
        ),
        None,
    )
    return Learner(tool=_tool(root, model)) if found is None else _from_settings(found, records)


def _tool(root: Element, model: Element) -> Tool:
    """Return the program that a model is named after (PMML 4.4, algorithmName), or whose exporter wrote the file."""
    header = root.first("Header")
    application = None if header is None else header.first("Application")
    if application is not None and application.get("name") == "JPMML-SparkML":
        return Tool.SPARK
    name = model.get("algorithmName") or ""
    if name == "rpart":
        return Tool.RPART
    return Tool.SCIKIT_LEARN if name.startswith("sklearn.tree.") else Tool.UNKNOWN


def _from_settings(match: re.Match[str], records: Callable[[], float | None]) -> Learner:
    settings = {name: value.strip("'") for name, value in SETTING.findall(match[3])}
    default = "gini" if match[2] == "Classifier" else "squared_error"
    splitter = settings.get("splitter", "best" if match[1] == "Decision" else "random")
    looked_at = settings.get("max_features", "None" if match[1] == "Decision" else "sqrt")
    smallest = _records(
        settings.get("min_samples_leaf", "1"),
        records,
        whole="." not in settings.get("min_samples_leaf", "1"),
    )
    share = _records(settings.get("min_weight_fraction_leaf", "0"), records, whole=False)
    from treewarden.ppdm_models.formats.sklearn._arrays import UNMODELLED  # as below

    return Learner(
        criterion=CRITERIA.get(settings.get("criterion", default)),
        min_leaf_records=max(1, smallest, share),
        all_features=splitter == "best" and looked_at in ("None", "1.0"),
        multiway=False,
        tool=Tool.SCIKIT_LEARN,
        unmodelled=tuple(name for name in UNMODELLED if settings.get(name, "None") != "None"),
        stopping=_stopping_of(settings, records),
        draws_cuts=splitter != "best",
    )


def _stopping_of(settings: dict[str, str], records: Callable[[], float | None]) -> Stopping | None:
    """Return when a tree stopped whose estimator was printed; settings that are not printed have their defaults."""
    wholes = {"max_depth": "None", "min_samples_split": "2", "max_leaf_nodes": "None"}
    plain: dict[str, object] = {}
    for name, default in (*wholes.items(), ("min_impurity_decrease", "0"), ("ccp_alpha", "0")):
        text = settings.get(name, default)
        value = number(text)
        if value is None and text != "None":
            return None
        is_whole = value is not None and name in wholes and "." not in text and abs(value) < 1e15
        plain[name] = int(value or 0) if is_whole else value
    from treewarden.ppdm_models.formats.sklearn._arrays import stopping_of  # of its files only

    return stopping_of(plain, records() or 0.0)


def _records(text: str, records: Callable[[], float | None], whole: bool) -> int:
    value = number(text)
    if value is None or value < 0 or value > 1e15:
        return 1
    return int(value) if whole else math.ceil(value * (records() or 0.0))


def _text(item: Element) -> str:
    return item.get("value") or item.text


def _at_least_one(text: str) -> int:
    value = number(text)
    if value is None or value < 1 or value != int(value) or value > 1e15:
        raise ValueError(f"{text!r} is not a whole number of records")
    return int(value)


def _yes_or_no(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


Choice = TypeVar("Choice")

MISSING = {
    "none": Missing.NONE,
    "lastPrediction": Missing.LAST_PREDICTION,
    "nullPrediction": Missing.NULL_PREDICTION,
    "defaultChild": Missing.DEFAULT_CHILD,
    "weightedConfidence": Missing.WEIGHTED_CONFIDENCE,
    "aggregateNodes": Missing.AGGREGATE_NODES,
}
NO_TRUE_CHILD = {
    "returnNullPrediction": NoTrueChild.NULL_PREDICTION,
    "returnLastPrediction": NoTrueChild.LAST_PREDICTION,
}
RULES = {
    "overlap": "it goes to the first child whose test is true",
    "gap": "the tree makes no prediction for it",
    "skipped": "they were not checked",
}


def read_tree_model(
    model: Element, around: Sequence[Element], dictionary: Dictionary, source: str
) -> Tree:
    """Return the tree; ``around`` are the elements around the model, outermost first.

    Raises:
        TreeFormatError: the tree cannot be understood in full.
    """
    fail = Failure(source)
    root = model.first("Node")
    if root is None:
        raise fail(model, f"the {model.name} has no Node")
    try:
        is_own = "quality" in extensions(model)
    except ValueError as error:
        raise fail(model, str(error)) from error

    def read(fields: Fields) -> tuple[Task, Sequence[Node], tuple[str, ...]]:
        task = _task([*around, model], fields)
        return task, *read_nodes(root, fields, task, source, is_own)

    fields, (task, nodes, classes) = read_tests(dictionary, [*around, model], model, fail, read)
    target = read_target(model, fail)
    if task is Task.REGRESSION and target is not None:
        nodes = tuple(rescaled(node, target) for node in nodes)
        fields.notes += target.notes
    try:
        learner = read_learner(_settings(around, model), model, lambda: count_of(nodes[0]))
    except ValueError as error:
        raise fail(model, f"an extension of the TreeModel is wrong: {error}") from error
    tree = Tree(
        nodes=nodes,
        features=tuple(fields.features.values()),
        target=fields.target,
        classes=classes,
        task=task,
        learner=learner,
        missing=_strategy(model, "missingValueStrategy", "none", MISSING, fail),
        no_true_child=_strategy(
            model, "noTrueChildStrategy", "returnNullPrediction", NO_TRUE_CHILD, fail
        ),
        source=source,
        format="pmml",
        notes=tuple(fields.notes),
        unused=tuple(dict.fromkeys(fields.unused)),
    )
    return _noted(_with_shares(_judged(tree, model, fail), fields))


def _with_shares(tree: Tree, fields: Fields) -> Tree:
    """Return the tree, called inconsistent where its nodes state probabilities that are not those of their counts."""
    if any(REPEATED_TOTALS in note for note in tree.notes):
        return tree  # the probabilities are all that is said of the classes
    if any(stated.weighs_classes for stated in fields.shares):
        tree = replace(tree, label_reason="its probabilities are weighted by priors or costs")
    said = next(contradictions(fields.shares), None)
    if said is None or tree.quality is Quality.INCONSISTENT:
        return tree
    return replace(tree, quality=Quality.INCONSISTENT, notes=(*tree.notes, said))


def _settings(around: Sequence[Element], model: Element) -> Element:
    """Return where the settings of the tree's own learner stand: not those of a forest around it."""
    is_alone = bool(around) and all(outer.name != "MiningModel" for outer in around)
    return around[0] if is_alone else model


def _task(models: Sequence[Element], fields: Fields) -> Task:
    """Return what a tree predicts: where no model around it says so, what its target holds."""
    kinds = {"continuous": Task.REGRESSION, "categorical": Task.CLASSIFICATION}
    task = kinds.get(fields.target_type or "")
    if task is None or any(model.get("functionName") is not None for model in models):
        return task_of(models, fields.fail)
    fields.notes.append(
        f"{fields.fail.source}:{models[-1].line}: functionName is missing. The target is "
        f"{fields.target_type}, so this counts as a {task}"
    )
    return task


def task_of(models: Sequence[Element], fail: Failure) -> Task:
    """Return what the innermost model predicts; an outer one's word counts where it says nothing.

    Raises:
        TreeFormatError: neither a class nor a number.
    """
    said = [model.get("functionName") for model in models if model.get("functionName") is not None]
    function = said[-1] if said else None
    if function not in list(Task):
        if function is None:
            raise fail(models[-1], f"functionName is missing; add one of: {', '.join(Task)}")
        raise fail(models[-1], f"functionName is {function!r}; known values: {', '.join(Task)}")
    return Task(function)


def _strategy(
    model: Element, attribute: str, default: str, choices: Mapping[str, Choice], fail: Failure
) -> Choice:
    by_extension = [
        item.get("value") for item in model.all("Extension") if item.get("name") == attribute
    ]
    said = model.get(attribute) or next(iter(by_extension), None) or default
    if said not in choices:
        raise fail(model, f"unknown {attribute} {said!r}; known values: {', '.join(choices)}")
    return choices[said]


def _judged(tree: Tree, model: Element, fail: Failure) -> Tree:
    """Return the tree with its numbers understood: by our own word for it where the file has one."""
    said = extensions(model).get("quality")
    if said is None:
        return with_support(tree)
    if said not in list(Quality):
        raise fail(model, f"unknown quality {said!r}; known values: {', '.join(Quality)}")
    if isinstance(tree.nodes, NodeTable) and plain_quality(tree.nodes) is not None:
        return replace(
            tree, quality=Quality(said)
        )  # all numbers are whole and add up, or there are none
    nodes = []
    for node in tree.nodes:
        as_shares = node.class_shares is not None and node.class_counts == node.class_shares
        nodes.append(replace(node, class_counts=None) if as_shares else node)
    own = replace(tree, nodes=tuple(nodes), quality=Quality(said))
    numbers = [
        number
        for node in nodes
        for number in (node.records, *(node.class_counts or ()))
        if number is not None
    ]
    if own.has_people and not all(map(is_whole, numbers)):
        note = f"{fail.source}: the file states {said}, but {REASONS[Quality.WEIGHTED]}"
        return replace(own, quality=Quality.WEIGHTED, notes=(*own.notes, note))
    return checked(own)


def _noted(tree: Tree) -> Tree:
    partition_problems = list(problems(tree))
    if not partition_problems:
        return tree
    notes = [
        _note(tree, [problem for problem in partition_problems if problem.kind == kind], rule)
        for kind, rule in RULES.items()
        if kind != "gap" or tree.no_true_child is NoTrueChild.NULL_PREDICTION
    ]
    return replace(tree, notes=(*tree.notes, *(note for note in notes if note)))


def _note(tree: Tree, problems: Iterable[PartitionProblem], rule: str) -> str:
    problems = list(problems)
    if not problems:
        return ""
    more = f" (and {len(problems) - 1} more such nodes)" if len(problems) > 1 else ""
    return f"{problems[0].describe(tree)}; {rule}{more}"
