"""Where the settings of a compile come from, in the form in which the compiler takes them.

Highest first: explicit arguments, section objects, then the config file or the preset, then defaults.
Of a section object count the fields that were set. With both a preset and a file the preset is used."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .config import CompileConfig, PathLike, flat_tree, preset_values, read_tree, section_values
from .config_model import ConfigModel, merged, validate
from .config_sections import SECTIONS
from .errors import ConfigError
from .field_names import alias_of

ConfigSource = Union[PathLike, CompileConfig, Mapping[str, Any]]

# Arguments that the compiler has flags for.
FLAGS = ("device", "inference_scheme", "cpu_offload", "use_random_calib")
# Arguments that are fields of the same name in the settings.
_FIELDS = ("optimize_option", "buffer_mode", "force_npu_input_reposition",
           "force_npu_output_reposition", "image_channels", "split_blocks", "split_parts")


@dataclasses.dataclass
class Settings:
    """What goes to the compiler: a preset, or the text of a file, and flags that win over both.
    `text_name` tells in messages where the text comes from."""

    preset: str = ""
    text: str = ""
    text_name: str = ""
    flags: Dict[str, Union[str, bool]] = dataclasses.field(default_factory=dict)
    warnings: List[str] = dataclasses.field(default_factory=list)

    def flag_list(self) -> List[str]:
        result: List[str] = []
        for name, value in self.flags.items():
            if isinstance(value, bool):
                result.append(f"--{name}" if value else f"--no-{name}")
            else:
                result += [f"--{name}", value]
        return result

    def file_flags(self, folder: str) -> List[str]:
        """The flags of preset and file; a text is written into `folder`."""
        result: List[str] = []
        if self.preset:
            result += ["--config-preset", self.preset]
        if self.text:
            path = pathlib.Path(folder) / "settings.yaml"  # JSON is YAML too
            path.write_text(self.text, encoding="utf-8")
            result += ["--compile-config", str(path)]
        return result


def _overrides(arguments: Mapping[str, Any], fields: Tuple[str, ...]) -> Dict[str, Any]:
    """The arguments and section objects that no flag stands for, as a tree of settings."""
    tree: Dict[str, Any] = {}
    for name in SECTIONS:
        section = arguments.get(f"{name}_config")
        if section is not None:
            values = section_values(name, section)
            if values:
                tree[alias_of(name)] = values
    explicit: Dict[str, Any] = {alias_of(name): arguments[name] for name in fields
                                if arguments.get(name) is not None}
    if arguments.get("bias_correction") is not None:
        explicit["biasCorrection"] = {"apply": arguments["bias_correction"]}
    if explicit:
        validate(CompileConfig, explicit, "argument")
    return merged(tree, explicit)


def _base(config: Optional[ConfigSource]) -> Tuple[Dict[str, Any], str]:
    if config is None:
        return {}, "defaults"
    if isinstance(config, ConfigModel):
        return config.set_values(), "compile_config"
    if isinstance(config, Mapping):
        return flat_tree(config, "compile_config"), "compile_config"
    return flat_tree(read_tree(config), os.fspath(config)), os.fspath(config)


def resolve(arguments: Mapping[str, Any], flags: Tuple[str, ...]) -> Settings:
    """The settings that API arguments ask for. `flags`: those of FLAGS that the command to come has.
    Errors: ConfigError, TypeError."""
    settings = Settings()
    for name in flags:
        value = arguments.get(name)
        if value is not None:
            settings.flags[name.replace("_", "-")] = value if isinstance(value, bool) else str(value)
    preset, config = arguments.get("config_preset"), arguments.get("compile_config")
    if preset and config is not None:
        settings.warnings.append("both config_preset and compile_config are given: the preset is used, "
                                 "compile_config is ignored")
        config = None
    fields = _FIELDS + tuple(name for name in FLAGS if name not in flags)
    overrides = _overrides(arguments, fields)
    if preset:
        if not overrides:
            settings.preset = preset
            return settings
        tree, name = preset_values(preset), f"preset {preset}"
    elif isinstance(config, (str, os.PathLike)) and not overrides:
        # The compiler reads the text as it is: its messages then name the user's own lines.
        read_tree(config)
        settings.text = pathlib.Path(config).read_text(encoding="utf-8")
        settings.text_name = os.fspath(config)
        return settings
    else:
        tree, name = _base(config)
        if config is not None and not isinstance(config, (str, os.PathLike)):
            validate(CompileConfig, tree, name)
    merged_tree = merged(tree, overrides)
    if merged_tree:
        try:
            settings.text = json.dumps(merged_tree)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{name}: a value that JSON cannot hold: {error}") from error
        settings.text_name = name
    return settings
