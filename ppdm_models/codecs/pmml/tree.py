"""Turns one PMML TreeModel (or, before version 4, DecisionTree) into a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.codecs.pmml.declared import Dictionary
from treewarden.ppdm_models.codecs.pmml.fields import Fields, read_tests
from treewarden.ppdm_models.codecs.pmml.learner import extensions, read_learner
from treewarden.ppdm_models.codecs.pmml.nodes import read_nodes
from treewarden.ppdm_models.codecs.pmml.shares import contradictions
from treewarden.ppdm_models.codecs.pmml.targets import read_target, rescaled
from treewarden.ppdm_models.codecs.pmml.values import Failure
from treewarden.ppdm_models.meaning.consistency import is_whole
from treewarden.ppdm_models.meaning.partition import Problem, problems
from treewarden.ppdm_models.meaning.support import REASONS, REPEATED_TOTALS, checked, with_support
from treewarden.ppdm_models.tree.tree import (
    Missing,
    Node,
    NoTrueChild,
    Quality,
    Task,
    Tree,
    count_of,
)

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
    "overlap": "the first child whose test holds takes it",
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
    is_own = "quality" in extensions(model)

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
        tree = replace(tree, label_reason="its probabilities weigh the classes by priors or costs")
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
        f"{fields.fail.source}:{models[-1].line}: does not say what it predicts (functionName); its target "
        f"is {fields.target_type}, so this is a {task}"
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
        raise fail(models[-1], f"functionName is {function!r}; have {', '.join(Task)}")
    return Task(function)


def _strategy(
    model: Element, attribute: str, default: str, known: Mapping[str, Choice], fail: Failure
) -> Choice:
    by_extension = [
        item.get("value") for item in model.all("Extension") if item.get("name") == attribute
    ]
    said = model.get(attribute) or next(iter(by_extension), None) or default
    if said not in known:
        raise fail(model, f"unknown {attribute} {said!r}; have {', '.join(known)}")
    return known[said]


def _judged(tree: Tree, model: Element, fail: Failure) -> Tree:
    """Return the tree with its numbers understood: by our own word for it where the file has one."""
    said = extensions(model).get("quality")
    if said is None:
        return with_support(tree)
    if said not in list(Quality):
        raise fail(model, f"unknown quality {said!r}; have {', '.join(Quality)}")
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
        note = f"{fail.source}: says {said}, but {REASONS[Quality.WEIGHTED]}"
        return replace(own, quality=Quality.WEIGHTED, notes=(*own.notes, note))
    return checked(own)


def _noted(tree: Tree) -> Tree:
    found = list(problems(tree))
    if not found:
        return tree
    notes = [
        _note(tree, [problem for problem in found if problem.kind == kind], rule)
        for kind, rule in RULES.items()
        if kind != "gap" or tree.no_true_child is NoTrueChild.NULL_PREDICTION
    ]
    return replace(tree, notes=(*tree.notes, *(note for note in notes if note)))


def _note(tree: Tree, found: Iterable[Problem], rule: str) -> str:
    found = list(found)
    if not found:
        return ""
    more = f" (and {len(found) - 1} more such nodes)" if len(found) > 1 else ""
    return f"{found[0].describe(tree)}; {rule}{more}"
