"""Folders of images: listed in order, brought to one size, and what is no image refused."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from untrue.errors import DataError, UntrueWarning
from untrue.tools.reading.features import Schema
from untrue.tools.reading.images import (
    ImagePreprocessing,
    fit_images,
    has_split,
    list_classes,
    list_images,
    read_images,
)
from untrue.tools.reading.opening import open_source


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
    rules = fit_images([grey, wide, clear])
    assert rules == ImagePreprocessing(3, 24, 24)
    pixels = read_images([grey, wide, clear], rules)
    assert pixels.shape == (3, 3, 24, 24)
    assert pixels.dtype == np.uint8
    # An alpha of 50 of 255 leaves 80 % of the white behind it: 50 * 50/255 + 255 * 205/255.
    assert [int(each.mean()) for each in pixels] == [99, 200, 215]
    assert fit_images([grey]) == ImagePreprocessing(1, 20, 20)
    assert fit_images([image(tmp_path / "d.png", (500, 300))]) == ImagePreprocessing(1, 64, 64)
    assert fit_images([grey], size=12) == ImagePreprocessing(1, 12, 12)


def shape_in_alpha(path: Path, mode: str, value: int = 0) -> Path:
    """An image of one colour whose left half is opaque and whose right half is transparent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    alpha = np.zeros((8, 8), dtype=np.uint8)
    alpha[:, :4] = 255
    grey = Image.new("L", (8, 8), value)
    if mode in ("LA", "RGBA"):
        Image.merge(mode, [grey] * (len(mode) - 1) + [Image.fromarray(alpha)]).save(path)
    elif mode == "P":
        picture = Image.fromarray((alpha == 0).astype(np.uint8), "P")
        picture.putpalette([value] * 6)
        picture.save(path, transparency=1)
    else:  # one value of a grey image stands for transparent
        Image.fromarray(np.where(alpha, value, 7).astype(np.uint8)).save(path, transparency=7)
    return path


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L"])
@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_transparent_is_white_as_viewers_show_it(
    mode: str, channels: int, tmp_path: Path
) -> None:
    file = shape_in_alpha(tmp_path / "a.png", mode)
    pixels = read_images([file], ImagePreprocessing(channels, 8, 8))[0]
    assert (pixels[:, :, :4] == 0).all()
    assert (pixels[:, :, 4:] == 255).all()


@pytest.mark.parametrize("ending", ["gif", "webp", "tiff"])
def test_other_formats_with_transparent_parts_are_read_alike(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{ending}"
    with Image.open(shape_in_alpha(tmp_path / "a.png", "RGBA")) as picture:
        picture.save(file, **({"lossless": True} if ending == "webp" else {}))
    pixels = read_images([file], ImagePreprocessing(3, 8, 8))[0]
    assert (pixels[:, :, :4] == 0).all()
    assert (pixels[:, :, 4:] == 255).all()


def test_white_shapes_on_a_transparent_ground_are_said_to_vanish(tmp_path: Path) -> None:
    gone = shape_in_alpha(tmp_path / "white.png", "RGBA", 255)
    kept = shape_in_alpha(tmp_path / "black.png", "RGBA")
    with pytest.warns(UntrueWarning, match=r"1 of 2 images \(.*white\.png first\) .* all white"):
        read_images([kept, gone], ImagePreprocessing(1, 8, 8))
    empty = tmp_path / "empty.png"
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(empty)
    assert read_images([empty], ImagePreprocessing(1, 8, 8)).min() == 255


def test_sixteen_bits_keep_their_range(tmp_path: Path) -> None:
    values = np.array([[0, 65535], [32768, 0]], dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "deep.png")
    pixels = read_images([tmp_path / "deep.png"], ImagePreprocessing(1, 2, 2))
    assert pixels[0, 0].tolist() == [[0, 255], [127, 0]]


def test_images_of_16_bits_share_the_white_of_those_learned_from(tmp_path: Path) -> None:
    files = [tmp_path / f"{value}.png" for value in (1000, 4000)]
    for file in files:
        Image.fromarray(np.full((2, 2), int(file.stem), dtype=np.uint16)).save(file)
    rules = fit_images(files, size=4)
    assert rules == ImagePreprocessing(1, 4, 4, white=4000)
    dark, bright = read_images(files, rules)[:, 0, 0, 0].tolist()
    assert (dark, bright) == (63, 255)
    Image.fromarray(np.full((2, 2), 60000, dtype=np.uint16)).save(tmp_path / "new.png")
    assert read_images([tmp_path / "new.png"], rules).max() == 255
    assert ImagePreprocessing.from_json(rules.as_json()) == rules


def test_pixels_of_32_bits_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 8), 0.5, dtype=np.float32)).save(tmp_path / "f.tiff")
    with pytest.raises(DataError, match=r"f\.tiff has pixels of 32 bits.*save it with 8 or 16"):
        read_images([tmp_path / "f.tiff"], ImagePreprocessing(1, 8, 8))
    with pytest.raises(DataError, match="32 bits"):
        fit_images([tmp_path / "f.tiff"])


def test_what_is_no_image_is_named(tmp_path: Path) -> None:
    image(tmp_path / "cat/a.png")
    (tmp_path / "cat/notes.png").write_text("not an image")
    with pytest.raises(DataError, match=r"notes\.png is not an image \(PNG, JPEG, .*or remove it"):
        read_images(list_images(tmp_path).files, ImagePreprocessing(1, 8, 8))


def test_an_image_cut_short_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = tmp_path / "a.png"
    Image.fromarray(rng.integers(256, size=(64, 64), dtype=np.uint8)).save(whole)
    whole.write_bytes(whole.read_bytes()[:1500])
    named = r"a\.png is not readable as a whole image \(.*\)\. Replace it, or remove it from"
    with pytest.raises(DataError, match=named):
        read_images([whole], ImagePreprocessing(1, 8, 8))


def test_all_files_that_cannot_be_read_are_counted_at_once(tmp_path: Path) -> None:
    good = tmp_path / "good.png"
    image(good)
    bad = [tmp_path / f"{i}.png" for i in range(5)]
    for path in bad:
        path.write_text("not an image")
    assert fit_images([*bad, good]).inputs == fit_images([good]).inputs
    named = r"^5 of 6 files cannot be read: .*0\.png is not.* .*2\.png is .* 2 more cannot be read"
    with pytest.raises(DataError, match=named):
        read_images([*bad, good], ImagePreprocessing(1, 8, 8))
    with pytest.raises(DataError, match=r"5 of 5 files cannot be read"):
        fit_images(bad)


def test_a_folder_that_only_unpacking_left_is_no_class(tmp_path: Path) -> None:
    image(tmp_path / "cat/a.png")
    image(tmp_path / "dog/a.png")
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "__MACOSX/._a.png").write_text("")
    assert set(list_classes(tmp_path).folders) == {"cat", "dog"}


def test_folders_that_are_none_of_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no images"):
        list_images(tmp_path)
    image(tmp_path / "cat/a.png")
    with pytest.raises(DataError, match="at least two classes; found 1"):
        list_classes(tmp_path)
    (tmp_path / "dog").mkdir()
    with pytest.raises(DataError, match=r"The folder .*dog holds no images; put some into it, or"):
        list_classes(tmp_path)
    image(tmp_path / "loose.png")
    with pytest.raises(DataError, match=r"loose\.png lies beside the folders of classes"):
        list_classes(tmp_path)


@pytest.mark.parametrize(
    "parts", [("train", "val", "test"), ("train", "val"), ("Train", "Test"), ("train",)]
)
def test_parts_of_a_split_are_not_taken_for_classes(parts: tuple[str, ...], tmp_path: Path) -> None:
    for part in parts:
        for name in ("cat/a.png", "dog/b.png"):
            image(tmp_path / part / name)
    message = r"seems to hold the parts of a split \(.*rain.*\), not"
    for listing in (list_classes, list_images):  # to fit, and to predict
        with pytest.raises(DataError, match=message):
            listing(tmp_path)


def test_classes_may_be_called_as_parts_are(tmp_path: Path) -> None:
    for name in ("train/a.png", "dev/b.png"):
        image(tmp_path / name)
    assert list_classes(tmp_path).folders == ("dev", "train")


def test_the_truth_of_a_split_folder_is_the_class_and_not_the_part(tmp_path: Path) -> None:
    for name in ("train/cat/a.png", "train/dog/b.png", "test/dog/c.png"):
        image(tmp_path / name)
    found = open_source(tmp_path, schema=Schema((), ()))
    assert found.ids() == ("file", ("train/cat/a.png", "train/dog/b.png", "test/dog/c.png"))
    assert found.labels is not None
    assert [found.labels.names[code] for code in found.labels.codes] == ["cat", "dog", "dog"]


def test_an_image_beside_the_parts_of_a_split_is_answered_too(tmp_path: Path) -> None:
    for name in ("train/cat/a.png", "test/dog/c.png", "d.png"):
        image(tmp_path / name)
    assert len(open_source(tmp_path, schema=Schema((), ()))) == 3


def test_rules_come_back_from_json_and_nonsense_is_refused() -> None:
    rules = ImagePreprocessing(3, 24, 32)
    assert ImagePreprocessing.from_json(rules.as_json()) == rules
    with pytest.raises(DataError, match="no size of image"):
        ImagePreprocessing.from_json({**rules.as_json(), "channels": 7})
    with pytest.raises(DataError, match="not readable"):
        ImagePreprocessing.from_json({})


def test_eps_is_not_handed_to_ghostscript_whatever_its_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "gs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    picture = tmp_path / "cat.png"
    picture.write_text(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"
    )
    # A process of its own: Pillow looks for Ghostscript once.
    code = (
        "import sys; from pathlib import Path; from untrue.tools.reading.images import *\n"
        "read_images([Path(sys.argv[1])], ImagePreprocessing(1, 8, 8))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(picture)], capture_output=True, text=True
    )
    assert not (tmp_path / "ran").exists()
    assert "cat.png is not an image (PNG, JPEG, WEBP, GIF, BMP, TIFF)" in done.stderr


@pytest.mark.parametrize("edge", [9_000, 100_000])
def test_a_small_file_of_enormous_size_is_refused(edge: int, tmp_path: Path) -> None:
    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", edge, edge, 8, 0, 0, 0, 0)
    bomb = tmp_path / "bomb.png"
    bomb.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b""))
    with pytest.raises(DataError, match=r"bomb\.png (has 9,000 x 9,000 pixels|.* exceeds limit)"):
        fit_images([bomb])


def test_a_pipe_among_the_images_is_named_and_not_waited_for(tmp_path: Path) -> None:
    image(tmp_path / "cat/a.png")
    image(tmp_path / "dog/a.png")
    os.mkfifo(tmp_path / "dog/b.png")
    for read in (list_classes, list_images):
        with pytest.raises(DataError, match=r"dog/b\.png is not a plain file \(a pipe"):
            read(tmp_path)
    with pytest.raises(DataError, match=r"dog/b\.png is not a plain file \(a pipe"):
        fit_images([tmp_path / "dog/b.png"])


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("cat/all", ".."),
        ("cat/all", "../dog"),
        ("cat/here", "."),
        ("cat/kitten.png", "../dog/a.png"),
        ("cat/kitten.png", "kitten.png"),
        ("cat/kitten.png", "../../outside.png"),
        ("cat/kitten.png", "gone.png"),
        ("kitten", "cat"),
        ("kitten", "/"),
    ],
)
def test_a_link_out_of_its_class_or_in_a_circle_is_named(
    link: str, target: str, tmp_path: Path
) -> None:
    image(tmp_path / "outside.png")
    root = tmp_path / "images"
    image(root / "cat/a.png")
    image(root / "dog/a.png")
    (root / link).symlink_to(target)
    with pytest.raises(DataError, match=rf"{link} is a link to {target}: only links to files"):
        list_classes(root)


def test_a_link_inside_its_class_and_to_the_whole_folder_is_followed(tmp_path: Path) -> None:
    image(tmp_path / "images/cat/a.png")
    image(tmp_path / "images/dog/a.png")
    (tmp_path / "images/cat/b.png").symlink_to("a.png")
    (tmp_path / "link").symlink_to("images")
    assert list_classes(tmp_path / "link").names == ("cat/a.png", "cat/b.png", "dog/a.png")


def test_a_folder_of_great_depth_is_read(tmp_path: Path) -> None:
    deep = Path(*["d"] * 1200)
    place = tmp_path
    for part in deep.parts:
        place /= part
        place.mkdir()
    picture = image(place / "a.png")
    try:
        assert list_images(tmp_path).names == (f"{deep.as_posix()}/a.png",)
    finally:  # too deep for what removes temporary folders
        picture.unlink()
        while place != tmp_path:
            place.rmdir()
            place = place.parent


def test_a_name_that_is_not_utf8_is_escaped(tmp_path: Path) -> None:
    image(tmp_path / "a.png").rename(tmp_path / "caf\udce9.png")
    assert list_images(tmp_path).names == ("caf\\xe9.png",)
