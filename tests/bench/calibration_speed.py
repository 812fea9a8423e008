"""Calibration and quantization of a ResNet-50 against float inference of the same model by ONNX
Runtime: same samples, same threads, same machine, turn by turn.

  QB_BIN_DIR=build/release/bin /usr/bin/python3 tests/bench/calibration_speed.py
      [--samples 32] [--threads 2] [--rounds 3]

The time is that of the stages calibrate, quantize and correct; the check after the compile is not
counted. Ratios are of the best round of each; the peak memory is that of the whole compile process.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
ORT_FLOAT = os.path.join(FOLDER, "..", "ort", "ort_float.py")
MAKE_MODEL = os.path.join(FOLDER, "models", "make_resnet50.py")
STAGES = ("calibrate", "quantize", "correct")


def write_samples(folder, count):
    random = np.random.default_rng(7)
    os.makedirs(folder)
    for i in range(count):
        np.save(os.path.join(folder, f"{i:04d}.npy"),
                random.normal(0, 1, (1, 3, 224, 224)).astype(np.float32))


def compile_once(model, samples, threads, bias_correction, folder):
    config = os.path.join(folder, "config.yaml")
    with open(config, "w") as file:
        file.write(f"biasCorrection: {{apply: {str(bias_correction).lower()}}}\n")
    command = [os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler"), "compile", "--model", model,
               "--calib-data-path", samples, "--target-device", "aries-rb", "--threads",
               str(threads), "--compile-config", config, "--output",
               os.path.join(folder, "out.mxq")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env=dict(os.environ, QBCOMPILER_JSONL="1"))
    report = json.loads(done.stdout.strip().splitlines()[-1])["report"]
    seconds = report["seconds"]
    return {"wall_s": sum(seconds.get(stage, 0.0) for stage in STAGES),
            "stages": {stage: seconds.get(stage, 0.0) for stage in STAGES},
            "peak_bytes": report["peak_memory_bytes"]}


def run_float(model, args):
    done = subprocess.run([PYTHON, ORT_FLOAT, model, "--samples", str(args.samples), "--threads",
                           str(args.threads)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    floats, plain, corrected = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "resnet50.onnx")
        subprocess.run([PYTHON, MAKE_MODEL, model], check=True)
        samples = os.path.join(folder, "samples")
        write_samples(samples, args.samples)
        for _ in range(args.rounds):
            floats.append(run_float(model, args))
            plain.append(compile_once(model, samples, args.threads, False, folder))
            corrected.append(compile_once(model, samples, args.threads, True, folder))
    yardstick = min(r["wall_s"] for r in floats)
    print(f"ONNX Runtime, {args.samples} float inferences, {args.threads} threads: {yardstick:.2f} s")
    for name, results, goal in (("biasCorrection off", plain, 1.6), ("defaults", corrected, 3.0)):
        best = min(results, key=lambda r: r["wall_s"])
        stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in best["stages"].items())
        print(f"{name:19} {best['wall_s']:.2f} s = {best['wall_s'] / yardstick:.2f} x (goal {goal}): "
              f"{stages}; peak {max(r['peak_bytes'] for r in results) / 2**20:.0f} MiB (bar 700)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
