"""Small tables, every column of classes that they can have, and scikit-learn run again on each of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from audit.adversary.knowledge import Knowledge
from audit.measures import MeasureCall
from audit.options import AuditOptions
from audit.people.population import build_population
from audit.reading import Undetermined
from audit.run import run
from ppdm_models.records.read_table import table_of
from ppdm_models.tree.tree import Tree
from tests.judges.doors import Trial

CERTAIN = MeasureCall("certain_disclosure")
SEEDS, MANY_SEEDS = range(6), range(60)
"""Random states of the learner beside that of the case: for ties, and where it draws the columns that it compares."""
Published = Callable[[DecisionTreeClassifier, np.ndarray], Hashable]


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


def every_labelling(drawn: Drawn) -> np.ndarray:
    """Return every table of classes, (K, n), records that agree in every column in the order of their classes."""
    classes, profile = int(drawn.labels.max()) + 1, drawn.profile
    places = [np.flatnonzero(profile == each) for each in range(profile.max() + 1)]
    ways = [itertools.combinations_with_replacement(range(classes), len(at)) for at in places]
    found = np.empty((0, len(profile)), dtype=np.int64)
    rows = list(itertools.product(*(list(way) for way in ways)))
    found = np.empty((len(rows), len(profile)), dtype=np.int64)
    for number, row in enumerate(rows):
        for at, chosen in zip(places, row, strict=True):
            found[number, at] = chosen
    return found[[len(set(row.tolist())) == classes for row in found]]


def regrown(drawn: Drawn, published: Published, tables: np.ndarray) -> np.ndarray:
    """Return those tables, (K, n), on which the learner grows a tree that is published as that of the true table."""
    model = drawn.fit(drawn.labels)
    told = published(model, drawn.labels)
    leaf = model.apply(drawn.matrix)
    kept = []
    for labels in tables:
        if not _may_fit(model, labels, leaf, published, told):
            continue
        for seed in (None, *(MANY_SEEDS if "max_features" in drawn.settings else SEEDS)):
            if published(drawn.fit(labels, seed), labels) == told:
                kept.append(labels)
                break
    return np.array(kept).reshape(len(kept), len(drawn.labels))


def _may_fit(
    model: DecisionTreeClassifier,
    labels: np.ndarray,
    leaf: np.ndarray,
    published: Published,
    told: Hashable,
) -> bool:
    """Return whether what leaves would publish of other labels is the same: else no tree need be grown."""
    of_leaves = getattr(published, "of_leaves", None)
    return of_leaves is None or of_leaves(leaf, labels) == told[0]  # type: ignore[index]  # a pair


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


def compare(trial: Trial, answer: Answer | None, tables: np.ndarray, drawn: Drawn) -> None:
    """Note whom the product calls certain though a table contradicts it, and whom it forgets."""
    trial.counts["tables"] += len(tables)
    if answer is None:
        trial.counts["nothing claimed"] += 1
        return
    profile = drawn.profile
    forced = np.array(
        [bool(len(np.unique(tables[:, profile == each])) == 1) for each in range(profile.max() + 1)]
    )[profile]
    klass = tables[0]
    trial.counts["forced by refits"] += int(forced.sum())
    trial.counts["certain"] += int((answer.certain >= 0).sum())
    trial.counts["not decided"] += int(answer.is_open.sum())
    sure = answer.certain >= 0
    wrong = sure & (tables != answer.certain).any(axis=0)
    trial.claim(not wrong.any(), f"certain, but a table says otherwise: records {_places(wrong)}")
    other = forced & sure & (answer.certain != klass)
    trial.claim(not other.any(), f"certain of another class: records {_places(other)}")
    lost = forced & ~sure & ~answer.is_open
    trial.claim(not lost.any(), f"forced, but called possible otherwise: records {_places(lost)}")
    passes = answer.high <= 0 and forced.any()
    trial.claim(not passes, f"would pass, though {int(forced.sum())} records are forced")


def _places(where: np.ndarray) -> list[int]:
    return np.flatnonzero(where).tolist()
