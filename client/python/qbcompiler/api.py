"""The functions of the package. All of them run the local `qbcompiler`, or send the work to a compile
server with `server=` or QBC_SERVER; the results are the same."""

from __future__ import annotations

import functools
import inspect
import logging
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union, cast

from . import jobs, local
from .access import Server
from .config import PathLike
from .config_sections import (BiasCorrectionConfig, BitConfig, CalibrationConfig,
                              EquivalentTransformationConfig, ExtraOutputConfig, HessianQuantConfig,
                              LlmConfig, ModConfig, PreprocessingConfig, ResourceManagementConfig,
                              SaveSampleConfig, SearchWeightScaleConfig, Uint8InputConfig)
from .config_sections import AutoTuneConfig, LoadScaleConfig, MoeConfig, OffloadConfig
from .events import Callback, CompileResult, result_of_line
from .samples import Samples
from .settings import ConfigSource

Function = TypeVar("Function", bound=Callable[..., Any])
# A path, or a torch module; Any because torch is not imported for its type.
Model = Any

_REMOVED = {
    "hf_config": "use model_part",
    "in_dformats": "leave it out: layouts are inferred from the model",
    "input_shape_dict": "use multi_shape, or feed_dict for one size",
    "layer_bias_correction": "use bias_correction",
    "layer_bias_correction_config": "use bias_correction_config",
}
_PART_IS_PARSED = ("model_part and model_part_options are for parsing: give them to mblt_compile, which "
                   "makes the .mblt")


def _refuse_removed(function: Function) -> Function:
    """Arguments of older releases answer with what replaces them."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, replacement in _REMOVED.items():
            if name in kwargs:
                raise ValueError(f"{function.__name__}: {name} was removed; {replacement}")
        return function(*args, **kwargs)

    return cast(Function, checked)


def _with_parameters_of(other: Function) -> Callable[[Callable[..., Any]], Function]:
    """The decorated function takes what `other` takes, and gets it by name."""
    signature = inspect.signature(other)

    def decorate(function: Callable[..., Any]) -> Function:
        @functools.wraps(function)
        def bound(*args: Any, **kwargs: Any) -> Any:
            try:
                arguments = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            arguments.apply_defaults()
            return function(**arguments.arguments)

        bound.__signature__ = signature  # type: ignore[attr-defined]
        return _refuse_removed(cast(Function, bound))

    return decorate


def _need_callback(name: str, arguments: Mapping[str, Any]) -> None:
    if not callable(arguments.get("callback")):
        raise TypeError(f"{name}() needs callback=, a function that takes an event")


@_refuse_removed
def mxq_compile(
    model: Model,
    target_device: Optional[str] = None,
    calib_data_path: Optional[Samples] = None,
    save_path: Optional[PathLike] = None,
    backend: str = "onnx",
    feed_dict: Optional[Mapping[str, Any]] = None,
    dynamic_axes: Optional[Mapping[str, Any]] = None,
    multi_shape: Optional[Mapping[str, Any]] = None,
    yolo_decode_include: Optional[bool] = None,
    exclude_first_subgraph: Optional[bool] = None,
    device: Optional[str] = None,
    inference_scheme: Optional[str] = None,
    use_random_calib: Optional[bool] = None,
    cpu_offload: Optional[bool] = None,
    optimize_option: Optional[int] = None,
    bias_correction: Optional[bool] = None,
    buffer_mode: Optional[int] = None,
    force_npu_input_reposition: Optional[bool] = None,
    force_npu_output_reposition: Optional[bool] = None,
    image_channels: Optional[int] = None,
    split_blocks: Optional[List[int]] = None,
    split_parts: Optional[int] = None,
    config_preset: Optional[str] = None,
    compile_config: Optional[ConfigSource] = None,
    config_save_path: Optional[PathLike] = None,
    model_part: Optional[str] = None,
    model_part_options: Optional[Mapping[str, Any]] = None,
    save_subgraph_type: Optional[int] = None,
    output_subgraph_path: Optional[PathLike] = None,
    calibration_config: Optional[CalibrationConfig] = None,
    bit_config: Optional[BitConfig] = None,
    llm_config: Optional[LlmConfig] = None,
    hessian_quant_config: Optional[HessianQuantConfig] = None,
    bias_correction_config: Optional[BiasCorrectionConfig] = None,
    mod_config: Optional[ModConfig] = None,
    equivalent_transformation_config: Optional[EquivalentTransformationConfig] = None,
    search_weight_scale_config: Optional[SearchWeightScaleConfig] = None,
    uint8_input_config: Optional[Uint8InputConfig] = None,
    preprocessing_config: Optional[PreprocessingConfig] = None,
    save_sample_config: Optional[SaveSampleConfig] = None,
    resource_management_config: Optional[ResourceManagementConfig] = None,
    *,
    extra_output_config: Optional[ExtraOutputConfig] = None,
    moe_config: Optional[MoeConfig] = None,
    load_scale_config: Optional[LoadScaleConfig] = None,
    auto_tune_config: Optional[AutoTuneConfig] = None,
    offload_config: Optional[OffloadConfig] = None,
    eval_data: Optional[Samples] = None,
    eval_labels: Optional[PathLike] = None,
    calib_stats_save: Optional[PathLike] = None,
    calib_stats_load: Optional[PathLike] = None,
    require_device: bool = False,
    threads: Optional[int] = None,
    server: Optional[Union[str, Server]] = None,
    callback: Optional[Callback] = None,
) -> CompileResult:
    """Compiles a model, or an .mblt, to an .mxq.

    `calib_data_path`: a folder or a listing, several of them, or NumPy arrays. `feed_dict`: example
    tensors by input name; their shapes fix the open dimensions of the model. `compile_config`: a file, a
    CompileConfig or a dictionary. `save_path` is ./tmp.mxq when it is not given. `eval_data` and
    `eval_labels`: samples for the check of the result. `calib_stats_save` and `calib_stats_load`: what
    calibration measured, kept for later compiles of the same model on the same samples; here only, not on
    a server. `server`: an address, a Server, "" for this machine.
    Errors: subclasses of QBCompilerError, by code; ValueError and TypeError for wrong arguments."""
    arguments: Dict[str, Any] = dict(locals())
    if not jobs.is_mblt(model):
        return jobs.compile_source(arguments)
    if model_part is not None or model_part_options is not None:
        raise ValueError(_PART_IS_PARSED)
    return jobs.compile_mblt({**arguments, "mblt": model})


@_with_parameters_of(mxq_compile)
def mxq_compile_from_source(**arguments: Any) -> CompileResult:
    """As mxq_compile, for source models only."""
    return jobs.compile_source(arguments)


@_with_parameters_of(mxq_compile)
def mxq_compile_with_callback(**arguments: Any) -> CompileResult:
    """As mxq_compile; `callback` is called with each event: StatusEvent, ProgressEvent, LogEvent. An
    exception that it raises ends the compile and comes out of this function."""
    _need_callback("mxq_compile_with_callback", arguments)
    return mxq_compile(**arguments)


@_refuse_removed
def mxq_compile_from_mblt(mblt: Union[PathLike, Sequence[PathLike]],
                          target_device: Optional[str] = None,
                          calib_data_path: Optional[Samples] = None,
                          save_path: Optional[PathLike] = None, **settings: Any) -> CompileResult:
    """As mxq_compile, for an .mblt; `settings` are its other arguments. Those that only parsing reads
    are ignored with a warning."""
    try:
        bound = inspect.signature(mxq_compile).bind(mblt, target_device, calib_data_path, save_path,
                                                    **settings)
    except TypeError as error:
        raise TypeError(f"mxq_compile_from_mblt() {error}") from None
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    if arguments["model_part"] is not None or arguments["model_part_options"] is not None:
        raise ValueError(_PART_IS_PARSED)
    return jobs.compile_mblt({**arguments, "mblt": arguments.pop("model")})


@_refuse_removed
def mblt_compile(
    model: Model,
    mblt_save_path: Union[PathLike, Sequence[PathLike]],
    target_device: Optional[str] = None,
    backend: str = "onnx",
    feed_dict: Optional[Mapping[str, Any]] = None,
    dynamic_axes: Optional[Mapping[str, Any]] = None,
    multi_shape: Optional[Mapping[str, Any]] = None,
    yolo_decode_include: Optional[bool] = None,
    exclude_first_subgraph: Optional[bool] = None,
    device: Optional[str] = None,
    cpu_offload: Optional[bool] = None,
    config_preset: Optional[str] = None,
    compile_config: Optional[ConfigSource] = None,
    model_part: Optional[str] = None,
    model_part_options: Optional[Mapping[str, Any]] = None,
    save_subgraph_type: Optional[int] = None,
    output_subgraph_path: Optional[PathLike] = None,
    *,
    offload_config: Optional[OffloadConfig] = None,
    threads: Optional[int] = None,
    server: Optional[Union[str, Server]] = None,
    callback: Optional[Callback] = None,
) -> CompileResult:
    """Parses a model to an .mblt; with multi_shape to one a size: at the paths of a list, or at
    <stem>_<i>.mblt. Arguments as for mxq_compile."""
    return jobs.parse(dict(locals()))


@_with_parameters_of(mblt_compile)
def mblt_compile_with_callback(**arguments: Any) -> CompileResult:
    """As mblt_compile; `callback` as for mxq_compile_with_callback."""
    _need_callback("mblt_compile_with_callback", arguments)
    return mblt_compile(**arguments)


def read_provenance(mblt_path: PathLike) -> Optional[Dict[str, Any]]:
    """Where an .mblt came from; None when nothing was recorded."""
    answer = local.run_compiler(["info", "--mblt", os.fspath(mblt_path)])["info"]
    return cast(Optional[Dict[str, Any]], answer)


def get_body_subgraph(mblt_path: PathLike, output_path: PathLike) -> CompileResult:
    """Writes the largest part of an .mblt that the NPU runs, with what it calls, as an .mblt."""
    flags = ["extract-body", "--mblt", os.fspath(mblt_path), "--output", os.fspath(output_path)]
    return result_of_line(local.run_compiler(flags))


def set_log_level(level: Union[int, str]) -> None:
    """The level of all loggers of the package: a number of `logging`, or a name such as "debug"."""
    if isinstance(level, str):
        number = logging.getLevelName(level.upper())
        if not isinstance(number, int):
            raise ValueError(f"level: {level!r} is not accepted; it takes debug, info, warning, error, "
                             "critical, or a number")
        level = number
    logging.getLogger("qbcompiler").setLevel(level)
    for name, logger in logging.Logger.manager.loggerDict.items():
        if name.startswith("qbcompiler.") and isinstance(logger, logging.Logger):
            logger.setLevel(logging.NOTSET)
