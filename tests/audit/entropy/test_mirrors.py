"""Mirror images: as good as their point, in other places, and none where a point is its own image."""

import numpy as np
import pytest

from tests.judges.estimate.cases import sample
from tests.judges.estimate.product import answer
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.reduce import Reduced, shares
from treewarden.audit.entropy.rounds import mirror_images
from treewarden.audit.entropy.search import BEGINNING, EntropySearch
from treewarden.audit.entropy.violated import violated
from treewarden.audit.options import AuditOptions
from treewarden.audit.system.system import build_system

TWINS = 202104
"""A case of which three classes are known to have equal totals, and whose best estimates tell them apart."""


def solved() -> tuple[Reduced, np.ndarray]:
    """Return the program of the case's only block, and its optimum's variables."""
    system = build_system(sample(TWINS).case)
    posterior, _ = answer(system)
    search = EntropySearch(system, AuditOptions(rows="real"))
    active = tuple(violated(search, first(search)).worst((), {}))
    form = search.reduced(blocks(system, tuple(search.knowledge), active)[0], posterior.values)
    return form, form.program.start


def first(search: EntropySearch):
    """Return the estimate before any split row is active."""
    parts = blocks(search.system, tuple(search.knowledge), ())
    return search.placed(search.solve(parts, BEGINNING).solved)


def test_an_image_holds_and_has_the_entropy_of_its_point():
    form, z = solved()
    images = list(mirror_images(form.program, z, np.zeros(form.program.size, dtype=np.intp)))
    assert images
    for image in images:
        assert form.program.linear_error(image) <= form.program.linear_error(z) + 1e-6
        assert form.program.split_error(image) <= form.program.split_error(z) + 1e-6
        assert form.program.objective(image) == pytest.approx(form.program.objective(z), abs=1e-6)
        assert abs(shares(form, image) - shares(form, z)).max() > 1e-2


def test_variables_that_are_held_apart_do_not_change_places():
    form, z = solved()
    assert not list(mirror_images(form.program, z, np.arange(form.program.size)))


def test_a_point_in_which_nothing_differs_has_no_image_but_itself():
    form, z = solved()
    same = np.ones(form.program.size)
    assert not list(mirror_images(form.program, same, np.zeros(len(z), dtype=np.intp)))
