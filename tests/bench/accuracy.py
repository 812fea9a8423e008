#!/usr/bin/python3
"""The accuracy of the compiler on trained models beside that of ONNX Runtime's static quantizer.

    QBC_MODELS=DIR QBC_SETS=SETS tests/bench/accuracy.py [--bin build/release/bin] [--max-samples 400]
        [--settings default] [--config FILE] [--threads 2] [--make-sets TOOL] [--json FILE] [MODEL ...]

DIR holds MANIFEST.tsv (columns set, file, tags, ...), the models and BASELINES.tsv: what ONNX Runtime reached
with each of its calibration methods (set, method, seconds, peak_mib, sqnr_db, agreement_pct, float_top1,
quantized_top1), on the first 400 evaluation samples. SETS holds calib/ and eval/ of each set, and labels.csv
where there are labels. TOOL writes missing sets (`TOOL OUT SET ...`); without it a set that is missing is
skipped.

Each model is compiled with the default settings, with --settings preset or both (comma between them) with the
preset for its task, and with the settings of FILE on top; then evaluated. SQNR is the mean of the samples' dB
over all outputs, and agreement that of the first output, as in the baselines. A line is `ok` when SQNR and
agreement are at least those of the best of ONNX Runtime's methods and top-1 (sequences of recognizers) loses at
most 0.3 points or two samples, whichever is more; models tagged `hard` owe that only when the compiler chooses
bits by itself (a FILE with autoTune). Seconds are those of calibrate, quantize and correct, memory is the
compile's peak. Exits 1 when a bar is missed.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TARGET = ["--target-device", "aries-rb"]
STAGES = ("calibrate", "quantize", "correct", "tune")
# The preset of a task, by what the manifest says about it.
PRESETS = [("vision transformer", "vision_transformer"), ("detection", "detection"),
           ("classification", "classification"), ("CIFAR-10", "classification")]
# Shapes of inputs that leave dimensions open: those of the samples.
SHAPES = {"ppocr_v4_rec": "x:1x3x48x320", "ppocr_v4_det": "x:1x3x640x640"}
MOST_LOSS_POINTS, MOST_LOSS_SAMPLES = 0.3, 2
ROUNDING_DB, ROUNDING_PERCENT = 0.005, 0.005  # of the figures in BASELINES.tsv


class Refused(Exception):
    """A command of the compiler that did not succeed."""


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))


def number(text):
    return float(text) if text else None


def best_baselines(path):
    """{set: the best figure of each column over the methods}."""
    best = {}
    for row in read_table(path):
        entry = best.setdefault(row["set"], {})
        for key in ("sqnr_db", "agreement_pct", "quantized_top1"):
            value = number(row[key])
            if value is not None and value > entry.get(key, -1e9):
                entry[key] = value
        for key in ("seconds", "peak_mib"):
            entry[key] = min(entry.get(key, 1e9), float(row[key]))
    return best


def qbcompiler(binary, *arguments, events=False):
    """Standard output of a command, with `events` one JSON a line. Raises Refused."""
    environment = dict(os.environ, QBCOMPILER_JSONL="1") if events else os.environ
    done = subprocess.run([binary] + [str(a) for a in arguments], capture_output=True, text=True,
                          check=False, env=environment)
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise Refused(f"{arguments[0]} (exit {done.returncode}): {' '.join(lines[-3:])[:300]}")
    return done.stdout


def preset_of(row):
    return next((preset for task, preset in PRESETS if task in row["task"]), None)


def shape_of(row):
    return ["--input-shape", SHAPES[row["set"]]] if row["set"] in SHAPES else []


def compile_model(options, row, folder, preset):
    """The executable, and the compile's report."""
    model = pathlib.Path(options.models) / re.findall(r"[\w./-]+\.onnx", row["file"])[0]
    mxq = folder / f"{row['set']}.mxq"
    settings = []
    if preset:
        settings += ["--config-preset", preset]
    if options.config:
        settings += ["--compile-config", options.config]
    if "wide" in row["tags"].split(","):
        settings.append("--cpu-offload")
    text = qbcompiler(options.qbcompiler, "compile", "--model", model, "--output", mxq, *TARGET,
                      "--calib-data-path", pathlib.Path(options.sets) / row["set"] / "calib",
                      "--threads", options.threads, *shape_of(row), *settings, events=True)
    return model, mxq, json.loads(text.strip().splitlines()[-1])["report"]


def has_class_indices(path):
    """Labels that are words say nothing without the list of the model's classes."""
    if not path.exists():
        return False
    with open(path, newline="", encoding="utf-8") as file:
        return all(row["label"].isdigit() for row in csv.DictReader(file))


def evaluate(options, row, model, mxq):
    folder = pathlib.Path(options.sets) / row["set"]
    labels = []
    keys = sorted(model.parent.glob("*keys*.txt"))
    if "recognition" in row["task"] and keys:
        labels = ["--labels", folder / "labels.csv", "--metric", "ctc", "--classes", keys[0]]
    elif has_class_indices(folder / "labels.csv"):
        labels = ["--labels", folder / "labels.csv"]
    text = qbcompiler(options.qbcompiler, "evaluate", "--model", model, "--mxq", mxq, "--data",
                      folder / "eval", "--max-samples", options.max_samples, "--threads",
                      options.threads, "--json", "-", *shape_of(row), *labels)
    return json.loads(text)


def figures(report, evaluation):
    """What one line shows; None where there is nothing to show."""
    first = evaluation["outputs"][0]
    seconds = report["seconds"]
    result = {
        "samples": evaluation["samples"],
        "sqnr_db": evaluation["sqnr_db_mean_all_outputs"],
        "agreement_pct": None if first["agreement"] is None else first["agreement"] * 100,
        "float_top1": None, "quantized_top1": None,
        "seconds": sum(seconds.get(stage, 0.0) for stage in STAGES),
        "peak_mib": report["peak_memory_bytes"] / 2**20,
    }
    for kind in ("sequence_accuracy", "top1"):
        if evaluation.get(f"float_{kind}") is not None:
            result["float_top1"] = evaluation[f"float_{kind}"] * 100
            result["quantized_top1"] = evaluation[f"quantized_{kind}"] * 100
            break
    return result


def missed_bars(ours, theirs, owes_top1):
    missed = []
    if "sqnr_db" in theirs and ours["sqnr_db"] < theirs["sqnr_db"] - ROUNDING_DB:
        missed.append(f"SQNR {ours['sqnr_db'] - theirs['sqnr_db']:+.2f} dB")
    if ours["agreement_pct"] is not None and "agreement_pct" in theirs:
        if ours["agreement_pct"] < theirs["agreement_pct"] - ROUNDING_PERCENT:
            missed.append(f"agreement {ours['agreement_pct'] - theirs['agreement_pct']:+.2f}")
    if ours["float_top1"] is not None and owes_top1:
        loss = ours["float_top1"] - ours["quantized_top1"]
        if loss > max(MOST_LOSS_POINTS, 100.0 * MOST_LOSS_SAMPLES / ours["samples"]) + 1e-6:
            missed.append(f"top-1 loss {loss:.2f}")
    return missed


def text_of(value, form):
    return "-" if value is None else format(value, form)


def print_line(name, settings, ours, theirs, missed):
    def pair(key, form):
        return f"{text_of(ours[key], form):>6} ({text_of(theirs.get(key), form):>6})"
    print(f"{name:29} {settings:18} {pair('sqnr_db', '.2f')} {pair('agreement_pct', '.2f')} "
          f"{text_of(ours['float_top1'], '.2f'):>6} {pair('quantized_top1', '.2f')} "
          f"{ours['seconds']:6.1f} ({theirs.get('seconds', 0):5.1f}) "
          f"{ours['peak_mib']:5.0f} ({theirs.get('peak_mib', 0):5.0f})  "
          f"{'MISSED ' + ', '.join(missed) if missed else 'ok'}", flush=True)


def has_set(options, name):
    folder = pathlib.Path(options.sets) / name
    if not (folder / "calib").is_dir() and options.make_sets:
        subprocess.run(["/usr/bin/python3", options.make_sets, options.sets, name], check=True)
    return (folder / "calib").is_dir() and (folder / "eval").is_dir()


def measure(options, row, theirs, preset):
    """One line of the table. Returns its figures with what was missed."""
    settings = preset or "default"
    tuned = bool(options.config) and "autoTune" in pathlib.Path(options.config).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="qbc_accuracy_") as temporary:
        try:
            model, mxq, report = compile_model(options, row, pathlib.Path(temporary), preset)
            ours = figures(report, evaluate(options, row, model, mxq))
        except Refused as refused:
            print(f"{row['set']:29} {settings:18} REFUSED {refused}", flush=True)
            return {"set": row["set"], "settings": settings, "refused": str(refused)}
    owes_top1 = tuned or "hard" not in row["tags"].split(",")
    missed = missed_bars(ours, theirs, owes_top1)
    print_line(row["set"], settings, ours, theirs, missed)
    return dict(ours, set=row["set"], settings=settings, missed=missed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--max-samples", type=int, default=400)
    parser.add_argument("--settings", default="default", help="default, preset, or default,preset")
    parser.add_argument("--config", help="settings on top")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--make-sets", help="program that writes missing sets")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("models_wanted", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    options.models, options.sets = os.environ.get("QBC_MODELS"), os.environ.get("QBC_SETS")
    if not options.models or not options.sets:
        print("SKIPPED: set QBC_MODELS to a folder of models and QBC_SETS to their samples")
        return 0
    options.qbcompiler = os.path.join(options.bin, "qbcompiler")
    rows = {row["set"]: row for row in read_table(os.path.join(options.models, "MANIFEST.tsv"))}
    baselines = best_baselines(os.path.join(options.models, "BASELINES.tsv"))
    unknown = [name for name in options.models_wanted if name not in baselines]
    if unknown:
        sys.exit(f"no baseline for {', '.join(unknown)}; there is one for {', '.join(baselines)}")
    print(f"{'set':29} {'settings':18} {'SQNR dB (ORT)':>15} {'agreement (ORT)':>15} {'float':>6} "
          f"{'top-1 (ORT)':>15} {'s (ORT)':>14} {'MiB (ORT)':>13}", flush=True)
    results = []
    for name in options.models_wanted or baselines:
        if not has_set(options, name):
            print(f"{name:29} SKIPPED: no samples in {options.sets}", flush=True)
            continue
        for settings in options.settings.split(","):
            preset = preset_of(rows[name]) if settings == "preset" else None
            if settings == "preset" and preset is None:
                print(f"{name:29} no preset for its task", flush=True)
                continue
            results.append(measure(options, rows[name], baselines[name], preset))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    good = sum(1 for result in results if result.get("missed") == [])
    print(f"{good} of {len(results)} lines hold")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
