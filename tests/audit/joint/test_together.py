"""What an audit makes of a boosted model: its leaves joined, held against the table, measured and reported on."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.small_audits import audit_model
from treewarden.audit.joint import leaf_facts
from treewarden.audit.joint.result import EnsembleInference
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import call
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.jobs.inputs import opened, read
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.ensemble import FactSource

QUICK = AuditOptions(worlds_budget=5.0)


def audited(name, table="two", options=QUICK, knowledge=None, path=None):
    model = opened(path or FOLDER / f"{name}.json").model
    return audit_model(
        model, read(FOLDER / f"{table}.csv"), "y", options=options, knowledge=knowledge
    ).full


def test_who_is_certain_truly_has_that_value():
    evidence = audited("plain").evidence
    worlds, truth = evidence.worlds, evidence.population.truth
    assert worlds.certain.sum() > evidence.together.by_leaf.sum() > 0
    for profile in np.flatnonzero(worlds.certain):
        assert truth[profile, worlds.certain_class[profile]] == worlds.counts[profile]
        assert worlds.reasons[profile]
    assert ((worlds.low <= truth) & (truth <= worlds.high)).all()


def test_each_reason_that_names_a_leaf_is_true_of_it():
    evidence = audited("plain").evidence
    by_leaf = [
        said
        for said in evidence.worlds.reasons.values()
        if " all have " in said or " none " in said
    ]
    assert by_leaf
    assert all(said.startswith("tree ") for said in by_leaf)


def test_the_estimate_adds_up_to_what_every_leaf_says():
    evidence = audited("exact").evidence
    shares, people = evidence.posterior.values, evidence.population.counts
    truth = evidence.population.truth
    for stops in evidence.stops:
        for node in np.unique(stops):
            inside = stops == node
            assert (shares[inside, 1] * people[inside]).sum() == pytest.approx(
                truth[inside, 1].sum(), abs=2e-3
            )


def test_the_measures_read_it():
    full = audited("plain")
    certain = full.measured("certain_disclosure").reading
    assert certain.low == full.evidence.worlds.counts[full.evidence.worlds.certain].sum()
    assert full.measured("recovered_leaves").reading.low == 1.0
    guessed = full.measured("guess_accuracy").reading.low
    own = full.evidence.forest.accuracy.low
    assert full.measured("estimate_gain").reading.low == pytest.approx(guessed - own)
    assert full.measured("label_disclosure").reading.high == 0.0


def test_three_classes_are_joined_too():
    full = audited("three", "three")
    assert full.measured("recovered_leaves").reading.low == 1.0
    worlds, truth = full.evidence.worlds, full.evidence.population.truth
    assert worlds.certain.any()
    assert ((worlds.low <= truth) & (truth <= worlds.high)).all()


@pytest.mark.parametrize("name", ["weighed", "dart", "clipped"])
def test_what_cannot_be_turned_back_is_undetermined_and_says_why(name):
    full = audited(name)
    assert isinstance(full.evidence.together, Undetermined)
    for measure in ("certain_disclosure", "disclosure", "estimate_gain", "recovered_leaves"):
        reading = full.readings[call(measure)].reading
        assert isinstance(reading, Undetermined)
        assert "its trees could not be combined" in reading.reason


def test_labels_that_stand_the_other_way_round_are_named(tmp_path):
    header, *rows = (FOLDER / "two.csv").read_text().splitlines()
    turned = [row[:-1] + str(1 - int(row[-1])) for row in rows]
    (tmp_path / "turned.csv").write_text("\n".join([header, *turned]) + "\n")
    model = opened(FOLDER / "plain.json").model
    found = audit_model(
        model, read(tmp_path / "turned.csv"), "y", options=QUICK
    ).full.evidence.together
    assert isinstance(found, Undetermined)
    assert "in reverse" in found.reason


def test_withheld_settings_are_taken_from_the_library_where_they_fit_or_from_who_knows_them():
    full = audited("by_hand", "by_hand")
    assert isinstance(full.evidence.together, EnsembleInference)
    assert any("defaults fit" in said for said in full.evidence.together.said)
    told = {"eta": 0.3, "lambda": 1, "alpha": 0, "max_delta_step": 0}
    known = audited("by_hand", "by_hand", knowledge=Knowledge(training=told)).evidence.together
    assert known.said == ()
    assert known.facts["eta"].source is FactSource.TOLD
    wrong = audited("by_hand", "by_hand", knowledge=Knowledge(training={**told, "eta": 0.25}))
    assert isinstance(wrong.evidence.together, Undetermined)


def test_a_setting_that_no_leaf_value_depends_on_is_refused():
    with pytest.raises(KnowledgeError, match="max_depth"):
        audited("plain", knowledge=Knowledge(training={"max_depth": 3}))


def test_the_first_trees_tell_no_more_than_all():
    found = audited("plain").evidence.together.over_trees
    assert [each.trees for each in found] == [1, 2, 5]
    assert [each.certain for each in found] == sorted(each.certain for each in found)
    assert all(each.by_leaf <= each.certain for each in found)
    assert found[-1].predicted is not None


def test_without_whole_records_the_estimate_is_made_all_the_same():
    full = audited("plain", options=AuditOptions(worlds=False))
    assert isinstance(full.evidence.worlds, Undetermined)
    assert not isinstance(full.evidence.estimate, Undetermined)


def test_where_memory_does_not_go_for_all_trees_what_the_first_prove_holds_and_nothing_passes(
    monkeypatch,
):
    whole = audited("plain").evidence
    monkeypatch.setattr(leaf_facts, "MOST_ENTRIES", 3 * len(whole.population.counts))
    part = audited("plain")
    worlds, truth = part.evidence.worlds, part.evidence.population.truth
    assert 0 < worlds.certain.sum() < whole.worlds.certain.sum()
    assert ((worlds.low <= truth) & (truth <= worlds.high)).all()
    assert not (worlds.certain & ~whole.worlds.certain).any()
    assert (worlds.open_profiles | worlds.certain | (truth.min(axis=1) > 0)).all()
    reading = part.measured("confidence").reading
    assert isinstance(reading, Undetermined)
    assert "3 of 5 trees" in reading.reason


def test_once_enough_is_certain_no_other_tables_are_looked_for():
    model = opened(FOLDER / "plain.json").model
    people = build_population(model, read(FOLDER / "two.csv"), sensitive="y")
    seen = []

    def some(evidence):
        seen.append(evidence.worlds)
        return bool(evidence.worlds.certain.any())

    full = run(model, people, Knowledge(), options=QUICK, enough=some).full
    whole = audited("plain").evidence.worlds
    assert len(seen) == 1
    assert not (seen[0].certain & ~whole.certain).any()
    assert (seen[0].open_profiles | seen[0].certain).all()
    assert full.evidence.worlds.certain.any()
    asked = replace(QUICK, worlds_all=True)
    run(model, people, Knowledge(), options=asked, enough=some)
    assert len(seen) == 1
