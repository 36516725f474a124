"""What a LightGBM model file holds that no reader of it knows: nothing in a file that the library itself wrote.

A line is known only in the very shape that the library gives it: so many numbers, each of them one, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from treewarden.ppdm_models.formats.lightgbm._arrays import CATEGORICAL, OF_LEAVES, OF_SPLITS
from treewarden.ppdm_models.formats.lightgbm._lines import (
    END,
    IMPORTANCES,
    SETTING,
    LightgbmLines,
    TreeLines,
)

# The words of a LightGBM file that are nobody's own: what its settings are called, and what they say in words.

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


HEADER = (
    "version",
    "num_class",
    "num_tree_per_iteration",
    "label_index",
    "max_feature_idx",
    "objective",
    "feature_names",
    "feature_infos",
    "monotone_constraints",
    "tree_sizes",
)
BARE = frozenset(("", "tree", "average_output"))
"""Lines of the header that have no value."""
OF_LINEAR = ("leaf_const", "num_features", "leaf_features", "leaf_coeff")
"""What trees hold whose leaves are linear models, and no others."""
OF_TREE = frozenset(
    (*OF_SPLITS, *OF_LEAVES, *OF_LINEAR, "num_leaves", "num_cat", "is_linear", "shrinkage")
)
LISTS = frozenset(("cat_boundaries", "cat_threshold"))
"""What a tree holds that lists categories."""
GAPS = frozenset(("leaf_features", "leaf_coeff"))
"""What holds so many numbers for each leaf, and a gap after those of each."""
COUNTED = frozenset(("num_leaves", "num_cat", "num_features", *LISTS, "leaf_features"))
"""What stands in trees as whole numbers, and is not read as such elsewhere."""
AFTER = frozenset(("", END, IMPORTANCES, "parameters:", "end of parameters"))
PANDAS = "pandas_categorical:"
NUMBER = re.compile(r"(?=.{1,25}\Z)-?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|nan|-?inf", re.ASCII)
WHOLE = re.compile(r"[0-9]{1,10}")
INTERVAL = re.compile(r"\[([^:\]]*):([^:\]]*)\]")
CODES = re.compile(r"-?[0-9]{1,10}(?::-?[0-9]{1,10})*")
FORMS = ("{:.17g}", "{:g}", "{:.16g}", "{:.15g}", "{:.0f}")
"""How the library and other programs print a number."""
SHORT = re.compile(r"-?(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{0,4}[1-9])?")
"""Numbers of few digits, all of which count: most of those in a file."""
WRITTEN_OTHERWISE = "numbers in a form that the library does not write"
MOST_LABEL = 9999
"""No table that people look at has its label in a column behind this one."""
COLUMNS = frozenset(
    ("label_column", "weight_column", "group_column", "ignore_column", "categorical_feature")
)
PLAIN_LISTS: Mapping[str, frozenset[str]] = {
    "label_gain": frozenset(",".join(str(2**n - 1) for n in range(size)) for size in range(32)),
    "eval_at": frozenset(("", "1,2,3,4,5")),
    **dict.fromkeys(
        (
            "auc_mu_weights",
            "cegb_penalty_feature_coupled",
            "cegb_penalty_feature_lazy",
            "feature_contri",
            "gpu_device_id_list",
            "interaction_constraints",
            "max_bin_by_feature",
        ),
        frozenset(("",)),
    ),
}
"""Settings that hold any numbers, as many as somebody likes: known as long as they are left alone."""
RANKING = ("lambdarank", "rank_xendcg")
PLACES = (*range(1, 11), 15, 20, 25, 30, 50, 100)
"""The places down to which rankings are told how good they are; each but once and in their order, they hold no data."""


def rest_of(document: LightgbmLines, judged: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield lines that are not read, and what they hold; the settings ``judged`` are leaks by themselves."""
    names = tuple((document.value_of("feature_names") or "").split())
    yield from _header(document, len(names))
    for block in document.trees:
        yield from _tree(document, block, len(names))
    yield from _after(document, names, judged)


def codes_in(info: str) -> bool:
    """Return whether an entry of ``feature_infos`` lists the codes of categories."""
    return bool(CODES.fullmatch(info))


def _header(document: LightgbmLines, features: int) -> Iterator[tuple[int, str]]:
    bare = set()
    for at in range(document.trees[0].start):
        key, equals, value = document.lines[at].rstrip("\r").partition("=")
        if not equals and key in BARE and key not in bare:
            bare.update({key} - {""})
        elif not equals or key not in HEADER:
            yield at, "an unknown line"
        elif not _is_known(document, key, value, features):
            yield at, f"{key} contains something that the library does not write there"


def _is_known(document: LightgbmLines, key: str, value: str, features: int) -> bool:
    """Return whether a line of the header says what it should; the names of features are judged by themselves."""
    if key in ("feature_names", "max_feature_idx"):
        last = document.value_of("max_feature_idx")
        return last == str(features - 1) or (last is None and key == "feature_names")
    if key == "feature_infos":
        infos = value.split(" ") if value else []
        return len(infos) in (0, features) and all(map(_is_info, infos))
    if key == "objective":
        return not value or _is_objective(value, document.value_of("num_class"))
    if key == "version":
        return bool(re.fullmatch(r"v?[0-9](?:\.[0-9])?", value))
    if key == "monotone_constraints":
        return _is_monotone(value.split(" "), features)
    if key == "tree_sizes":
        return value.split(" ") == list(map(str, _tree_sizes(document)))
    if key == "num_class":
        return value == (document.value_of("num_tree_per_iteration") or value) and _is_whole(value)
    if key == "label_index":
        return _is_whole(value) and int(value) <= MOST_LABEL
    return _is_whole(value)


def _is_info(info: str) -> bool:
    """Return whether it is what the library notes of the values of a feature."""
    if info == "none":
        return True
    if codes_in(info):
        codes = info.split(":")
        return len(set(codes)) == len(codes)
    found = INTERVAL.fullmatch(info)
    return found is not None and all(map(NUMBER.fullmatch, found.groups()))


def _is_objective(value: str, classes: str | None) -> bool:
    name, *options = value.split(" ")
    keys = []
    for option in options:
        key, colon, number = option.partition(":")
        keys.append(key)
        if (key == "sqrt") == bool(colon) or (colon and not NUMBER.fullmatch(number)):
            return False
        if key == "num_class" and number != classes:
            return False
    known = OPTIONS.get(name, ("sqrt",))
    return name in WORDS and len(set(keys)) == len(keys) and set(keys) <= set(known)


def _is_ranking(document: LightgbmLines) -> bool:
    return (document.value_of("objective") or "").partition(" ")[0] in RANKING


def _are_places(text: str) -> bool:
    """Return whether these are the usual places of rankings, each greater than the one before."""
    places = list(map(str, PLACES))
    found = [places.index(place) if place in places else -1 for place in text.split(",")]
    return -1 not in found and found == sorted(set(found))


def _is_monotone(entries: Sequence[str], features: int) -> bool:
    return len(entries) == features and set(entries) <= {"-1", "0", "1"}


def _is_whole(value: str) -> bool:
    return bool(WHOLE.fullmatch(value))


def _tree_sizes(document: LightgbmLines) -> Iterator[int]:
    """Yield how many bytes each tree takes as the library writes it, with ends of lines of one byte."""
    for block in document.trees:
        lines = document.lines[block.start : block.end]
        yield sum(len(line.rstrip("\r").encode()) + 1 for line in lines)


def _tree(document: LightgbmLines, block: TreeLines, features: int) -> Iterator[tuple[int, str]]:
    sizes = _sizes(document, block)
    for at in range(block.start + 1, block.end):
        key, equals, value = document.lines[at].rstrip("\r").partition("=")
        if not equals and not key:
            continue
        entries = value.split(" ") if value else []
        if key in GAPS:
            entries = [entry for entry in entries if entry]
        if not equals or (key not in OF_TREE and key not in LISTS):
            yield at, "an unknown line of a tree"
        elif not all(map((WHOLE if key in COUNTED else NUMBER).fullmatch, entries)):
            yield at, f"the {key} of a tree are not numbers alone"
        elif not all(map(is_plainly_written, entries)):
            yield at, WRITTEN_OTHERWISE
        elif key in LISTS and not sizes[key] and value:
            yield at, "categories in a tree that tests none"
        elif key in OF_LINEAR and not sizes["leaf_const"]:
            yield at, "linear models in a tree that has none"
        elif len(entries) not in _allowed(key, sizes[key]):
            yield at, f"the {key} of a tree are more or fewer than it has nodes for"
        elif key == "is_linear" and value not in ("0", "1"):
            yield at, "is_linear is neither 0 nor 1"
        elif key == "num_cat" and value != str(len(_sets(document, block))):
            yield at, "the sets of categories are more or fewer than its splits need"
        elif key == "leaf_features" and any(int(entry) >= features for entry in entries):
            yield at, "linear models of missing features"


def is_plainly_written(number: str) -> bool:
    """Return whether a number has the digits that programs print: of a double, or fewer."""
    if SHORT.fullmatch(number):
        return True
    value = float(number)
    return any(form.format(value) == number for form in FORMS) or repr(value) == number


def written_plainly(line: str) -> str:
    """Return the line of a tree with its numbers as the library prints them."""
    key, equals, value = line.partition("=")
    entries = [
        e if not e or is_plainly_written(e) else FORMS[0].format(float(e)) for e in value.split(" ")
    ]
    return f"{key}{equals}{' '.join(entries)}"


def _allowed(key: str, size: int) -> tuple[int, ...]:
    """Return how many numbers may stand behind a key; what nodes say may be withheld, as it is for a single leaf."""
    return (0, size) if key in OF_SPLITS or key in OF_LEAVES else (size,)


def _sizes(document: LightgbmLines, block: TreeLines) -> Mapping[str, int]:
    """Return how many numbers stand behind each key of a tree."""
    leaves = int(document.value_of("num_leaves", block.keys) or 0)
    sets = len(_sets(document, block))
    is_linear = document.value_of("is_linear", block.keys) == "1"
    fitted = sum(_wholes(document, "num_features", block))
    return {
        **dict.fromkeys(OF_SPLITS, leaves - 1),
        **dict.fromkeys(OF_LEAVES, leaves),
        **dict.fromkeys(("num_leaves", "num_cat", "is_linear", "shrinkage"), 1),
        **dict.fromkeys(("leaf_const", "num_features"), leaves * is_linear),
        **dict.fromkeys(("leaf_features", "leaf_coeff"), fitted * is_linear),
        "cat_boundaries": sets and sets + 1,
        "cat_threshold": sets and max(_wholes(document, "cat_boundaries", block), default=0),
    }


def _sets(document: LightgbmLines, block: TreeLines) -> set[str]:
    """Return which sets of categories the splits of a tree ask for."""
    types = _wholes(document, "decision_type", block)
    places = (document.value_of("threshold", block.keys) or "").split()
    return {place for place, kind in zip(places, types, strict=False) if kind & CATEGORICAL}


def _wholes(document: LightgbmLines, key: str, block: TreeLines) -> list[int]:
    entries = (document.value_of(key, block.keys) or "").split()
    return [int(entry) for entry in entries if _is_whole(entry)]


def _after(
    document: LightgbmLines, names: Sequence[str], judged: frozenset[str]
) -> Iterator[tuple[int, str]]:
    importances = document.importances
    pandas = [at for at, line in enumerate(document.lines) if line.startswith(PANDAS)]
    settings = {at: key for key, at in document.settings.items()}
    seen: set[str] = set()
    for at in range(document.trees[-1].end, len(document.lines)):
        line = document.lines[at].rstrip("\r")
        if at == (pandas or [-1])[-1] or (line in AFTER and line not in seen):
            seen.update({line} - {""})
        elif at in importances:
            name, _, value = line.rpartition("=")
            if name not in names or f"{name}=" in seen or not NUMBER.fullmatch(value):
                yield at, "an importance of no feature"
            seen.add(f"{name}=")
        elif at not in settings:
            yield at, "an unknown line"
        elif settings[at] not in SETTINGS or not SETTING.fullmatch(line):
            yield at, "an unknown setting"
        elif settings[at] not in judged and not _is_plain(document, settings[at], names):
            yield at, f"the setting {settings[at]!r} has an unusual value"


def _is_plain(document: LightgbmLines, key: str, names: Sequence[str]) -> bool:
    """Return whether a setting is a number, words of the library, or features where it is about those."""
    said = document.setting(key) or ""
    if key in PLAIN_LISTS:
        is_of_ranks = key == "eval_at" and _is_ranking(document)
        return said in PLAIN_LISTS[key] or (is_of_ranks and _are_places(said))
    if not said:
        return True
    listed = said.removeprefix("name:").split(",")
    if len(set(listed)) < len(listed) and key != "monotone_constraints":
        return False
    if key == "monotone_constraints":
        return _is_monotone(listed, len(names))
    if key in COLUMNS and said.startswith("name:"):
        return all(name in names for name in listed)
    if key == "categorical_feature":
        return all(_is_whole(index) and int(index) < len(names) for index in listed)
    if key == "ignore_column":
        return False
    if key == "metric":
        return all(word in WORDS for word in listed)
    return said in WORDS or bool(NUMBER.fullmatch(said))
