"""PyTorch modules and TorchScript archives, exported to ONNX in this process: the compiler reads ONNX.

torch is imported only when a model needs it."""

from __future__ import annotations

import importlib
import os
import pathlib
import sys
from typing import Any, Dict, Mapping, Optional

from .errors import ArgumentError, ModelParseError, QBCompilerError

# The newest that Debian 12's torch writes; the compiler reads 7 to 22.
_OPSET = 17


def is_torch_module(model: object) -> bool:
    """Is this a torch.nn.Module? Does not import torch: who has a module has done so."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _import_torch(why: str) -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise QBCompilerError(f"{why} needs the package torch, which is not installed",
                              code="ARGUMENT_ERROR",
                              hint="export the model to ONNX where torch is, or install torch") from error


def export(model: Any, feed_dict: Optional[Mapping[str, Any]], folder: str,
           dynamic_axes: Optional[Mapping[str, Any]] = None) -> str:
    """Exports a module or the path of a TorchScript archive with the example tensors of `feed_dict`,
    whose names become the names of the inputs. Returns the path of the ONNX file, in `folder`.

    Loading an archive runs no code of it, but calling it does: load only files that you trust.
    Errors: ArgumentError without feed_dict, ModelParseError when torch cannot export."""
    from_path = isinstance(model, (str, os.PathLike))
    torch = _import_torch("a TorchScript archive" if from_path else "a torch module")
    if not feed_dict:
        raise ArgumentError("a torch model needs feed_dict: example tensors by input name")
    path = str(pathlib.Path(folder) / "model.onnx")
    examples = tuple(_tensor(torch, value) for value in feed_dict.values())
    try:
        if from_path:
            model = torch.jit.load(os.fspath(model), map_location="cpu")
        was_training = bool(getattr(model, "training", False))
        model.eval()
        try:
            options: Dict[str, Any] = {"input_names": [str(name) for name in feed_dict],
                                       "opset_version": _OPSET}
            if dynamic_axes:
                options["dynamic_axes"] = {name: axes for name, axes in dynamic_axes.items()}
            with torch.no_grad():
                torch.onnx.export(model, examples, path, **options)
        finally:
            model.train(was_training)
    except Exception as error:  # torch raises whatever its exporter meets
        raise ModelParseError(f"torch could not export the model to ONNX: "
                              f"{type(error).__name__}: {error}") from error
    return path


def _tensor(torch: Any, value: Any) -> Any:
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(value)
