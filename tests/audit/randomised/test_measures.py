"""What of privacy is left in a randomised table, as measures read it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.kit.randomised_cases import even, hidden, randomised, without_records
from tests.kit.small_audits import evidence_of, flat_tree
from treewarden.audit.evidence import NOT_RANDOMISED
from treewarden.audit.measures import (
    NO_MODEL,
    NOISE,
    NoiseMeasure,
    call,
    measured,
    measured_of_noise,
    measures,
    of_models,
)
from treewarden.audit.reading import Interval, Undetermined

OF_NOISE = [name for name, each in measures().items() if isinstance(each, NoiseMeasure)]


def test_measures_of_noise_have_a_room_of_their_own_and_are_none_of_models():
    known = measures()
    assert [name for name in known if known.room_name(name) == NOISE] == OF_NOISE
    assert of_models().keys() == known.keys() - OF_NOISE


def read(name, of, **given):
    found = measured_of_noise(call(name, given), of).reading
    assert isinstance(found, Interval)
    return found.low


@pytest.mark.parametrize("name", OF_NOISE)
def test_of_no_record_nothing_is_told(name):
    found = measured_of_noise(call(name), without_records(even())).reading
    assert isinstance(found, Undetermined) or name == "randomisation_clear"


@pytest.mark.parametrize("name", OF_NOISE)
def test_of_a_model_nothing_is_told(name):
    found = measured(call(name), evidence_of(flat_tree([[5, 5]])))
    assert found.reading == NOT_RANDOMISED


def test_a_measure_of_models_reads_nothing_of_a_table():
    assert measured_of_noise(call("k_anonymity"), even()).reading == NO_MODEL


@pytest.mark.parametrize(
    ("noise", "level", "mean", "worst"),
    [("uniform", 1, 0.649, 0.097), ("gaussian", 1, 0.644, 0.294), ("gaussian", 0.25, 0.227, 0.089)],
)
def test_evenly_spread_values_keep_what_is_known_of_them(noise, level, mean, worst):
    of = even(level, noise)
    assert read("randomisation_level", of) == level
    assert read("randomisation_width", of) == pytest.approx(mean, abs=0.006)
    assert read("randomisation_worst_width", of) == pytest.approx(worst, abs=0.006)


def test_the_worst_column_counts_and_is_named():
    random = np.random.default_rng(2)
    of = randomised((hidden("far"), hidden("near", level=0.25)), random.random((5_000, 2)), random)
    for name in OF_NOISE:
        if name != "randomisation_clear":
            found = measured_of_noise(call(name), of)
            assert found.spots[0].note == "near", name


@cache
def correlated(rho, records=4_000, columns=12):
    random = np.random.default_rng(11)
    true = np.sqrt(rho) * random.normal(size=(records, 1)) + np.sqrt(1 - rho) * random.normal(
        size=(records, columns)
    )
    low, high = float(true.min()), float(true.max())
    return randomised(
        tuple(hidden(f"c{i}", low=low, high=high) for i in range(columns)), true, random
    )


def test_columns_that_go_together_give_each_other_away():
    apart, together = correlated(0.0), correlated(0.9)
    assert not apart.related
    assert len(together.related) == 66
    assert together.related[0].correlation == pytest.approx(0.9, abs=0.03)
    assert read("randomisation_attack", together) < 0.7 * read("randomisation_attack", apart)
    assert read("randomisation_width", together) == pytest.approx(
        read("randomisation_width", apart), abs=0.06
    )


def test_an_attack_is_never_said_to_do_worse_than_the_best_one():
    of = correlated(0.9)
    widths = [each.width for column in of.columns for each in column.recovered]
    assert read("randomisation_attack", of) == min(widths)


def test_too_few_complete_records_leave_attacks_untold():
    true = np.full((100, 2), np.nan)
    true[:50, 0] = np.linspace(0, 1, 50)
    true[50:, 1] = np.linspace(0, 1, 50)
    of = randomised((hidden("a"), hidden("b")), true)
    assert [each.missing for each in of.columns] == [50, 50]
    found = measured_of_noise(call("randomisation_attack"), of).reading
    assert "too few records" in found.reason
    assert read("randomisation_width", of) > 0


def test_few_complete_records_of_many_columns_leave_attacks_untold():
    random = np.random.default_rng(4)
    said = tuple(hidden(f"c{i}") for i in range(4))
    for records, is_told in ((39, False), (40, True)):
        found = randomised(said, random.random((records, 4)), random)
        told = measured_of_noise(call("randomisation_attack"), found).reading
        assert isinstance(told, Interval) is is_told


def test_classes_hide_within_themselves_and_nothing_more():
    of = even(0.475, "discretize")
    assert read("randomisation_width", of) == pytest.approx(0.95 * 0.5, abs=0.01)
    assert read("randomisation_attack", of) == pytest.approx(3.92 * 0.5 / np.sqrt(12), abs=0.01)


@pytest.mark.parametrize("name", OF_NOISE)
def test_where_classes_are_too_many_only_the_level_is_told_and_what_is_in_clear(name):
    found = measured_of_noise(call(name), replace(even(), has_too_many_classes=True)).reading
    is_told = name in ("randomisation_level", "randomisation_clear")
    assert isinstance(found, Interval) is is_told


def test_columns_in_clear_are_anything_from_harmless_to_fatal():
    of = even(clear=("name", "zip"), harmless=("year",), label="ill")
    found = measured_of_noise(call("randomisation_clear"), of)
    assert found.reading == Interval(0, 2)
    assert [spot.note for spot in found.spots] == ["name", "zip"]


def test_a_breach_may_make_something_sure():
    assert read("randomisation_breach", even(), before=0.05, after=1.0) == 0.0


def test_a_breach_from_more_to_less_is_none():
    of = even()
    found = measured_of_noise(call("randomisation_breach", {"before": 0.5, "after": 0.1}), of)
    assert isinstance(found.reading, Undetermined)
    assert read("randomisation_breach", even(0.05, records=2_000)) > 0.9


@pytest.mark.parametrize(("before", "after"), [(0.1, 1.5), (0.5, 0.1), (0.0, 0.5)])
def test_a_probability_rises_to_one_at_most(before, after):
    given = {"before": before, "after": after}
    found = measured_of_noise(call("randomisation_breach", given), even()).reading
    assert isinstance(found, Undetermined)
    assert "at most 1" in found.reason
