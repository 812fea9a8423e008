#!/usr/bin/python3
"""A linker launcher: link_archives.py NAME,NAME,... COMMAND...

Runs the command that links a program with the archives of some libraries in the place of their shared ones. A program
that people start at a prompt spends most of its start on loading and relocating shared libraries; CMake's packages of
these libraries only know the shared ones. NAME is "grpc" for libgrpc; "absl_*" stands for all that begin so; "stdc++" is
the compiler's own, when no other C++ library stays shared. Libraries that other shared libraries of the same program
use stay shared: there must be only one of each in a process. Without an archive everything is as it was."""

import fnmatch
import glob
import os
import pathlib
import sys


def main():
    patterns = [f"lib{name}" for name in sys.argv[1].split(",")]
    kept, folders, shared_ones = [], [], 0
    for word in sys.argv[2:]:
        name, shared, _ = os.path.basename(word).partition(".so")
        is_chosen = shared and any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
        if is_chosen and (pathlib.Path(word).parent / f"{name}.a").exists():
            folders.append(os.path.dirname(word))
        else:
            shared_ones += bool(is_chosen)
            kept.append(word)
    # With what they need themselves; an archive that nothing asks for adds nothing.
    archives = sorted({path for folder in folders for pattern in patterns for path in glob.glob(f"{folder}/{pattern}.a")})
    if archives:
        # Shared libraries come after them: -latomic, -lssl and the like, in the order that there was.
        last = max((place for place, word in enumerate(kept) if word.endswith((".a", ".o"))), default=len(kept) - 1)
        kept[last + 1:last + 1] = ["-Wl,--start-group", *archives, "-Wl,--end-group"]
    if archives and not shared_ones and "libstdc++" in patterns:
        kept += ["-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections"]
    os.execvp(kept[0], kept)


if __name__ == "__main__":
    main()
