"""How a CatBoost file says its leaves were made: values, weights, and the training settings.

A published file keeps only the settings that its leaf values depend on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from treewarden.ppdm_models.formats.catboost._trees import unasked_texts
from treewarden.ppdm_models.formats.common.json import JsonPart, Steps
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, Fact, GrownTree, stated_fact
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Node

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


SILENT = "the file does not state how it was trained (model_info.params)"
SCALED = "its values were scaled, or its start was changed, after the training (scale_and_bias)"
STATISTICS = "it uses target statistics of categories (ctr), which depended on a random order of the training records"
SEVERAL = "it has more trees than iterations: training continued from a model whose settings are not in the file"
OUTPUTS = "leaf values of the loss {loss!r} are not inverted: each leaf holds the numbers of several outputs"
PARAMETERS = "leaf values of the loss {loss!r} are not inverted where it has parameters ({names})"
GROUPS = ("boosting_options", "tree_learner_options", "data_processing_options", "system_options")
OTHERWISE: Mapping[str, tuple[object, str]] = {
    "task_type": ("CPU", "it was trained on a GPU, which keeps its sums in 32 bits"),
    "node_type": (
        "SingleHost",
        "it was trained on several machines, each of which rounds its sums",
    ),
    "langevin": (False, "noise was added to its gradients (langevin)"),
    "posterior_sampling": (False, "noise was added to its gradients (posterior_sampling)"),
    "model_shrink_rate": (0, "earlier trees were shrunk during training (model_shrink_rate)"),
    "monotone_constraints": (
        {},
        "constraints that predictions rise or fall with a column limited its leaf values",
    ),
    "dev_leafwise_approxes": (
        False,
        "its leaves were estimated one by one (dev_leafwise_approxes)",
    ),
    "auto_class_weights": ("None", "its classes were given weights (auto_class_weights)"),
    "class_weights": ([], "its classes were given weights (class_weights)"),
    "eval_fraction": (0, "some of the records were held out for testing (eval_fraction)"),
}
"""What each setting says where leaf values are steps over all records, and why they are not where it differs."""
ONLY_IF_SET = frozenset({"langevin"})
"""Settings that a file leaves out where they have their defaults."""
MOST = float(np.finfo(np.float32).max)
"""Numbers of 32 bits are less; a whole number of any length can be held against a plain one."""
NUMBERS = ("learning_rate", "l2_leaf_reg", "leaf_estimation_iterations")
"""The settings that decide the numbers of leaves; the file writes 32-bit numbers."""
CHOICES: Mapping[str, Mapping[str, float]] = {
    "leaf_estimation_method": {"Newton": 1.0, "Gradient": 0.0},
    "leaf_estimation_backtracking": {"AnyImprovement": 1.0, "No": 0.0},
}


def growth_of(
    document: JsonPart,
    params: JsonPart | None,
    loss: str,
    forest: Sequence[tuple[Node, ...]],
    scale: float,
    base: tuple[float, ...],
) -> EnsembleGrowth:
    """Return what tells how the leaves were made; values are scaled by ``scale`` and moved by ``base``."""
    settings = _settings(params)
    refused = _refused(document, settings, len(forest), scale, base)
    if len(base) > 1 and loss != "MultiClass":
        refused = refused or OUTPUTS.format(loss=loss)
    refused = refused or _of_loss(params, loss)
    return EnsembleGrowth(
        "catboost",
        loss,
        len(base),
        tuple((index,) for index in range(len(forest))),
        tuple(_tree(nodes, len(base)) for nodes in forest),
        base,
        facts=_facts(settings),
        refused=refused,
        unstated=tuple(name for name in OTHERWISE if name not in {*settings, *ONLY_IF_SET}),
    )


def _tree(nodes: Sequence[Node], outputs: int) -> GrownTree:
    none = (np.nan,) * outputs
    values = [_values(node) if node.is_leaf else none for node in nodes]
    counts = [node.records for node in nodes]
    return GrownTree(
        np.array(values, dtype=np.float64) if outputs > 1 else np.array([one for (one,) in values]),
        counts=None
        if any(count is None for count in counts)
        else np.array(counts, dtype=np.float64),
    )


def _values(leaf: Node) -> tuple[float, ...]:
    if leaf.outputs is not None:
        return leaf.outputs
    return (leaf.score if isinstance(leaf.score, float) else np.nan,)


def _settings(params: JsonPart | None) -> dict[str, object]:
    """Return what the training was told, by name; {} where that is withheld."""
    if params is None or not params.is_object:
        return {}
    found: dict[str, object] = {}
    for group in (params, *(params.get(name) for name in GROUPS)):
        if group is not None and group.is_object:
            found |= {name: part.value for name, part in group.entries()}
    return found


def _refused(
    document: JsonPart,
    settings: Mapping[str, object],
    trees: int,
    scale: float,
    base: tuple[float, ...],
) -> str:
    """Return why leaf values cannot be inverted, "" where nothing speaks against it."""
    if not settings:
        return SILENT
    for name, (plain, why) in OTHERWISE.items():
        if name in settings and settings[name] != plain:
            return why
    if scale != 1 or (settings.get("boost_from_average") is not True and any(base)):
        return SCALED
    statistics = document["features_info"].get("ctrs")
    if statistics is not None and len(statistics):
        return STATISTICS
    rounds = settings.get("iterations")
    return SEVERAL if isinstance(rounds, int | float) and rounds < trees else ""


def _of_loss(params: JsonPart | None, loss: str) -> str:
    """Return why a loss is not the plain one of its name, "" where it is."""
    json_part = None if params is None or not params.is_object else params.get("loss_function")
    told = None if json_part is None or not json_part.is_object else json_part.get("params")
    names = [] if told is None or not told.is_object else [name for name, _ in told.entries()]
    names = [name for name in names if not name.startswith("__")]
    return PARAMETERS.format(loss=loss, names=", ".join(names)[:60]) if names else ""


def _facts(settings: Mapping[str, object]) -> dict[str, Fact]:
    facts = {}
    for name in NUMBERS:
        value = settings.get(name)
        if isinstance(value, int | float) and abs(value) < MOST:
            facts[name] = stated_fact(float(np.float32(value)))
    for name, meanings in CHOICES.items():
        value = settings.get(name)
        if isinstance(value, str) and value in meanings:
            facts[name] = stated_fact(meanings[value])
    return facts


# Side channels of a CatBoost model: target counts per category, how and when it was trained.

OF_TARGETS = ("Borders", "Buckets")
COUNTS = (*OF_TARGETS, "Counter", "FeatureFreq")
EMPTY = str(2**64 - 1)
"""The hash of a place in the table that no category has."""

SECRETS = (
    ("train_finish_time", LeakKind.TIMESTAMP, "when the training ended"),
    ("model_guid", LeakKind.IDENTIFIER, "the number that names this model among all others"),
    ("params", LeakKind.REPLAY, "all training parameters, the random seed among them"),
    ("output_options", LeakKind.PATH, "the names of files and folders of the training"),
    ("training", LeakKind.AVERAGES, "the loss over the training records, after each tree"),
)


def leaks_of(document: JsonPart) -> tuple[Leak, ...]:
    """Return what the file gives away, in a fixed order.

    Raises:
        TreeFormatError: a part of it is malformed.
    """
    return (*_statistics(document), *_categories(document), *_training(document))


def _statistics(document: JsonPart) -> Iterator[Leak]:
    tables = document.get("ctr_data")
    for key, table in () if tables is None else tables.entries():
        stride = table["hash_stride"].whole(low=2)
        cells = list(table["hash_map"])
        rows = [
            cells[start + 1 : start + stride]
            for start in range(0, len(cells), stride)
            if cells[start].value != EMPTY
        ]
        listed = any(f'"type":"{kind}"' in key for kind in COUNTS)
        counts = [cell.amount() for row in rows for cell in row] if listed else []
        seen = [count for count in counts if count > 0]
        smallest = int(min(seen)) if seen else None
        yield Leak(
            _kind(key, rows) if listed else LeakKind.TARGET_STATISTICS,
            table.pointer,
            f"target counts of {len(rows)} categories, by hashes that a dictionary undoes",
            records=smallest,
        )


def _kind(key: str, rows: list[list[JsonPart]]) -> LeakKind:
    """Return what counts tell: of a category of one record they give its target, or that it is the only one."""
    if all(sum(cell.amount() for cell in row) != 1 for row in rows):
        return LeakKind.TARGET_STATISTICS
    says_target = any(f'"type":"{kind}"' in key for kind in OF_TARGETS)
    return LeakKind.EXACT_TARGETS if says_target else LeakKind.RARE_VALUES


def _categories(document: JsonPart) -> Iterator[Leak]:
    places = unasked_texts(document)
    if places:
        what = f"{len(places)} category values that no tree tests, including rare ones"
        yield Leak(
            LeakKind.CATEGORIES, document["features_info"]["cat_features_hash"].pointer, what
        )


def _training(document: JsonPart) -> Iterator[Leak]:
    info = document.get("model_info")
    for key, kind, what in SECRETS:
        part = None if info is None else info.get(key)
        if part is not None and (key != "params" or settings_beside(document)):
            yield Leak(kind, part.pointer, what)


INFO = ("model_info",)
PARAMS = (*INFO, "params")
TYPES: Mapping[str, type] = {
    **dict.fromkeys(("boost_from_average", "dev_leafwise_approxes"), bool),
    **dict.fromkeys(("langevin", "posterior_sampling"), bool),
    **dict.fromkeys(("auto_class_weights", "node_type", "task_type", "type"), str),
    **dict.fromkeys(("leaf_estimation_backtracking", "leaf_estimation_method"), str),
    **dict.fromkeys(("monotone_constraints", "params"), dict),
    "class_weights": list,
}
"""What settings are that are no numbers."""
KEPT: Mapping[str, frozenset[str]] = {
    "boosting_options": frozenset(
        (
            *("boost_from_average", "iterations", "langevin", "learning_rate"),
            *("model_shrink_rate", "posterior_sampling"),
        )
    ),
    "data_processing_options": frozenset(("auto_class_weights", "class_weights", "eval_fraction")),
    "loss_function": frozenset(("params", "type")),
    "system_options": frozenset(("node_type",)),
    "tree_learner_options": frozenset(
        (
            *("dev_leafwise_approxes", "l2_leaf_reg", "leaf_estimation_backtracking"),
            *("leaf_estimation_iterations", "leaf_estimation_method", "monotone_constraints"),
        )
    ),
}
"""The settings that decide what leaf values tell: they are a part of the model, and stay."""
ALONE = frozenset(("task_type",))
"""Such settings that stand in no group."""


def params_of(document: JsonPart) -> JsonPart | None:
    """Return the settings of the training, None where a file has none; older ones have them as text."""
    info = document.get("model_info")
    return None if info is None else info.get("params")


def unneeded_settings(document: JsonPart) -> Iterator[Steps]:
    """Yield the places of all settings that decide nothing of what leaf values tell: seeds, and how it was sampled."""
    params = params_of(document)
    if params is None:
        return
    if not params.is_object:
        yield PARAMS
        return
    for name, part in params.entries():
        if name in ALONE:
            continue
        if name not in KEPT or not part.is_object:
            yield (*PARAMS, name)
        else:
            yield from ((*PARAMS, name, key) for key, _ in part.entries() if key not in KEPT[name])


def settings_beside(document: JsonPart) -> bool:
    """Return whether a file holds more settings than those that decide what leaf values tell."""
    return any(True for _ in unneeded_settings(document))
