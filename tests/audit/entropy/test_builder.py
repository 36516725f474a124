"""Programs row by row: what a variable sums is known down to the masses."""

from treewarden.audit.entropy.masses import ProgramBuilder


def test_a_total_of_totals_sums_their_masses():
    build = ProgramBuilder()
    masses = [build.variable(1.0) for _ in range(4)]
    build.scale.extend([1.0] * 4)
    left, right = build.total(masses[:2], 0.0), build.total(masses[2:3], 0.5)
    assert left is not None
    assert right is not None
    whole = build.total([left, right, masses[3]], 0.0)
    sums = build.members().toarray().tolist()
    assert sums[left] == [1, 1, 0, 0]
    assert sums[right] == [0, 0, 1, 0]
    assert sums[whole or 0] == [1, 1, 1, 1]
    assert sums[:4] == [[float(row == column) for column in range(4)] for row in range(4)]
