"""Trees from files: the same answers after the check, and no file that ends the process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untrue import Penalty
from untrue.tools.fitting.booster import BoosterPredictor, load
from untrue.tools.fitting.fit import fit

LIBRARIES = ("lightgbm", "xgboost")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BoosterPredictor]:
    """Trees that split on numbers, on categories and on gaps."""
    rng = np.random.default_rng(0)
    n = 900
    cities = np.array([f"city {i}" for i in range(40)])[rng.integers(40, size=n)]
    x = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    score = np.array([int(city.split()[1]) % 3 for city in cities]) + (x > 0.3)
    names = np.array(["a", "b", "c"])[np.clip(score, 0, 2).astype(int)]
    rows = [f"{'' if np.isnan(v) else v},{c},{k}" for v, c, k in zip(x, cities, names, strict=True)]
    path = tmp_path_factory.mktemp("trees") / "data.csv"
    path.write_text("\n".join(["x,city,kind", *rows]))
    costs = Penalty.from_rules(["a", "b", "c"], {("a", "b"): 5.0})
    found = {}
    for library in LIBRARIES:
        made = fit(path, target="kind", penalty=costs, model=library, rounds=5, baseline=False)
        assert isinstance(made.model.predictor, BoosterPredictor)
        found[library] = made.model.predictor
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_loaded_answers_exactly_as_before(
    library: str, trained: dict[str, BoosterPredictor]
) -> None:
    before = trained[library]
    after = load(before.description(), before.content())
    rng = np.random.default_rng(1)
    inputs = np.stack([rng.normal(size=500), rng.integers(-1, 45, size=500)], axis=1)
    inputs[rng.random(inputs.shape) < 0.1] = np.nan
    inputs[inputs[:, 1] < 0, 1] = np.nan
    inputs = inputs.astype(np.float32)
    np.testing.assert_array_equal(before.logits(inputs), after.logits(inputs))
    again = load(after.description(), after.content())
    np.testing.assert_array_equal(before.logits(inputs), again.logits(inputs))
    text = before.content().decode()
    assert "cat_threshold=" in text or '"categories":[' in text.replace(" ", "")


def lightgbm_with(line: str, change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        lines = text.split("\n")
        at = next(i for i, each in enumerate(lines) if each.startswith(f"{line}="))
        name, _, values = lines[at].partition("=")
        lines[at] = f"{name}={' '.join(change(values.split()))}"
        return "\n".join(lines)

    return changed


@pytest.mark.parametrize(
    "change",
    [
        lightgbm_with("left_child", lambda v: ["999999", *v[1:]]),
        lightgbm_with("left_child", lambda v: ["-999999", *v[1:]]),
        lightgbm_with("left_child", lambda v: ["0", *v[1:]]),
        lightgbm_with("right_child", lambda v: v[:-1]),
        lightgbm_with("split_feature", lambda v: ["77", *v[1:]]),
        lightgbm_with("split_feature", lambda v: ["-1", *v[1:]]),
        lightgbm_with("num_leaves", lambda v: ["2000000000"]),
        lightgbm_with("num_cat", lambda v: ["7000"]),
        lightgbm_with("cat_boundaries", lambda v: ["0", "9999999", *v[2:]]),
        lightgbm_with("cat_threshold", lambda v: v[:-1]),
        lightgbm_with("leaf_value", lambda v: ["nan", *v[1:]]),
        lightgbm_with("threshold", lambda v: ["nan", *v[1:]]),
        lightgbm_with("decision_type", lambda v: ["99", *v[1:]]),
        lightgbm_with("num_class", lambda v: ["2"]),
        lightgbm_with("max_feature_idx", lambda v: ["9"]),
        lambda text: text.replace("Tree=1\n", "\n", 1),
        lambda text: text[:400],
        lambda text: "",
        lambda text: text.replace("=", "é"),
    ],
)
def test_a_lightgbm_file_that_is_no_tree_is_refused(
    change: Callable[[str], str], trained: dict[str, BoosterPredictor]
) -> None:
    before = trained["lightgbm"]
    content = change(before.content().decode())
    with pytest.raises((ValueError, KeyError)):
        load(before.description(), content.encode())


def test_sizes_that_are_not_true_do_not_matter(trained: dict[str, BoosterPredictor]) -> None:
    before = trained["lightgbm"]
    content = lightgbm_with("tree_sizes", lambda v: ["99999999"])(before.content().decode())
    inputs = np.array([[0.5, 3.0]], dtype=np.float32)
    found = load(before.description(), content.encode())
    np.testing.assert_array_equal(found.logits(inputs), before.logits(inputs))


def tree_with(name: str, at: int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(learner: dict[str, Any]) -> None:
        learner["gradient_booster"]["model"]["trees"][0][name][at] = value

    return change


def set_to(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(learner: dict[str, Any]) -> None:
        *above, last = path.split(".")
        for part in above:
            learner = learner[part]
        learner[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        tree_with("left_children", 0, 99999),
        tree_with("left_children", 0, 0),
        tree_with("left_children", 0, -7),
        tree_with("left_children", 0, 2),
        tree_with("left_children", 0, "x"),
        tree_with("left_children", 0, 1.5),
        tree_with("split_indices", 0, 77),
        tree_with("split_indices", 0, -1),
        tree_with("split_type", 0, 9),
        tree_with("split_conditions", 0, 1e300),
        tree_with("split_conditions", 0, None),
        tree_with("categories", 0, 2**31),
        tree_with("categories_nodes", 0, 99999),
        tree_with("categories_sizes", 0, 99999),
        set_to("gradient_booster.model.trees", []),
        set_to("gradient_booster.model.trees", [{}]),
        set_to("gradient_booster.model.tree_info", [9]),
        set_to("gradient_booster.name", "gblinear"),
        set_to("learner_model_param.num_class", "2"),
        set_to("learner_model_param.num_feature", "99"),
        set_to("feature_types", ["c"]),
    ],
)
def test_an_xgboost_file_that_is_no_tree_is_refused(
    change: Callable[[dict[str, Any]], None], trained: dict[str, BoosterPredictor]
) -> None:
    before = trained["xgboost"]
    content = json.loads(before.content())
    change(content["learner"])
    with pytest.raises((ValueError, KeyError, TypeError)):
        load(before.description(), json.dumps(content).encode())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("rounds", [0, -1, 99])
def test_more_rounds_than_there_are_trees_are_refused(
    library: str, rounds: int, trained: dict[str, BoosterPredictor]
) -> None:
    before = trained[library]
    with pytest.raises(ValueError, match=f"{rounds} rounds of"):
        load(before.description() | {"rounds": rounds}, before.content())
