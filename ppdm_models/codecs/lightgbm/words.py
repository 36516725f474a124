"""The words of a LightGBM file that are nobody's own: what its settings are called, and what they say in words."""

from __future__ import annotations

from collections.abc import Mapping

WORDS = frozenset(
    """
    gbdt gbrt rf dart goss bagging cpu gpu cuda serial feature data voting basic intermediate advanced none null
    custom true false binary binary_logloss binary_error multiclass multiclassova multi_logloss multi_error
    softmax cross_entropy cross_entropy_lambda xentropy regression regression_l1 regression_l2 l1 l2 rmse mae
    mse huber fair poisson quantile mape gamma gamma_deviance tweedie kullback_leibler kldiv auc auc_mu
    average_precision ndcg map lambdarank rank_xendcg r2
    """.split()  # noqa: SIM905  # a list of so many words would be as many lines
)
"""What settings say that are no numbers."""
SETTINGS = frozenset(
    """
    alpha auc_mu_weights bagging_by_query bagging_fraction bagging_freq bagging_seed bin_construct_sample_cnt
    boost_from_average boosting cat_l2 cat_smooth categorical_feature cegb_penalty_feature_coupled
    cegb_penalty_feature_lazy cegb_penalty_split cegb_tradeoff data data_random_seed data_sample_strategy
    deterministic device_type drop_rate drop_seed early_stopping_min_delta early_stopping_round enable_bundle
    eval_at extra_seed extra_trees fair_c feature_contri feature_fraction feature_fraction_bynode
    feature_fraction_seed feature_pre_filter first_metric_only force_col_wise force_row_wise forcedbins_filename
    forcedsplits_filename gpu_device_id gpu_device_id_list gpu_platform_id gpu_use_dp group_column header
    histogram_pool_size ignore_column input_model interaction_constraints is_enable_sparse
    is_provide_training_metric is_sparse is_unbalance label_column label_gain lambda_l1 lambda_l2
    lambdamart_norm lambdarank_norm lambdarank_position_bias_regularization lambdarank_truncation_level
    learning_rate linear_lambda linear_tree local_listen_port machine_list_filename machines max_bin
    max_bin_by_feature max_cat_threshold max_cat_to_onehot max_conflict_rate max_delta_step max_depth max_drop
    max_position metric metric_freq min_data_in_bin min_data_in_leaf min_data_per_group min_gain_to_split
    min_sum_hessian_in_leaf monotone_constraints monotone_constraints_method monotone_penalty multi_error_top_k
    neg_bagging_fraction num_class num_gpu num_grad_quant_bins num_iteration_predict num_iterations num_leaves
    num_machines num_threads objective objective_seed other_rate output_model output_result parser_config_file
    path_smooth poisson_max_delta_step pos_bagging_fraction pre_partition precise_float_parser pred_early_stop
    pred_early_stop_freq pred_early_stop_margin predict_contrib predict_disable_shape_check predict_leaf_index
    predict_raw_score quant_train_renew_leaf refit_decay_rate reg_sqrt save_binary saved_feature_importance_type
    scale_pos_weight seed sigmoid skip_drop snapshot_freq sparse_threshold stochastic_rounding time_out top_k
    top_rate tree_learner tweedie_variance_power two_round uniform_drop use_missing use_quantized_grad valid
    verbosity weight_column xgboost_dart_mode zero_as_missing
    """.split()  # noqa: SIM905  # as above
)
"""The settings that the library writes, in its versions up to 4.7."""
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "binary": ("sigmoid",),
    "multiclass": ("num_class",),
    "softmax": ("num_class",),
    "multiclassova": ("num_class", "sigmoid"),
    "huber": ("sqrt", "alpha"),
    "quantile": ("sqrt", "alpha"),
    "fair": ("sqrt", "c"),
    "poisson": ("sqrt", "max_delta_step"),
    "tweedie": ("sqrt", "tweedie_variance_power"),
    **dict.fromkeys(("lambdarank", "rank_xendcg", "cross_entropy", "xentropy"), ()),
}
"""What stands behind the name of an objective, where it is not ``sqrt`` alone."""
