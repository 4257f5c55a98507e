"""Folders of images: one folder for each class, read by Pillow and brought to one size.

Only plain files of a few formats are read: Pillow hands others, such as EPS, to programs of their
own. A link is followed only to a file of its own class, so that no image has two labels.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError, UntrueWarning, counted, listed
from untrue.input_files import check_regular, reading, shown
from untrue.optional import need

# What operating systems leave in folders.
NOT_OURS = {"thumbs.db", "desktop.ini", "__macosx"}
# What people call the parts of a split.
PARTS = {"train", "training", "val", "valid", "validation", "dev", "test", "testing"}
LOOKED_AT = 200
# Files that an error names at most.
NAMED = 3
SMALLEST, LARGEST = 16, 64
GREY = ("1", "L", "LA")
DEEP = ("I", "F")  # modes of grey images with more than 8 bits: I, I;16, I;16B, F
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
# Of one image: 200 MB in colour, before it is scaled down.
MOST_PIXELS = 2**26
MOST_WHITE = 2**16 - 1

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """Files in the order of their names, and the class folder of each ("" when there is none)."""

    root: Path
    files: tuple[Path, ...]
    folders: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Each file's path inside the folder; what is not UTF-8 is escaped."""
        return tuple(shown(file.relative_to(self.root).as_posix()) for file in self.files)


@dataclass(frozen=True, slots=True)
class ImagePreprocessing:
    """The size of image that a network takes: channels is 1 (grey) or 3 (colour).

    white: what counts as white in grey images of 16 bits, the greatest value among those learned
    from; many cameras and scanners use 10 or 12 bits of them
    """

    channels: int
    height: int
    width: int
    white: int = MOST_WHITE

    @property
    def inputs(self) -> tuple[int, ...]:
        """The shape of one example."""
        return (self.channels, self.height, self.width)

    def as_json(self) -> dict[str, Any]:
        return {"kind": "images", **asdict(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> ImagePreprocessing:
        try:
            names = ("channels", "height", "width", "white")
            preprocessing = cls(*(int(content[name]) for name in names))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"The preprocessing of the model is not readable ({error}).") from None
        if (
            preprocessing.channels not in (1, 3)
            or not 0 < min(preprocessing.height, preprocessing.width) <= 4096
        ):
            raise DataError("The preprocessing of the model is not readable: no size of image.")
        if not 0 < preprocessing.white <= MOST_WHITE:
            raise DataError("The preprocessing of the model is not readable: no value of white.")
        return preprocessing


def list_classes(root: Path) -> ImageFiles:
    """The images below `root`, in one folder for each class."""
    entries = _entries(root)
    loose = [path for path in entries if path.is_file()]
    if loose:
        raise DataError(
            f"{loose[0]} lies beside the folders of classes; {root} must hold one folder for each "
            "class, and images in them."
        )
    files: list[Path] = []
    folders: list[str] = []
    for folder in entries:
        check_entry(folder, inside=root)
        own = list(_files_below(folder))
        if not own:
            raise DataError(f"The folder {folder} holds no images; put some into it, or remove it.")
        files += own
        folders += [folder.name] * len(own)
    _check_no_parts(root, entries)
    found = ImageFiles(root, tuple(files), tuple(folders))
    if len(set(found.folders)) < 2:
        raise DataError(
            f"{root} must hold a folder of images for each of at least two classes; found "
            f"{len(set(found.folders))}."
        )
    return found


def _check_no_parts(root: Path, entries: Sequence[Path]) -> None:
    """Refuse the parts of a split, with folders of classes in them, which would pass as classes."""
    names = [path.name for path in entries]
    known = {name.lower() for name in names}
    parts = known <= PARTS and not known.isdisjoint({"train", "training"})
    if parts and all(path.is_dir() and any(map(Path.is_dir, _entries(path))) for path in entries):
        raise DataError(
            f"{root} seems to hold the parts of a split ({listed(names)}), not folders of classes. "
            "A split is read from train and test, in these words: move other parts into train, "
            "from which a validation part is held back; or name one part alone."
        )


def list_images(root: Path) -> ImageFiles:
    """Every image below `root`, whether or not it lies in a folder of its class."""
    files = tuple(_files_below(root))
    if not files:
        raise DataError(f"The folder {root} holds no images.")
    _check_no_parts(root, _entries(root))
    folders = tuple(
        file.relative_to(root).parts[0] if file.parent != root else "" for file in files
    )
    return ImageFiles(root, files, folders)


def has_split(root: Path, *, alone: bool = False) -> bool:
    """Whether `root` comes split into `train/` and `test/`; alone: and there is no file beside."""
    return {path.name for path in _entries(root) if alone or path.is_dir()} == {"train", "test"}


def fit_images(files: Sequence[Path], *, size: int | None = None) -> ImagePreprocessing:
    """A size near that of the images, 16 to 64 pixels, unless `size` is given; grey if all are."""
    if size is not None and not 4 <= size <= 512:
        raise DataError(f"`image_size` must lie in 4..512 pixels; got {size}.")
    step = max(1, len(files) // LOOKED_AT)
    looked_at = files[::step]
    edges, colour, white, errors = [], False, 0, list[DataError]()
    for file in looked_at:
        try:
            with _opened(file) as image, reading(file, "a whole image"):
                if image.mode.startswith(DEEP):
                    white = max(white, int(_deep_values(image, file).max()))
                colour = colour or (image.mode not in GREY and not image.mode.startswith(DEEP))
                edges.append(min(image.size))
        except DataError as error:  # `read_images` names all such files
            errors.append(error)
    if not edges:
        raise _unreadable(errors, len(looked_at))
    edge = size or int(np.clip(np.median(edges), SMALLEST, LARGEST))
    return ImagePreprocessing(3 if colour else 1, edge, edge, white or MOST_WHITE)


def read_images(files: Iterable[Path], preprocessing: ImagePreprocessing) -> Pixels:
    """Images as bytes (N, C, H, W), each resized to the size of `preprocessing`."""
    files = list(files)
    pixels = np.empty(
        (len(files), preprocessing.channels, preprocessing.height, preprocessing.width), np.uint8
    )
    vanished, errors = list[Path](), list[DataError]()
    for i, file in enumerate(files):
        try:
            pixels[i], is_white = _read(file, preprocessing)
        except DataError as error:
            errors.append(error)
        else:
            vanished += [file] * is_white
    if errors:
        raise _unreadable(errors, len(files))
    if vanished:
        warnings.warn(
            f"{len(vanished):,} of {counted(len(files), 'image')} ({vanished[0]} first) become all "
            "white: white shapes on a transparent background, which is read as white. Save them "
            "with a background of another colour",
            UntrueWarning,
            stacklevel=2,
        )
    return pixels


def _read(file: Path, preprocessing: ImagePreprocessing) -> tuple[Pixels, bool]:
    """(C, H, W) An image in its new size, and whether it is all white there but not in the file."""
    pil = need("PIL.Image", "Reading images")
    with _opened(file) as image, warnings.catch_warnings(), reading(file, "a whole image"):
        warnings.simplefilter("ignore")  # about damage that does not matter, as in EXIF
        # Pillow cuts what is above 255; the range is kept by scaling.
        if image.mode.startswith(DEEP):
            scaled = _deep_values(image, file) * np.float32(255 / preprocessing.white)
            image = pil.fromarray(scaled.clip(0, 255).astype(np.uint8))
        ready = _on_white(image).convert("RGB" if preprocessing.channels == 3 else "L")
        ready = ready.resize((preprocessing.width, preprocessing.height), pil.Resampling.BILINEAR)
        array = np.asarray(ready, dtype=np.uint8)
        is_white = bool(array.min() == 255 and _partly_transparent(image))
        return array[None] if array.ndim == 2 else array.transpose(2, 0, 1), is_white


def _unreadable(errors: Sequence[DataError], n: int) -> DataError:
    """One error for all files that cannot be read, so that nobody meets them one by one."""
    first, others = str(errors[0]), len(errors) - 1
    if not others:
        return DataError(f"{first} Replace it, or remove it from the folder.")
    more = " ".join(map(str, errors[1:NAMED]))
    rest = f" {len(errors) - NAMED:,} more cannot be read either." if len(errors) > NAMED else ""
    return DataError(
        f"{len(errors):,} of {counted(n, 'file')} cannot be read: {first} {more}{rest} Replace "
        "them, or remove them from the folder."
    )


def _on_white(image: Any) -> Any:
    """The image on white where it is transparent, as viewers show it.

    Under transparent pixels lies any colour, mostly black, which nobody has seen.
    """
    if not _has_alpha(image):
        return image
    pil = need("PIL.Image", "Reading images")
    background = pil.new("RGBA", image.size, "white")
    background.alpha_composite(image.convert("RGBA"))
    return background


def _has_alpha(image: Any) -> bool:
    """Whether it has an alpha channel, or a colour that stands for transparent."""
    return "A" in image.getbands() or "transparency" in image.info


def _partly_transparent(image: Any) -> bool:
    if not _has_alpha(image):
        return False
    low, high = image.convert("RGBA").getchannel("A").getextrema()
    return bool(low < high)


def _deep_values(image: Any, file: Path) -> npt.NDArray[np.float32]:
    """(H, W) The pixels of a grey image of more than 8 bits, at most 16."""
    values = np.asarray(image, dtype=np.float32)
    if image.mode == "F" or not 0 <= values.min() <= values.max() <= MOST_WHITE:
        raise DataError(
            f"{file} has pixels of 32 bits, for which no value is known to be white; save it with "
            "8 or 16 bits."
        )
    return values


def _opened(file: Path) -> Any:
    pil = need("PIL.Image", "Reading images")
    check_regular(file)
    with warnings.catch_warnings(), reading(file, "an image"):
        warnings.simplefilter("ignore")
        try:
            image = pil.open(file, formats=FORMATS)
        except pil.UnidentifiedImageError:
            raise DataError(f"{file} is not an image ({', '.join(FORMATS)}).") from None
    width, height = image.size
    if width * height > MOST_PIXELS:
        image.close()
        raise DataError(
            f"{file} has {width:,} x {height:,} pixels; at most {MOST_PIXELS:,} are read. Scale it "
            "down first."
        )
    return image


def _entries(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if not path.name.startswith(".") and path.name.lower() not in NOT_OURS
    )


def check_entry(path: Path, *, inside: Path) -> bool:
    """Whether it is a folder; a pipe, or a link to a folder or out of `inside`, is an error."""
    if path.is_symlink():
        target = Path(os.path.realpath(path))  # for a circle of links too
        if not target.is_file() or not target.is_relative_to(os.path.realpath(inside)):
            raise DataError(
                f"{path} is a link to {path.readlink()}: only links to files inside {inside} are "
                "followed. Copy what it leads to, or remove it."
            )
    if path.is_dir():
        return True
    check_regular(path)
    return False


def _files_below(folder: Path) -> Iterable[Path]:
    """Every file, in the order of the names at each level."""
    left = _entries(folder)[::-1]
    while left:
        path = left.pop()
        if check_entry(path, inside=folder):
            left += _entries(path)[::-1]
        else:
            yield path
