"""Folders of images: listed in order, brought to one size, and what is no image refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from untrue.errors import DataError
from untrue.tools.reading.images import (
    ImageRules,
    find_rules,
    has_split,
    list_classes,
    list_images,
    read_images,
)


def image(path: Path, size: tuple[int, int] = (20, 30), mode: str = "L", value: int = 99) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value if mode in ("L", "I;16") else (value,) * len(mode)).save(path)
    return path


def test_classes_are_folders_and_files_come_by_name(tmp_path: Path) -> None:
    for name in ("dog/b.png", "dog/a.png", "cat/deep/c.png", "cat/z.png"):
        image(tmp_path / name)
    (tmp_path / ".DS_Store").write_text("x")
    (tmp_path / "cat/Thumbs.db").write_text("x")
    found = list_classes(tmp_path)
    assert found.names == ("cat/deep/c.png", "cat/z.png", "dog/a.png", "dog/b.png")
    assert found.folders == ("cat", "cat", "dog", "dog")
    assert list_images(tmp_path).names == found.names
    assert not has_split(tmp_path)


def test_sizes_and_colours_are_brought_to_one(tmp_path: Path) -> None:
    grey = image(tmp_path / "a.png", (20, 30))
    wide = image(tmp_path / "b.png", (90, 24), "RGB", 200)
    clear = image(tmp_path / "c.png", (24, 24), "RGBA", 50)
    rules = find_rules([grey, wide, clear])
    assert rules == ImageRules(3, 24, 24)
    pixels = read_images([grey, wide, clear], rules)
    assert pixels.shape == (3, 3, 24, 24)
    assert pixels.dtype == np.uint8
    assert [int(each.mean()) for each in pixels] == [99, 200, 50]
    assert find_rules([grey]) == ImageRules(1, 20, 20)
    assert find_rules([image(tmp_path / "d.png", (500, 300))]) == ImageRules(1, 64, 64)
    assert find_rules([grey], size=12) == ImageRules(1, 12, 12)


def test_sixteen_bits_keep_their_range(tmp_path: Path) -> None:
    values = np.array([[0, 65535], [32768, 0]], dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    pixels = read_images([tmp_path / "deep.png"], ImageRules(1, 2, 2))
    assert pixels[0, 0].tolist() == [[0, 255], [127, 0]]


def test_what_is_no_image_is_named(tmp_path: Path) -> None:
    image(tmp_path / "cat/a.png")
    (tmp_path / "cat/notes.png").write_text("not an image")
    with pytest.raises(DataError, match=r"notes\.png is not an image; remove it"):
        read_images(list_images(tmp_path).files, ImageRules(1, 8, 8))


def test_an_image_cut_short_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = tmp_path / "a.png"
    Image.fromarray(rng.integers(256, size=(64, 64), dtype=np.uint8)).save(whole)
    whole.write_bytes(whole.read_bytes()[:1500])
    with pytest.raises(DataError, match=r"a\.png is not a whole image"):
        read_images([whole], ImageRules(1, 8, 8))


def test_folders_that_are_none_of_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no images"):
        list_images(tmp_path)
    image(tmp_path / "cat/a.png")
    with pytest.raises(DataError, match="at least two classes; found 1"):
        list_classes(tmp_path)
    (tmp_path / "dog").mkdir()
    with pytest.raises(DataError, match=r"The folder .*dog holds no images"):
        list_classes(tmp_path)
    image(tmp_path / "loose.png")
    with pytest.raises(DataError, match=r"loose\.png lies beside the folders of classes"):
        list_classes(tmp_path)


def test_rules_come_back_from_json_and_nonsense_is_refused() -> None:
    rules = ImageRules(3, 24, 32)
    assert ImageRules.from_json(rules.as_json()) == rules
    with pytest.raises(DataError, match="no size of image"):
        ImageRules.from_json({**rules.as_json(), "channels": 7})
    with pytest.raises(DataError, match="not readable"):
        ImageRules.from_json({})
