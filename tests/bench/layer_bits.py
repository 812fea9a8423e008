#!/usr/bin/python3
"""The three layers that lose most, put at 16 bits: does the whole model gain?

    QBC_MODELS=DIR QBC_SETS=SETS /usr/bin/python3 tests/bench/layer_bits.py [--bin build/release/bin] [MODEL ...]

DIR holds MANIFEST.tsv and the models, SETS (or --sets) calib/ and eval/ samples of each set. Every model with
samples is compiled with 8 bits and evaluated with --per-layer; the three layers with the lowest single
SQNR among those that have a 16-bit form get 16-bit activations (and weights where they have any); it is
compiled again, and one line gives the SQNR of the whole model before and after (of the worst output).
Exits 1 when a model loses more than 0.1 dB, or mobilenet_v1_0.75_224 gains less than 1 dB.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

MOST_LOSS_DB = 0.1
LEAST_GAIN_DB = {"mobilenet_v1_0.75_224": 1.0}
LAYERS = 3


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def compile_and_evaluate(arguments, model, sets, folder, config, per_layer):
    mxq = os.path.join(folder, "m.mxq")
    command = [os.path.join(arguments.bin, "qbcompiler"), "compile", "--model", model,
               "--target-device", "aries-rb", "--calib-data-path", os.path.join(sets, "calib"),
               "--output", mxq]
    if config:
        path = os.path.join(folder, "config.json")
        with open(path, "w") as file:
            json.dump(config, file)
        command += ["--compile-config", path]
    run(command)
    command = [os.path.join(arguments.bin, "qbcompiler"), "evaluate", "--model", model, "--mxq", mxq,
               "--data", os.path.join(sets, "eval"), "--json", "-"]
    if arguments.max_samples:
        command += ["--max-samples", str(arguments.max_samples)]
    begun = time.monotonic()
    report = json.loads(run(command + (["--per-layer"] if per_layer else [])).stdout)
    return report, time.monotonic() - begun


def overrides(layers):
    """Settings that put the layers with the lowest SQNR at 16 bits, and the names of these."""
    able = sorted((row for row in layers if not row["only_8_bits"]), key=lambda row: row["sqnr_db"])
    chosen = able[:LAYERS]
    bits = {"activation16Bits": [row["name"] for row in chosen],
            "weight16Bits": [row["name"] for row in chosen if row["weight_bits"]]}
    return {"bit": {"layerOverrides": bits}}, chosen


def worst_output(report):
    return min(output["sqnr_db"] for output in report["outputs"])


def measure(arguments, name, model):
    sets = os.path.join(arguments.sets, name)
    with tempfile.TemporaryDirectory(prefix="qbc_layer_bits_") as folder:
        before, seconds = compile_and_evaluate(arguments, model, sets, folder, None, True)
        config, chosen = overrides(before["layers"])
        after, _ = compile_and_evaluate(arguments, model, sets, folder, config, False)
    gain = worst_output(after) - worst_output(before)
    missed = gain < -MOST_LOSS_DB or gain < LEAST_GAIN_DB.get(name, -MOST_LOSS_DB)
    shown = ", ".join("%s %.1f" % (row["name"], row["sqnr_db"]) for row in chosen)
    print("%-30s %7.2f -> %7.2f dB  %+6.2f  %-6s per-layer evaluation %.1fs; %s"
          % (name, worst_output(before), worst_output(after), gain, "MISSED" if missed else "ok",
             seconds, shown), flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=os.environ.get("QBC_SETS"))
    parser.add_argument("--bin", default=os.environ.get("QB_BIN_DIR", "build/release/bin"))
    parser.add_argument("--max-samples", type=int, default=0)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    arguments = parser.parse_args()
    root = os.environ.get("QBC_MODELS")
    if not root or not arguments.sets:
        print("SKIPPED all models: QBC_MODELS or QBC_SETS is not set")
        return 0
    failed = 0
    with open(os.path.join(root, "MANIFEST.tsv"), newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            name = row["set"]
            if arguments.models and name not in arguments.models:
                continue
            if not os.path.isdir(os.path.join(arguments.sets, name)):
                print("%-30s SKIPPED: no samples" % name)
                continue
            try:
                failed += measure(arguments, name, os.path.join(root, row["file"].split(",")[0].split(" ")[0]))
            except subprocess.CalledProcessError as error:
                print("%-30s does not compile: %s" % (name, error.stderr.strip().splitlines()[-1][:200]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
