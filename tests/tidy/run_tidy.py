#!/usr/bin/env python3
"""clang-tidy over every .cc file of the project, many files in one translation unit.

    run_tidy.py BUILD [PATH...] [--jobs N] [--checks LIST]

BUILD is a configured folder of the tidy preset whose protos are generated. Without PATH all of core,
worker, client, server and tests is checked, else the files at or below the given paths.

A file by itself takes clang-tidy about 20 s, nearly all of it in the headers of the standard library,
Abseil and gRPC. So files are checked together: a generated source includes up to --group of them.
Files that cannot stand in one translation unit (two helpers of the same name in unnamed namespaces)
are found by a syntax check and put into a later group. Ends with 1 when there is a finding.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("core", "worker", "client", "server", "tests")
# Compiled for no target of the preset and no C++ of ours: wrappers that only ThreadSanitizer's link uses.
SKIPPED = {"tests/sanitizers/tsan_absl.cc"}
CLANG = "clang++-14"
CLANG_TIDY = "clang-tidy-14"
FINDING = re.compile(r"^(\S+?):(\d+):(\d+): (?:error|warning): ")


def list_sources(paths):
    """The tracked .cc files below the paths, libraries before tests, as paths relative to ROOT."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--",
                             *(f"{part}/*.cc" for part in PARTS)],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    wanted = [pathlib.Path(path).resolve().relative_to(ROOT).as_posix() for path in paths]
    chosen = [name for name in listed
              if name not in SKIPPED and (ROOT / name).exists()
              and (not wanted or any(name == path or path == "." or name.startswith(path + "/")
                                     for path in wanted))]
    return sorted(chosen, key=lambda name: (is_test(name), PARTS.index(name.split("/")[0]), name))


def is_test(name):
    """Whether a file includes GoogleTest's headers, by its name."""
    return name.endswith("_test.cc") or "/testing/" in name


def common_flags(build):
    """One command line for every file: the defines and include folders of all targets, the warnings."""
    flags = {}
    defines = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]).is_relative_to(build):
            continue  # generated code
        words = iter(shlex.split(entry["command"])[1:])
        for word in words:
            if word == "-isystem":
                flags[f"-isystem{next(words)}"] = None
            elif word.startswith("-D"):
                name, _, value = word[2:].partition("=")
                if defines.setdefault(name, value) != value:
                    sys.exit(f"run_tidy: {name} is '{defines[name]}' and '{value}': files of targets "
                             "that define a name differently cannot be checked together")
                flags[word] = None
            elif word.startswith(("-I", "-std=", "-W")) and word not in ("-Werror", "-Winvalid-pch"):
                flags[word] = None
    return [*flags, "-pthread"]


def write_unit(folder, number, files):
    """Writes the source that includes the files; returns its path."""
    unit = folder / f"group_{number:03}.cc"
    unit.write_text("".join(f'#include "{name}"  // NOLINT(bugprone-suspicious-include)\n'
                            for name in files))
    return unit


def clashing(unit, files, flags):
    """Files of the unit to leave out so that the others compile, as far as one look can tell."""
    result = subprocess.run([CLANG, *flags, "-fsyntax-only", "-w", "-ferror-limit=0",
                             "-fno-caret-diagnostics", str(unit)], capture_output=True, text=True)
    if result.returncode == 0:
        return set()
    clashes = {}  # file: those that it cannot stand beside
    alone = set()  # files with an error that names no other
    where = None
    named = False

    def end_of_error():
        if where in files and not named:
            alone.add(where)

    for line in result.stderr.splitlines():
        name = line.partition(":")[0].removeprefix(f"{ROOT}/")
        if ": error: " in line:
            end_of_error()
            where, named = name, False
        elif ": note: " in line and where in files and name in files and name != where:
            named = True
            clashes.setdefault(where, set()).add(name)
            clashes.setdefault(name, set()).add(where)
    end_of_error()
    # One file's helper can make a name ambiguous in all others: that file goes, not they.
    out = set(alone)
    while clashes:
        worst = max(clashes, key=lambda name: (len(clashes[name]), files.index(name)))
        out.add(worst)
        for other in clashes.pop(worst):
            clashes[other].discard(worst)
        clashes = {name: others for name, others in clashes.items() if others}
    # Errors in no file of the unit (inside of a template, say): half of them tries again.
    return out or set(files[len(files) // 2:])


def make_groups(sources, size, folder, flags):
    """Yields (unit, files) until every source is in a unit that compiles, or alone in its unit."""
    rest = list(sources)
    number = 0
    while rest:
        files, rest = rest[:size], rest[size:]
        deferred = []
        unit = write_unit(folder, number, files)
        while len(files) > 1 and (bad := clashing(unit, files, flags)):
            if len(bad) == len(files):
                bad.remove(files[0])
            deferred += [name for name in files if name in bad]
            files = [name for name in files if name not in bad]
            unit = write_unit(folder, number, files)
        rest = deferred + rest
        number += 1
        yield unit, files


def check(unit, flags, checks):
    """Runs clang-tidy on one unit; returns its findings as {first line: whole text}."""
    # Compiler warnings count too: the thread-safety analysis is clang's alone.
    command = [CLANG_TIDY, "--quiet", f"--checks=clang-diagnostic-*{',' + checks if checks else ''}",
               f"--header-filter=^{re.escape(str(ROOT))}/({'|'.join(PARTS)})/", str(unit), "--", *flags]
    result = subprocess.run(command, capture_output=True, text=True)
    findings = {}
    first = None
    for line in result.stdout.replace(f"{ROOT}/", "").splitlines():
        if FINDING.match(line):
            first = line
            findings[first] = line
        elif first is not None:
            findings[first] += "\n" + line
    if result.returncode != 0 and not findings:
        findings[f"{unit}: {CLANG_TIDY} ended with {result.returncode}"] = result.stderr
    return findings


def parse_arguments():
    parser = argparse.ArgumentParser(description="clang-tidy over the project, many files at a time")
    parser.add_argument("build", type=pathlib.Path, help="configured folder of the tidy preset")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="check only what is at or below PATH")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--group", type=int, default=48, help="most files in one translation unit")
    parser.add_argument("--checks", default="", help="added to the checks of .clang-tidy")
    return parser.parse_args()


def main():
    args = parse_arguments()
    build = args.build.resolve()
    flags = common_flags(build)
    sources = list_sources(args.paths)
    if not sources:
        sys.exit("run_tidy: no .cc file at " + " ".join(args.paths))
    folder = build / "tidy_units"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("group_*.cc"):
        old.unlink()
    findings = {}
    checked = 0
    lock = threading.Lock()

    def work(unit, files):
        nonlocal checked
        found = check(unit, flags, args.checks)
        with lock:
            checked += len(files)
            for first, text in found.items():
                if first not in findings:  # a header's appear in every unit that includes it
                    findings[first] = text
                    print(text, flush=True)
            print(f"run_tidy: {checked} of {len(sources)} files, {len(findings)} findings",
                  file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        runs = [pool.submit(work, unit, files)
                for unit, files in make_groups(sources, args.group, folder, flags)]
        for run in runs:
            run.result()  # an error in here is not a clean tree
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
