"""Calibration sets from raw data."""

from __future__ import annotations

import os
import pathlib
import random
from typing import Any, Callable, List, Optional

import numpy as np

from . import local
from .config import PathLike
from .errors import CalibrationDataError


def _sources(data_dir: PathLike, max_size: Optional[int], seed: Optional[int]) -> List[str]:
    folder = os.fspath(data_dir)
    if not os.path.isdir(folder):
        raise CalibrationDataError(f"data_dir '{folder}': no such folder")
    files = sorted(os.path.join(here, name) for here, _, names in os.walk(folder) for name in names
                   if not name.startswith("."))
    if not files:
        raise CalibrationDataError(f"data_dir '{folder}': it has no files")
    if max_size is None or max_size < 0 or max_size >= len(files):
        return files
    return sorted(random.Random(seed).sample(files, max_size)) if seed is not None else files[:max_size]


def make_calib_man(pre_ftn: Callable[[str], Any], data_dir: PathLike, save_dir: PathLike = ".",
                   save_name: str = "calibration", max_size: Optional[int] = None,
                   seed: Optional[int] = None, remove_npy: bool = False) -> str:
    """Preprocesses the files of a folder with your own function: it takes the path of one and returns
    the array that the model takes.

    Writes SAVE_DIR/SAVE_NAME/000000.npy, ... and the listing SAVE_DIR/SAVE_NAME.txt; returns the path of
    the listing. At most `max_size` files are used: the first ones by name, or with `seed` a random
    choice. `remove_npy` clears away .npy files of an earlier run; without it they are an error.
    Errors: CalibrationDataError."""
    target = pathlib.Path(save_dir) / save_name
    sources = _sources(data_dir, max_size, seed)
    target.mkdir(parents=True, exist_ok=True)
    old = sorted(target.glob("*.npy"))
    if old and not remove_npy:
        raise CalibrationDataError(f"'{target}' holds {len(old)} samples of an earlier run; "
                                   "remove_npy=True clears them away")
    for file in old:
        file.unlink()
    lines = []
    for number, source in enumerate(sources):
        array = np.asarray(pre_ftn(source))
        if array.dtype.hasobject or array.size == 0:
            raise CalibrationDataError(f"'{source}': the function returned no array of numbers")
        file = target / f"{number:06d}.npy"
        np.save(file, array, allow_pickle=False)
        lines.append(f"{save_name}/{file.name}\n")
    listing = target.with_name(target.name + ".txt")
    listing.write_text("".join(lines), encoding="utf-8")
    return str(listing)


def make_calib(args_pre: PathLike, data_dir: PathLike, save_dir: PathLike = ".",
               save_name: str = "calibration", max_size: Optional[int] = None) -> str:
    """Preprocesses a folder of images as a file of preprocessing steps says; returns the path of the
    listing. The steps are the compiler's own: `qbcompiler make-calib` does the work."""
    flags = ["make-calib", "--preprocess", os.fspath(args_pre), "--data-dir", os.fspath(data_dir),
             "--save-dir", os.fspath(save_dir), "--save-name", save_name]
    if max_size is not None:
        flags += ["--max-size", str(max_size)]
    local.run_compiler(flags)
    return str(pathlib.Path(save_dir) / f"{save_name}.txt")
