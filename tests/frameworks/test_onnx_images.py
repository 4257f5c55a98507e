"""The recipe of docs/onnx.md makes of image files what a graph takes, as `untrue predict` does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from PIL import Image

import untrue
from untrue.tools.exporting.onnx_file import export_onnx
from untrue.tools.fitting.result import FitResult

PAGE = (Path(__file__).parent.parent.parent / "docs" / "onnx.md").read_text()


def recipe() -> Any:
    """The function of the page."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    found = [block for block in blocks if "def pixels_of(" in block]
    assert len(found) == 1
    names: dict[str, Any] = {"np": np}
    exec(found[0], names)
    return names["pixels_of"]


def picture(mode: str, values: Any) -> Image.Image:
    """An image of this mode from values (H, W) of 0 to 1."""
    if mode == "I;16":
        return Image.fromarray((4000 * values).astype(np.uint16))
    grey = Image.fromarray((255 * values).astype(np.uint8))
    if mode in ("LA", "RGBA"):
        bands = [grey] * (len(mode) - 1)
        return Image.merge(mode, [*bands, Image.fromarray((255 * values[::-1]).astype(np.uint8))])
    return grey.convert(mode)


def fitted(folder: Path, mode: str) -> FitResult:
    rng = np.random.default_rng(0)
    for name, light in (("dark", 0.4), ("light", 1.0)):
        (folder / name).mkdir(parents=True)
        for i in range(12):
            picture(mode, light * rng.random((20, 18))).save(folder / name / f"{i}.png")
    return untrue.fit(folder, model="mlp", loss="cross-entropy", epochs=1, baseline=False)


@pytest.mark.parametrize("mode", ["L", "RGB", "I;16", "LA", "RGBA", "P"])
def test_the_graph_answers_image_files_as_predict_does(mode: str, tmp_path: Path) -> None:
    found = fitted(tmp_path / "images", mode)
    content = export_onnx(found.model).content
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    pixels_of = recipe()
    files = sorted((tmp_path / "images").rglob("*.png"))
    probs = np.concatenate(
        [session.run(["probs"], {"images": pixels_of(file, session)})[0] for file in files]
    )
    np.testing.assert_allclose(probs, found.predictions(tmp_path / "images").probs, atol=1e-6)
