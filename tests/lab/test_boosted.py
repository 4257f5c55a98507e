"""`untrue compare --model lightgbm`: boosted trees beside each other on a person's own table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from untrue import Penalty
from untrue.cli import exit_code
from untrue.lab.store import Store

WINES = ("barolo", "grignolino", "barbera")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("wine")
    frame = load_wine(as_frame=True).frame.iloc[:, [0, 1, 2, -1]]
    frame["wine"] = np.array(WINES)[frame.pop("target")]
    frame.to_csv(place / "wine.csv", index=False)
    costs = Penalty.from_rules(list(WINES), {("barbera", "grignolino"): 8.0}, default=1.0)
    return place / "wine.csv", costs.save(place / "costs.toml")


def words(files: tuple[Path, Path], out: Path, *more: str) -> list[str]:
    table, costs = files
    return [
        *("compare", "--data", str(table), "--target", "wine", "--penalty", str(costs)),
        *("--out", str(out), "--scale", "smoke", "--device", "cpu", "--jobs", "1"),
        *("--threads", "1", *more),
    ]


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_trees_are_compared_by_every_loss_they_have(
    files: tuple[Path, Path], tmp_path: Path, library: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(words(files, tmp_path, "--model", library, "--rounds", "15")) == 0
    assert "Left out: sosr is not available for boosted trees." in capsys.readouterr().out
    with Store.read(tmp_path) as store:
        (sweep,) = store.sweeps()
        results = list(store.results(sweep))
    assert [r.config.loss for r in results] == [
        *("cross-entropy", "bilinear", "log-bilinear", "class-weighted")
    ]
    for result in results:
        assert result.config.setup.network == library
        assert {d.rule for d in result.decisions} >= {"least-cost", "least-cost-calibrated"}
        assert 1 <= result.best_epoch <= result.epochs_run <= 15
        assert np.trace(result.confusion) > 0.5 * result.confusion.sum()
    # Ours are also decided on the posterior behind their probabilities.
    rules = [{d.rule for d in result.decisions} for result in results]
    assert rules[1] - rules[0]
    # Weights move the answers: the losses are not the plain one under other names.
    assert len({r.test_loss for r in results}) == len(results)
    page = (tmp_path / "report.html").read_text()
    assert f"boosted trees by {library}" in page


def test_what_trees_refuse(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {
        "`--batch-size` belongs to a network": ["--model", "lightgbm", "--batch-size", "8"],
        "belongs to a network; with model 'xgboost' it has no effect. Give `--rounds`.": [
            *("--model", "xgboost", "--epochs", "8"),
        ],
        "`--optimizer` belongs to a network": ["--model", "lightgbm", "--optimizer", "sgd"],
        "`--rounds` belongs to boosted trees": ["--rounds", "8"],
        "with model 'mlp' it has no effect. Give `--epochs`.": ["--model", "mlp", "--rounds", "8"],
        "not both": ["--model", "lightgbm", "--network", "mlp"],
        "did you mean 'lightgbm'": ["--model", "lightgmb"],
        "keep no weights": ["--model", "lightgbm", "--keep-weights"],
        "is not available for boosted trees": ["--model", "lightgbm", "--methods", "ce,sosr"],
    }
    for message, more in refused.items():
        assert exit_code(words(files, tmp_path / "none", *more)) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "none").exists()
    named = ["compare", "--data", "digits", "--model", "lightgbm", "--out", str(tmp_path / "none")]
    assert exit_code(named) == 2
