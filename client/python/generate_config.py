#!/usr/bin/python3
"""Writes qbcompiler/config_sections.py from the compiler's own schema and presets.

    generate_config.py COMPILER [--check]

COMPILER is a built qbcompiler. The table of settings stands once, in core/config/schema.cc; this file
is how it reaches Python. `--check` compares instead of writing: exit code 1 when the file is stale."""

import json
import keyword
import pathlib
import re
import runpy
import subprocess
import sys
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parent / "qbcompiler"
TARGET = PACKAGE / "config_sections.py"
# Sections in the grouped spelling are the flat ones once more.
GROUPS = ("quantization", "advancedQuantization")
# Names that the API gives to sections; all others are the alias with "Config".
CLASS_NAMES = {"runtimeOptions": "RuntimeOptions"}

HEADER = '''"""Settings as classes. Written by generate_config.py from `qbcompiler dump-config --schema`; a test
fails when it is stale."""

from typing import Any, Dict, List, Literal, Tuple, Type, Union

from pydantic import Field

from .config_model import ConfigModel

'''


# The package as a whole cannot be imported while the file that is written here is not right.
alias_of = runpy.run_path(str(PACKAGE / "field_names.py"))["alias_of"]


def ask(compiler, *arguments):
    return subprocess.run([compiler, *arguments], check=True, capture_output=True, text=True).stdout


def snake_case(name):
    if name == "calibDataPaths":
        return "calib_data_path"
    return re.sub(r"(?<=[^A-Z])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", name).lower()


def is_section(schema):
    return schema.get("type") == "object" and "properties" in schema


def leaf_type(schema):
    if "oneOf" in schema:
        return "Union[int, Dict[str, int]]"
    if "enum" in schema:
        return f"Literal[{', '.join(literal(value) for value in schema['enum'])}]"
    kind = schema.get("type")
    if kind == "array":
        items = schema["items"]
        return f"List[{'Dict[str, Any]' if 'oneOf' in items else leaf_type(items)}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        plain = isinstance(values, dict) and values.get("type") == "integer"
        return f"Dict[str, {leaf_type(values) if plain else 'Any'}]"
    return {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}[kind]


def literal(value):
    return json.dumps(value) if isinstance(value, str) else repr(value)


def bounds(schema):
    text = ""
    for key, argument in (("minimum", "ge"), ("maximum", "le")):
        if key in schema and "enum" not in schema:
            text += f", {argument}={schema[key]!r}"
    return text


def field_line(name, schema):
    default = schema["default"]
    if isinstance(default, (list, dict)):
        start = f"default_factory=lambda: {literal_tree(default)}" if default else (
            f"default_factory={'list' if isinstance(default, list) else 'dict'}")
    else:
        start = literal(default)
    description = f", description={json.dumps(schema['description'])}"
    return field(f"{name}: {leaf_type(schema)}", f"{start}{bounds(schema)}", description)


def field(declaration, start, description=""):
    line = f"    {declaration} = Field({start}{description})"
    if len(line) <= 100:
        return [line]
    lines = [f"    {declaration} = Field("]
    if len(start + description) <= 91:
        return lines + [f"        {start}{description})"]
    return lines + [f"        {start},", f"        {description[2:]})"]


def literal_tree(value):
    return json.dumps(value).replace("true", "True").replace("false", "False")


class Writer:
    def __init__(self):
        self.classes = []  # blocks of lines, each class after those that it names

    @staticmethod
    def alias(name):
        snake = snake_case(name)
        assert not keyword.iskeyword(snake), snake
        assert alias_of(snake) == name, f"field_names.py does not know how files spell {snake}"
        return snake

    def write_class(self, class_name, schema, meaning):
        lines = [f"class {class_name}(ConfigModel):", f'    """{meaning}"""', ""]
        for name, child in schema["properties"].items():
            if name in GROUPS and is_section(child):
                continue
            snake = self.alias(name)
            if is_section(child):
                prefix = "" if class_name == "CompileConfigFields" else class_name.replace("Config", "")
                child_class = CLASS_NAMES.get(name, prefix + name[0].upper() + name[1:] + "Config")
                self.write_class(child_class, child, f"`{name}` of {'a config' if not prefix else class_name}.")
                lines.extend(field(f"{snake}: {child_class}", f"default_factory={child_class}"))
            else:
                lines.extend(field_line(snake, child))
        self.classes.append(lines)


def differences(tree, defaults):
    """What of `tree` is not as in `defaults`; lists are values."""
    result = {}
    for key, value in tree.items():
        if isinstance(value, dict) and isinstance(defaults.get(key), dict) and defaults[key]:
            inner = differences(value, defaults[key])
            if inner:
                result[key] = inner
        elif value != defaults.get(key):
            result[key] = value
    return result


def flat(tree):
    result = {}
    for key, value in tree.items():
        result.update(value if key in GROUPS else {key: value})
    if "EquivalentTransformation" in result:
        result["equivalentTransformation"] = result.pop("EquivalentTransformation")
    return result


def presets(compiler):
    """[(name, extends, meaning, values)], values as JSON that says only what the preset sets."""
    schema = json.loads(ask(compiler, "dump-config", "--schema"))
    line = subprocess.run([compiler, "presets"], check=True, capture_output=True, text=True,
                          env={"QBCOMPILER_JSONL": "1"}).stdout.splitlines()[-1]
    defaults = dumped(compiler)
    return schema, [(row["name"], row["extends"], row["meaning"],
                     differences(dumped(compiler, row["name"]), defaults))
                    for row in json.loads(line)["presets"]]


def dumped(compiler, preset=None):
    arguments = ["dump-config"] + (["--preset", preset] if preset else [])
    line = subprocess.run([compiler, *arguments], check=True, capture_output=True, text=True,
                          env={"QBCOMPILER_JSONL": "1"}).stdout.splitlines()[-1]
    return flat(json.loads(line)["config"])


def preset_lines(rows):
    lines = ["# (name, extends, meaning, what it sets as JSON).",
             "PRESETS: Tuple[Tuple[str, str, str, str], ...] = ("]
    for name, extends, meaning, values in rows:
        lines.append(f"    ({json.dumps(name)}, {json.dumps(extends)}, {json.dumps(meaning)},")
        text = json.dumps(values)
        parts = textwrap.wrap(text, 84, break_long_words=False, break_on_hyphens=False,
                              drop_whitespace=False)
        lines.extend(f"     {part!r}" for part in parts)
        lines[-1] += "),"
    return lines + [")", ""]


def generate(compiler):
    schema, rows = presets(compiler)
    writer = Writer()
    writer.write_class("CompileConfigFields", schema, "All settings of a compile.")
    text = HEADER
    for lines in writer.classes:
        text += "\n" + "\n".join(lines) + "\n\n"
    sections = [(snake_case(name), CLASS_NAMES.get(name, name[0].upper() + name[1:] + "Config"))
                for name, child in schema["properties"].items()
                if is_section(child) and name not in GROUPS]
    text += "\n# Sections by the name of their field in CompileConfig.\n"
    text += "SECTIONS: Dict[str, Type[ConfigModel]] = {\n"
    text += "".join(f'    "{field}": {class_name},\n' for field, class_name in sections) + "}\n"
    text += "# The sections that the grouped spelling puts into each group.\n"
    text += "GROUPS: Dict[str, Tuple[str, ...]] = {\n"
    for group in GROUPS:
        names = [name for name in schema["properties"][group]["properties"]
                 if name != "EquivalentTransformation"]
        inner = ", ".join(json.dumps(name) for name in names)
        text += "".join(line + "\n" for line in textwrap.wrap(
            f'"{group}": ({inner}),', 96, initial_indent="    ", subsequent_indent="        "))
    text += "}\n"
    names = [lines[0].split("(")[0][len("class "):] for lines in writer.classes]
    exported = sorted(name for name in names if name != "CompileConfigFields")
    text += "\n".join(preset_lines(rows))
    text += "\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in exported) + "]\n"
    return text


def main():
    text = generate(sys.argv[1])
    if "--check" in sys.argv:
        if TARGET.read_text("utf-8") != text:
            sys.exit(f"{TARGET} is stale; run {sys.argv[0]} {sys.argv[1]}")
    else:
        TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
