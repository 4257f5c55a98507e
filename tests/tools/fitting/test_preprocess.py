"""The stored rules, applied by NumPy, do what scikit-learn's transformers do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import DataError, UntrueWarning
from untrue.tools.fitting.preprocess import TableRules, as_frame, fit_rules, make_transformer
from untrue.tools.reading.features import Features, Schema


def features(n: int, seed: int, *, new: bool = False) -> Features:
    """Numbers with gaps, an empty and a constant column; categories common, rare and missing."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(3.0, 5.0, size=(n, 4))
    numbers[rng.random((n, 4)) < [0.2, 0.0, 0.0, 0.5]] = np.nan
    numbers[:, 2] = 7.0
    if new:
        numbers[::3, 1] = np.nan  # a gap where training had none
    common = rng.choice(["x", "y", "z"], size=n)
    rare = np.where(rng.random(n) < 0.03, "seldom", rng.choice(["p", "q"], size=n))
    gaps = rng.choice(["m", None, "n"], size=n)
    text = np.stack([common.astype(object), rare.astype(object), gaps], axis=1)
    if new:
        text[:5, 0], text[:5, 1] = "never seen", "never seen either"
    return Features(Schema(("a", "b", "c", "d"), ("common", "rare", "gaps")), numbers, text)


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.filterwarnings("ignore:column .* holds categories that training has not seen")
@pytest.mark.parametrize("new", [False, True])
def test_they_agree_with_scikit_learn(new: bool) -> None:
    trained = features(100, 0)
    transformer = make_transformer(trained)
    rules = fit_rules(trained)
    for data in (trained, features(50, 1, new=new)):
        wanted = transformer.transform(as_frame(data))
        found = rules.apply(data)
        assert found.shape == (len(data), rules.width)
        np.testing.assert_array_equal(found, wanted.astype(np.float32))


def test_they_come_back_from_json_exactly() -> None:
    rules = fit_rules(features(100, 0))
    again = TableRules.from_json(json.loads(json.dumps(rules.as_json())))
    assert again == rules
    assert again.schema == rules.schema


def test_an_unseen_category_is_other_with_a_warning() -> None:
    rules = fit_rules(features(100, 0))
    common, rare, _ = rules.categories
    assert common.rare == ()
    assert rare.rare == ("seldom",)
    data = features(50, 1, new=True)
    with pytest.warns(UntrueWarning) as caught:
        inputs = rules.apply(data)
    assert [str(each.message) for each in caught] == [
        f"column {name!r} holds categories that training has not seen ({value!r}) in 5 of 50 "
        "rows; they are taken as 'other'"
        for name, value in (("common", "never seen"), ("rare", "never seen either"))
    ]
    first = len(rules.numbers.mean)
    assert (inputs[:5, first : first + 3] == 0).all()  # no rare ones in training: all zeros
    assert (inputs[:5, first + 3 + 2] == 1).all()  # the column of rare ones


def test_a_missing_value_stands_out_where_training_had_gaps() -> None:
    rules = fit_rules(features(100, 0))
    assert rules.numbers.gaps == (0, 3)
    assert "(missing)" in rules.categories[2].categories


def test_numbers_alone_and_categories_alone_do() -> None:
    both = features(60, 0)
    none = np.empty((60, 0))
    numbers = Features(Schema(both.schema.numbers, ()), both.numbers, none.astype(object))
    text = Features(Schema((), both.schema.categories), none, both.text)
    assert fit_rules(numbers).apply(numbers).shape == (60, 6)
    assert fit_rules(text).apply(text).shape[1] == fit_rules(text).width


@pytest.mark.parametrize(
    "broken",
    [{}, {"numbers": {}, "categories": []}, {"numbers": 3, "categories": []}],
)
def test_broken_rules_are_refused(broken: dict[str, object]) -> None:
    with pytest.raises(DataError, match="The preprocessing of the model is not readable"):
        TableRules.from_json(broken)


def test_rules_of_unequal_lengths_are_refused() -> None:
    content = fit_rules(features(60, 0)).as_json()
    content["numbers"]["scale"] = content["numbers"]["scale"][:-1]
    with pytest.raises(DataError, match="its lengths differ"):
        TableRules.from_json(content)


def test_nothing_of_it_needs_scikit_learn(tmp_path: Path) -> None:
    rules = fit_rules(features(60, 0))
    (tmp_path / "rules.json").write_text(json.dumps(rules.as_json()))
    script = (
        "import json, sys; from pathlib import Path\n"
        "from untrue.tools.fitting.preprocess import TableRules\n"
        "TableRules.from_json(json.loads(Path('rules.json').read_text()))\n"
        "sys.exit('sklearn' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=tmp_path).returncode == 0
