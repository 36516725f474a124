"""scikit-learn's HistGradientBoosting: leaf values are -eta * G / (H + l2), of gradients that are kept in 32 bits.

See ``sklearn/ensemble/_hist_gradient_boosting/splitting.pyx``, ``compute_node_value``. Second derivatives are p (1 - p)
for two classes and for several.
"""

from __future__ import annotations

from audit.inverters import GrownCase, Inverter, LeafSums
from audit.inverters._newton import Steps, newton_sums
from audit.inverters._refusing import not_turned_back
from audit.reading import Undetermined


class SklearnHist(Inverter):
    """Two classes by the logistic loss, several by softmax; the file says all settings."""

    def sums(self, case: GrownCase) -> LeafSums | Undetermined:
        growth = case.growth
        if growth.objective != "log_loss" or case.classes < 2:
            return not_turned_back("loss", growth.objective)
        eta = growth.fact("learning_rate").value
        ridge = growth.fact("l2_regularization").value
        if eta is None or ridge is None or not eta > 0 or not ridge >= 0:
            return Undetermined("the file withholds learning_rate or l2_regularization")
        return newton_sums(case, Steps(eta, ridge, single=True))


INVERTER = SklearnHist()
