#!/usr/bin/python3
"""CPU offloading, extra outputs and several sizes as a person uses them: validate, parse, quantize, run,
layers, extract-body."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import load, save

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "export_onnx")]
import exported  # noqa: E402
import python_report  # noqa: E402

COMPILER = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")
TARGET = ["--target-device", "aries-rb"]


class OffloadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return str(self.folder / name)

    def call(self, *arguments, fails=False):
        done = subprocess.run([COMPILER, *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode != 0, fails, done.stderr)
        return done

    def detector(self):
        """Convolutions, and a minimum over the channels that only the CPU computes."""
        builder = exported.Builder(seed=3)
        deep = builder.op("Conv", [builder.op("Relu", [builder.op(
            "Conv", ["x", builder.weights(8, 3, 3, 3)])]), builder.weights(4, 8, 3, 3)])
        low = builder.op("ReduceMin", [deep], axes=[1], keepdims=1)
        builder.save(self.path("m.onnx"), {"x": [1, 3, 16, 16]}, low)
        exported.write_samples(self.folder / "calib", {"x": [1, 3, 16, 16]}, 4, seed=1)
        return deep

    def test_validate_shows_the_parts_and_what_crosses(self):
        self.detector()
        done = self.call("validate", "--model", self.path("m.onnx"), *TARGET, fails=True)
        self.assertRegex(done.stdout, r"ReduceMin +\S+ +CPU +The NPU has no instruction")
        self.assertIn("does not run 1 layer:", done.stderr)
        self.assertIn("--cpu-offload", done.stderr)
        done = self.call("validate", "--model", self.path("m.onnx"), *TARGET, "--cpu-offload")
        self.assertRegex(done.stdout, r"\nnpu_body +NPU +\d+ +\d+ +3072 +2304\n")
        self.assertRegex(done.stdout, r"\ncpu_tail +CPU +\d+ +0 +2304 +576\n")
        parts = json.loads(self.call("validate", "--model", self.path("m.onnx"), *TARGET,
                                     "--cpu-offload", "--json").stdout)["parts"]
        self.assertEqual([part["name"] for part in parts], ["npu_body", "cpu_tail"])
        self.assertEqual(parts[1]["inputs"][0]["bytes"], 2304)

    def test_from_model_to_run(self):
        deep = self.detector()
        self.call("parse", "--model", self.path("m.onnx"), "--output", self.path("m.mblt"), *TARGET,
                  fails=True)
        self.call("parse", "--model", self.path("m.onnx"), "--output", self.path("m.mblt"), *TARGET,
                  "--cpu-offload")
        quantize = ["quantize", "--mblt", self.path("m.mblt"), *TARGET, "--calib-data-path",
                    self.path("calib")]
        done = self.call(*quantize, "--output", self.path("m.mxq"), fails=True)
        self.assertIn("`cpuOffload: true` in the config", done.stderr)
        (self.folder / "c.yaml").write_text(
            "cpuOffload: true\nextraOutput: {apply: true, layers: [%s]}\n" % deep)
        self.call(*quantize, "--output", self.path("m.mxq"), "--compile-config", self.path("c.yaml"))
        layers = json.loads(self.call("layers", "--mxq", self.path("m.mxq"), "--json").stdout)
        self.assertEqual({row["op"] for row in layers if row["device"] == "cpu"} & {"ReduceMin"},
                         {"ReduceMin"})
        for kind, name in (("--model", "m.onnx"), ("--mxq", "m.mxq")):
            self.call("run", kind, self.path(name), "--data", self.path("calib"), "--output",
                      self.path("out" + kind))
        for i in range(4):
            expected = np.load(self.path("out--model/%04d.npy" % i))
            outputs = {p.stem: np.load(p) for p in (self.folder / "out--mxq" / ("%04d" % i)).iterdir()}
            self.assertEqual(set(outputs), {"y", deep})
            error = np.sum((outputs["y"] - expected) ** 2) / np.sum(expected ** 2)
            self.assertLess(error, 1e-3)

    def test_the_body_compiles_alone(self):
        self.detector()
        self.call("parse", "--model", self.path("m.onnx"), "--output", self.path("m.mblt"), *TARGET,
                  "--cpu-offload")
        self.call("extract-body", "--mblt", self.path("m.mblt"), "--output", self.path("b.mblt"))
        self.call("quantize", "--mblt", self.path("b.mblt"), "--output", self.path("b.mxq"), *TARGET,
                  "--use-random-calib")

    def test_sizes_of_one_model_in_one_executable(self):
        builder = exported.Builder(seed=4)
        builder.save(self.path("m.onnx"), {"x": [1, 3, 16, 16]},
                     builder.op("Conv", ["x", builder.weights(4, 3, 3, 3)]))
        model = load(self.path("m.onnx"))
        for axis, name in ((2, "h"), (3, "w")):
            model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
        save(model, self.path("m.onnx"))
        sizes = [(16, 16), (24, 10)]
        flags = []
        for i, (h, w) in enumerate(sizes):
            exported.write_samples(self.folder / ("calib%d" % i), {"x": [1, 3, h, w]}, 3, seed=i)
            flags += ["--calib-data-path", self.path("calib%d" % i)]
        shapes = "x:" + ",".join("1x3x%dx%d" % size for size in sizes)
        self.call("compile", "--model", self.path("m.onnx"), "--output", self.path("m.mxq"), *TARGET,
                  "--input-shape", shapes, *flags)
        for i, (h, w) in enumerate(sizes):
            self.call("run", "--mxq", self.path("m.mxq"), "--data", self.path("calib%d" % i),
                      "--output", self.path("out%d" % i))
            self.assertEqual(np.load(self.path("out%d/0000.npy" % i)).shape, (1, 4, h - 2, w - 2))
        # The same in steps, with one .mblt a size.
        self.call("parse", "--model", self.path("m.onnx"), "--output", self.path("s.mblt"), *TARGET,
                  "--input-shape", shapes)
        self.call("quantize", "--mblt", self.path("s_0.mblt"), "--mblt", self.path("s_1.mblt"),
                  "--output", self.path("s.mxq"), *TARGET, *flags)
        self.assertEqual((self.folder / "s.mxq").read_bytes(), (self.folder / "m.mxq").read_bytes())
        exported.write_samples(self.folder / "odd", {"x": [1, 3, 20, 20]}, 1, seed=9)
        done = self.call("run", "--mxq", self.path("m.mxq"), "--data", self.path("odd"), "--output",
                         self.path("none"), fails=True)
        self.assertIn("x 1x3x16x16; x 1x3x24x10", done.stderr)


if __name__ == "__main__":
    python_report.main()
