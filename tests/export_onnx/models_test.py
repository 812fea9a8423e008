#!/usr/bin/python3
"""Exports of whole models: the example of this repository, and one whose ends run on the CPU.

  QB_BIN_DIR=build/dev/bin /usr/bin/python3 tests/export_onnx/models_test.py
"""
import pathlib
import sys
import tempfile
import unittest

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import exported  # noqa: E402
import python_report  # noqa: E402
from exported import qbcompiler  # noqa: E402

EXAMPLE = HERE.parent.parent / "examples" / "fashion"


@unittest.skipIf(exported.ort.library_path() is None, "ONNX Runtime is not installed")
class ModelsTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.runtime = exported.ort.Runtime()

    def export(self, kind):
        path = self.folder / (kind + ".onnx")
        qbcompiler("export-onnx", "--" + kind, self.folder / ("m." + kind), "--output", path)
        session = exported.ort.Session(str(path), runtime=self.runtime)
        self.addCleanup(session.close)
        return session

    def run_ours(self, kind, data):
        qbcompiler("run", "--" + kind, self.folder / ("m." + kind), "--data", data, "--output",
                   self.folder / kind)
        return self.folder / kind

    def test_the_example(self):
        qbcompiler("parse", "--model", EXAMPLE / "fashion.onnx", "--output", self.folder / "m.mblt",
                   "--target-device", "aries-rb")
        qbcompiler("quantize", "--mblt", self.folder / "m.mblt", "--output", self.folder / "m.mxq",
                   "--target-device", "aries-rb", "--calib-data-path", EXAMPLE / "calib")
        for kind, tolerance in (("mblt", 1e-5), ("mxq", 0)):
            session = self.export(kind)
            ours = self.run_ours(kind, EXAMPLE / "calib")
            for path in sorted((EXAMPLE / "calib").glob("*.npy"))[:16]:
                sample = np.load(path).astype(np.float32).reshape(session.inputs[0][2])
                expected = next(iter(session.run({session.inputs[0][0]: sample}).values()))
                found = np.load(ours / path.name)
                self.assertLessEqual(exported.relative_error(found, expected), tolerance, path.name)

    def offloaded(self):
        """int64 pixels -> convolutions on the NPU -> minimum and arithmetic on the CPU."""
        builder = exported.Builder(seed=5)
        numbers = builder.op("Cast", ["x"], to=exported.TensorProto.FLOAT)
        hidden = builder.op("Relu", [builder.op("Conv", [numbers, builder.weights(8, 3, 3, 3)],
                                                pads=[1, 1, 1, 1])])
        deep = builder.op("Conv", [hidden, builder.weights(6, 8, 3, 3)])
        low = builder.op("ReduceMin", [deep], axes=[1], keepdims=1)
        builder.save(self.folder / "m.onnx", {"x": [1, 3, 12, 12]}, builder.op("Sub", [deep, low]))
        model = exported.load(self.folder / "m.onnx")
        model.graph.input[0].type.tensor_type.elem_type = exported.TensorProto.INT64
        exported.save(model, self.folder / "m.onnx")
        data = self.folder / "data"
        data.mkdir()
        random = np.random.default_rng(7)
        samples = [random.integers(0, 9, (1, 3, 12, 12)) for _ in range(6)]
        for i, sample in enumerate(samples):
            np.save(data / ("%04d.npy" % i), sample)
        return data, samples

    def test_cpu_parts_are_exported_too(self):
        data, samples = self.offloaded()
        qbcompiler("parse", "--model", self.folder / "m.onnx", "--output", self.folder / "m.mblt",
                   "--target-device", "aries-rb", "--cpu-offload")
        config = self.folder / "c.yaml"
        config.write_text("cpuOffload: true\n")
        qbcompiler("quantize", "--mblt", self.folder / "m.mblt", "--output", self.folder / "m.mxq",
                   "--target-device", "aries-rb", "--calib-data-path", data, "--compile-config",
                   config)
        for kind in ("mblt", "mxq"):
            session = self.export(kind)
            ours = self.run_ours(kind, data)
            for i, sample in enumerate(samples):
                expected = session.run({"x": sample})["y"]
                found = np.load(ours / ("%04d.npy" % i))
                self.assertLessEqual(exported.relative_error(found, expected), 1e-5)


if __name__ == "__main__":
    python_report.main()
