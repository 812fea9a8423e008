#!/usr/bin/python3
"""Writes grpc-api.md from the comments in proto/, and python-api.md from the docstrings of client/python.

    make_reference.py [--check]

`--check` compares instead of writing; exit code 1 when a page is stale. Needs protoc and what the Python
package needs."""

import inspect
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "client/python"))

from google.protobuf import descriptor_pb2  # noqa: E402

WRITTEN = "Written by `docs/reference/make_reference.py`; a test fails when it is stale."
KINDS = {value.number: value.name[len("TYPE_"):].lower()
         for value in descriptor_pb2.FieldDescriptorProto.Type.DESCRIPTOR.values}
# In the order in which a reader wants them.
FILES = ("job_service", "blob_service", "server_info", "worker_service", "job", "event", "blob")


def file_set():
    protos = sorted((ROOT / "proto/qbc/v1").glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "set"
        subprocess.run(["protoc", f"-I{ROOT}", "--include_source_info", f"--descriptor_set_out={target}",
                        *protos], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file
    return {pathlib.Path(file.name).stem: file for file in files}


class Comments:
    """The comments of a file, by the path of what they stand at."""

    def __init__(self, file):
        self._texts = {tuple(location.path): (location.leading_comments + location.trailing_comments)
                       for location in file.source_code_info.location}
        self._detached = {tuple(location.path): list(location.leading_detached_comments)
                          for location in file.source_code_info.location}

    def of(self, *path):
        return re.sub(r"\s*\n\s*", " ", self._texts.get(path, "").strip())

    def of_file(self):
        """What stands above `syntax`."""
        return " ".join([*self._detached.get((12,), []), self._texts.get((12,), "")]).strip()


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def type_name(field, messages):
    name = field.type_name.rsplit(".", 1)[-1] if field.type_name else KINDS[field.type]
    if field.type_name in messages:  # the entry of a map
        key, value = messages[field.type_name].field
        return f"map<{type_name(key, messages)}, {type_name(value, messages)}>"
    return f"repeated {name}" if field.label == field.LABEL_REPEATED else name


def message_lines(message, comments, path, package):
    entries = {f".{package}.{message.name}.{nested.name}": nested for nested in message.nested_type
               if nested.options.map_entry}
    lines = [f"### {message.name}", ""]
    about = comments.of(*path)
    lines += [about, ""] if about else []
    if message.field:
        lines += ["| field | type | meaning |", "| --- | --- | --- |"]
    for number, field in enumerate(message.field):
        oneof = f" (one of `{message.oneof_decl[field.oneof_index].name}`)" if field.HasField(
            "oneof_index") else ""
        lines.append(f"| `{field.name}` | {cell(type_name(field, entries))} | "
                     f"{cell(comments.of(*path, 2, number))}{oneof} |")
    return lines + ([""] if message.field else ["No fields.", ""])


def grpc_page():
    files = file_set()
    lines = ["# The gRPC interface", "", WRITTEN, "",
             "Package `qbc.v1`. Status codes that a method may answer with stand at the method; a refusal "
             "names its failure in the trailer `qbc-failure` and in a `google.rpc.ErrorInfo`.", ""]
    for name in [name for name in FILES if name in files] + sorted(set(files) - set(FILES)):
        file = files[name]
        comments = Comments(file)
        lines += [f"## {name}.proto", "", comments.of_file(), ""]
        for at, service in enumerate(file.service):
            lines += [f"### service {service.name}", ""]
            for number, method in enumerate(service.method):
                sent = "stream " * method.client_streaming + method.input_type.rsplit(".", 1)[-1]
                got = "stream " * method.server_streaming + method.output_type.rsplit(".", 1)[-1]
                lines += [f"**{method.name}**(`{sent}`) returns `{got}`", "",
                          comments.of(6, at, 2, number), ""]
        for at, message in enumerate(file.message_type):
            lines += message_lines(message, comments, (4, at), file.package)
        for at, enum in enumerate(file.enum_type):
            lines += [f"### enum {enum.name}", ""]
            about = comments.of(5, at)
            lines += [about, ""] if about else []
            lines += ["| value | number | meaning |", "| --- | --- | --- |"]
            lines += [f"| `{value.name}` | {value.number} | {cell(comments.of(5, at, 2, number))} |"
                      for number, value in enumerate(enum.value)]
            lines.append("")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def signature(function):
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind == parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        stars = "**" if parameter.kind == parameter.VAR_KEYWORD else ""
        parts.append(f"{stars}{parameter.name}{default}")
    return ", ".join(parts)


def doc(thing):
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(thing) or "")


def function_lines(function, prefix=""):
    return [f"### {prefix}{function.__name__}", "", "```python",
            f"{prefix}{function.__name__}({signature(function)})", "```", "", doc(function), ""]


def python_page():
    import qbcompiler
    from qbcompiler import calibration, config_sections, errors, events
    from qbcompiler.model_dict.parser.patcher import parts

    lines = ["# The Python package", "", WRITTEN, "", "How to use it: [python.md](../python.md). Settings, field "
             "by field: [compile-config.md](compile-config.md).", "", "## Functions", ""]
    names = [name for name in qbcompiler.__all__ if inspect.isfunction(getattr(qbcompiler, name))]
    for name in names:
        lines += function_lines(getattr(qbcompiler, name))
    for name in ("make_calib", "make_calib_man"):
        lines += function_lines(getattr(calibration, name), "calibration.")
    lines += function_lines(parts.available_parts, "model_dict.parser.patcher.parts.")
    lines += ["## CompileConfig", "", doc(qbcompiler.CompileConfig), "",
              "| method | |", "| --- | --- |"]
    for name in ("from_file", "from_preset", "grouped", "save", "set_values", "all_values"):
        method = getattr(qbcompiler.CompileConfig, name)
        lines.append(f"| `{name}({signature(method).replace('self, ', '').replace('self', '')})` | "
                     f"{cell(doc(method))} |")
    lines += ["", "`model_validate(values)` and `model_dump(by_alias=..., exclude_unset=...)` are there on "
              "Pydantic 1 and 2.", "", "| section | class |", "| --- | --- |"]
    lines += [f"| `{field}` | `{cls.__name__}` |" for field, cls in config_sections.SECTIONS.items()]
    lines += ["", "## Servers, events and results", ""]
    for cls in (qbcompiler.Server, events.StatusEvent, events.ProgressEvent, events.LogEvent, events.CompileResult,
                events.OutputFile):
        fields = ", ".join(f"`{name}`" for name in cls.__dataclass_fields__)
        lines += [f"- **{cls.__name__}** ({fields}): {doc(cls)}"]
    lines += ["", "## Errors", "", "| code | class | |", "| --- | --- | --- |"]
    lines += [f"| `{code}` | `{cls.__name__}` | {cell(doc(cls))} |"
              for code, cls in errors.known_codes().items()]
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def main():
    stale = []
    for name, text in (("grpc-api.md", grpc_page()), ("python-api.md", python_page())):
        path = HERE / name
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            stale.append(name)
    if stale:
        sys.exit(f"stale: {', '.join(stale)}; run docs/reference/make_reference.py")


if __name__ == "__main__":
    main()
