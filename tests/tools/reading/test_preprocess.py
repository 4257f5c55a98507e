"""The stored preprocessing, applied by NumPy, do what scikit-learn's transformers do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import DataError, UntrueWarning
from untrue.tools.reading.features import Features, Schema
from untrue.tools.reading.preprocess import (
    TablePreprocessing,
    as_frame,
    fit_table,
    make_transformer,
)


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
    return Features.of(Schema(("a", "b", "c", "d"), ("common", "rare", "gaps")), numbers, text)


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.filterwarnings("ignore:column .* holds categories not seen in training")
@pytest.mark.parametrize("new", [False, True])
def test_they_agree_with_scikit_learn(new: bool) -> None:
    trained = features(100, 0)
    transformer = make_transformer(trained)
    preprocessing = fit_table(trained)
    for data in (trained, features(50, 1, new=new)):
        wanted = transformer.transform(as_frame(data))
        found = preprocessing.apply(data)
        assert found.shape == (len(data), preprocessing.width)
        np.testing.assert_array_equal(found, wanted.astype(np.float32))


def test_they_come_back_from_json_exactly() -> None:
    preprocessing = fit_table(features(100, 0))
    again = TablePreprocessing.from_json(json.loads(json.dumps(preprocessing.as_json())))
    assert again == preprocessing
    assert again.schema == preprocessing.schema


def test_an_unseen_category_is_other_with_a_warning() -> None:
    preprocessing = fit_table(features(100, 0))
    common, rare, _ = preprocessing.categories
    assert common.rare == ()
    assert rare.rare == ("seldom",)
    data = features(50, 1, new=True)
    with pytest.warns(UntrueWarning) as caught:
        inputs = preprocessing.apply(data)
    assert [str(each.message) for each in caught] == [
        f"column {name!r} holds categories not seen in training ({value!r}) in 5 of 50 "
        "rows; they are taken as 'other'"
        for name, value in (("common", "never seen"), ("rare", "never seen either"))
    ]
    first = len(preprocessing.numbers.mean)
    assert (inputs[:5, first : first + 3] == 0).all()  # no rare ones in training: all zeros
    assert (inputs[:5, first + 3 + 2] == 1).all()  # the column of rare ones


def test_a_missing_value_stands_out_where_training_had_gaps() -> None:
    preprocessing = fit_table(features(100, 0))
    assert preprocessing.numbers.gaps == (0, 3)
    assert "(missing)" in preprocessing.categories[2].categories


def test_numbers_alone_and_categories_alone_do() -> None:
    both = features(60, 0)
    none = np.empty((60, 0))
    numbers = Features(Schema(both.schema.numbers, ()), both.parts, ())
    text = Features(Schema((), both.schema.categories), (none,), both.words)
    assert fit_table(numbers).apply(numbers).shape == (60, 6)
    assert fit_table(text).apply(text).shape[1] == fit_table(text).width


@pytest.mark.parametrize(
    "broken",
    [{}, {"numbers": {}, "categories": []}, {"numbers": 3, "categories": []}],
)
def test_broken_rules_are_refused(broken: dict[str, object]) -> None:
    with pytest.raises(DataError, match="The preprocessing of the model is not readable"):
        TablePreprocessing.from_json(broken)


def test_rules_of_unequal_lengths_are_refused() -> None:
    content = fit_table(features(60, 0)).as_json()
    content["numbers"]["scale"] = content["numbers"]["scale"][:-1]
    with pytest.raises(DataError, match="its lengths differ"):
        TablePreprocessing.from_json(content)


def test_nothing_of_it_needs_scikit_learn(tmp_path: Path) -> None:
    preprocessing = fit_table(features(60, 0))
    (tmp_path / "preprocessing.json").write_text(json.dumps(preprocessing.as_json()))
    script = (
        "import json, sys; from pathlib import Path\n"
        "from untrue.tools.reading.preprocess import TablePreprocessing\n"
        "TablePreprocessing.from_json(json.loads(Path('preprocessing.json').read_text()))\n"
        "sys.exit('sklearn' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=tmp_path).returncode == 0
