"""The pictures of an audit: where curves, bars and their words stand, and that nothing of a file is more than text."""

from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from treewarden.reports.document.inferred_parts import Certainty, Divergence
from treewarden.reports.figures.charts import certainty, divergence, levels

HALVES = (0.0, 0.5, 1.0)


def elements(drawn, tag):
    return list(ElementTree.fromstring(str(drawn)).iter(tag))


def words(drawn):
    return ["".join(each.itertext()) for each in elements(drawn, "text")]


def bars_of(drawn):
    return elements(drawn, "rect")[1:]  # the first is the ground of the hatching


def sure(**more):
    known = {"guess": (1.0, 0.75, 0.25), "truth": None, "limit": None, "summary": "said"}
    return certainty(Certainty(probability=HALVES, **{**known, **more}))


def far(shares, **more):
    known = {"edges": (0.0, 0.5, 1.0), "infinite": 0.0, "limit": None, "summary": "said"}
    return divergence(Divergence(shares=shares, **{**known, **more}))


def level(name, guess, disclosure):
    low_high = [SimpleNamespace(low=low, high=high) for low, high in (guess, disclosure)]
    return SimpleNamespace(name=name, guess_accuracy=low_high[0], disclosure=low_high[1])


def test_a_curve_falls_at_the_probability_up_to_which_it_holds():
    curve = next(p.get("d") for p in elements(sure(), "path") if p.get("d").count("V"))
    assert curve == "M58.00 13.85V50.38H214.00V123.46H370.00"  # 100, 75 and 25 of 104 per cent


def test_only_what_is_known_is_drawn_and_named():
    assert "true value" not in words(sure())
    assert "proved" not in words(sure())
    full = sure(truth=(0.9, 0.5, 0.1), worlds=(0.5, 0.5, 0.5), certain=0.1)
    assert {"most likely value", "true value", "over all consistent tables", "proved"} <= set(
        words(full)
    )
    assert len(elements(full, "circle")) == 2  # the mark, and its sample in the legend
    least = sure(worlds=(0.5, 0.5, 0.5), worlds_are_proved_only=True)
    assert "proved, at least" in words(least)


@pytest.mark.parametrize(("limit", "line", "word"), [(0.9, 338.8, 335.8), (0.05, 73.6, 82.6)])
def test_a_limit_is_a_line_with_its_word_beside_it_in_the_field(limit, line, word):
    drawn = sure(limit=limit)
    said = next(each for each in elements(drawn, "text") if each.text == "limit")
    assert float(said.get("x")) == pytest.approx(word, abs=0.05)
    assert any(each.get("d").startswith(f"M{line}0 ") for each in elements(drawn, "path"))


def test_bars_are_as_high_as_their_shares():
    bars = bars_of(far((0.75, 0.25)))
    heights = [float(bar.get("height")) for bar in bars]
    assert len(bars) == 2
    assert heights[0] == pytest.approx(3 * heights[1], abs=0.02)
    assert heights[0] == pytest.approx(182 * 75 / (1.12 * 75), abs=0.02)
    assert "infinite" not in words(far((0.75, 0.25)))


def test_what_is_infinitely_far_has_a_bar_of_its_own():
    drawn = far((0.5, 0.25), infinite=0.25, limit=0.2)
    bars = bars_of(drawn)
    assert bars[2].get("style").startswith("fill: url(#divergence-hatch)")
    assert bars[2].get("height") == bars[1].get("height")
    assert {"infinite", "limit"} <= set(words(drawn))


def test_nothing_at_all_is_drawn_too():
    assert [bar.get("height") for bar in bars_of(far((0.0, 0.0)))] == ["0.00", "0.00"]


def test_a_range_is_a_dashed_bar_behind_what_holds_at_least():
    drawn = levels(
        [level("leaves", (0.5, 0.5), (0.6, 0.8)), level("more", (1, 1), (None, None))], ""
    )
    assert "50 %" in words(drawn)
    assert "60 to 80 %" in words(drawn)
    assert words(drawn).count("not decided") == 1
    dashed = [bar for bar in bars_of(drawn) if "dasharray" in bar.get("style")]
    whole = [bar for bar in bars_of(drawn) if "dasharray" not in bar.get("style")]
    per_cent = float(whole[0].get("width")) / 50
    assert [float(bar.get("width")) for bar in dashed] == pytest.approx([20 * per_cent], abs=0.02)


def test_names_are_text_and_no_longer_than_fits():
    drawn = levels([level("<script>\x07 and a name that never ends", (0, 0), (0, 0))], "<b>")
    assert any(each.startswith("<script>\\x07") and each.endswith("…") for each in words(drawn))
    assert not elements(drawn, "script")
    assert elements(drawn, "desc")[0].text == "<b>"
