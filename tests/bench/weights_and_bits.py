#!/usr/bin/python3
"""What second-order rounding saves of 4-bit weights, and what the search for bits gains.

    QBC_MODELS=DIR QBC_SETS=SETS /usr/bin/python3 tests/bench/weights_and_bits.py [--bin build/release/bin] [MODEL ...]

DIR holds MANIFEST.tsv and the models, SETS (or --sets) calib/ and eval/ samples of each set. Every model is
compiled with 8 bits, with 4-bit weights rounded to the nearest, with each solver of hessianQuant, with
searchWeightScale, and with 8 bits and autoTune; one line each gives SQNR and agreement of the worst output and,
where the set has labels, the accuracy of both models. Exits 1 when second-order rounding is worse than rounding
to the nearest, or autoTune worse than 8 bits, by more than 0.1 dB.
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
FOUR = {"bit": {"layerOverrides": {"weight4Bits": ["*"]}}}
TEXT = {"ppocr_v4_rec": "ppocr_v4/ppocr_keys_v1.txt"}
SHAPES = {"ppocr_v4_rec": "x:1x3x48x320"}


def forms():
    yield "w8", {}
    yield "w4 nearest", FOUR
    yield "w4 scale search", dict(FOUR, searchWeightScale={"apply": True})
    for solver in ("symmetric", "asymmetric_causal", "asymmetric_refit"):
        yield "w4 " + solver, dict(FOUR, hessianQuant={"apply": True, "solver": solver})
    yield "w8 autoTune", {"autoTune": {"apply": True}}


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def measure(arguments, root, name, model, config):
    sets = os.path.join(arguments.sets, name)
    shape = ["--input-shape", SHAPES[name]] if name in SHAPES else []
    with tempfile.TemporaryDirectory(prefix="qbc_weights_") as folder:
        settings = os.path.join(folder, "config.json")
        with open(settings, "w") as file:
            json.dump(config, file)
        mxq = os.path.join(folder, "m.mxq")
        begun = time.monotonic()
        run([os.path.join(arguments.bin, "qbcompiler"), "compile", "--model", model, "--target-device", "aries-rb",
             "--calib-data-path", os.path.join(sets, "calib"), "--compile-config", settings, "--output", mxq] + shape)
        seconds = time.monotonic() - begun
        command = [os.path.join(arguments.bin, "qbcompiler"), "evaluate", "--model", model, "--mxq", mxq,
                   "--data", os.path.join(sets, "eval"), "--json", "-"] + shape
        if os.path.isfile(os.path.join(sets, "labels.csv")):
            command += ["--labels", os.path.join(sets, "labels.csv")]
        if name in TEXT:
            command += ["--metric", "ctc", "--classes", os.path.join(root, TEXT[name])]
        if arguments.max_samples:
            command += ["--max-samples", str(arguments.max_samples)]
        return json.loads(run(command).stdout), seconds


def worst(report, figure):
    values = [output[figure] for output in report["outputs"] if output[figure] is not None]
    return min(values) if values else None


def accuracy(report):
    for kind in ("sequence_accuracy", "top1"):
        pair = [report.get("float_" + kind), report.get("quantized_" + kind)]
        if None not in pair:
            return "%s %.2f -> %.2f %%" % (kind, pair[0] * 100, pair[1] * 100)
    return ""


def compare(arguments, root, name, model):
    sqnr = {}
    for form, config in forms():
        try:
            report, seconds = measure(arguments, root, name, model, config)
        except subprocess.CalledProcessError as error:
            print("%-28s %-22s does not compile: %s"
                  % (name, form, error.stderr.strip().splitlines()[-1][:200]), flush=True)
            return 0
        sqnr[form] = worst(report, "sqnr_db")
        agreement = worst(report, "agreement")
        print("%-28s %-22s %7.2f dB  %s  %s  %.0f s"
              % (name, form, sqnr[form], "-" if agreement is None else "agreement %.2f %%" % (agreement * 100),
                 accuracy(report), seconds), flush=True)
    failed = [form for form in sqnr if form.startswith("w4 ") and sqnr[form] < sqnr["w4 nearest"] - MOST_LOSS_DB]
    failed += ["w8 autoTune"] if sqnr["w8 autoTune"] < sqnr["w8"] - MOST_LOSS_DB else []
    for form in failed:
        print("%-28s %-22s MISSED" % (name, form), flush=True)
    return len(failed)


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
                print("%-28s SKIPPED: no samples" % name)
                continue
            failed += compare(arguments, root, name, os.path.join(root, row["file"].split(",")[0].split(" ")[0]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
