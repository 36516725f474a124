"""What an XGBoost file holds beside its trees may have any shape; none of them is an error of ours."""

import pytest

from treewarden.ppdm_models.formats.xgboost._shapes import is_learner_parameters, is_objective

PLAIN = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}


@pytest.mark.parametrize("strange", [[], {}, [[]], None, {"a": []}, 1, "1\n"])
def test_an_objective_of_another_shape_is_none(strange):
    assert is_objective(PLAIN, 1)
    assert not is_objective({**PLAIN, "name": strange}, 1)
    assert not is_objective({**PLAIN, "reg_loss_param": strange}, 1) or strange == {}
    if strange != 1:
        assert not is_objective({**PLAIN, "reg_loss_param": {"scale_pos_weight": strange}}, 1)
        assert not is_learner_parameters({"base_score": strange}, 1)
