"""What a CatBoost file holds that nobody reads is found, wherever it stands, and can be taken out."""

import json

import pytest

from tests.kit import places
from tests.kit.rows import rows
from tests.kit.tiers import cases
from tests.ppdm_models.formats.accounting import cleaned, content, leaks, unnoticed, unremoved
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.catboost._trees import city_hash

GOOD = places.ROOT / "tests" / "data" / "formats" / "catboost_json" / "good"
FILES = ("numbers.json", "classes.json")


@pytest.mark.parametrize("name", FILES)
def test_all_that_the_library_wrote_is_named_and_nothing_is_left_once_it_is_removed(name):
    data = (GOOD / name).read_bytes()
    file = open_model(data, name)
    assert [leak.kind.value for leak in file.leaks] == [
        *("timestamp", "identifier", "replay", "path", "averages")
    ]
    assert all(leak.removable for leak in file.leaks)
    clean = cleaned(data)
    assert leaks(clean) == []
    assert content(open_model(clean, name).model) == content(file.model)
    assert json.loads(clean)["model_info"]["params"]["boosting_options"] == {
        **dict.fromkeys(("boost_from_average", "posterior_sampling"), False),
        "iterations": 2,
        "learning_rate": 0.5,
        "model_shrink_rate": 0,
    }


@pytest.mark.in_both
@pytest.mark.parametrize("name", cases(FILES, quick=1))
def test_nothing_can_be_hidden_in_it_unnoticed(name):
    clean = cleaned((GOOD / name).read_bytes())
    assert unnoticed(clean) == []
    assert unremoved(clean) == []


def test_a_number_where_no_record_came_is_told():
    data = json.loads(cleaned((GOOD / "numbers.json").read_bytes()))
    (leaf,) = [
        at for at, weight in enumerate(data["oblivious_trees"][0]["leaf_weights"]) if not weight
    ]
    data["oblivious_trees"][0]["leaf_values"][leaf] = 0.4417
    (leak,) = leaks(json.dumps(data).encode())
    assert leak[1:] == (
        "/oblivious_trees/0/leaf_values",
        "a number in a leaf that no record reached",
    )


def test_settings_that_say_something_of_their_own_are_no_mere_settings():
    data = json.loads((GOOD / "numbers.json").read_bytes())
    data["model_info"]["params"]["metadata"] = {"note": "ann 44 hiv"}
    found = leaks(json.dumps(data).encode())
    assert ("unknown", "/model_info/params/metadata") in {
        (str(kind), where) for kind, where, _ in found
    }
    assert leaks(cleaned(json.dumps(data).encode())) == []


def test_a_training_that_holds_something_else_is_no_mere_training():
    data = json.loads((GOOD / "numbers.json").read_bytes())
    for key in ("training", "output_options", "train_finish_time", "model_guid"):
        changed = json.loads(json.dumps(data))
        changed["model_info"][key] = '{"metrics": {"learn_best_error": {"ann 44 hiv": 1}}}'
        told = {(str(kind), where) for kind, where, _ in leaks(json.dumps(changed).encode())}
        assert ("unknown", f"/model_info/{key}") in told


def altered(change, name="numbers.json"):
    """Return a cleaned file after a change, and what is told of it."""
    document = json.loads(cleaned((GOOD / name).read_bytes()))
    change(document)
    data = json.dumps(document).encode()
    return data, {(str(kind), where) for kind, where, _ in leaks(data)}


def test_trees_of_the_other_shape_beside_those_that_are_read_are_told_and_go():
    def hide(document):
        document["trees"] = [{"value": code, "weight": 1} for code in b"ann 44 hiv"]

    data, told = altered(hide)
    assert told == {("unknown", "/trees")}
    assert leaks(cleaned(data)) == []
    assert "trees" not in json.loads(cleaned(data))


def test_what_the_library_says_of_itself_is_what_a_release_said():
    info = json.loads((GOOD / "numbers.json").read_bytes())["model_info"]["catboost_version_info"]
    for old, new in (
        ("Branch: tags/v1.2.10", "Branch: ann/44/hiv"),
        ("Top src dir: /src/catboost", "Top src dir: /ann/44/hiv"),
        ("Build by: Unknown user", "Build by: ann"),
        ("Author: akhropov", "Author: ann"),
        ("Commit: b1bd", "Commit: affe"),
        ("commit_hash:f8e0", "commit_hash:affe"),
    ):
        assert old in info

        def hide(document, old=old, new=new):
            document["model_info"]["catboost_version_info"] = info.replace(old, new)

        data, told = altered(hide)
        assert told == {("unknown", "/model_info/catboost_version_info")}
        assert leaks(cleaned(data)) == []


def test_parameters_of_a_loss_are_its_numbers_and_their_order():
    for held, is_known in (
        ({"alpha": "0.9", "__params_key_order": '["alpha"]'}, True),
        ({"__params_key_order": '["alpha","delta"]', "alpha": "0.9", "delta": "0.0001"}, True),
        ({"__params_key_order": '["ann","hiv"]'}, False),
        ({"alpha": "0.9", "__params_key_order": '["alpha","hiv"]'}, False),
        ({"alpha": "0.9", "__params_key_order": ["alpha"]}, False),
        ({"__ann": "1"}, False),
        ({"metrics": ["AnnHiv", 44]}, False),
    ):

        def hide(document, held=held):
            document["model_info"]["params"]["loss_function"]["params"] = held

        data, told = altered(hide)
        assert bool(told) is not is_known, held
        assert leaks(cleaned(data)) == []


def test_a_setting_in_words_says_only_what_the_library_says():
    for group, key in (
        ("tree_learner_options", "leaf_estimation_method"),
        ("data_processing_options", "auto_class_weights"),
        ("loss_function", "type"),
    ):

        def hide(document, group=group, key=key):
            document["model_info"]["params"][group][key] = "AnnHiv"

        _, told = altered(hide)
        assert ("unknown", f"/model_info/params/{group}/{key}") in told


CATEGORIES = (GOOD / "categories.json").read_bytes()
"""A model of CatBoost 1.2.10 that asks for categories themselves (``one_hot_max_size``), saved with its pool."""


def test_categories_that_no_tree_asks_for_go_and_those_of_the_trees_stay():
    file = open_model(CATEGORIES, "m.json")
    assert ("categories", "/features_info/cat_features_hash") in {
        (str(leak.kind), leak.where) for leak in file.leaks
    }
    clean = cleaned(CATEGORIES)
    assert leaks(clean) == []
    assert content(open_model(clean, "m.json").model) == content(file.model)
    texts, bare = (
        {entry["value"] for entry in json.loads(data)["features_info"]["cat_features_hash"]}
        for data in (CATEGORIES, clean)
    )
    assert bare < texts == {"clerk", "cook", "nurse"}


def test_nothing_can_be_hidden_among_categories():
    clean = cleaned(CATEGORIES)
    assert unnoticed(clean) == []
    assert unremoved(clean) == []


def test_a_text_whose_hash_is_another_is_told():
    document = json.loads(cleaned(CATEGORIES))
    entry = document["features_info"]["cat_features_hash"][0]
    entry["value"] = "someone else"
    ((_, _, what),) = leaks(json.dumps(document).encode())
    assert "not that of its text" in what


@rows(
    ("text", "expected"),
    [
        *(("n", 239748506), ("no", 3193519379), ("30-39", 422930370), ("right_up", 60195654)),
        *(("aa iag dg", 3704732369), ("bc é,ebéfééi", 853149510), (",ahdéügg cfiéü", 967002498)),
        ("dbéabcccideüfji,efffbed,jüéh", 3607302471),
    ],
)
def test_the_hash_of_a_text_is_the_one_that_catboost_writes(text, expected):
    assert city_hash(text) == expected


def test_a_text_that_is_too_long_to_be_hashed_here_leaves_the_file_unknown():
    assert city_hash("x" * 33) is None
