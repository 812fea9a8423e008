#!/usr/bin/python3
"""Core modes against each other and the memory plans, on real models and generated graphs.

    [QBC_MODELS=DIR] QB_BIN_DIR=build/release/bin /usr/bin/python3 tests/bench/core_modes.py [--graphs 200] [MODEL ...]

DIR holds MANIFEST.tsv (columns set, file, ...) and the models; without it that half is SKIPPED. Each
model that compiles is compiled for aries-rb with every core mode (random calibration: the bits are
compared, not the accuracy), run on six random samples in each mode, and the outputs compared byte by
byte with those of `single`; one line a model with the arena's certificate and the estimates. Then the
unit tests of core modes and of the memory planner run on generated graphs. Exits 1 when anything
differs or an arena of `single` is above its lower bound.
"""

import argparse
import csv
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

MODES = ["single", "multi", "global4", "global8"]
SAMPLES = 6  # not a multiple of four: the last batch of `multi` is filled up


def write_npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%df" % len(values), *values))


def write_samples(folder, inputs):
    """Random samples, and the path that --data takes: a folder, or a map for several inputs."""
    source = random.Random(1)
    rows = []
    for sample in range(SAMPLES):
        row = {}
        for number, tensor in enumerate(inputs):
            count = 1
            for extent in tensor["shape"]:
                count *= extent
            path = os.path.join(folder, "data%d" % number, "s%d.npy" % sample)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_npy(path, tensor["shape"], [source.uniform(-1, 1) for _ in range(count)])
            row[tensor["name"]] = path
        rows.append(row)
    if len(inputs) == 1:
        return os.path.join(folder, "data0")
    table = os.path.join(folder, "data.json")
    with open(table, "w") as file:
        json.dump(rows, file)
    return table


def read_outputs(folder):
    found = {}
    for base, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(base, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_model(compiler, model, shapes, folder):
    """None when the model does not compile; else (line, whether everything holds)."""
    mxq = os.path.join(folder, "m.mxq")
    done = run([compiler, "compile", "--model", model, "--target-device", "aries-rb",
                "--inference-scheme", "all", "--use-random-calib", "--output", mxq]
               + ["--input-shape=" + shape for shape in shapes])
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no message"
    manifest = json.loads(run([compiler, "info", "--mxq", mxq]).stdout)
    data = write_samples(folder, manifest["inputs"])
    outputs = {}
    for mode in MODES:
        target = os.path.join(folder, mode)
        done = run([compiler, "run", "--mxq", mxq, "--core-mode", mode, "--data", data,
                    "--output", target])
        if done.returncode != 0:
            return False, "%s: %s" % (mode, done.stderr.strip()[-200:])
        outputs[mode] = read_outputs(target)
    different = [mode for mode in MODES if outputs[mode] != outputs["single"]]
    plans = manifest["plans"]
    arena = plans["single"]
    exact = arena["arena_bytes"] == arena["arena_lower_bound_bytes"]
    cycles = {mode: plans[mode]["estimated_cycles"] for mode in MODES}
    line = "arena %d bound %d%s; cycles single %d global4 %.2fx global8 %.2fx; %s" % (
        arena["arena_bytes"], arena["arena_lower_bound_bytes"], "" if exact else " ABOVE BOUND",
        cycles["single"], cycles["single"] / max(1, cycles["global4"]),
        cycles["single"] / max(1, cycles["global8"]),
        "%d outputs equal in all modes" % len(outputs["single"]) if not different
        else "DIFFERENT: " + ", ".join(different))
    return not different and exact and bool(outputs["single"]), line


def models(root, chosen):
    with open(os.path.join(root, "MANIFEST.tsv"), newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            path = os.path.join(root, row["file"].split()[0])
            if os.path.exists(path) and (not chosen or row["set"] in chosen):
                yield row["set"], path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--input-shape", action="append", default=[], metavar="MODEL=NAME:DxDx...",
                        help="of a model whose inputs are open")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_args()
    bin_dir = os.environ["QB_BIN_DIR"]
    failed = 0
    root = os.environ.get("QBC_MODELS")
    if root is None:
        print("SKIPPED: QBC_MODELS is not set, no real models")
    else:
        for name, path in models(root, arguments.models):
            with tempfile.TemporaryDirectory() as folder:
                shapes = [s.split("=", 1)[1] for s in arguments.input_shape
                          if s.split("=", 1)[0] == name]
                holds, line = check_model(os.path.join(bin_dir, "qbcompiler"), path, shapes, folder)
            failed += 1 if holds is False else 0
            print("%-32s %s%s" % (name, "does not compile: " if holds is None else "", line), flush=True)
    done = subprocess.run(
        [os.path.join(bin_dir, "qb_npu_test"), "--gtest_brief=1",
         "--gtest_filter=CoreModes.GiveTheSameBits:PlanMemory.StaysNear*"],
        env=dict(os.environ, QB_GRAPHS=str(arguments.graphs)))
    print("%d generated graphs: %s" % (arguments.graphs, "ok" if done.returncode == 0 else "FAILED"))
    sys.exit(1 if failed or done.returncode != 0 else 0)


if __name__ == "__main__":
    main()
