"""The base of the settings' classes: one behaviour on Pydantic 1 and 2.

Files use the camelCase alias of a field, Python its snake_case name; both are read. Unknown names are
refused, and so is a value of another type: true is no integer and "1" no number."""

from __future__ import annotations

import typing
from typing import Any, Dict, Iterable, Mapping, Optional, Type, TypeVar

import pydantic

from .errors import ConfigError
from .field_names import alias_of

# Half of what is used of it exists in one version only: a type checker knows just one of them.
_pydantic: Any = pydantic
PYDANTIC_2 = pydantic.VERSION.split(".", maxsplit=1)[0] != "1"

Model = TypeVar("Model", bound="ConfigModel")

def _type_problem(annotation: Any, value: Any) -> str:
    """What is wrong with a value's type, or ""; only what Pydantic would convert in silence."""
    expected = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}
    if annotation is bool and not isinstance(value, bool):
        return expected[bool]
    if annotation is int and (isinstance(value, bool) or not isinstance(value, int)):
        return expected[int]
    if annotation is float and (isinstance(value, bool) or not isinstance(value, (int, float))):
        return expected[float]
    if annotation is str and not isinstance(value, str):
        return expected[str]
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Literal and isinstance(value, bool):
        return "one of " + ", ".join(map(repr, arguments))
    if origin is list and isinstance(value, (list, tuple)):
        problems = (_type_problem(arguments[0], item) for item in value)
        return next((f"a list of {problem}" for problem in problems if problem), "")
    if origin is typing.Union and isinstance(value, bool):
        return "an integer or {up, gate, down}"
    return ""


def check_types(cls: Any, values: Any) -> Any:
    """Before Pydantic sees them: refuses values that it would convert."""
    if not isinstance(values, Mapping):
        return values
    hints = typing.get_type_hints(cls)
    names = {alias_of(name): name for name in cls.field_names()}
    for key, value in values.items():
        problem = _type_problem(hints.get(names.get(key, key)), value)
        if problem:
            raise ValueError(f"{key}: {value!r} is not accepted; it takes {problem}")
    return values


class _Both(pydantic.BaseModel):
    if PYDANTIC_2:
        model_config = _pydantic.ConfigDict(extra="forbid", populate_by_name=True,
                                            alias_generator=alias_of, protected_namespaces=())
        _check_types = _pydantic.model_validator(mode="before")(classmethod(check_types))
    else:
        class Config:
            extra = "forbid"
            allow_population_by_field_name = True
            alias_generator = alias_of

        _check_types = _pydantic.root_validator(pre=True, allow_reuse=True)(check_types)

        # The interface of Pydantic 2, as far as users of settings need it.
        @classmethod
        def model_validate(cls, obj: Any) -> Any:
            return cls.parse_obj(obj)

        def model_dump(self, *, by_alias: bool = False, exclude_unset: bool = False,
                       mode: str = "python", **more: Any) -> Dict[str, Any]:
            del mode  # every value is plain already
            return self.dict(by_alias=by_alias, exclude_unset=exclude_unset, **more)


class ConfigModel(_Both):
    """A section of settings. Construct it with Python names: CalibrationConfig(mode=0)."""

    @classmethod
    def field_names(cls) -> Iterable[str]:
        """The Python names of the fields, in the schema's order."""
        return list(getattr(cls, "model_fields" if PYDANTIC_2 else "__fields__"))

    def set_values(self) -> Dict[str, Any]:
        """What was set, by alias and as plain values: fields given to the constructor or assigned
        later, also those of sections that were reached through this one."""
        given = getattr(self, "model_fields_set" if PYDANTIC_2 else "__fields_set__")
        result: Dict[str, Any] = {}
        for name in self.field_names():
            value = getattr(self, name)
            if isinstance(value, ConfigModel):
                inner = value.set_values()
                if inner:
                    result[alias_of(name)] = inner
            elif name in given:
                result[alias_of(name)] = value
        return result

    def all_values(self) -> Dict[str, Any]:
        """Every field, by alias and as plain values."""
        result: Dict[str, Any] = {}
        for name in self.field_names():
            value = getattr(self, name)
            result[alias_of(name)] = value.all_values() if isinstance(value, ConfigModel) else value
        return result


def validate(model: Type[Model], values: Any, where: str) -> Model:
    """An instance from plain values. Errors: ConfigError that names every field, after `where`."""
    try:
        result: Model = model.model_validate(values)
        return result
    except pydantic.ValidationError as error:
        lines = []
        for problem in error.errors():
            path = ".".join(str(part) for part in problem["loc"] if part != "__root__")
            text = problem["msg"]
            if "extra" in problem["type"]:
                text = "there is no such setting"
            lines.append(f"{where}: {path + ': ' if path else ''}{text}")
        raise ConfigError("\n".join(lines)) from error


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Dict[str, Any]:
    """`base` with the values of `over`; objects are merged key by key."""
    result = dict(base)
    for key, value in over.items():
        old: Optional[Any] = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
