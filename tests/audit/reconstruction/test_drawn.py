"""Records of bootstrapped forests whose seeds are published: small forests by hand and by the judge."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier

from tests.judges.run_drawn_reconstruction import judge_drawn
from tests.kit.tiers import seeds
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reconstruction import drawn_records, of_table
from treewarden.audit.reconstruction import proved as proofs
from treewarden.audit.reconstruction.cells import EQUAL_WEIGHTS
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_model import SAMPLED, reconstruct
from treewarden.audit.reconstruction.of_table import (
    OTHER_TABLE,
    WrongProofError,
    rebuild_people,
)
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import table_of

VALUES = np.array([(a, b) for a in (0, 1) for b in (0, 1, 2)] * 2, dtype=float)
LABELS = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0])
DOMAIN = DeclaredDomain({"a": DeclaredColumn((0.0, 1.0)), "b": DeclaredColumn((0.0, 1.0, 2.0))})


def grown(kind=RandomForestClassifier, sample_weight=None, **settings):
    """Return a forest of twelve records."""
    learner = kind(**{"n_estimators": 12, "random_state": 0, "bootstrap": True} | settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learner.fit(VALUES, LABELS, sample_weight=sample_weight)


def proved(forest, domain=DOMAIN):
    return reconstruct(open_fitted(forest, names=("a", "b")).model, FOREVER, domain)


@pytest.mark.parametrize("seed", seeds(300, quick=12, second=30))
def test_what_is_proved_of_known_samples_is_in_every_table_that_fits(seed):
    assert not judge_drawn(seed).misses


def test_a_forest_that_publishes_its_seeds_proves_its_records():
    found = proved(grown())
    assert (found.records, found.records_proved, found.whole_records) == (12, 12, 12)
    assert (found.tables, found.is_decided) == (1, True)
    assert found.columns_proved == {"a": 12, "b": 12, "the class": 12}
    assert found.assumed == (drawn_records.SEEDED,)


def test_a_file_that_does_not_say_whether_records_had_weights_makes_that_a_supposition():
    forest = grown()
    del forest._sample_weight  # no version before 1.9 writes it
    assert proved(forest).assumed == (drawn_records.SEEDED, EQUAL_WEIGHTS)


def test_records_that_no_tree_drew_are_not_proved():
    found = proved(grown(n_estimators=1))
    drawn = np.unique(
        np.random.RandomState(grown(n_estimators=1)[0].random_state).randint(0, 12, 12)
    )
    assert found.records_proved <= len(drawn) < 12
    assert found.tables is None
    assert (found.counts.high >= 12 - len(drawn)).all()


@pytest.mark.parametrize(
    "settings", [{}, {"max_samples": 5}, {"max_samples": 0.5}, {"oob_score": True}]
)
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_each_kind_of_bootstrap_is_drawn_again_as_the_file_says_it(kind, settings):
    forest = grown(kind, n_estimators=40, **settings)
    model = open_model(skops.io.dumps(forest), "forest.skops").model
    names = [feature.name for feature in model.features]
    found = reconstruct(
        model, FOREVER, DeclaredDomain(dict(zip(names, DOMAIN.columns.values(), strict=True)))
    )
    assert found.whole_records == 12


@pytest.mark.parametrize(
    "settings",
    [
        {"class_weight": "balanced"},
        {"class_weight": "balanced_subsample"},
        {"class_weight": {0: 2, 1: 1}},
        {"sample_weight": np.ones(12)},
        {"sample_weight": np.where(LABELS, 2.0, 1.0)},
        {"warm_start": True},
        {"kind": BaggingClassifier},
    ],
    ids=["balanced", "subsample", "weights", "ones", "samples", "warm", "bagging"],
)
def test_what_decides_the_draws_beside_the_seed_leaves_a_forest_open(settings):
    assert proved(grown(**settings)) is SAMPLED


def test_without_the_seeds_of_all_trees_nothing_is_said():
    forest = grown()
    forest.estimators_[3].random_state = None
    assert proved(forest) is SAMPLED


def test_seeds_that_draw_other_numbers_of_records_prove_nothing():
    forest = grown()
    forest.estimators_[3].random_state += 1
    assert proved(forest) is drawn_records.OTHER_DRAWS


def test_too_many_combinations_leave_a_forest_open(monkeypatch):
    monkeypatch.setattr(drawn_records, "MOST_PAIRS", 100)
    assert proved(grown()) is drawn_records.TOO_LARGE


def test_what_is_too_much_to_search_is_proved_by_single_rows_alone(monkeypatch):
    monkeypatch.setattr(drawn_records, "MOST_SEARCHED", -1)
    found = proved(grown(n_estimators=3))
    assert 0 < found.records_proved < 12
    assert found.tables is None
    assert "too many" in found.counts.left[0]


def rebuilt(rows, forest, uses=DOMAIN):
    values, labels = VALUES[rows], LABELS[rows]
    columns = {"a": values[:, 0], "b": values[:, 1], "ill": labels}
    table = table_of({name: [f"{v:g}" for v in column] for name, column in columns.items()})
    model = open_fitted(forest, target="ill", names=("a", "b")).model
    population = build_population(model, table, sensitive="ill")
    return rebuild_people(forest_of(model, population), population, FOREVER, uses)


@pytest.mark.parametrize("rows", [range(12), reversed(range(12))], ids=["order", "other"])
def test_people_are_proved_in_whichever_order_their_table_stands(rows):
    found = rebuilt(list(rows), grown())
    assert (int(found.proved.sum()), found.rows_in_groups(np.inf)) == (12, (12, 12))
    assert (found.tables, found.left) == (1, "")


def test_who_is_not_proved_stays_open():
    found = rebuilt(list(range(12)), grown(n_estimators=2))
    assert int(found.proved.sum()) < 12 == int(found.most.sum())
    assert of_table.OTHER_SAMPLES in found.left


def test_another_table_than_that_of_the_training_is_none_of_the_file():
    assert rebuilt([*range(11), 0], grown()) is OTHER_TABLE
    assert rebuilt(list(range(11)), grown()) is OTHER_TABLE


def test_a_wrong_proof_about_the_table_that_was_drawn_is_an_error(monkeypatch):
    def prove_too_much(*arguments):
        cells, counts = prove_drawn(*arguments)
        return cells, replace(counts, low=counts.low + 1)

    prove_drawn = drawn_records.prove_drawn
    monkeypatch.setattr(drawn_records, "prove_drawn", prove_too_much)
    with pytest.raises(WrongProofError):
        rebuilt(list(range(12)), grown())
    assert rebuilt(list(reversed(range(12))), grown()) is OTHER_TABLE


def test_a_search_that_no_longer_decides_ends_before_its_time(monkeypatch):
    forest = grown(n_estimators=3)
    decided = proved(forest)
    monkeypatch.setattr(proofs, "MOST_IDLE", 0.0)
    ended = proved(forest)
    assert decided.is_decided
    assert not ended.is_decided
    assert "the search was ended" in ended.counts.left[0]
    assert ended.records_proved < decided.records_proved
