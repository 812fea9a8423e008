#!/usr/bin/python3
"""Writes the manual page of a program from what its --help says.

    make_man.py PROGRAM "ONE LINE ABOUT IT" OUTPUT

A program with commands ("NAME COMMAND --help") gets a section for each. Nothing is written twice by hand:
a flag that --help does not know is in no manual page."""

import pathlib
import re
import subprocess
import sys

# Environment that the programs look at; kept here, because no --help of a command is its place.
ENVIRONMENT = {
    "qbcompiler": [("QBCOMPILER_JSONL", "1, true, yes or on: one JSON object a line on standard output."),
                   ("QBCOMPILER_PROVENANCE", "0: an .mblt records nothing about where it came from.")],
    "qbc": [("QBC_SERVER", "Address of the server."),
            ("QBC_COMPILER", "The program that compile --local runs, instead of qbcompiler on PATH."),
            ("QBC_TOKEN_FILE, QBC_TOKEN", "A file with a token for the server, or the token."),
            ("QBC_TLS_CA, QBC_TLS_CERT, QBC_TLS_KEY", "As --tls-ca, --tls-cert and --tls-key."),
            ("XDG_RUNTIME_DIR", "Without an address, the server is looked for at qbc.sock in there."),
            ("NO_COLOR, TERM, CI", "No colours, no redrawn lines.")],
}
SEE_ALSO = ["qbc", "qbc-server", "qbc-worker", "qbc-sandbox", "qbcompiler"]


def ask(program, *arguments):
    done = subprocess.run([program, *arguments, "--help"], check=True, capture_output=True, text=True,
                          timeout=60)
    return done.stdout


def roff(text):
    """Plain text for troff: backslashes, dashes, and lines that would be requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def tagged(head, body):
    return [".TP", f"\\fB{roff(head)}\\fR", roff(" ".join(body))]


def body_of(lines, start, indent):
    """The lines after `start` that are indented further, and where they end."""
    body, at = [], start
    while at < len(lines) and lines[at].strip() and len(lines[at]) - len(lines[at].lstrip()) > indent:
        body.append(lines[at].strip())
        at += 1
    return body, at


def formatted(text):
    """The help text as troff: flags and two-column lists become tagged paragraphs, text that is indented
    stays as it is, the rest is filled."""
    result, at = [], 0
    lines = text.splitlines()
    plain = True
    while at < len(lines):
        line = lines[at]
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        columns = re.match(r"^ {2,6}(\S+(?: \S+)*?) {2,}(\S.*)$", line)
        at += 1
        if not stripped:
            plain = False
        elif columns and not stripped.startswith("$"):
            more, at = body_of(lines, at, max(indent, 8))
            result += tagged(columns[1], [columns[2], *more])
            plain = False
        elif indent >= 2 and stripped.startswith("-"):
            more, at = body_of(lines, at, indent)
            result += tagged(stripped, more)
            plain = False
        elif indent >= 2:
            more, at = [line], at
            while at < len(lines) and lines[at].startswith("  "):
                more.append(lines[at])
                at += 1
            result += [".PP", ".nf", *(roff(row) for row in more), ".fi"]
            plain = False
        else:
            result += [roff(stripped)] if plain else [".PP", roff(stripped)]
            plain = True
    return result


def commands_of(text):
    """[(command, whether it exists already)] of a general help."""
    found = re.findall(r"^  ([a-z][a-z-]*) {2,}(\S.*)$", text, re.MULTILINE)
    return [(name, "not supported yet" not in meaning) for name, meaning in found]


def page(program, about):
    name = pathlib.Path(program).name
    version = subprocess.run([program, "version" if name == "qbc" else "--version"], check=True,
                             capture_output=True, text=True, timeout=60).stdout.split()
    number = next((word for word in version if re.match(r"\d+\.", word)), "")
    help_text = ask(program)
    commands = [command for command, exists in commands_of(help_text) if exists]
    takes = "COMMAND [flags]" if commands else "[flags]"
    lines = [f'.TH {name.upper()} 1 "" "{name} {number}" "qbc"'.replace("-", "\\-"),
             ".SH NAME", f"{roff(name)} \\- {roff(about)}",
             ".SH SYNOPSIS", f".B {roff(name)}", takes,
             ".SH DESCRIPTION", *formatted(help_text)]
    if commands:
        lines.append(".SH COMMANDS")
    for command in commands:
        lines += [f'.SS "{roff(command)}"', *formatted(ask(program, command))]
    if name in ENVIRONMENT:
        lines.append(".SH ENVIRONMENT")
        for variable, meaning in ENVIRONMENT[name]:
            lines += tagged(variable, [meaning])
    others = [f"\\fB{roff(other)}\\fR(1)" for other in SEE_ALSO if other != name]
    lines += [".SH SEE ALSO", ", ".join(others)]
    return "\n".join(lines) + "\n"


def main():
    program, about, output = sys.argv[1:]
    pathlib.Path(output).write_text(page(program, about), "utf-8")


if __name__ == "__main__":
    main()
