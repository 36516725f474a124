"""What several releases tell an adversary who knows some columns, on people that are counted by hand."""

import numpy as np
import pytest

from treewarden.audit.adversaries import of_model_alone, with_adversaries
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.ensembles.ensemble_secret import SECRET_CHANGES
from treewarden.audit.partial.ensembles.ensemble_target import EACH_ALONE
from treewarden.audit.partial.secret_values import AdversaryRequest, secret_of
from treewarden.audit.population.linked_population import link_releases
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.releases import LinkedReleases, ReleaseCase, run_releases
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Task, Tree

FEATURES = (Feature("x", numeric=False), Feature("h", numeric=False))
OPTIONS = AuditOptions(worlds_budget=2.0)
PEOPLE = (("x0", "h0", "a"), ("x0", "h1", "b"), ("x1", "h0", "b"), ("x1", "h1", "a"))


def by_h(people, *, is_number=False):
    """Return a tree that parts people by h."""
    nodes = []
    for index, name in enumerate(("h0", "h1"), 1):
        own = [klass for _, h, klass in people if h == name]
        test = CategoryTest("h", (name,))
        if is_number:
            mean = float(np.mean([10.0 if klass == "a" else 30.0 for klass in own]))
            nodes.append(Node(index, str(index), 0, (), test, mean, float(len(own))))
            continue
        counts = tuple(float(own.count(klass)) for klass in "ab")
        nodes.append(Node(index, str(index), 0, (), test, "a", sum(counts), counts))
    root = Node(0, "0", None, (1, 2), score=20.0 if is_number else "a")
    made = {"quality": Quality.EXACT, "source": "m"}
    if is_number:
        made["task"] = Task.REGRESSION
    classes = () if is_number else ("a", "b")
    return Tree((root, *nodes), FEATURES, "class", classes, **made)


def releases_of(*tables, key="id", is_number=False):
    """Return releases of tables, each of people by their place among all; a person may have another h there."""
    cases, read = [], []
    for people in tables:
        rows = [(PEOPLE[place][0], h or PEOPLE[place][1], PEOPLE[place][2]) for place, h in people]
        x, h, klass = zip(*rows, strict=True)
        target = [10 if each == "a" else 30 for each in klass] if is_number else list(klass)
        columns = {"id": [f"p{place}" for place, _ in people], "x": list(x), "h": list(h)}
        table = table_of({**columns, "class": target})
        model = by_h(rows, is_number=is_number)
        population = build_population(model, table, sensitive="class", qi=("x", "h"))
        cases.append(ReleaseCase(model, population, ()))
        read.append(table)
    models, populations = (
        [getattr(case, name) for case in cases] for name in ("model", "population")
    )
    return LinkedReleases(cases, link_releases(models, read, populations, key))


def learnt(releases, who, secret=None):
    last = releases.cases[-1]
    if secret is None:
        audit = run_releases(releases.cases, releases.shared, Knowledge(), options=OPTIONS)
    else:
        audit = of_model_alone(last.model, last.population, Knowledge(), secret.name)
    knowing, request = audit.full.evidence.knowledge, AdversaryRequest((who,), secret)
    about = audit, last.model, last.population, knowing, request, (), OPTIONS
    return with_adversaries(*about, releases=releases).adversaries[-1].evidence


def everybody(*places):
    return [(place, "") for place in places]


def test_people_of_the_same_releases_exchange_what_is_hidden():
    releases = releases_of(everybody(0, 1, 2, 3), everybody(0, 1, 2, 3))
    seen = learnt(releases, Adversary("some", ("x",)))
    assert seen.worlds.counts.tolist() == [2, 2]
    assert not seen.worlds.open_profiles.any()
    assert not seen.worlds.certain.any()


def test_who_alone_is_in_other_releases_has_nobody_to_exchange_with():
    # The last two people joined: each leaf of the first release holds one person, whom nobody else can be.
    releases = releases_of(everybody(0, 1), everybody(0, 1, 2, 3))
    seen = learnt(releases, Adversary("some", ("x",)))
    assert seen.population.qi == ("x", "in m (1)")
    assert not seen.worlds.certain.any()
    told = learnt(releases, Adversary("some", ("x", "h")))
    assert told.worlds.certain.sum() >= 2
    assert told.worlds.left == () or EACH_ALONE in told.worlds.left


def test_releases_of_numbers_leave_an_interval():
    releases = releases_of(everybody(0, 1, 2, 3), everybody(0, 1, 2, 3), is_number=True)
    seen = learnt(releases, Adversary("some", ("x",)))
    assert seen.numbers.counts.tolist() == [2, 2]
    assert seen.numbers.low.tolist() == seen.numbers.reached_low.tolist() == [10, 10]
    assert seen.numbers.high.tolist() == seen.numbers.reached_high.tolist() == [30, 30]


def test_a_secret_is_decided_where_releases_agree_on_it():
    releases = releases_of(everybody(0, 1, 2, 3), everybody(0, 1, 2, 3))
    secret = secret_of(releases.cases[-1].population, "h", None, "here")
    seen = learnt(releases, Adversary("all but one", None), secret)
    assert not seen.worlds.open_profiles.any()
    told = learnt(releases, Adversary("all but one", None, target=True), secret)
    assert told.population.qi == ("x", "class")
    changed = releases_of([(0, "h1"), (1, "h0"), *everybody(2, 3)], everybody(0, 1, 2, 3))
    refused = learnt(changed, Adversary("all but one", None), secret)
    assert refused.worlds == Undetermined(SECRET_CHANGES.format("h"))


@pytest.mark.parametrize("who", [Adversary("some", ("x",)), Adversary("none", ())])
def test_nothing_is_told_of_releases_that_nothing_links(who):
    releases = releases_of(everybody(0, 1, 2, 3), everybody(0, 1, 2, 3), key=None)
    assert isinstance(learnt(releases, who).worlds, Undetermined)
