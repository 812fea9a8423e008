"""What can go wrong, by code. The codes are those of qbcompiler's protocol and of the service."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type


class QBCompilerError(Exception):
    """Root of all failures. `code` is its name in the protocol, `message` says where, what was found
    and what is accepted, `hint` what the reader can do, `details` holds what else is known."""

    code = "INTERNAL_ERROR"

    def __init__(self, message: str, *, code: Optional[str] = None, hint: str = "",
                 details: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.hint = hint
        self.details: Dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}" + (f" ({self.hint})" if self.hint else "")


class ArgumentError(QBCompilerError, ValueError):
    """A flag or an argument is missing, unknown or has a wrong value."""

    code = "ARGUMENT_ERROR"


class ConfigError(QBCompilerError, ValueError):
    """A settings file or a field of it."""

    code = "CONFIG_ERROR"


class ModelParseError(QBCompilerError):
    """The model cannot be read or is not valid."""

    code = "MODEL_PARSE_ERROR"


class UnsupportedOperatorError(QBCompilerError):
    """The model is valid, but not for this target, or the part that would do it does not exist."""

    code = "UNSUPPORTED_OPERATOR"


class CalibrationDataError(QBCompilerError):
    """Samples that cannot be read or do not fit the model's inputs."""

    code = "CALIBRATION_DATA_ERROR"


class TargetError(QBCompilerError, ValueError):
    """An unknown target device, or a scheme that it does not have."""

    code = "TARGET_ERROR"


class OutputWriteError(QBCompilerError, OSError):
    """The result could not be written."""

    code = "OUTPUT_WRITE_ERROR"


class DeviceUnavailableError(QBCompilerError):
    """The device that was required is not there."""

    code = "DEVICE_UNAVAILABLE"


class OutOfMemoryError(QBCompilerError, MemoryError):
    """The compile needed more memory than there is."""

    code = "OUT_OF_MEMORY"


class CancelledError(QBCompilerError):
    """The compile was cancelled."""

    code = "CANCELLED"


class CompileTimeoutError(QBCompilerError, TimeoutError):
    """A time limit passed."""

    code = "TIMEOUT"


class InternalError(QBCompilerError):
    """A defect of the compiler or of this package."""

    code = "INTERNAL_ERROR"


class CompilerCrashError(InternalError):
    """The compile process ended without an answer."""

    code = "COMPILER_CRASH"


class ServiceError(QBCompilerError):
    """Found by the compile service and not by the compiler: lost workers, limits, lost inputs."""

    code = "WORKER_LOST"


class ServerUnavailableError(ServiceError, ConnectionError):
    """No server answers at the address."""

    code = "SERVER_UNAVAILABLE"


_CLASSES: Dict[str, Type[QBCompilerError]] = {
    cls.code: cls
    for cls in (ArgumentError, ConfigError, ModelParseError, UnsupportedOperatorError,
                CalibrationDataError, TargetError, OutputWriteError, DeviceUnavailableError,
                OutOfMemoryError, CancelledError, CompileTimeoutError, InternalError,
                CompilerCrashError, ServerUnavailableError)
}
_SERVICE_CODES = ("WORKER_LOST", "MEMORY_LIMIT", "DISK_LIMIT", "CPU_LIMIT", "OUTPUT_LIMIT",
                  "SANDBOX_VIOLATION", "INPUT_LOST", "QUEUE_EXPIRED", "POISON", "NOT_FOUND",
                  "NOT_ALLOWED", "LIMIT_REACHED", "DATA_LOSS")


def known_codes() -> Dict[str, Type[QBCompilerError]]:
    """Every code with the class of its exception."""
    return {**_CLASSES, **{code: ServiceError for code in _SERVICE_CODES}}


def error_of(code: str, message: str, hint: str = "",
             details: Optional[Mapping[str, Any]] = None) -> QBCompilerError:
    """The exception of a code. One of a newer compiler becomes a QBCompilerError that carries it."""
    cls = known_codes().get(code, QBCompilerError)
    return cls(message, code=code, hint=hint, details=details)
