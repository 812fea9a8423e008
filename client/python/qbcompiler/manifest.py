"""The files of a job as ordered lists with digests: what is sent to a server and under which names."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import mmap
import os
import pathlib
from typing import Any, Dict, List, Optional, Tuple

from .errors import ArgumentError, CalibrationDataError, ModelParseError
from .onnx_side_files import external_data_locations

_MOST_ENTRIES = 20_000
_MOST_LISTING_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True)
class Blob:
    """Bytes to be sent: of a file, or `content` itself."""

    sha256: str
    size_bytes: int
    file: str = ""
    content: bytes = b""


@dataclasses.dataclass
class LocalManifest:
    """`entries` are (path, blob), sorted by path; `main` is the entry that the compiler opens."""

    entries: List[Tuple[str, Blob]]
    main: str = ""


def _check_path(path: str) -> None:
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or len(os.fsencode(part)) > 255 or "\\" in part or "\0" in part
              for part in parts)
    if bad or len(parts) > 16:
        raise ArgumentError(f"the file path '{path}' cannot be sent: parts are not empty, '.' or '..', "
                            "hold no backslash, and are at most 16 of 255 bytes")


def _digest(path: str) -> Blob:
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
            size += len(piece)
    return Blob(digest.hexdigest(), size, file=path)


class _Builder:
    def __init__(self) -> None:
        self.files: Dict[str, str] = {}
        self.contents: Dict[str, bytes] = {}

    def add_file(self, path: str, file: str) -> None:
        _check_path(path)
        if not os.path.isfile(file):
            raise ArgumentError(f"file '{file}': not a regular file")
        if self.files.setdefault(path, file) != file:
            raise ArgumentError(f"the path '{path}' stands for two files: '{file}' and "
                                f"'{self.files[path]}'")

    def add_folder(self, prefix: str, folder: str) -> None:
        for here, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in names:
                file = os.path.join(here, name)
                if not name.startswith(".") and os.path.isfile(file):
                    inside = pathlib.PurePath(os.path.relpath(file, folder)).as_posix()
                    self.add_file(f"{prefix}/{inside}" if prefix else inside, file)
            if len(self.files) > _MOST_ENTRIES:
                raise ArgumentError(f"folder '{folder}': more than {_MOST_ENTRIES} files")

    def build(self, main: str) -> LocalManifest:
        blobs = {path: _digest(file) for path, file in self.files.items()}
        for path, content in self.contents.items():
            _check_path(path)
            blobs[path] = Blob(hashlib.sha256(content).hexdigest(), len(content), content=content)
        return LocalManifest(sorted(blobs.items()), main)


def _beneath(folder: str, file: str) -> Optional[str]:
    """The path of `file` relative to `folder` when it lies beneath it, links resolved."""
    try:
        inside = pathlib.Path(file).resolve(strict=True).relative_to(
            pathlib.Path(folder).resolve(strict=True)).as_posix()
    except (OSError, ValueError):
        return None
    return None if inside == "." else inside


def model_manifest(path: str) -> Tuple[LocalManifest, List[str]]:
    """The model's file with the external data that it names beneath its folder, and warnings about
    what it names elsewhere. Errors: ModelParseError when there is no such file."""
    if not os.path.isfile(path):
        raise ModelParseError(f"model '{path}': no such file")
    builder = _Builder()
    name = os.path.basename(path)
    builder.add_file(name, path)
    warnings = []
    for location in _side_files(path) if name.lower().endswith(".onnx") else ():
        folder = os.path.dirname(path) or "."
        file = os.path.join(folder, location)
        if "\0" in location or _beneath(folder, file) is None or not os.path.isfile(file):
            warnings.append(f"the model names external data {location!r}, which is no regular file "
                            "beneath its folder: not sent")
        else:
            builder.add_file(location, file)
    return builder.build(name), warnings


def _side_files(path: str) -> List[str]:
    if os.path.getsize(path) == 0:
        return []
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with memoryview(data) as view:
            return external_data_locations(view)


class _Listing:
    """A listing with its files, while it is being collected."""

    def __init__(self, path: str) -> None:
        self.folder = os.path.dirname(path) or "."
        self.builder = _Builder()
        self._outside = 0

    def add(self, named: str) -> str:
        """Adds what `named` stands for; returns its path in the manifest."""
        found = os.path.join(self.folder, named)
        if not os.path.exists(found):
            found = named  # relative to the working directory
        if not named or "\0" in named or not os.path.exists(found):
            raise CalibrationDataError(f"listed sample '{named}': no such file or folder")
        inside = _beneath(self.folder, found)
        if inside is None:
            inside = f"listed/{self._outside:06d}/{os.path.basename(os.path.realpath(found))}"
            self._outside += 1
        if os.path.isdir(found):
            self.builder.add_folder(inside, found)
        else:
            self.builder.add_file(inside, found)
        return inside

    def rewrite(self, value: Any) -> Any:
        """A JSON listing with the paths of the manifest."""
        if isinstance(value, str):
            return self.add(value)
        if isinstance(value, list):
            return [self.rewrite(item) for item in value]
        if isinstance(value, dict):
            return {name: self.rewrite(item) for name, item in value.items()}
        raise CalibrationDataError("the listing may hold only paths: strings, arrays of them and objects "
                                   "{input name: path}")


def _listing_manifest(path: str) -> LocalManifest:
    if os.path.getsize(path) > _MOST_LISTING_BYTES:
        raise CalibrationDataError(f"more than {_MOST_LISTING_BYTES} bytes")
    listing = _Listing(path)
    text = pathlib.Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    if path.lower().endswith(".json"):
        content = json.dumps(listing.rewrite(json.loads(text)))
    else:
        lines = [line.strip() for line in text.split("\n")]
        content = "".join(listing.add(line) + "\n" for line in lines if line)
    name = os.path.basename(path)
    if not listing.builder.files:
        raise CalibrationDataError("the listing names no samples")
    if name in listing.builder.files:
        raise CalibrationDataError("the listing names itself as a sample")
    listing.builder.contents[name] = content.encode("utf-8", "surrogateescape")
    return listing.builder.build(name)


def dataset_manifest(path: str, labels: str = "") -> Tuple[LocalManifest, str]:
    """A folder of samples, a listing with its samples, or one file. With `labels`, a CSV, the second
    result is its path inside the manifest. Errors: CalibrationDataError."""
    if not os.path.exists(path):
        raise CalibrationDataError(f"data set '{path}': no such file or folder")
    try:
        if not os.path.isdir(path):
            if path.lower().endswith((".txt", ".json")):
                manifest = _listing_manifest(path)
            else:
                builder = _Builder()
                builder.add_file(os.path.basename(path), path)
                manifest = builder.build(os.path.basename(path))
            if labels:
                manifest.entries = sorted(manifest.entries + [("labels/labels.csv", _digest(labels))])
            return manifest, "labels/labels.csv" if labels else ""
        if labels:
            return _labelled_folder(path, labels), "labels.csv"
        builder = _Builder()
        builder.add_folder("", path)
        if not builder.files:
            raise CalibrationDataError("the folder has no files")
        return builder.build(""), ""
    except (CalibrationDataError, ValueError, RecursionError) as error:
        raise CalibrationDataError(f"data set '{path}': {getattr(error, 'message', error)}") from error


def _labelled_folder(path: str, labels: str) -> LocalManifest:
    """The labels are no sample, so the samples move into a subfolder and a listing names them."""
    builder = _Builder()
    names = sorted(name for name in os.listdir(path) if not name.startswith(".")
                   and not os.path.samefile(os.path.join(path, name), labels))
    for name in names:
        file = os.path.join(path, name)
        if "\n" in name or "\r" in name:
            raise CalibrationDataError("a sample's name has a line break, which no listing can hold")
        if os.path.isdir(file):
            builder.add_folder(f"samples/{name}", file)
        else:
            builder.add_file(f"samples/{name}", file)
    if not names:
        raise CalibrationDataError("the folder has no samples")
    builder.contents["samples.txt"] = "".join(f"samples/{name}\n" for name in names).encode(
        "utf-8", "surrogateescape")
    builder.add_file("labels.csv", labels)
    return builder.build("samples.txt")
