"""Small real data and a model fitted to them, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from untrue import Penalty

PATIENTS = ("healthy", "benign", "tumour")


def patients(n: int = 300, seed: int = 0) -> pa.Table:
    """A table with numbers, categories and gaps, whose target can be learned in part."""
    rng = np.random.default_rng(seed)
    gaps = rng.random((2, n)) < 0.1
    age, dose = rng.normal(50, 15, n), rng.normal(size=n)
    city = rng.choice(["Rome", "Oslo", "Lima"], n)
    score = np.stack(
        [0.05 * (age - 50) + (city == "Rome"), dose, 1.5 * (city == "Lima") - 1.0], axis=1
    )
    predicted = np.array(PATIENTS)[(score + 0.5 * rng.gumbel(size=(n, 3))).argmax(axis=1)]
    return pa.table(
        {
            "age": pa.array(age, mask=gaps[0]),
            "city": pa.array(city, mask=gaps[1]),
            "dose": dose,
            "diagnosis": predicted,
        }
    )


@pytest.fixture(scope="session")
def patients_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    pa.csv.write_csv(patients(), path)
    return path


@pytest.fixture(scope="session")
def patient_costs() -> Penalty:
    rules = {("tumour", "benign"): 20.0, ("tumour", "healthy"): 10.0}
    return Penalty.from_rules(list(PATIENTS), rules, default=1.0)
