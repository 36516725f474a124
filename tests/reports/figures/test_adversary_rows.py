"""What an adversary would lose by each column, as rows; why something is not told is said once, below them."""

from treewarden.reports.figures.finding_rows import UNTOLD, lack_rows


def test_a_reason_is_told_once_and_in_no_cell(several_adversaries):
    age, married, *_ = lack_rows(several_adversaries.adversaries[2].lacking)
    assert (age.column, age.cells) == ("age", ("95.7 %", UNTOLD, UNTOLD))
    assert [each[:13] for each in age.reasons] == ["no inference:"]
    assert (married.cells, married.reasons) == (("95.7 %",) * 3, ())
