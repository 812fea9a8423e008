"""Times float inferences of a model in ONNX Runtime: the yardstick of the speed figures.

  /usr/bin/python3 tests/ort/ort_float.py MODEL.onnx [--samples 32] [--threads 2]

Prints one line of JSON: wall seconds and CPU seconds of `samples` inferences, after one that warms up.
"""
import argparse
import json
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ort  # noqa: E402


def random_input(random, dtype, shape):
    shape = [1 if dim < 1 else dim for dim in shape]
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(shape).astype(dtype)
    return np.zeros(shape, dtype)


def measure(model, samples, threads):
    session = ort.Session(model, threads=threads)
    random = np.random.default_rng(1)
    inputs = {name: random_input(random, dtype, shape) for name, dtype, shape in session.inputs}
    session.run(inputs)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(samples):
        session.run(inputs)
    return {"samples": samples, "threads": threads, "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    print(json.dumps(measure(args.model, args.samples, args.threads)))


if __name__ == "__main__":
    main()
