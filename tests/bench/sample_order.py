"""The order of the samples, their names, how they lie in files and how many threads there are change no
byte of an .mxq.

  QB_BIN_DIR=build/release/bin [QBC_MODELS=DIR] [QBC_SETS=DIR] /usr/bin/python3
      tests/bench/sample_order.py [--samples 24] [MODEL.onnx]

Without a model: the MobileNetV2 of QBC_MODELS. Samples are those of QBC_SETS where it has the model,
else noise. Calibration modes 0, 1 and 2 and methods 1 and 3 take their turns. Exit status 1 when a
digest differs.
"""
import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from calibration_speed import MOBILENET, write_samples

SETTINGS = ("calibration: {mode: 1, method: 1}", "calibration: {mode: 0, method: 3}",
            "calibration: {mode: 2, method: 3}")


def collect_samples(model, folder, count):
    name = os.path.basename(os.path.dirname(model))
    calib = os.path.join(os.environ.get("QBC_SETS", "/nonexistent"), name, "calib")
    if not os.path.isdir(calib):
        write_samples(model, folder, count)
        return
    os.makedirs(folder)
    for file in sorted(os.listdir(calib))[:count]:
        shutil.copy(os.path.join(calib, file), folder)


def digest_of(model, samples, threads, setting, folder):
    config = os.path.join(folder, "config.yaml")
    with open(config, "w") as file:
        file.write(setting + "\n")
    output = os.path.join(folder, "out.mxq")
    subprocess.run([os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler"), "compile", "--model", model,
                    "--calib-data-path", samples, "--target-device", "aries-rb", "--threads",
                    str(threads), "--compile-config", config, "--output", output], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(output, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def renamed(samples, folder, seed):
    """The same samples under other names, in another order; every other one without its batch axis."""
    os.makedirs(folder)
    files = sorted(os.listdir(samples))
    random.Random(seed).shuffle(files)
    for i, file in enumerate(files):
        array = np.load(os.path.join(samples, file))
        np.save(os.path.join(folder, f"s{i:04d}.npy"), array[0] if i % 2 else array)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--samples", type=int, default=24)
    args = parser.parse_args()
    root = os.environ.get("QBC_MODELS")
    model = args.model or (os.path.join(root, MOBILENET) if root else None)
    if model is None:
        print("SKIPPED: no model, and QBC_MODELS is not set")
        return 0
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        samples = os.path.join(folder, "samples")
        collect_samples(model, samples, args.samples)
        shuffled = [renamed(samples, os.path.join(folder, f"order{seed}"), seed) for seed in (1, 2)]
        for setting in SETTINGS:
            digests = {digest_of(model, samples, 1, setting, folder),
                       digest_of(model, shuffled[0], 2, setting, folder),
                       digest_of(model, shuffled[1], 3, setting, folder)}
            differing += len(digests) > 1
            print(f"{setting}: {len(digests)} digest{'s' if len(digests) > 1 else ''} of 3 compiles")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
