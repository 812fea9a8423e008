#!/usr/bin/python3
"""Do the tests of the queue's promises notice when a promise is broken?

    tests/bench/sabotage.py [--build build/release]

Breaks one line of the server at a time in a copy of its source, compiles the copy as the build does, links
the named test with it and runs it: without the fence of an attempt, with commits that are not synced, without
the sync of a blob's folder, and so on. Each test must pass as it is and fail with the sabotage. The build, which
must be up to date, and the sources stay as they are. Exits 1 when a sabotage goes unnoticed.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Sabotage:
    promise: str
    source: str
    honest: str  # occurs once in `source`
    broken: str
    test: str
    filter: str = "*"


SABOTAGES = [
    Sabotage("a stale attempt is refused by its fence", "server/jobs/sqlite_execution.cc",
             "if (!live || row->attempt != key.attempt || row->fence != key.fence) {", "if (!live) {",
             "qb_server_store_test", "Forms/*:Seeds/StoreConformance*"),
    Sabotage("what was answered is on the disk", "server/jobs/sqlite_connection.cc", "PRAGMA synchronous=FULL;",
             "PRAGMA synchronous=NORMAL;", "qb_server_store_test", "*PowerCut*LosesNothing*"),
    Sabotage("a blob's name is on the disk before it counts", "server/blobs/blob_store.cc",
             "  QB_RETURN_IF_ERROR(SyncFolder(target.substr(0, target.rfind('/'))));\n"
             "  return store_.index_.AddBlob",
             "  return store_.index_.AddBlob", "qb_server_blob_power_cut_test", "*KeepsEveryPromise*"),
    Sabotage("a blob's bytes are on the disk before it counts", "server/blobs/blob_store.cc",
             "if (fsync(fd_) != 0) {", "if (fd_ < 0) {", "qb_server_blob_power_cut_test", "*KeepsEveryPromise*"),
]


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def compile_command(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if os.path.samefile(entry["file"], source):
            return shlex.split(entry["command"])
    sys.exit(f"{build}: no compile command of {source}")


def compile_broken(build, sabotage, folder):
    """The object of the source with the line broken."""
    source = ROOT / sabotage.source
    text = source.read_text()
    if text.count(sabotage.honest) != 1:
        sys.exit(f"{sabotage.source}: the line to break occurs {text.count(sabotage.honest)} times, not once:\n"
                 f"{sabotage.honest}")
    broken, target = folder / source.name, folder / (source.name + ".o")
    broken.write_text(text.replace(sabotage.honest, sabotage.broken))
    command = compile_command(build, source)
    command[command.index("-o") + 1] = str(target)
    command = [str(broken) if os.path.exists(word) and os.path.samefile(word, source) else word for word in command]
    done = run(command, build)
    if done.returncode != 0:
        sys.exit(f"{sabotage.source} with the sabotage does not compile:\n{done.stdout[-2000:]}")
    return target


def link_with(build, test, target, program):
    """The object stands before the libraries, whose member of the same symbols is then left out."""
    commands = run(["ninja", "-t", "commands", f"bin/{test}"], build).stdout.strip().splitlines()
    words = shlex.split(commands[-1])
    words = words[words.index("&&") + 1:]
    words = words[:words.index("&&")] if "&&" in words else words
    place = words.index("-o")
    words[place + 1] = str(program)
    done = run(words[:place] + [str(target)] + words[place:], build)
    if done.returncode != 0:
        sys.exit(f"{test} with the sabotage does not link:\n{done.stdout[-2000:]}")


def passes(program, wanted):
    done = run([str(program), f"--gtest_filter={wanted}"], ROOT)
    ran = "[==========]" in done.stdout and " 0 tests from" not in done.stdout
    if not ran and done.returncode == 0:
        sys.exit(f"{program}: no test is named {wanted}")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release")
    build = (ROOT / parser.parse_args().build).resolve()
    unnoticed = 0
    for sabotage in SABOTAGES:
        with tempfile.TemporaryDirectory(prefix="qb_sabotage_") as name:
            folder = pathlib.Path(name)
            honest = passes(build / "bin" / sabotage.test, sabotage.filter)
            link_with(build, sabotage.test, compile_broken(build, sabotage, folder), folder / "test")
            noticed = honest and not passes(folder / "test", sabotage.filter)
        unnoticed += not noticed
        verdict = "noticed" if noticed else "UNNOTICED" if honest else "the test fails without it"
        print(f"{sabotage.promise:50} {sabotage.source:36} {sabotage.test:32} {verdict}", flush=True)
    print(f"{len(SABOTAGES) - unnoticed} of {len(SABOTAGES)} sabotages are noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
