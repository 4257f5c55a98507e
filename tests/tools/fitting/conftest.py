"""A model fitted to the patients, and its folder, made once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from untrue import Penalty
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.model_folder import save_model
from untrue.tools.fitting.result import FitResult
from untrue.tools.reading.opening import open_source
from untrue.tools.reading.sources import Source


@pytest.fixture(scope="session")
def source(patients_csv: Path) -> Source:
    return open_source(patients_csv, target="diagnosis")


@pytest.fixture(scope="session")
def fitted(source: Source, patient_costs: Penalty) -> FitResult:
    return fit(source, penalty=patient_costs, epochs=2, baseline=False)


@pytest.fixture(scope="session")
def saved(fitted: FitResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    nan = {"share": float("nan")}
    return save_model(folder, fitted.model, metrics=nan, extra=lambda at: (at / "x").write_text(""))


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return shutil.copytree(saved, tmp_path / "model")
