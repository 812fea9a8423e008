"""CompileConfig: the settings of a compile, read from files and presets and written as templates."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Union, cast

import yaml

from .config_model import ConfigModel, merged, validate
from .config_sections import GROUPS, PRESETS, SECTIONS, CompileConfigFields
from .errors import ConfigError
from .field_names import alias_of

PathLike = Union[str, "os.PathLike[str]"]

_MOST_BYTES = 1 << 20
_YAML_SUFFIXES = (".yaml", ".yml")


class CompileConfig(CompileConfigFields):
    """All settings of a compile. Unknown names are refused.

    Everything is checked once more, and against the target, by the compiler itself."""

    @classmethod
    def from_file(cls, path: PathLike) -> CompileConfig:
        """Settings of a .json, .yaml or .yml file, grouped or flat, in either spelling of names.
        Errors: ConfigError with the file and the field."""
        return validate(cls, flat_tree(read_tree(path), os.fspath(path)), os.fspath(path))

    @classmethod
    def from_preset(cls, name: str) -> CompileConfig:
        """The settings of a preset. Errors: ConfigError that lists the presets."""
        return validate(cls, preset_values(name), f"preset {name}")

    def grouped(self) -> Dict[str, Any]:
        """Every field as the compiler's own tools write it: by alias, sections in their groups."""
        values = self.all_values()
        members = {name: group for group, names in GROUPS.items() for name in names}
        result: Dict[str, Any] = {}
        for name, value in values.items():
            group = members.get(name)
            if group is None:
                result[name] = value
            else:
                shown = "EquivalentTransformation" if name == "equivalentTransformation" else name
                result.setdefault(group, {})[shown] = value
        return result

    def save(self, path: PathLike) -> None:
        """Writes every field: YAML to .yaml and .yml, JSON to anything else."""
        write_tree(path, self.grouped())


def list_presets() -> List[Dict[str, str]]:
    """The presets: name, what it extends ("": nothing), and for what it is."""
    return [{"name": name, "extends": extends, "meaning": meaning}
            for name, extends, meaning, _ in PRESETS]


def preset_values(name: str) -> Dict[str, Any]:
    """What a preset sets, with all that it extends, flat and by alias."""
    for known, _, _, values in PRESETS:
        if known == name:
            return cast(Dict[str, Any], json.loads(values))
    names = ", ".join(row[0] for row in PRESETS)
    raise ConfigError(f"preset '{name}': there is no such preset; accepted are {names}")


def dump_default_config(output_path: PathLike, preset: Optional[str] = None) -> None:
    """Writes a template with every setting, to be edited: the defaults, or those of a preset."""
    config = CompileConfig() if preset is None else CompileConfig.from_preset(preset)
    config.save(output_path)


def write_tree(path: PathLike, tree: Mapping[str, Any]) -> None:
    """Writes settings; missing parent folders are made."""
    target = pathlib.Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix in _YAML_SUFFIXES:
        text = yaml.safe_dump(dict(tree), sort_keys=False, allow_unicode=True)
    else:
        text = json.dumps(tree, indent=2) + "\n"
    target.write_text(text, encoding="utf-8")


def read_tree(path: PathLike) -> Dict[str, Any]:
    """The object in a settings file, as it stands there. Errors: ConfigError."""
    name = os.fspath(path)
    if not name.endswith((".json",) + _YAML_SUFFIXES):
        raise ConfigError(f"{name}: settings are read from .json, .yaml and .yml files")
    try:
        with open(name, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ConfigError(f"{name}: more than {_MOST_BYTES} bytes")
        text = data.decode("utf-8")
        tree = json.loads(text) if name.endswith(".json") else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{name}: {error}") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{name}: expected an object of settings")
    return tree


def flat_tree(tree: Mapping[str, Any], where: str) -> Dict[str, Any]:
    """Takes sections out of their groups. One that stands in both places is refused: the one that
    counts would be a matter of taste."""
    result: Dict[str, Any] = {}
    for key, value in tree.items():
        if key not in GROUPS:
            inner = {key: value}
        elif isinstance(value, dict):
            inner = {"equivalentTransformation" if name == "EquivalentTransformation" else name: section
                     for name, section in value.items()}
            for name in inner:
                if _alias(name) not in GROUPS[key]:
                    raise ConfigError(f"{where}: {key}.{name}: there is no such setting")
        else:
            raise ConfigError(f"{where}: {key}: expected an object of sections")
        for name, section in inner.items():
            if _alias(name) in result:
                raise ConfigError(f"{where}: {name} is given twice, inside a group and outside")
            result[_alias(name)] = section
    return result


def _alias(name: Any) -> str:
    return alias_of(name) if name in CompileConfigFields.field_names() else str(name)


def section_values(name: str, section: Union[ConfigModel, Mapping[str, Any]]) -> Dict[str, Any]:
    """What a section object, or a dictionary in its place, sets. `name` is the field's."""
    cls = SECTIONS[name]
    if isinstance(section, cls):
        return section.set_values()
    if isinstance(section, Mapping):
        return validate(cls, dict(section), f"{name}_config").set_values()
    raise TypeError(f"{name}_config: expected {cls.__name__}, got {type(section).__name__}")


__all__ = ["CompileConfig", "dump_default_config", "flat_tree", "list_presets", "merged",
           "preset_values", "read_tree", "section_values", "write_tree"]
