"""Compiles trained models for NPUs, on this machine or on a compile server.

This package is independent: not affiliated with, endorsed by or supported by any maker of NPUs."""

from . import calibration, config_sections
from .access import Server
from .api import (get_body_subgraph, mblt_compile, mblt_compile_with_callback, mxq_compile,
                  mxq_compile_from_mblt, mxq_compile_from_source, mxq_compile_with_callback,
                  read_provenance, set_log_level)
from .config import CompileConfig, dump_default_config, list_presets
from .config_sections import *  # noqa: F401,F403  the section classes
from .display import ProgressDisplay
from .errors import (ArgumentError, CalibrationDataError, CancelledError, CompilerCrashError,
                     CompileTimeoutError, ConfigError, DeviceUnavailableError, InternalError,
                     ModelParseError, OutOfMemoryError, OutputWriteError, QBCompilerError,
                     ServerUnavailableError, ServiceError, TargetError, UnsupportedOperatorError)
from .events import (Callback, CompileResult, Event, LogEvent, OutputFile, ProgressEvent,
                     StatusEvent)
from .local import CompilerNotFoundError

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "CalibrationDataError", "Callback", "CancelledError", "CompileConfig",
    "CompileResult", "CompileTimeoutError", "CompilerCrashError", "CompilerNotFoundError",
    "ConfigError", "DeviceUnavailableError", "Event", "InternalError", "LogEvent", "ModelParseError",
    "OutOfMemoryError", "OutputFile", "OutputWriteError", "ProgressDisplay", "ProgressEvent",
    "QBCompilerError", "Server", "ServerUnavailableError", "ServiceError", "StatusEvent", "TargetError",
    "UnsupportedOperatorError", "calibration", "dump_default_config", "get_body_subgraph",
    "list_presets", "mblt_compile", "mblt_compile_with_callback", "mxq_compile",
    "mxq_compile_from_mblt", "mxq_compile_from_source", "mxq_compile_with_callback",
    "read_provenance", "set_log_level",
]
__all__ += config_sections.__all__
