"""Calibration and evaluation samples: paths, or NumPy arrays that are written to files first."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Iterable, List, Mapping, Sequence, Union

import numpy as np

from .errors import ArgumentError, CalibrationDataError

# A path, an array (samples along the first axis), a list of samples, or a mapping of input names to
# arrays (samples along the first axis of each).
Samples = Union[str, "os.PathLike[str]", "np.ndarray[Any, Any]", Sequence[Any], Mapping[str, Any]]


def is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def sample_paths(value: object, folder: str, argument: str = "calib_data_path") -> List[str]:
    """The paths of one or several data sets. Arrays are written beneath `folder`, which must outlive
    the compile. None: no data set."""
    if value is None:
        return []
    if is_path(value):
        return [os.fspath(value)]  # type: ignore[call-overload]
    if isinstance(value, (list, tuple)) and value and all(is_path(item) for item in value):
        return [os.fspath(item) for item in value]
    target = pathlib.Path(folder) / argument
    target.mkdir()
    _write(value, target, argument)
    return [str(target)]


def _write(value: object, target: pathlib.Path, argument: str) -> None:
    count = -1
    for count, sample in enumerate(_samples(value, argument)):
        if isinstance(sample, Mapping):
            inner = target / f"{count:06d}"
            inner.mkdir()
            for name, array in sample.items():
                _save(inner / f"{_file_name(str(name), argument)}.npy", array, argument)
        else:
            _save(target / f"{count:06d}.npy", sample, argument)
    if count < 0:
        raise CalibrationDataError(f"{argument}: it has no samples")


def _samples(value: object, argument: str) -> Iterable[Any]:
    if isinstance(value, Mapping):
        columns = {str(name): _array(array, argument) for name, array in value.items()}
        lengths = {name: len(array) if array.ndim else 0 for name, array in columns.items()}
        if len(set(lengths.values())) > 1:
            raise CalibrationDataError(f"{argument}: the inputs have different numbers of samples: "
                                       f"{lengths}")
        length = next(iter(lengths.values()), 0)
        return ({name: array[i] for name, array in columns.items()} for i in range(length))
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        raise ArgumentError(f"{argument}: expected a path, paths, an array, a list of arrays or a "
                            f"mapping of input names to arrays; got {type(value).__name__}")
    return value  # type: ignore[return-value]


def _array(value: Any, argument: str) -> np.ndarray[Any, Any]:
    # Tensors of other packages say how they become arrays; one that needs gradients or lives on a GPU
    # says so only here.
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise CalibrationDataError(f"{argument}: a sample holds Python objects, not numbers")
    return array


def _save(path: pathlib.Path, value: Any, argument: str) -> None:
    np.save(path, np.ascontiguousarray(_array(value, argument)), allow_pickle=False)


def _file_name(name: str, argument: str) -> str:
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise ArgumentError(f"{argument}: the input name {name!r} cannot be the name of a file; name "
                            "the samples in folders of your own")
    return name
