#!/usr/bin/python3
"""Writes files as a C++ source: embed.py OUTPUT URL=FILE ...

The program carries its dashboard, so there is nothing to install and nothing that does not fit it. What is below
/static/ moves to /static/HASH/, with a hash of all of it, and pages are changed to point there: a browser may
keep such a file for ever, and gets all of them anew with another version of the program."""

import hashlib
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json"}
BYTES_PER_LINE = 24


def literal(data):
    """C++ string literals of `data`; octal escapes, because hexadecimal ones have no end."""
    lines = [data[at:at + BYTES_PER_LINE] for at in range(0, len(data), BYTES_PER_LINE)]
    return "\n".join('    "' + "".join(f"\\{byte:03o}" for byte in line) + '"' for line in lines) or '    ""'


def main():
    output, *pairs = sys.argv[1:]
    files = sorted(pair.split("=", 1) for pair in pairs)
    rows, texts = [], []
    everything = hashlib.sha256(b"".join(pathlib.Path(name).read_bytes() for _, name in files))
    folder = f"/static/{everything.hexdigest()[:12]}/"
    for number, (url, name) in enumerate(files):
        path = pathlib.Path(name)
        data = path.read_bytes()
        url = url.replace("/static/", folder)
        if path.suffix == ".html":
            data = data.replace(b"/static/", folder.encode())
        texts.append(f"constexpr char kFile{number}[] =\n{literal(data)};\n")
        tag = hashlib.sha256(data).hexdigest()[:16]
        rows.append(f'    DashboardFile{{"{url}", "{TYPES[path.suffix]}", "\\"{tag}\\"", '
                    f"{{kFile{number}, {len(data)}}}}},\n")
    pathlib.Path(output).write_text(
        '#include "server/dashboard/dashboard_files.h"\n\n#include <array>\n\n'
        "namespace qb::server {\nnamespace {\n\n" + "\n".join(texts) +
        f"\nconstexpr std::array<DashboardFile, {len(rows)}> kFiles = {{{{\n" + "".join(rows) +
        "}};\n\n}  // namespace\n\n"
        "absl::Span<const DashboardFile> DashboardFiles() { return kFiles; }\n\n"
        "}  // namespace qb::server\n", "ascii")


if __name__ == "__main__":
    main()
