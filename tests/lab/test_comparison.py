"""A comparison gives every method the same: splits, seeds, penalty, budget."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import untrue
from untrue.errors import ArgumentError, UntrueError
from untrue.lab import comparison
from untrue.lab.compare_scales import SETTINGS, settings_of, strengths
from untrue.lab.comparison import ComparisonPlan, CostPlan
from untrue.lab.design import Design, made_from
from untrue.lab.records import METHODS, DatasetInfo, PenaltySpec
from untrue.losses import registry

INFO = DatasetInfo("tiny", ("a", "b", "c", "d"), (("x", (0, 1)), ("y", (2, 3))), "f", 80, 8)
FLAT = dataclasses.replace(INFO, groups=())
GROUPS = CostPlan(fixed=PenaltySpec("groups", 1.0, 5.0))


def design(**values: object) -> Design:
    usual = {"data": "tiny", "network": "digits", "epochs": 1, "validation": 5, "seed": 7}
    return made_from(Design, {**usual, "repetitions": 2, "normalization": "max", **values})


SMALL = ComparisonPlan(
    design(),
    costs=CostPlan(zone_size=5),
    methods=(("ce", ()), ("bilinear", (0.5, 0.9)), ("sosr", (3.0,)), ("conditional-softmax", ())),
)


def test_each_repetition_trains_every_method_at_each_strength_once() -> None:
    runs = SMALL.configs(INFO)
    assert [(c.seed, c.method, c.knob) for c in runs] == [
        (seed, *each)
        for seed in (7, 8)
        for each in (
            ("ce", None),
            ("bilinear", ("alpha", 0.5)),
            ("bilinear", ("alpha", 0.9)),
            ("sosr", ("scale", 3.0)),
            ("conditional-softmax", None),
        )
    ]
    assert len({config.run_id for config in runs}) == SMALL.expected == 10


def test_runs_of_a_repetition_differ_in_the_method_alone() -> None:
    runs = SMALL.configs(INFO)
    method = {"loss": "cross-entropy", "alpha": 0.0, "strength": None, "penalty": None}
    for seed in (7, 8):
        first, *others = (config for config in runs if config.seed == seed)
        assert all(dataclasses.replace(config, **method) == first for config in others)
        assert first.calibrate
        penalties = {config.penalty for config in others}
        (spec,) = penalties
        assert spec is not None
        assert (spec.inside, spec.outside, spec.normalization) == (10.0, 1.0, "max")
        assert first.score_on == (dataclasses.replace(spec, normalization="none"),)


def test_each_repetition_has_a_zone_of_its_own_that_depends_on_the_seed_alone() -> None:
    runs = SMALL.configs(INFO)
    zones = {config.seed: config.score_on[0].cells for config in runs}
    assert zones[7] != zones[8]
    assert all(len(cells) == 5 for cells in zones.values())
    later = dataclasses.replace(SMALL, design=design(seed=8, repetitions=1)).configs(INFO)
    assert later == tuple(config for config in runs if config.seed == 8)


def test_cross_entropy_is_trained_even_if_nobody_names_it() -> None:
    runs = dataclasses.replace(SMALL, methods=(("bilinear", (0.5,)),)).configs(INFO)
    assert [config.method for config in runs] == ["ce", "bilinear"] * 2


def test_every_method_has_strengths_from_weak_to_strong_and_as_many() -> None:
    tunable = [entry.name for entry in registry.COMPARED if entry.knob]
    assert {len(strengths(name, "desk")) for name in tunable} == {3}
    for name in tunable:
        weak_first = sorted(strengths(name, "desk"), reverse=name == "soft-labels")
        assert list(strengths(name, "desk")) == weak_first
        assert len(strengths(name, "smoke")) == 1
    assert strengths("ce", "desk") == strengths("conditional-softmax", "desk") == ()


@pytest.mark.parametrize("data", SETTINGS)
def test_every_data_set_has_settings_at_every_scale(data: str) -> None:
    assert list(SETTINGS[data]) == ["smoke", "desk", "paper"]
    for scale in SETTINGS[data]:
        settings = {"network": "mlp", **settings_of(None if data == "own" else data, scale)}
        plan, _ = comparison.comparison_plan(INFO, GROUPS, (), settings)
        assert len(plan.configs(INFO)) == plan.expected
        assert plan.design.normalization == "max"


def test_penalties_as_a_person_types_them(tmp_path: Path) -> None:
    assert comparison.read_costs("zone:12", INFO) == CostPlan(zone_size=12)
    assert comparison.read_costs("hierarchy", INFO) == GROUPS
    saved = untrue.Penalty.from_rules(INFO.classes, {("a", "b"): 7.0}).save(tmp_path / "c.csv")
    spec = comparison.read_costs(str(saved), INFO).of(INFO, 3)
    assert spec.kind == "matrix"
    assert spec.matrix(INFO)[0].tolist() == [0, 7, 1, 1]
    assert spec.edges == ()
    assert spec.mask(INFO).sum() == 1


def test_a_file_made_from_a_tree_keeps_it(tmp_path: Path) -> None:
    tree = untrue.Hierarchy.from_groups({"x": ["a", "b"], "y": ["c", "d"]})
    file = untrue.Penalty.from_hierarchy(tree).save(tmp_path / "c.json")
    spec = comparison.read_costs(str(file), INFO).of(INFO, 0)
    assert comparison.left_out(METHODS, spec, INFO) == {
        "class-weighted": "is plain cross-entropy here: every true class costs the same in all"
    }
    assert untrue.Hierarchy.from_edges(spec.edges, classes=INFO.classes) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zone:0", "1 to 12 with 4 classes; got '0'"),
        ("zone:13", "1 to 12 with 4 classes; got '13'"),
        ("zone:many", "got 'many'"),
        ("zone", "got 'zone', and there is no such file"),
        ("hierarchy", "needs a data set with super-classes .*'tiny' has none"),
        (
            "nothing.csv",
            r"a file of costs \(.csv, .json, .toml, .npy\), zone:N, hierarchy or official",
        ),
    ],
)
def test_penalties_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        comparison.read_costs(text, FLAT)


def test_costs_of_other_classes_and_of_nothing_are_refused(tmp_path: Path) -> None:
    other = untrue.Penalty.from_ordinal(["a", "b", "c", "e"]).save(tmp_path / "other.csv")
    with pytest.raises(UntrueError, match="'d'"):
        comparison.read_costs(str(other), INFO)
    free = untrue.Penalty.from_matrix(np.zeros((4, 4)), INFO.classes).save(tmp_path / "free.csv")
    with pytest.raises(ArgumentError, match="charges nothing for any mistake"):
        comparison.read_costs(str(free), INFO)
    many = untrue.Penalty.from_rules([f"c{i}" for i in range(501)], {}, default=1.0)
    with pytest.raises(ArgumentError, match="takes at most 500"):
        comparison.own_costs(many)


def test_methods_as_a_person_types_them() -> None:
    assert comparison.read_methods(None) == METHODS
    assert comparison.read_methods("ce, ce+cost,bilinear+cost") == ("ce", "bilinear")
    with pytest.raises(ArgumentError, match=r"Unknown method 'bilinar'; did you mean 'bilinear'\?"):
        comparison.read_methods("ce,bilinar")
    with pytest.raises(ArgumentError, match="`methods` names none"):
        comparison.read_methods(" ,")


def test_strengths_as_a_person_types_them() -> None:
    own = comparison.read_strengths(["bilinear=.3,.6", "soft-labels = 5"])
    assert own == {"bilinear": (0.3, 0.6), "soft-labels": (5.0,)}
    chosen = comparison.with_strengths(("ce", "bilinear", "hxe", "soft-labels"), "desk", own)
    assert dict(chosen)["bilinear"] == (0.3, 0.6)
    assert dict(chosen)["hxe"] == registry.find("hxe").strengths
    with pytest.raises(ArgumentError, match="given for soft-labels, which is not compared"):
        comparison.with_strengths(("ce", "bilinear"), "desk", own)
    with pytest.raises(ArgumentError, match="Unknown scale 'desc'; did you mean 'desk'"):
        comparison.with_strengths(("ce",), "desc", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5", "must be METHOD=VALUE,VALUE"),
        ("ce=0.5", "with a method of bilinear, log-bilinear"),
        ("bilinar=0.5", "did you mean 'bilinear'"),
        ("bilinear=strong", "of bilinear must be numbers with commas between; got 'strong'"),
        ("bilinear=.5,.5", "names a value twice"),
    ],
)
def test_strengths_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        comparison.read_strengths([text])


def test_methods_that_cannot_take_part_are_left_out_or_refused_by_name() -> None:
    methods = comparison.with_strengths(METHODS, "desk", {})
    settings = {"network": "digits", "epochs": 1, "validation": 5}
    kept, notes = comparison.comparison_plan(FLAT, CostPlan(zone_size=5), methods, settings)
    assert [name for name, _ in kept.methods] == [
        *("ce", "bilinear", "log-bilinear", "class-weighted", "cost-smoothed", "sosr"),
        *("squared-emd", "focal", "label-smoothing"),
    ]
    assert notes[0] == "Left out: soft-labels needs a hierarchy, and this penalty has none."
    with pytest.raises(ArgumentError, match="The method soft-labels needs a hierarchy"):
        comparison.comparison_plan(FLAT, CostPlan(zone_size=5), methods, settings, all_named=True)
    kept, notes = comparison.comparison_plan(INFO, GROUPS, methods, settings)
    assert [name for name, _ in kept.methods] == [n for n in METHODS if n != "class-weighted"]
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"repetitions": 0}, "`repetitions` must be at least 1; got 0"),
        ({"validation": 0}, "`validation` must be at least 1: the temperature is found on those"),
        ({"normalization": "columns"}, "`normalization` must be 'rows', 'max' or 'none'"),
    ],
)
def test_impossible_designs_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        dataclasses.replace(SMALL, design=design(**changes))
