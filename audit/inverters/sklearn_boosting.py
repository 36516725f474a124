"""scikit-learn's GradientBoosting: a leaf's value is G / H, which is shrunk only when it is added.

See ``sklearn/ensemble/_gb.py``, ``_update_terminal_regions``. With K classes G is multiplied by (K - 1) / K.
"""

from __future__ import annotations

from audit.inverters import GrownCase, Inverter, LeafSums
from audit.inverters._newton import Steps, newton_sums
from audit.inverters._refusing import not_turned_back
from audit.reading import Undetermined
from ppdm_models.tree.growth import Growth

LOGARITHMIC = ("log_loss", "deviance")
"""The logistic loss, and what it was called before scikit-learn 1.1."""


class SklearnBoosting(Inverter):
    """Two classes by the logistic loss, several by softmax; the file says all settings."""

    sampling = ("subsample",)

    def is_sampled(self, growth: Growth) -> bool | None:
        return growth.fact("subsample").value not in (None, 1.0)

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        growth = case.growth
        if growth.objective not in LOGARITHMIC or case.classes < 2:
            return not_turned_back("loss", growth.objective)
        eta = growth.fact("learning_rate").value
        if eta is None or not eta > 0:
            return Undetermined("the file withholds learning_rate")
        outputs = growth.outputs
        assert growth.start is not None
        return newton_sums(
            case,
            Steps(
                eta,
                factor=outputs / (outputs - 1) if outputs > 1 else 1.0,
                unshrunk=True,
                squares=True,
                is_average=any(growth.start),  # a start of 0 may have been asked for
            ),
        )


INVERTER = SklearnBoosting()
