"""The words of CatBoost's settings that are nobody's own: what they are called, and what they say in words."""

from __future__ import annotations

import re

KEYS = frozenset(
    """
    __params_key_order allow_const_label allow_writing_files alpha approx_on_full_history auto_class_weights
    bagging_temperature bayesian_matrix_reg beta boost_from_average boosting_options boosting_type bootstrap
    bootstrap_type border border_count border_type calc_feature_importance cat_feature_params class_names
    class_weights classes_count colsample_bylevel combinations_ctrs counter_calc_method ctr_binarization
    ctr_leaf_count_limit ctr_type custom_metric custom_metrics data_processing_options default delimiter delta depth
    detailed_profile dev_default_value_fraction_for_sparse dev_efb_max_buckets dev_group_features
    dev_leafwise_approxes dev_leafwise_scoring dev_max_subset_size_for_build_borders dev_score_calc_obj_block_size
    dev_sparse_array_indexing dictionaries dictionaries_names dictionary_id diffusion_temperature early_stopping_rounds
    embedding_processing embedding_processing_options end_of_sentence_token_policy end_of_word_token_policy
    eval_fraction eval_metric feature_border_type feature_calcers feature_processing feature_weights file_with_hosts
    first_feature_use_penalties flat_params float_features_binarization fold_len_multiplier fold_permutation_block
    force_unit_auto_pair_weights gram_order grow_policy has_time ignored_features iterations l2_leaf_reg langevin
    languages leaf_estimation_backtracking leaf_estimation_iterations leaf_estimation_method learning_rate lemmatizing
    logging_level loss_function lowercasing max_ctr_complexity max_depth max_dictionary_size max_leaves metadata
    metric_period metrics min_child_samples min_data_in_leaf model_shrink_mode model_shrink_rate model_size_reg
    monotone_constraints mvs_reg n_estimators nan_mode node_port node_type num_leaves num_trees number_process_policy
    number_token objective objective_metric occurrence_lower_bound od_config od_pval od_type od_wait one_hot_max_size
    params penalties penalties_coefficient per_feature_ctrs per_float_feature_quantization
    per_object_feature_penalties permutation_count pool_metainfo_options posterior_sampling prior_estimation priors q
    random_score_type random_seed random_state random_strength reg_lambda rsm sampling_frequency scale_pos_weight
    score_function separator_type silent simple_ctrs skip_empty skip_step sparse_features_conflict_fraction
    split_by_set start_token_id stop_pvalue store_all_simple_ctr subsample subtokens_policy system_options tags
    target_binarization target_border task_type text_processing_options thread_count token_level_type token_types
    tokenizer_id tokenizers tokenizers_names tree_learner_options type use_best_model used_ram_limit variance_power
    verbose wait_iterations
    """.split()  # noqa: SIM905  # a list of so many words would be as many lines
)
WORDS = frozenset(
    """
    AUC Accuracy AnyImprovement Balanced Bayesian Bernoulli BiGram BoW Borders ByDelimiter CPU Constant Cosine Counter
    CrossEntropy Decreasing Default Depthwise Exact Expectile F1 Forbidden GPU Gradient GreedyLogSum Huber Indices
    Info Insert Iter KNN L2 LDA LeaveAsIs LogLinQuantile Logloss Lossguide Lq MAE MAPE MVS Max Median Min MinEntropy
    MultiClass MultiClassOneVsAll MultiRMSE NaiveBayes Newton NewtonCosine NewtonL2 No None
    NormalWithConstantDecrease NormalWithModelSizeDecrease Number Ordered PairLogit PairLogitPairwise PerTree
    PerTreeLevel Plain Poisson Precision QueryRMSE Quantile R2 RMSE Recall Silent SingleHost SingleToken Skip SkipTest
    Space SqrtBalanced SymmetricTree Tweedie Uniform Unknown Verbose Word YetiRank hosts.txt
    """.split()  # noqa: SIM905  # as above
)
SIGNS = frozenset(("", " ", "\N{INPUT SYMBOL FOR NUMBERS}"))
OUTPUT = {
    **{
        name: frozenset((plain,))
        for name, plain in (
            ("fstr_internal_file", ""),
            ("fstr_regular_file", ""),
            ("fstr_type", "FeatureImportance"),
            ("final_ctr_computation_mode", "Default"),
            ("final_feature_calcer_computation_mode", "Default"),
        )
    },
    "model_format": frozenset(
        ("CatboostBinary", "Json", "CPP", "Python", "AppleCoreML", "Onnx", "Pmml")
    ),
    "output_columns": frozenset(("SampleId", "RawFormulaVal", "Label")),
    "prediction_type": frozenset(
        ("RawFormulaVal", "Probability", "Class", "LogProbability", "Exponent")
    ),
}
"""What output options say in words; all others are numbers, or names of files and folders."""
FILES = frozenset(
    """
    best_model_min_trees eval_file_name json_log learn_error_log metric_period name output_borders profile_log
    result_model_file roc_file save_snapshot snapshot_file snapshot_interval test_error_log time_left_log train_dir
    training_options_file use_best_model verbose allow_writing_files
    """.split()  # noqa: SIM905  # as above
)
METRIC = re.compile(r"[A-Z][A-Za-z0-9]{0,24}(?::[a-z_]{1,20}=[-0-9.eE]{1,12})?")
"""The name of a loss or metric, with one number that it has."""
GUID = re.compile(r"[0-9a-f]{1,8}(?:-[0-9a-f]{1,8}){3}")
VERSION_INFO = tuple(
    f"Git info:\n    Commit: {commit}\n    Branch: {branch}\n"
    f"    Author: {author} <{author}@yandex-team.com>\n    Summary: {summary}\n"
    "    git-svn info:\n    Last Changed Rev: 9293085\n\n"
    "Other info:\n    Build by: Unknown user\n    Top src dir: /src/catboost\n"
    for commit, branch, author, summary in (
        (
            "ad980dac979d2d8b4d633dffab06cb2e7303c126",
            "heads/master",
            "kickbutt",
            "Manually unroll the loop",
        ),
        (
            "2605fe627ed4271aa8a87ff3564fb68de5f116f0",
            "heads/master",
            "akhropov",
            "CatBoost release 1.2.5. 73c7da08458ed5aaa80f6ca0bc00362061158b7e",
        ),
        (
            "f903943a8cd903a117c3d3c8421cc72d3910562c",
            "tags/v1.2.7",
            "akhropov",
            "CatBoost Release 1.2.7. e8fed88cb7baa390f4cfb62bcb925f84a3f073a7",
        ),
        (
            "0bcf252505e3d1cf01acd925dcd7026799512fb9",
            "tags/v1.2.8",
            "akhropov",
            "CatBoost Release 1.2.8. commit_hash:2f3bd095bc4e3a4c5ef9b0dcaf6f7f1a9d2bc3e7",
        ),
        (
            "b1bd2a6d77219e82a1acfcedfccb8e6f6c1ee084",
            "tags/v1.2.10",
            "akhropov",
            "CatBoost release 1.2.10. commit_hash:f8e0038b19555d36a9ba7b81b6730254b352960d",
        ),
    )
)
"""What the wheels for Linux of 1.2.3 to 1.2.10 say of themselves; another text could say anything, and may go."""
LOSSES = frozenset(
    """
    CrossEntropy Expectile Focal Huber LambdaMart LogLinQuantile Logloss Lq MAE MAPE MultiClass MultiClassOneVsAll
    MultiCrossEntropy MultiLogloss MultiQuantile MultiRMSE MultiRMSEWithMissingValues PairLogit PairLogitPairwise
    Poisson QueryCrossEntropy QueryRMSE QuerySoftMax Quantile RMSE RMSEWithUncertainty StochasticRank Tweedie YetiRank
    YetiRankPairwise
    """.split()  # noqa: SIM905  # as above
)
LOSS_PARAMS = frozenset(("alpha", "beta", "border", "delta", "q", "variance_power"))
ORDER = "__params_key_order"
"""The key behind which the parameters of a loss are named in the order in which they were given."""
