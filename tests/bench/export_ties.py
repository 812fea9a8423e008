#!/usr/bin/python3
"""Which of the two is right where the simulator and ONNX Runtime differ on the export of a product.

    tests/bench/export_ties.py [--bin build/release/bin] [--elements 10000000]

Compiles a fully connected layer, runs both on the same samples and recomputes every differing element in
whole numbers: the 32-bit sum from the codes and weights of the export, times the product of the export's
float32 scales as an exact fraction, rounded once. Prints for each such element the exact value, ours and
theirs, and its distance from the tie; exits 1 when one of ours is not the exact rounding.
"""
import argparse
import fractions
import os
import pathlib
import sys
import tempfile

import numpy as np
from onnx import load, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "export_onnx")]
import cases  # noqa: E402
import exported  # noqa: E402

BLOCK = 200  # samples at a time


def layer_of(path):
    """Scales, weights and bias of the one product in an export."""
    values = {t.name: numpy_helper.to_array(t) for t in load(str(path)).graph.initializer}
    weights = next(v for v in values.values() if v.dtype == np.int8 and v.ndim >= 2)
    scales = next(v for k, v in values.items() if k.endswith("weights/scales"))
    bias = next(v for v in values.values() if v.dtype == np.int32)
    zero_points = [v for v in values.values() if v.dtype == np.int8 and v.ndim == 0]
    if any(int(zero) != 0 for zero in zero_points):
        sys.exit("this measurement takes a layer whose zero points are 0")
    tensors = {k: v for k, v in values.items() if k.endswith("/scale") and v.ndim == 0}
    x = next(v for k, v in tensors.items() if k.startswith("x"))
    y = next(v for k, v in tensors.items() if not k.startswith("x"))
    # [outputs, inputs]: a convolution of one pixel has trailing ones.
    is_convolution = weights.ndim > 2
    matrix = weights.reshape(weights.shape[:2]) if is_convolution else weights.T
    return np.float32(x), np.float32(y), matrix.astype(np.int64), scales.ravel(), bias.ravel()


def exact_code(layer, sample, place):
    """(exact value in steps of the result, its code): the sum in integers, one rounding to even."""
    x, y, matrix, scales, bias = layer
    row, channel = sample.reshape(-1, matrix.shape[1])[place[-2]], place[-1]
    codes = np.clip(np.rint(row / x), -128, 127).astype(np.int64)
    total = int(codes @ matrix[channel]) + int(bias[channel])
    scale = scales[channel if scales.size > 1 else 0]
    value = total * fractions.Fraction(float(x)) * fractions.Fraction(float(scale)) / fractions.Fraction(float(y))
    return value, max(-128, min(127, round(value)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--elements", type=int, default=10_000_000)
    options = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.abspath(options.bin)
    if exported.ort.library_path() is None:
        print("SKIPPED: ONNX Runtime is not installed")
        return 0
    case = next(case for case in cases.CASES if case.name == "gemm")
    elements = differing = wrong_here = wrong_there = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        builder = exported.Builder(1)
        builder.save(folder / "m.onnx", case.inputs, case.nodes(builder))
        exported.write_samples(folder / "calib", case.inputs, 4, 2)
        exported.qbcompiler("compile", "--model", folder / "m.onnx", "--output", folder / "m.mxq",
                            "--target-device", case.target, "--calib-data-path", folder / "calib")
        exported.qbcompiler("export-onnx", "--mxq", folder / "m.mxq", "--output", folder / "q.onnx")
        layer = layer_of(folder / "q.onnx")
        session = exported.ort.Session(str(folder / "q.onnx"))
        block = 0
        while elements < options.elements:
            place = folder / f"block_{block}"
            samples = exported.write_samples(place, case.inputs, BLOCK, 100 + block)
            exported.qbcompiler("run", "--mxq", folder / "m.mxq", "--data", place, "--output",
                                folder / f"out_{block}")
            outputs = exported.outputs_of(folder / f"out_{block}", BLOCK)
            for sample, simulated in zip(samples, outputs):
                ours = np.rint(simulated[""] / layer[1]).astype(np.int64)
                theirs = np.rint(session.run(sample)["y"] / layer[1]).astype(np.int64)
                elements += ours.size
                for at in map(tuple, np.argwhere(ours != theirs)):
                    value, code = exact_code(layer, sample["x"], at)
                    differing += 1
                    wrong_here += int(ours[at]) != code
                    wrong_there += int(theirs[at]) != code
                    from_tie = abs(abs(float(value - int(value))) - 0.5)
                    print(f"exact {float(value):.9f} (to the tie: {from_tie:.1e}): ours {ours[at]}, "
                          f"ONNX Runtime {theirs[at]}, exact rounding {code}")
            block += 1
        session.close()
    print(f"{elements} elements, {differing} differ; not the exact rounding: {wrong_here} of ours, "
          f"{wrong_there} of ONNX Runtime's")
    return 1 if wrong_here else 0


if __name__ == "__main__":
    sys.exit(main())
