#!/usr/bin/python3
"""Which of the two is right where the simulator and ONNX Runtime differ on the export of a product.

    tests/bench/export_ties.py [--bin build/release/bin] [--elements 10000000] [CASE ...]

Compiles layers of tests/export_onnx/cases.py (default: a fully connected one and every convolution), runs both
on the same samples and recomputes every differing element in whole numbers: the 32-bit sum from the codes and
weights of the export, times the product of the export's float32 scales as an exact fraction, rounded once.
Prints for each such element the exact value, ours and theirs, and its distance from the tie; exits 1 when one
of ours is not the exact rounding.
"""
import argparse
import fractions
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np
from onnx import helper, load, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "export_onnx")]
import cases  # noqa: E402
import exported  # noqa: E402

BLOCK = 200  # samples at a time
CASES = ["gemm", "conv", "conv_strided", "conv_dilated", "conv_grouped", "depthwise", "conv_relu"]


class Layer:
    """The one product in an export: scales, weights [M, C / groups, Kh, Kw] and the convolution's attributes."""

    def __init__(self, path):
        graph = load(str(path)).graph
        values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        weights = next(v for v in values.values() if v.dtype == np.int8 and v.ndim >= 2)
        points = [v for v in values.values() if v.dtype == np.int8 and v.ndim == 0]
        if any(int(zero) not in (0, -128) for zero in points):
            sys.exit("this measurement takes a layer whose input has zero point 0")
        node = next(n for n in graph.node if n.op_type in ("Conv", "MatMul", "Gemm"))
        self.is_image = node.op_type == "Conv" and max(weights.shape[2:]) > 1
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.pads = attributes.get("pads", [0, 0, 0, 0])
        self.strides = attributes.get("strides", [1, 1])
        self.dilations = attributes.get("dilations", [1, 1])
        self.groups = attributes.get("group", 1)
        if node.op_type == "Conv":
            self.weights = weights.astype(np.int64)
        else:
            self.weights = weights.T.astype(np.int64)[:, :, None, None]
        self.scales = next(v for k, v in values.items() if k.endswith("weights/scales")).ravel()
        self.bias = next(v for v in values.values() if v.dtype == np.int32).ravel()
        tensors = {k: v for k, v in values.items() if k.endswith("/scale") and v.ndim == 0}
        self.x = np.float32(next(v for k, v in tensors.items() if k.startswith("x")))
        self.y = np.float32(next(v for k, v in tensors.items() if not k.startswith("x")))
        # A result that is never negative has all 256 codes.
        self.zero_point = min(int(zero) for zero in points) if points else 0

    def total(self, codes, place):
        """The sum in whole numbers. `codes`: the sample's; `place`: the element's indices."""
        if not self.is_image:
            channel = place[-1]
            row = codes.reshape(-1, self.weights.shape[1])[place[-2]]
            return int(row @ self.weights[channel, :, 0, 0]) + int(self.bias[channel]), channel
        _, channel, row, column = place
        size = self.weights.shape[1]
        first = channel // (self.weights.shape[0] // self.groups) * size
        top, left, bottom, right = self.pads
        image = np.pad(codes[0, first:first + size], ((0, 0), (top, bottom), (left, right)))
        rows = row * self.strides[0] + np.arange(self.weights.shape[2]) * self.dilations[0]
        columns = column * self.strides[1] + np.arange(self.weights.shape[3]) * self.dilations[1]
        window = image[:, rows][:, :, columns]
        return int(np.sum(window * self.weights[channel])) + int(self.bias[channel]), channel

    def exact_code(self, sample, place):
        """(exact value in steps of the result, its code): the sum in integers, one rounding to even."""
        codes = np.clip(np.rint(sample / self.x), -128, 127).astype(np.int64)
        total, channel = self.total(codes, place)
        scale = self.scales[channel if self.scales.size > 1 else 0]
        value = (total * fractions.Fraction(float(self.x)) * fractions.Fraction(float(scale))
                 / fractions.Fraction(float(self.y)))
        return value, max(-128, min(127, round(value) + self.zero_point))

    def codes_of(self, real):
        return np.rint(real / self.y).astype(np.int64) + self.zero_point


def measure(case, elements, folder):
    """(elements, those that differ, ours that are not exact, theirs that are not)."""
    builder = exported.Builder(1)
    builder.save(folder / "m.onnx", case.inputs, case.nodes(builder))
    exported.write_samples(folder / "calib", case.inputs, 4, 2)
    exported.qbcompiler("compile", "--model", folder / "m.onnx", "--output", folder / "m.mxq",
                        "--target-device", case.target, "--calib-data-path", folder / "calib")
    exported.qbcompiler("export-onnx", "--mxq", folder / "m.mxq", "--output", folder / "q.onnx")
    layer = Layer(folder / "q.onnx")
    session = exported.ort.Session(str(folder / "q.onnx"))
    count = differing = wrong_here = wrong_there = block = 0
    while count < elements:
        place, out = folder / f"block_{block}", folder / f"out_{block}"
        samples = exported.write_samples(place, case.inputs, BLOCK, 100 + block)
        exported.qbcompiler("run", "--mxq", folder / "m.mxq", "--data", place, "--output", out)
        for sample, simulated in zip(samples, exported.outputs_of(out, BLOCK)):
            ours, theirs = layer.codes_of(simulated[""]), layer.codes_of(session.run(sample)["y"])
            count += ours.size
            for at in map(tuple, np.argwhere(ours != theirs)):
                value, code = layer.exact_code(sample["x"], at)
                differing += 1
                wrong_here += int(ours[at]) != code
                wrong_there += int(theirs[at]) != code
                from_tie = abs(abs(float(value - int(value))) - 0.5)
                print(f"{case.name}: exact {float(value):.9f} (to the tie: {from_tie:.1e}): ours {ours[at]}, "
                      f"ONNX Runtime {theirs[at]}, exact rounding {code}")
        shutil.rmtree(place)
        shutil.rmtree(out)
        block += 1
    session.close()
    return count, differing, wrong_here, wrong_there


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--elements", type=int, default=10_000_000)
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.abspath(options.bin)
    if exported.ort.library_path() is None:
        print("SKIPPED: ONNX Runtime is not installed")
        return 0
    wrong = 0
    for case in cases.CASES:
        if case.name not in options.cases:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            count, differing, here, there = measure(case, options.elements, pathlib.Path(temporary))
        print(f"{case.name}: {count} elements, {differing} differ; not the exact rounding: {here} of ours, "
              f"{there} of ONNX Runtime's", flush=True)
        wrong += here
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
