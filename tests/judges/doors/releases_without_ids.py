"""Several releases, with and without ids, against every table that gives all leaves their counts.

People are few and alike, leave, come back, grow older, and are replaced by look-alikes with the same label or another.
The truth is what somebody proves who knows who is who: the labels that all ways of giving people labels agree on, by
trying all of them. Without ids nothing may pass, and what is called proved must be proved by releases of one table.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

import treewarden
from tests.judges.doors import Judge, Trial
from treewarden.ppdm_models.errors import TreewardenError

PLACES = 3
POLICY = {
    "name": "certain",
    "version": "1",
    "title": "certain",
    "clause": [{"id": "certain", "measure": "certain_disclosure", "rule": "at_most", "limit": 0}],
}
KINDS = ("tree", "tree", "tree", "forest", "boosted")
LABELS = '<Value value="0"/><Value value="1"/>'


@dataclass(frozen=True)
class Person:
    """Somebody: the name, the true label, and the place in each release."""

    name: str
    label: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class Leaf:
    """What a release says of some of its people: how many have label 1, and perhaps another sum over these."""

    people: tuple[int, ...]
    ones: int
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class Published:
    """A release: its kind, the places in its table, the people by their numbers, the model, what its leaves say."""

    kind: str
    table: int
    people: tuple[int, ...]
    model: object
    leaves: tuple[Leaf, ...]


class ReleasesWithoutIds(Judge):
    """Draws releases of few people, and holds the product against all labels that these may have."""

    def judge(self, seed: int) -> Trial:
        chance, trial = random.Random(seed), Trial()
        people, releases, tables = drawn(chance)
        with_ids = asked(people, releases, tables, key="id")
        if isinstance(with_ids, treewarden.Result):
            hold_with_ids(trial, with_ids, people, releases)
        else:
            trial.claim("no 'id' of it is in" in with_ids, f"with ids: {with_ids}")
            trial.counts["nobody shared"] += 1
        is_one_table = len({each.table for each in releases}) == 1
        without = asked(people, releases, tables, key=None, has_ids=chance.random() < 0.5)
        if not isinstance(without, treewarden.Result):
            trial.claim(False, f"without ids: {without}")
        elif not is_one_table:
            hold_without(trial, without, people, releases)
        if not is_one_table:
            spoiled(chance, trial, people, releases, tables, with_ids)
        return trial


def drawn(chance: random.Random) -> tuple[list[Person], list[Published], list[list[int]]]:
    """Return people, releases of them, and who is in each table, in the order of its records."""
    several = chance.choice([2, 2, 3, 3, 4])
    people = [Person(f"p{n}", n % 2, (n % PLACES,) * several) for n in range(2)]
    for number in range(2, chance.randrange(6, 14)):
        place, label = chance.randrange(PLACES), chance.randrange(2)
        alike = chance.choice(people)
        if chance.random() < 0.5:  # a look-alike, of the same label more often than not
            place = alike.places[0]
            label = alike.label if chance.random() < 0.7 else 1 - alike.label
        places = [place] * several
        if chance.random() < 0.2:
            since = chance.randrange(several)
            places[since:] = [chance.randrange(PLACES)] * (several - since)
        people.append(Person(f"p{number}", label, tuple(places)))
    tables: list[list[int]] = []
    kind = chance.choice(KINDS)
    releases = []
    for number in range(several):
        if tables and chance.random() < 0.2:
            table = chance.randrange(len(tables))
        else:
            table = len(tables)
            tables.append(members(chance, people))
        when = first_of(releases, table, number)
        releases.append(published(chance, kind, table, tables[table], people, when))
    return people, releases, tables


def first_of(releases: Sequence[Published], table: int, number: int) -> int:
    """Return which release a table was made for: the first that has it."""
    return next((n for n, each in enumerate(releases) if each.table == table), number)


def members(chance: random.Random, people: Sequence[Person]) -> list[int]:
    """Return who is in a table, in its order: somebody of each label, as a table without is refused."""
    while True:
        found = [n for n in range(len(people)) if chance.random() < 0.85]
        if len({people[n].label for n in found}) == 2:
            chance.shuffle(found)
            return found


def published(
    chance: random.Random,
    kind: str,
    table: int,
    inside: Sequence[int],
    people: Sequence[Person],
    when: int,
) -> Published:
    """Return a release of some kind, and what it says of its people."""
    make: Callable[..., tuple[object, Iterator[Leaf]]] = boosted if kind == "boosted" else counted
    trees = 1 if kind == "tree" else 2
    model, leaves = make(chance, trees, inside, people, when)
    return Published(kind, table, tuple(inside), model, tuple(leaves))


def counted(
    chance: random.Random, trees: int, inside: Sequence[int], people: Sequence[Person], when: int
) -> tuple[bytes, Iterator[Leaf]]:
    """Return trees that part the places at random and count the labels of each part, as PMML."""
    found, parts = [], []
    for _ in range(trees):
        number = chance.choice([1, 1, 2, 2, 3])
        of_place = [chance.randrange(number) for _ in range(PLACES)]
        groups: dict[int, list[int]] = defaultdict(list)
        for n in inside:
            groups[of_place[people[n].places[when]]].append(n)
        parts.append([leaf_of(group, people) for group in groups.values()])
        found.append(tree_text(of_place, groups, people, when))
    return pmml(found), itertools.chain.from_iterable(parts)


def leaf_of(group: Sequence[int], people: Sequence[Person]) -> Leaf:
    return Leaf(tuple(group), sum(people[n].label for n in group))


def tree_text(
    of_place: Sequence[int],
    groups: Mapping[int, Sequence[int]],
    people: Sequence[Person],
    when: int,
) -> str:
    nodes = []
    for number, (part, group) in enumerate(sorted(groups.items()), start=1):
        here = sorted({people[n].places[when] for n in group})
        array = " ".join(f"&quot;{place}&quot;" for place in here)
        test = (
            '<SimpleSetPredicate field="place" booleanOperator="isIn">'
            f'<Array type="string" n="{len(here)}">{array}</Array></SimpleSetPredicate>'
        )
        nodes.append(node_text(number, test, Counter(people[n].label for n in group)))
        assert all(of_place[place] == part for place in here)
    whole = Counter(people[n].label for group in groups.values() for n in group)
    return node_text(0, "<True/>", whole, "".join(nodes))


def node_text(number: int, test: str, counts: Counter[int], inside: str = "") -> str:
    score = max((0, 1), key=lambda label: counts[label])
    told = "".join(
        f'<ScoreDistribution value="{label}" recordCount="{counts[label]}"/>' for label in (0, 1)
    )
    return f'<Node id="{number}" score="{score}" recordCount="{counts.total()}">{test}{told}{inside}</Node>'


def pmml(trees: Sequence[str]) -> bytes:
    """Return one tree, or several that vote."""
    places = "".join(f'<Value value="{place}"/>' for place in range(PLACES))
    schema = (
        '<MiningSchema><MiningField name="place"/><MiningField name="ill" usageType="target"/>'
        "</MiningSchema>"
    )
    said = 'functionName="classification" splitCharacteristic="multiSplit"'
    models = [f"<TreeModel {said}>{schema}{tree}</TreeModel>" for tree in trees]
    if len(models) > 1:
        segments = "".join(f"<Segment><True/>{model}</Segment>" for model in models)
        models = [
            f'<MiningModel functionName="classification">{schema}<Segmentation '
            f'multipleModelMethod="majorityVote">{segments}</Segmentation></MiningModel>'
        ]
    return (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
        f'<DataField name="place" optype="categorical" dataType="string">{places}</DataField>'
        f'<DataField name="ill" optype="categorical" dataType="string">{LABELS}</DataField>'
        f"</DataDictionary>{models[0]}</PMML>"
    ).encode()


def boosted(
    chance: random.Random, trees: int, inside: Sequence[int], people: Sequence[Person], when: int
) -> tuple[object, Iterator[Leaf]]:
    """Return a model that scikit-learn boosts, and how many of each leaf's people have label 1.

    The variance of residuals that stands beside each leaf value is a sum over the same people, weighed by what the
    trees before say of each.
    """
    x = np.array([[people[n].places[when]] for n in inside], dtype=float)
    y = np.array([people[n].label for n in inside])
    model = GradientBoostingClassifier(
        n_estimators=trees, max_depth=1, learning_rate=0.3, random_state=chance.randrange(100)
    ).fit(x, y)
    model.feature_names_in_ = np.array(["place"], dtype=object)
    leaves = []
    before = np.full(len(y), np.log(y.mean() / (1 - y.mean())))
    for tree in model.estimators_[:, 0]:
        stops = tree.apply(x)
        chances = 1 / (1 + np.exp(-before))
        for stop in np.unique(stops):
            here = np.flatnonzero(stops == stop)
            weights = tuple(float(each) for each in 1 - 2 * chances[here])
            leaves.append(Leaf(tuple(inside[n] for n in here), int(y[here].sum()), weights))
        before = before + model.learning_rate * tree.tree_.value[stops, 0, 0]
    return model, iter(leaves)


def asked(
    people: Sequence[Person],
    releases: Sequence[Published],
    tables: Sequence[Sequence[int]],
    key: str | None,
    *,
    has_ids: bool = True,
    ids: Callable[[int, int], object] | None = None,
) -> treewarden.Result | str:
    """Return what the product says of all releases, or its error."""
    frames = []
    for number, inside in enumerate(tables):
        when = first_of(releases, number, 0)
        columns: dict[str, list[object]] = {}
        if has_ids or key is not None:
            columns["id"] = [people[n].name if ids is None else ids(number, n) for n in inside]
        is_boosted = any(each.kind == "boosted" for each in releases)
        for_all = [people[n].places[when] for n in inside]
        columns["place"] = [float(each) if is_boosted else str(each) for each in for_all]
        columns["ill"] = [str(people[n].label) for n in inside]
        frames.append(columns)
    *earlier, last = releases
    is_one_table = len({each.table for each in releases}) == 1
    try:
        return treewarden.audit(
            last.model,
            frames[last.table],
            sensitive="ill",
            qi=["place"],
            policy=POLICY,
            earlier=[(each.model, frames[each.table]) for each in earlier],
            id=None if is_one_table else key,
            worlds_budget=4.0,
            jobs=1,
        )
    except TreewardenError as error:
        return str(error)


def proved(
    people: Sequence[Person], releases: Sequence[Published], *, with_weights: bool
) -> frozenset[int]:
    """Return the people whose label is the same in every way of giving labels that these releases let be."""
    worlds = np.array(list(itertools.product((0, 1), repeat=len(people))))
    true = np.array([each.label for each in people])
    for leaf in (leaf for release in releases for leaf in release.leaves):
        here = list(leaf.people)
        worlds = worlds[worlds[:, here].sum(axis=1) == leaf.ones]
        if with_weights and leaf.weights:
            sums = worlds[:, here] @ np.array(leaf.weights)
            worlds = worlds[np.abs(sums - true[here] @ np.array(leaf.weights)) < 1e-9]
    held = {n for release in releases for n in release.people}
    same = (worlds == worlds[0]).all(axis=0)
    assert (worlds[0][same] == true[same]).all()
    return frozenset(n for n in held if same[n])


def hold_with_ids(
    trial: Trial,
    result: treewarden.Result,
    people: Sequence[Person],
    releases: Sequence[Published],
) -> None:
    """Hold what the product says where it knows who is who."""
    least, most = (proved(people, releases, with_weights=each) for each in (False, True))
    verdict = result.verdict.name
    trial.counts[f"with ids {verdict}"] += 1
    trial.claim(verdict != "PASS" or not least, f"with ids PASS, and {len(least)} are proved")
    trial.claim(verdict != "FAIL" or bool(most), "with ids FAIL, and nobody is proved")
    document = result.to_dict()
    told = (document["ensemble"] or {}).get("releases") or ()
    for release, each in zip(releases, told, strict=bool(told)):
        alone = proved(people, [release], with_weights=True)
        certain = each["certain_alone"]
        trial.claim(certain is None or certain <= len(alone), "too many certain by one release")
    worlds = document["worlds"]
    certain = None if worlds is None else worlds["records_certain"]
    own = most & set(releases[-1].people)
    trial.claim(certain is None or certain <= len(own), f"{certain} certain, {len(own)} proved")


def hold_without(
    trial: Trial,
    result: treewarden.Result,
    people: Sequence[Person],
    releases: Sequence[Published],
) -> None:
    """Hold what the product says where nobody told it who is who: only one table's people are known."""
    by_table: dict[int, list[Published]] = defaultdict(list)
    for each in releases:
        by_table[each.table].append(each)
    parts = list(by_table.values())
    least, most = (
        frozenset[int]().union(*(proved(people, part, with_weights=each) for part in parts))
        for each in (False, True)
    )
    of_all = proved(people, releases, with_weights=False)
    verdict = result.verdict.name
    trial.counts[f"without ids {verdict}"] += 1
    trial.counts["without ids, more is proved by who knows"] += bool(of_all - most)
    trial.claim(verdict != "PASS", f"without ids PASS, and {len(of_all)} are proved by who knows")
    trial.claim(verdict != "FAIL" or bool(most), "without ids FAIL, and no table proves anybody")
    trial.claim(
        verdict == "FAIL" or not least, f"without ids {verdict}, and a table proves somebody"
    )
    document = result.to_dict()
    trial.claim("id=" in " ".join(document["next_steps"]), "it is not said what to do")
    trial.claim("difference of" not in str(document), "a difference of totals is told")


def spoiled(
    chance: random.Random,
    trial: Trial,
    people: Sequence[Person],
    releases: Sequence[Published],
    tables: Sequence[Sequence[int]],
    sound: treewarden.Result | str,
) -> None:
    """Hold what the product says of ids that are missing, of two people, or written otherwise in one table."""
    kind = chance.choice(["missing", "twice", "spelled", "numbers"])
    number = chance.randrange(len(tables))
    one, other = chance.sample(list(tables[number]), 2)
    names: dict[str, Callable[[int, int], object]] = {
        "missing": lambda table, n: None if (table, n) == (number, one) else people[n].name,
        "twice": lambda table, n: people[other if (table, n) == (number, one) else n].name,
        "spelled": lambda table, n: (
            f" {people[n].name.upper()}" if table == number else people[n].name
        ),
        "numbers": lambda table, n: float(n) if table == number else str(n),
    }
    result = asked(people, releases, tables, "id", ids=names[kind])
    trial.counts[f"ids {kind}"] += 1
    if kind in ("missing", "twice"):
        says = "no value" if kind == "missing" else "has the same value in several records"
        trial.claim(isinstance(result, str) and says in result, f"ids {kind}: {result}")
        return
    is_refused = isinstance(result, str) and "write ids in the same way" in result
    is_same = (
        isinstance(result, treewarden.Result)
        and isinstance(sound, treewarden.Result)
        and result.verdict is sound.verdict
    )
    trial.claim(is_refused or is_same, f"ids {kind}: {result}")


JUDGE = ReleasesWithoutIds()
