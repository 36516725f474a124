"""Small tables, every column of classes that they can have, and scikit-learn run again on each of them."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from tests.judges.doors import Trial
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.tree import Tree

CERTAIN = MeasureCall("certain_disclosure")
SEEDS, MANY_SEEDS = range(6), range(60)
"""Random states of the learner beside that of the case: for ties, and where it draws the columns that it compares."""


@dataclass(frozen=True)
class Drawn:
    """A table of numbers by column, each record's class, and the settings of the learner."""

    columns: dict[str, np.ndarray]
    labels: np.ndarray
    settings: dict[str, object]

    @property
    def matrix(self) -> np.ndarray:
        """The columns as the learner takes them, (n, columns)."""
        return np.stack(list(self.columns.values()), axis=1)

    @property
    def profile(self) -> np.ndarray:
        """Which records agree in every column, (n,)."""
        return np.unique(self.matrix, axis=0, return_inverse=True)[1].reshape(-1)

    def fit(self, labels: np.ndarray, seed: int | None = None) -> DecisionTreeClassifier:
        """Return the learner's tree on these columns and other labels."""
        more = {} if seed is None else {"random_state": seed}
        return DecisionTreeClassifier(**{**self.settings, **more}).fit(self.matrix, labels)


def draw_table(draw: np.random.Generator, settings: dict[str, object], most: int = 9) -> Drawn:
    """Return a random table of 6 records and more, with classes that a column drives in part."""
    size = int(draw.integers(6, most + 1))
    names = "abc"[: int(draw.integers(1, 4))]
    columns = {name: draw.integers(draw.integers(2, 5), size=size) * 1.0 for name in names}
    classes = 3 if size <= 7 and draw.random() < 0.2 else 2
    driver = columns[str(draw.choice(list(names)))].astype(int) % classes
    noise = draw.random(size) < draw.choice([0.2, 0.5, 1.0])
    labels = np.where(noise, draw.integers(classes, size=size), driver)
    labels[draw.choice(size, size=classes, replace=False)] = np.arange(classes)
    return Drawn(columns, labels, settings)


def every_labelling(drawn: Drawn, *, is_all: bool = True) -> np.ndarray:
    """Return every table of classes, (K, n), records that agree in every column in the order of their classes.

    ``is_all`` keeps those in which every class occurs.
    """
    classes, profile = int(drawn.labels.max()) + 1, drawn.profile
    places = [np.flatnonzero(profile == each) for each in range(profile.max() + 1)]
    ways = [itertools.combinations_with_replacement(range(classes), len(at)) for at in places]
    rows = list(itertools.product(*(list(way) for way in ways)))
    found = np.empty((len(rows), len(profile)), dtype=np.int64)
    for number, row in enumerate(rows):
        for at, chosen in zip(places, row, strict=True):
            found[number, at] = chosen
    return found[[not is_all or len(set(row.tolist())) == classes for row in found]]


class Published:
    """What a fitted tree publishes at a level of leaves: its splits, and of the classes what the level says.

    Of an inner node all class counts are published, or none. ``is_ordered`` says that names of nodes tell in which
    order they were split.
    """

    def __init__(self, level: str, classes: int, *, is_ordered: bool = True) -> None:
        self.level, self.classes, self.is_ordered = level, classes, is_ordered

    def of_leaves(self, leaf: np.ndarray, labels: np.ndarray) -> Hashable:
        """Return what would be said of the leaves, (n,), if these were the labels."""
        return frozenset(
            (here.tobytes(), self._said(np.bincount(labels[here], minlength=self.classes)))
            for node in np.unique(leaf)
            for here in [leaf == node]
        )

    def of_tree(self, model: DecisionTreeClassifier, drawn: Drawn, labels: np.ndarray) -> Hashable:
        """Return all that a tree publishes which was grown on a table with these labels."""
        state, matrix = model.tree_, drawn.matrix
        paths = model.decision_path(matrix).toarray().astype(bool)
        found = []
        for node in np.flatnonzero(state.children_left >= 0).tolist():
            column, inside = int(state.feature[node]), paths[:, node]
            cut = float(state.threshold[node])
            counts = np.bincount(labels[inside], minlength=self.classes)
            is_inner = self.level == "as-published"
            order = int(state.children_left[node]) // 2 if self._is_best_first(model) else -1
            counted = tuple(counts.tolist()) if is_inner else ()
            found.append((inside.tobytes(), column, cut, counted, order))
        return self.of_leaves(model.apply(matrix), labels), frozenset(found)

    def _is_best_first(self, model: DecisionTreeClassifier) -> bool:
        return self.is_ordered and model.max_leaf_nodes is not None

    def _said(self, counts: np.ndarray) -> Hashable:
        if self.level in ("counts", "as-published"):
            return tuple(counts.tolist())
        label = int(counts.argmax())
        return (label, int(counts[label])) if self.level == "rates" else label


def regrown(drawn: Drawn, published: Published, *, is_patient: bool = False) -> np.ndarray:
    """Return the tables, (K, n), on which the learner grows a tree that is published as that of the true table.

    ``is_patient`` tries more random states, by which scikit-learn takes other ones of equally good columns. Of equally
    good cuts of one column it takes the same one with each.
    """
    model = drawn.fit(drawn.labels)
    told, leaf = published.of_tree(model, drawn, drawn.labels), model.apply(drawn.matrix)
    is_drawn = is_patient or "max_features" in drawn.settings
    seeds = (None, *(MANY_SEEDS if is_drawn else SEEDS))
    of_leaves, kept = published.of_leaves(leaf, drawn.labels), []
    for labels in every_labelling(drawn):
        if published.of_leaves(leaf, labels) != of_leaves:
            continue
        grown = (drawn.fit(labels, seed) for seed in seeds)
        if any(published.of_tree(one, drawn, labels) == told for one in grown):
            kept.append(labels)
    return np.array(kept).reshape(len(kept), len(drawn.labels))


@dataclass(frozen=True)
class Answer:
    """What an audit claims: each record's certain class (-1: none), and whether it is not decided, (n,)."""

    certain: np.ndarray
    is_open: np.ndarray
    low: float
    high: float
    warnings: tuple[str, ...]


def ask(
    tree: Tree, drawn: Drawn, classes: Sequence[str], knowledge: Knowledge, qi: Sequence[str]
) -> Answer | None:
    """Return what the product claims of every record; None where it claims nothing of whole records."""
    rows = {name: list(map(float, values)) for name, values in drawn.columns.items()}
    rows["class"] = [classes[label] for label in drawn.labels]
    people = build_population(tree, table_of(rows), sensitive="class", qi=tuple(qi))
    options = AuditOptions(jobs=1, worlds_budget=30.0, levels=False)
    audit = run(tree, people, knowledge, [CERTAIN], options)
    worlds = audit.full.evidence.worlds
    read = audit.full.readings[CERTAIN].reading
    if isinstance(worlds, Undetermined) or isinstance(read, Undetermined):
        return None
    keys = {
        tuple(float(people.columns[name].numbers[place]) for name in qi): place
        for place in range(len(people.counts))
    }
    values = zip(*(drawn.columns[name].tolist() for name in qi), strict=True)
    profile = np.array([keys[tuple(line)] for line in values])
    return Answer(
        worlds.certain_class[profile],
        worlds.open_profiles[profile],
        read.low,
        read.high,
        audit.warnings,
    )


def compare(trial: Trial, answer: Answer | None, drawn: Drawn, published: Published) -> None:
    """Note whom the product calls certain though a table contradicts it, and whom it forgets."""
    tables = regrown(drawn, published)
    trial.counts["tables"] += len(tables)
    if answer is None:
        trial.counts["nothing claimed"] += 1
        return
    forced, sure = forced_in(tables, drawn), answer.certain >= 0
    trial.counts["forced by refits"] += int(forced.sum())
    trial.counts["certain"] += int(sure.sum())
    trial.counts["not decided"] += int(answer.is_open.sum())
    is_sound(trial, answer, tables)
    lost = forced & ~sure & ~answer.is_open
    if lost.any():
        lost &= forced_in(regrown(drawn, published, is_patient=True), drawn)
    trial.claim(not lost.any(), f"forced, but called possible otherwise: records {_places(lost)}")
    passes = answer.high <= 0 and lost.any()
    trial.claim(not passes, f"would pass, though {int(lost.sum())} records are forced")


def is_sound(trial: Trial, answer: Answer, tables: np.ndarray) -> None:
    """Note who is called certain though a table contradicts it."""
    wrong = (answer.certain >= 0) & (tables != answer.certain).any(axis=0)
    trial.claim(not wrong.any(), f"certain, but a table says otherwise: records {_places(wrong)}")


def forced_in(tables: np.ndarray, drawn: Drawn) -> np.ndarray:
    """Return which records, (n,), are of profiles whose records all have one class, the same in all tables."""
    profile = drawn.profile
    each = [len(np.unique(tables[:, profile == one])) == 1 for one in range(profile.max() + 1)]
    return np.array(each)[profile]


def _places(where: np.ndarray) -> list[int]:
    return np.flatnonzero(where).tolist()
