"""Calibration and quantization against float inference of the same model by ONNX Runtime: same number
of samples, same threads, same machine, turn by turn. And how much of a compile statistics save.

  QB_BIN_DIR=build/release/bin /usr/bin/python3 tests/bench/calibration_speed.py
      [--samples 100] [--threads 2] [--rounds 3] [MODEL.onnx ...]

Without a model: a ResNet-50 with random weights, and the MobileNetV2 of QBC_MODELS where that is set.
The time is that of the stages calibrate, quantize and correct; the check after the compile is not
counted. Ratios are of the best round of each; the peak memory is that of the whole compile process.
Reuse is the wall time of a whole compile with --calib-stats-load over that of one without; "stages"
leaves out what is not calibration in both. CPU seconds are those of whole processes, import and check
included: on a machine that does other work too they say more than the clock.
"""
import argparse
import filecmp
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
ORT_FLOAT = os.path.join(FOLDER, "..", "ort", "ort_float.py")
MAKE_MODEL = os.path.join(FOLDER, "models", "make_resnet50.py")
MOBILENET = "mobilenet_v2_1.0_224_dequant/mobilenet_v2_1.0_224_dequant.onnx"
STAGES = ("calibrate", "quantize", "correct")

sys.path.insert(0, os.path.join(FOLDER, "..", "ort"))
import ort  # noqa: E402


def write_samples(model, folder, count):
    random = np.random.default_rng(7)
    [(_, dtype, shape)] = ort.Session(model, threads=1).inputs
    os.makedirs(folder)
    for i in range(count):
        sample = random.normal(0, 1, [max(dim, 1) for dim in shape])
        np.save(os.path.join(folder, f"{i:04d}.npy"), sample.astype(dtype))


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compile_once(model, samples, args, folder, name, flags=(), bias_correction=True):
    config = os.path.join(folder, "config.yaml")
    with open(config, "w") as file:
        file.write(f"biasCorrection: {{apply: {str(bias_correction).lower()}}}\n")
    command = [os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler"), "compile", "--model", model,
               "--calib-data-path", samples, "--target-device", "aries-rb", "--threads",
               str(args.threads), "--compile-config", config, "--output",
               os.path.join(folder, name), *flags]
    begun, cpu = time.perf_counter(), children_cpu()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env=dict(os.environ, QBCOMPILER_JSONL="1"))
    wall, cpu = time.perf_counter() - begun, children_cpu() - cpu
    report = json.loads(done.stdout.strip().splitlines()[-1])["report"]
    seconds = report["seconds"]
    return {"wall_s": wall, "cpu_s": cpu, "stage_s": sum(seconds.get(stage, 0.0) for stage in STAGES),
            "stages": {stage: seconds.get(stage, 0.0) for stage in STAGES}, "all": seconds,
            "peak_bytes": report["peak_memory_bytes"]}


def run_float(model, args):
    done = subprocess.run([PYTHON, ORT_FLOAT, model, "--samples", str(args.samples), "--threads",
                           str(args.threads)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def show_speed(floats, plain, corrected, args):
    yardstick = min(r["wall_s"] for r in floats)
    cpu = min(r["cpu_s"] for r in floats)
    print(f"ONNX Runtime, {args.samples} float inferences, {args.threads} threads: {yardstick:.2f} s, "
          f"CPU {cpu:.2f} s")
    for name, results, goal in (("biasCorrection off", plain, 1.3), ("defaults", corrected, 2.5)):
        best = min(results, key=lambda r: r["stage_s"])
        stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in best["stages"].items())
        print(f"{name:19} {best['stage_s']:.2f} s = {best['stage_s'] / yardstick:.2f} x (goal {goal}): "
              f"{stages}; CPU {min(r['cpu_s'] for r in results) / cpu:.2f} x; "
              f"peak {max(r['peak_bytes'] for r in results) / 2**20:.0f} MiB")


def show_reuse(corrected, reused, folder):
    full = min(r["wall_s"] for r in corrected)
    again = min(reused, key=lambda r: r["wall_s"])
    full_stages = min(r["stage_s"] for r in corrected)
    equal = filecmp.cmp(os.path.join(folder, "full.mxq"), os.path.join(folder, "again.mxq"), False)
    rest = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in again["all"].items())
    print(f"statistics reused: {again['wall_s']:.2f} of {full:.2f} s = "
          f"{again['wall_s'] / full:.3f} (goal 0.15), stages {again['stage_s'] / full_stages:.3f}, "
          f"CPU {min(r['cpu_s'] for r in reused) / min(r['cpu_s'] for r in corrected):.3f}, "
          f"{'equal' if equal else 'DIFFERENT'} bytes: {rest}")
    return equal


def bench(model, args):
    floats, plain, corrected, reused = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        samples = os.path.join(folder, "samples")
        write_samples(model, samples, args.samples)
        stats = os.path.join(folder, "stats")
        for _ in range(args.rounds):
            floats.append(run_float(model, args))
            plain.append(compile_once(model, samples, args, folder, "plain.mxq",
                                      bias_correction=False))
            corrected.append(compile_once(model, samples, args, folder, "full.mxq",
                                          ["--calib-stats-save", stats]))
            reused.append(compile_once(model, samples, args, folder, "again.mxq",
                                       ["--calib-stats-load", stats]))
        show_speed(floats, plain, corrected, args)
        return show_reuse(corrected, reused, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    equal = True
    with tempfile.TemporaryDirectory() as folder:
        models = args.models
        if not models:
            models = [os.path.join(folder, "resnet50.onnx")]
            subprocess.run([PYTHON, MAKE_MODEL, models[0]], check=True)
            root = os.environ.get("QBC_MODELS")
            if root:
                models.append(os.path.join(root, MOBILENET))
            else:
                print("SKIPPED MobileNetV2: QBC_MODELS is not set")
        for model in models:
            print(os.path.basename(model))
            equal = bench(model, args) and equal
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
