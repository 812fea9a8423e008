"""One compile from checked arguments: turns models, arrays and settings into files and flags, and runs
qbcompiler here or sends the work to a server."""

from __future__ import annotations

import logging
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import local, torch_export
from .access import chosen_access
from .display import default_display
from .errors import ArgumentError, UnsupportedOperatorError
from .events import Callback, CompileResult, Event, LogEvent, result_of_line
from .samples import is_path, sample_paths
from .settings import FLAGS, Settings, resolve
from .shapes import Shape, dynamic_axes_of, shape_flags, shapes_of, sizes_of

_LOG = logging.getLogger("qbcompiler")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING,
           "error": logging.ERROR}
Arguments = Mapping[str, Any]

# Files of this machine's compiler.
STATISTICS = ("calib_stats_save", "calib_stats_load")
# Arguments that only parsing reads: an .mblt is parsed already.
PARSER_ONLY = ("save_subgraph_type", "output_subgraph_path", "feed_dict", "dynamic_axes", "multi_shape",
               "yolo_decode_include", "exclude_first_subgraph")
_NOT_YET = ("save_subgraph_type", "output_subgraph_path", "yolo_decode_include",
            "exclude_first_subgraph")


def is_mblt(model: object) -> bool:
    """Is this an .mblt, or a list of them?"""
    if isinstance(model, (list, tuple)):
        return bool(model) and all(is_mblt(item) for item in model)
    return is_path(model) and os.fspath(model).lower().endswith(".mblt")  # type: ignore[call-overload]


def _refuse_unbuilt(arguments: Arguments) -> None:
    for name in _NOT_YET:
        if arguments.get(name):
            raise UnsupportedOperatorError(f"{name} is not supported yet")


def _listener(callback: Optional[Callback]) -> Callback:
    """Passes events on; messages of the compiler become records of Python's logging as well."""
    shown = callback if callback is not None else default_display()

    def listen(event: Event) -> None:
        if isinstance(event, LogEvent):
            name = f"qbcompiler.{event.logger}" if event.logger else "qbcompiler"
            logging.getLogger(name).log(_LEVELS.get(event.level, logging.INFO), "%s", event.message)
        if shown is not None:
            shown(event)

    return listen


class _Work:
    """One call of the API: its settings and a folder for what has to be written first."""

    def __init__(self, arguments: Arguments, folder: str, flags: Tuple[str, ...] = FLAGS) -> None:
        self.arguments = arguments
        self.folder = folder
        self.settings: Settings = resolve(arguments, flags)
        for warning in self.settings.warnings:
            _LOG.warning("%s", warning)
        self.access = chosen_access(arguments.get("server"))
        self.listen = _listener(arguments.get("callback"))

    def text(self, name: str) -> str:
        value = self.arguments.get(name)
        return "" if value is None else os.fspath(value)

    def samples(self, name: str) -> List[str]:
        return sample_paths(self.arguments.get(name), self.folder, name)

    def threads(self) -> int:
        value = self.arguments.get("threads")
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1024:
            raise ArgumentError(f"threads: {value!r} is not accepted; it takes an integer from 1 to 1024")
        return value

    def run(self, command: str, models: Sequence[str], output: str,
            sizes: Sequence[Dict[str, Shape]], backend: str = "") -> CompileResult:
        """`models`: one, or for quantize one for each size."""
        # Before minutes of work, not after them.
        folder = os.path.dirname(os.path.abspath(output))
        os.makedirs(folder, exist_ok=True)
        if self.access is not None:
            if len(models) != 1:
                raise UnsupportedOperatorError(
                    f"several .mblt files on a server are not supported yet; found {len(models)}",
                    hint="compile the source model with multi_shape, or here with server=\"\"")
            return self._run_remote(command, models[0], output, sizes, backend)
        return self._run_here(command, models, output, sizes, backend)

    def _evaluation(self) -> List[str]:
        paths = self.samples("eval_data")
        if len(paths) > 1:
            raise ArgumentError(f"eval_data: one data set is accepted, got {len(paths)}")
        return paths

    def _run_here(self, command: str, models: Sequence[str], output: str,
                  sizes: Sequence[Dict[str, Shape]], backend: str) -> CompileResult:
        flags = [command]
        for model in models:
            flags += ["--mblt" if command == "quantize" else "--model", model]
        flags += ["--output", output]
        if self.text("target_device"):
            flags += ["--target-device", self.text("target_device")]
        if backend:
            flags += ["--backend", backend]
        flags += self.settings.file_flags(self.folder)
        flags += self.settings.flag_list()
        for text in shape_flags(sizes):
            flags += ["--input-shape", text]
        if self.threads():
            flags += ["--threads", str(self.threads())]
        if command != "parse":
            flags += self._quantize_flags()
        return result_of_line(local.run_compiler(flags, self.listen))

    def _quantize_flags(self) -> List[str]:
        flags: List[str] = []
        for path in self.samples("calib_data_path"):
            flags += ["--calib-data-path", path]
        for path in self._evaluation():
            flags += ["--eval-data", path]
        if self.text("eval_labels"):
            flags += ["--eval-labels", self.text("eval_labels")]
        if self.text("config_save_path"):
            flags += ["--config-save-path", self.text("config_save_path")]
        for name in STATISTICS:
            if self.text(name):
                flags += ["--" + name.replace("_", "-"), self.text(name)]
        if self.arguments.get("require_device"):
            flags += ["--require-device"]
        return flags

    def _run_remote(self, command: str, model: str, output: str, sizes: Sequence[Dict[str, Shape]],
                    backend: str) -> CompileResult:
        from . import remote  # gRPC takes a while to load, and who compiles here does without it

        for name in STATISTICS:
            if self.text(name):
                raise ArgumentError(f"{name}: statistics are kept by compiles on this machine (server=\"\"), "
                                    "a server keeps whole results instead")
        overrides: Dict[str, Any] = {}
        if shape_flags(sizes):
            overrides["input-shape"] = shape_flags(sizes)
        if backend:
            overrides["backend"] = backend
        if self.arguments.get("require_device"):
            overrides["require-device"] = True
        quantize = command != "parse"
        job = remote.Job(
            kind=command.upper(), model=model, target_device=self.text("target_device"), output=output,
            output_suffix=".mxq" if quantize else ".mblt", settings=self.settings,
            calibration=self.samples("calib_data_path") if quantize else [],
            evaluation=next(iter(self._evaluation()), "") if quantize else "",
            labels=self.text("eval_labels"), threads=self.threads(), overrides=overrides,
            config_save_path=self.text("config_save_path") or None)
        assert self.access is not None
        return remote.compile_remote(self.access, job, self.listen)

    def source(self) -> Tuple[str, str, List[Dict[str, Shape]]]:
        """The model as a file, the backend's flag, and the shapes of the one size that feed_dict gives."""
        model, feed = self.arguments["model"], self.arguments.get("feed_dict")
        multi = self.arguments.get("multi_shape")
        dynamic = self.arguments.get("dynamic_axes")
        backend = str(self.arguments.get("backend") or "onnx")
        part = self.arguments.get("model_part")
        if part is not None or self.arguments.get("model_part_options"):
            raise UnsupportedOperatorError("model_part is not supported yet: models of one part are")
        archive = backend.lower() == "torchscript" and is_path(model)
        if torch_export.is_torch_module(model) or archive:
            if multi:
                dynamic = dynamic_axes_of(multi)
            path = torch_export.export(model, feed, self.folder, dynamic)
            return path, "", [shapes_of(feed)]
        if not is_path(model):
            raise ArgumentError(f"model: expected a path or a torch module, got {type(model).__name__}")
        if dynamic is not None:
            raise ArgumentError("dynamic_axes is for torch modules; a file says itself which axes are "
                                "open, and feed_dict gives their sizes")
        return os.fspath(model), "" if backend.lower() == "onnx" else backend, (
            [shapes_of(feed)] if feed else [])


def _output(arguments: Arguments, settings_default: str = "./tmp.mxq") -> str:
    path = arguments.get("save_path")
    return settings_default if path is None else os.fspath(path)


def compile_source(arguments: Arguments) -> CompileResult:
    """A source model to an .mxq."""
    _refuse_unbuilt(arguments)
    with tempfile.TemporaryDirectory(prefix="qbcompiler-") as folder:
        work = _Work(arguments, folder)
        multi = arguments.get("multi_shape")
        sizes = None if multi is None else sizes_of(multi, arguments.get("feed_dict"),
                                                    arguments.get("dynamic_axes"))
        model, backend, own = work.source()
        return work.run("compile", [model], _output(arguments), own if sizes is None else sizes, backend)


def compile_mblt(arguments: Arguments) -> CompileResult:
    """An .mblt, or several of one model at several sizes, to an .mxq."""
    ignored = [name for name in PARSER_ONLY if arguments.get(name)]
    if ignored:
        _LOG.warning("an .mblt is parsed already: %s ignored", ", ".join(ignored))
    mblt = arguments["mblt"]
    models = list(mblt) if isinstance(mblt, (list, tuple)) else [mblt]
    if not models:
        raise ArgumentError("mblt: the list is empty; it takes one path, or one for each size")
    for model in models:
        if not is_path(model):
            raise ArgumentError(f"mblt: expected a path, got {type(model).__name__}")
    with tempfile.TemporaryDirectory(prefix="qbcompiler-") as folder:
        # quantize has no flag for offloading: there it is a setting like others.
        work = _Work(arguments, folder, ("device", "inference_scheme", "use_random_calib"))
        return work.run("quantize", [os.fspath(model) for model in models], _output(arguments), [])


def _size_paths(save_path: Any, count: int) -> List[str]:
    if isinstance(save_path, (list, tuple)):
        if len(save_path) != count:
            raise ArgumentError(f"mblt_save_path: {len(save_path)} paths for {count} sizes")
        return [os.fspath(path) for path in save_path]
    stem, suffix = os.path.splitext(os.fspath(save_path))
    return [f"{stem}_{index}{suffix}" for index in range(count)]


def parse(arguments: Arguments) -> CompileResult:
    """A source model to one .mblt, or with multi_shape to one a size."""
    _refuse_unbuilt(arguments)
    save_path, multi = arguments["mblt_save_path"], arguments.get("multi_shape")
    if multi is None and isinstance(save_path, (list, tuple)):
        raise ArgumentError("mblt_save_path: a list of paths is for multi_shape")
    with tempfile.TemporaryDirectory(prefix="qbcompiler-") as folder:
        work = _Work(arguments, folder, ("device", "cpu_offload"))
        if multi is None:
            model, backend, own = work.source()
            return work.run("parse", [model], os.fspath(save_path), own, backend)
        sizes = sizes_of(multi, arguments.get("feed_dict"), arguments.get("dynamic_axes"))
        paths = _size_paths(save_path, len(sizes))
        model, backend, _ = work.source()
        results: Sequence[CompileResult] = [work.run("parse", [model], path, [shapes], backend)
                                            for path, shapes in zip(paths, sizes)]
        outputs = tuple(result.outputs[0] for result in results)
        return CompileResult(outputs, results[0].device, results[0].report, results[0].job_id)
