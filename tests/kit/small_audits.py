"""Small trees, people and audits made by hand, for tests to share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.consistent_tables.result import (
    Consistency,
    ConsistentTables,
    TableEnumeration,
)
from treewarden.audit.consistent_tables.witnesses.enumerate import (
    TableNumbers,
    UniformPosterior,
)
from treewarden.audit.entropy.posterior import Posterior, SolverReport, certain
from treewarden.audit.evidence import NOT_RUN, Evidence, RecordEvidence
from treewarden.audit.exposures import disagreements, readings
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import measures
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.population.unobserved_values import with_unheld
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.reconstruction.of_table import rebuild_people
from treewarden.audit.result import KNOWS_ALL, Audit, Exposure
from treewarden.audit.run import run
from treewarden.policies.pack import calls, read_pack
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Tree,
    completed,
)

NO_TRUTH = Undetermined("the table has no column 'illness'")


def flat_tree(leaves, labels=None, classes=None):
    """Return a tree with one split on ``place`` and one leaf per list of class counts, all counts published."""
    classes = classes or tuple(f"c{code}" for code in range(len(leaves[0])))
    places = tuple(f"p{leaf}" for leaf in range(len(leaves)))
    names = labels or [classes[int(np.argmax(counts))] for counts in leaves]
    total = tuple(float(column) for column in np.sum(leaves, axis=0))
    root = Node(
        0,
        "root",
        None,
        tuple(range(1, len(leaves) + 1)),
        score=classes[int(np.argmax(total))],
        records=sum(total),
        class_counts=total,
    )
    below = [
        Node(
            leaf + 1,
            f"leaf {leaf + 1}",
            0,
            (),
            CategoryTest("place", (places[leaf],)),
            names[leaf],
            float(sum(counts)),
            tuple(float(count) for count in counts),
            line=10 + leaf,
        )
        for leaf, counts in enumerate(leaves)
    ]
    return Tree((root, *below), (Feature("place", False, places),), "illness", classes)


def deep_tree(spec, classes):
    """Return a tree from nested lists: a list of numbers is a leaf, a list of lists a split on its own feature."""
    nodes, features = [], []

    def add(part, parent, test):
        index = len(nodes)
        nodes.append(None)
        children = []
        if isinstance(part[0], list):
            name = f"f{index}"
            values = tuple(f"v{i}" for i in range(len(part)))
            features.append(Feature(name, False, values))
            children = [
                add(child, index, CategoryTest(name, (value,)))
                for value, child in zip(values, part, strict=True)
            ]
            counts = np.sum([nodes[child].class_counts for child in children], axis=0)
        else:
            counts = np.array(part, dtype=float)
        nodes[index] = Node(
            index,
            f"n{index}",
            parent,
            tuple(children),
            test,
            classes[int(np.argmax(counts))],
            float(counts.sum()),
            tuple(float(count) for count in counts),
        )
        return index

    add(spec, None, Always())
    return Tree(tuple(nodes), tuple(features), "illness", tuple(classes))


def people_of(tree):
    """Return the records a tree's leaves speak of: one profile per leaf that holds any, with the truth published."""
    rows = [leaf for leaf in tree.leaves if leaf.records]
    columns = {}
    for feature in tree.features:
        codes = np.zeros(len(rows), dtype=np.int64)
        for row, leaf in enumerate(rows):
            for node in tree.path(leaf.index):
                if isinstance(node.test, CategoryTest) and node.test.feature == feature.name:
                    codes[row] = feature.values.index(node.test.values[0])
        columns[feature.name] = CategoricalColumn(codes=codes, categories=feature.values)
    truth = np.array([leaf.class_counts for leaf in rows], dtype=float)
    leaf = np.array([leaf.index for leaf in rows], dtype=np.intp)
    names = tuple(feature.name for feature in tree.features)
    return Population(names, columns, truth.sum(axis=1), leaf, truth)


def guess(tree, population):
    """Return the estimate per leaf that the published counts give, or the label's rate, or nothing (Zhu & Du 2010)."""
    size = len(tree.classes)
    rows = []
    for index in population.leaf:
        node = tree.nodes[index]
        if node.bands:
            rows.append(_within(node))
            continue
        known = completed(node.class_counts or (None,) * size, node.records)
        told = [count for count in known if count is not None]
        rest = (node.records or 0.0) - sum(told) if told else 1.0
        open_share = rest / max(size - len(told), 1)
        row = np.array([open_share if count is None else count for count in known])
        rows.append(row / row.sum())
    return certain(np.array(rows))


def _within(node):
    """Return the most even shares within the bands of a leaf: each class as near one level as its band allows."""
    low, high = np.array(
        [(0, node.records) if band is None else band for band in node.bands], dtype=float
    ).T
    ends = np.unique([*low, *high])
    totals = np.clip(ends[:, None], low, high).sum(axis=1)
    row = np.clip(np.interp(node.records, totals, ends), low, high)
    return row / row.sum()


def only_world(population):
    """Return the worlds where each profile is a leaf whose counts are published: the table itself is the only one."""
    truth = population.truth.astype(np.int64)
    counts = truth.sum(axis=1)
    pure = np.flatnonzero((truth == counts[:, None]).any(axis=1))
    reasons = {int(profile): "the counts of its leaf" for profile in pure}
    exact = certain(truth / counts[:, None])
    posterior = UniformPosterior(exact.values, exact.values, exact.values)
    return ConsistentTables(
        *[truth] * 4,
        counts=counts,
        consistency=Consistency.CONSISTENT,
        enumeration=TableEnumeration(posterior, exactly(0), TableNumbers(1, 1)),
        reasons=reasons,
    )


def evidence_of(tree, population=None, posterior=None, prior=None, worlds=NOT_RUN):
    """Return evidence with the estimate given, or that of ``guess``; before the tree everything is equally likely."""
    population = people_of(tree) if population is None else population
    flat = np.full((len(population.counts), len(tree.classes)), 1 / max(len(tree.classes), 1))
    forest = forest_of(tree, population)
    return Evidence(
        forest,
        population,
        Knowledge(),
        certain(flat) if prior is None else prior,
        guess(tree, population) if posterior is None else posterior,
        worlds,
        leaks=(),
        claim=judge_claim(forest, population, ()),
        records=RecordEvidence(rebuilt=rebuild_people(forest, population, FOREVER)),
    )


def audit_of(evidence, pack, dropped=(), levels=()):
    """Return an audit of the evidence with the pack's measures taken."""
    return exposed(evidence, pack, SolverReport("closed form", None, None, None), dropped, levels)


def audit_model(model, table, sensitive, *measures, knowledge=None, **more):
    """Return the audit of a model over the people of a table; ``measures`` and ``more`` are those of ``run``."""
    people = build_population(model, table, sensitive=sensitive)
    return run(model, people, knowledge or Knowledge(), *measures, **more)


def exposed(evidence, pack, report, dropped=(), levels=()):
    asked = calls(pack)
    doubts = disagreements(evidence)
    taken = readings(evidence, asked)
    return Audit(
        (Exposure(KNOWS_ALL, evidence, report, tuple(dropped), doubts, asked, taken, levels),)
    )


def auditor(population, pack):
    """Return the audit of any tree over the same people: the closed form per leaf is the whole estimate.

    Of the file it knows what any audit finds in a tree itself: names of values that one person has, or nobody.
    """

    def audit(tree):
        people = replace(population, leaf=route(tree, population.columns))
        evidence = replace(evidence_of(tree, people), leaks=with_unheld((), tree, people))
        return audit_of(evidence, pack)

    return audit


def pack_of(*clauses):
    """Return a pack of clauses, each (measure, rule, limit) with a severity and parameters where wanted."""
    lines = ['name = "test"', 'version = "1"', 'title = "a test"']
    for number, (measure, rule, limit, *rest) in enumerate(clauses):
        lines += [
            "[[clause]]",
            f'id = "{number}-{measure}"',
            f'measure = "{measure}"',
            f'rule = "{rule}"',
            f"limit = {limit}",
            *(f'severity = "{part}"' for part in rest if isinstance(part, str)),
            *(f"parameters.{k} = {v!r}" for p in rest if isinstance(p, dict) for k, v in p.items()),
        ]
    return read_pack("\n".join(lines).encode(), "test.toml")


def read(measure, evidence, **parameters):
    """Return what a measure reads, its other parameters at their defaults."""
    found = measures()[measure]
    filled = {name: parameter.default for name, parameter in found.parameters.items()}
    return found.read(evidence, {**filled, **parameters})


def bounds(low, high, decided=None):
    """Return a posterior known only within bounds."""
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    known = np.ones(len(low), dtype=bool) if decided is None else np.array(decided)
    return Posterior((low + high) / 2, known, low, high)
