#!/usr/bin/python3
"""Compiles trained models over the wire and measures their accuracy.

    QBC_MODELS=DIR tests/bench/first_light.py --sets SETS [--bin build/release/bin] [--tag first-light] [MODEL ...]

DIR holds MANIFEST.tsv (columns set, file, tags, first_light_bar, ...) and the models; SETS holds, for
each set, calib/ and eval/ samples in the model's input form and labels.csv where there are labels. For each
model with the tag: `qbc compile` against a server that this script starts, `qbcompiler evaluate` on the
evaluation samples, one line with the figures, and whether the bar of the manifest holds. Exits 1 when
one does not.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

COMPARISONS = {"<=": lambda a, b: a <= b + 1e-9, ">=": lambda a, b: a >= b - 1e-9}


def figures(report):
    """The quantities that a bar can name, in percent, points and dB."""
    first = report["outputs"][0]
    values = {"SQNR": min(o["sqnr_db"] for o in report["outputs"])}
    if first["agreement"] is not None:
        values["agreement"] = first["agreement"] * 100
    if report["float_top1"] is not None:
        values["top-1 loss"] = (report["float_top1"] - report["quantized_top1"]) * 100
    return values


def check_bar(bar, values):
    """Every `NAME <= X` or `NAME >= X` of the bar; returns the parts that do not hold."""
    missed = []
    for name, comparison, number in re.findall(r"(top-1 loss|agreement|SQNR) (<=|>=) ([\d.]+)", bar):
        if name not in values or not COMPARISONS[comparison](values[name], float(number)):
            missed.append(f"{name} {comparison} {number}")
    return missed


def start_server(bin_dir, folder):
    address = "unix:" + os.path.join(folder, "qbc.sock")
    log = open(os.path.join(folder, "server.log"), "wb")
    server = subprocess.Popen(
        [os.path.join(bin_dir, "qbc-server"), "--data-dir", os.path.join(folder, "data"),
         "--listen", address, "--local-workers=1"], stdout=log, stderr=log)
    deadline = time.monotonic() + 30
    while not os.path.exists(address[5:]):
        if time.monotonic() > deadline or server.poll() is not None:
            sys.exit("the server did not start:\n" + open(log.name, errors="replace").read())
        time.sleep(0.05)
    return server, address


def measure(arguments, address, row, model, folder):
    sets = os.path.join(arguments.sets, row["set"])
    mxq = os.path.join(folder, row["set"] + ".mxq")
    begun = time.monotonic()
    subprocess.run(
        [os.path.join(arguments.bin, "qbc"), "compile", model, "--server", address,
         "--target-device", "aries-rb", "--calib-data-path", os.path.join(sets, "calib"),
         "--output", mxq], check=True, stdout=subprocess.DEVNULL)
    compile_s = time.monotonic() - begun
    command = [os.path.join(arguments.bin, "qbcompiler"), "evaluate", "--model", model, "--mxq", mxq,
               "--data", os.path.join(sets, "eval"), "--json", "-"]
    labels = os.path.join(sets, "labels.csv")
    if os.path.exists(labels):
        command += ["--labels", labels]
    begun = time.monotonic()
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL).stdout)
    return report, compile_s, time.monotonic() - begun, os.path.getsize(mxq)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", required=True)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--tag", default="first-light")
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    models = os.environ.get("QBC_MODELS")
    if not models:
        print("SKIPPED all models: QBC_MODELS is not set")
        return 0
    with open(os.path.join(models, "MANIFEST.tsv"), newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t")
                if arguments.tag in row["tags"].split(",")]
    folder = tempfile.mkdtemp(prefix="qbc_first_light_")
    server, address = start_server(arguments.bin, folder)
    failed = 0
    try:
        print(f"{'model':32} {'float':>7} {'int8':>7} {'agree':>7} {'SQNR':>7} {'compile':>8} "
              f"{'evaluate':>9} {'MiB':>6}  bar")
        for row in rows:
            if arguments.models and row["set"] not in arguments.models:
                continue
            model = os.path.join(models, row["file"].split(",")[0].split(" ")[0])
            report, compile_s, evaluate_s, size = measure(arguments, address, row, model, folder)
            values = figures(report)
            missed = check_bar(row["first_light_bar"], values)
            failed += 1 if missed else 0
            top1 = [f"{report[key] * 100:6.2f}%" if report[key] is not None else "      -"
                    for key in ("float_top1", "quantized_top1")]
            agreement = f"{values['agreement']:6.2f}%" if "agreement" in values else "      -"
            print(f"{row['set']:32} {top1[0]} {top1[1]} {agreement} {values['SQNR']:6.2f} "
                  f"{compile_s:7.1f}s {evaluate_s:8.1f}s {size / 2**20:6.1f}  "
                  f"{'MISSED ' + ', '.join(missed) if missed else 'ok'}", flush=True)
    finally:
        server.terminate()
        server.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
