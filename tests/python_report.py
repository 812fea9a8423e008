"""Runs the unittest cases of a script and, when GTEST_OUTPUT names a folder ("xml:FOLDER/"), writes
their number there in gtest's XML form, so that `./qb test` counts them like all others."""

import os
import pathlib
import sys
import unittest
import xml.sax.saxutils


def write_report(result, folder):
    name = pathlib.Path(sys.argv[0]).stem
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    quote = xml.sax.saxutils.quoteattr
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<testsuites tests="{result.testsRun}" failures="{failed}" '
             f'disabled="{len(result.skipped)}" name={quote(name)}>']
    for case, text in result.failures + result.errors:
        lines.append(f"<failure message={quote(f'{case.id()}: {text}')}/>")
    lines.append("</testsuites>")
    (pathlib.Path(folder) / f"{name}.xml").write_text("\n".join(lines) + "\n")


def main():
    program = unittest.main(exit=False, verbosity=2)
    output = os.environ.get("GTEST_OUTPUT", "")
    if output.startswith("xml:") and output.endswith("/"):
        write_report(program.result, output[len("xml:"):])
    sys.exit(0 if program.result.wasSuccessful() else 1)
