#!/usr/bin/python3
"""The ways of calling that users of this API know, run as they are usually written."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import under_test
import numpy as np
import onnx
import python_report
from onnx import TensorProto, helper

import qbcompiler
from qbcompiler import (CompileConfig, mblt_compile, mblt_compile_with_callback, mxq_compile,
                        mxq_compile_from_mblt, mxq_compile_from_source)


def open_width_model(path):
    """A convolution over an image whose width is open."""
    rng = np.random.default_rng(0)
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4, 3, 3, 3],
                                rng.normal(size=108).astype(np.float32))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 3, 16, "width"])],
                              [helper.make_tensor_value_info("y", 1, [1, 4, 16, "width"])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


class AsWritten(unittest.TestCase):
    """Every case works in a folder of its own that has model.onnx and calib/."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qbpy.")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        shutil.copy(under_test.MODEL, "model.onnx")
        shutil.copytree(under_test.CALIB, "calib")
        under_test.use_compiler()

    def test_compile(self):
        mxq_compile(
            model="model.onnx",
            target_device="aries-rb",
            calib_data_path="calib",
            save_path="model.mxq",
            backend="onnx",
            device="gpu",
            config_preset="classification",
            compile_config=None,
        )
        self.assertTrue(os.path.exists("model.mxq"))

    def test_cpu_offload(self):
        direct = mxq_compile(
            model="model.onnx",
            backend="onnx",
            target_device="regulus-rb",
            calib_data_path="./calib",
            save_path="./model_cpu_offload.mxq",
            cpu_offload=True,
        )
        # In two steps the switch is a setting of the second one, and the bytes are the same.
        mblt_compile("model.onnx", "model.mblt", "regulus-rb", cpu_offload=True)
        stepwise = mxq_compile("model.mblt", "regulus-rb", "calib", "b.mxq", cpu_offload=True)
        self.assertEqual(direct.outputs[0].sha256, stepwise.outputs[0].sha256)

    def test_the_body_is_a_model_of_its_own(self):
        mblt_compile("model.onnx", "model.mblt", "aries-rb", cpu_offload=True)
        body = qbcompiler.get_body_subgraph("model.mblt", "body.mblt")
        self.assertEqual(body.path, "body.mblt")
        self.assertTrue(qbcompiler.read_provenance("body.mblt"))

    def test_several_widths(self):
        open_width_model("model.onnx")
        example = np.zeros((1, 3, 16, 50), np.float32)
        widths = (24, 32, 48)
        for width in widths:
            os.makedirs(f"calib/w{width}")
            np.save(f"calib/w{width}/0.npy", np.ones((1, 3, 16, width), np.float32))
        written = mblt_compile(
            model="model.onnx",
            mblt_save_path="model.mblt",
            target_device="aries-rb",
            feed_dict={"x": example},
            multi_shape={"x": {"axis": 3, "values": widths}},
        )
        self.assertEqual([output.path for output in written.outputs],
                         ["model_0.mblt", "model_1.mblt", "model_2.mblt"])
        for path, width in zip(written.outputs, widths):
            mxq_compile_from_mblt(mblt=path.path, target_device="aries-rb",
                                  calib_data_path=f"calib/w{width}", save_path=f"{width}.mxq")
        calib = [f"calib/w{w}" for w in widths]
        direct = mxq_compile(
            model="model.onnx",
            backend="onnx",
            target_device="aries-rb",
            feed_dict={"x": example},
            multi_shape={"x": {"axis": 3, "values": widths}},
            calib_data_path=calib,
            save_path="model.mxq",
        )
        stepwise = mxq_compile_from_mblt(mblt=["model_0.mblt", "model_1.mblt", "model_2.mblt"],
                                         target_device="aries-rb", calib_data_path=calib,
                                         save_path="stepwise.mxq")
        self.assertEqual(direct.outputs[0].sha256, stepwise.outputs[0].sha256)
        for width in widths:  # the program of each size is in it, and does what its own .mxq does
            for mxq in ("model.mxq", f"{width}.mxq"):
                subprocess.run([under_test.BIN / "qbcompiler", "run", "--mxq", mxq, "--data",
                                f"calib/w{width}", "--output", f"{mxq}_{width}"], check=True,
                               capture_output=True)
            np.testing.assert_array_equal(np.load(f"model.mxq_{width}/0.npy"),
                                          np.load(f"{width}.mxq_{width}/0.npy"))

    def test_mblt_files_of_different_models(self):
        open_width_model("open.onnx")
        mblt_compile("model.onnx", "a.mblt", "aries-rb")
        mblt_compile("open.onnx", "b.mblt", "aries-rb", feed_dict={"x": np.zeros((1, 3, 16, 24))})
        with self.assertRaises(qbcompiler.QBCompilerError):
            mxq_compile_from_mblt(mblt=["a.mblt", "b.mblt"], target_device="aries-rb", use_random_calib=True)
        with self.assertRaises(qbcompiler.ArgumentError):
            mxq_compile_from_mblt(mblt=[], target_device="aries-rb", use_random_calib=True)

    def test_axes_that_are_not_open(self):
        with self.assertRaises(qbcompiler.QBCompilerError):
            mblt_compile("model.onnx", "model.mblt", "aries-rb", feed_dict={"image": np.zeros((1, 1, 28, 28))},
                         multi_shape={"image": {"axis": 3, "values": [32, 48]}})

    def test_feed_dict_fixes_open_axes(self):
        open_width_model("model.onnx")
        with self.assertRaises(qbcompiler.QBCompilerError):
            mxq_compile("model.onnx", "aries-rb", use_random_calib=True)
        mxq_compile("model.onnx", "aries-rb", [np.ones((1, 3, 16, 24), np.float32)], "m.mxq",
                    feed_dict={"x": np.zeros((1, 3, 16, 24), np.float32)})

    def test_paths_of_several_sizes(self):
        open_width_model("model.onnx")
        arguments = dict(model="model.onnx", target_device="aries-rb",
                         feed_dict={"x": np.zeros((1, 3, 16, 50))},
                         multi_shape={"x": {"axis": (2, 3), "values": [(16, 24), (16, 32)]}})
        written = mblt_compile(mblt_save_path=["a.mblt", "b.mblt"], **arguments)
        self.assertEqual([output.path for output in written.outputs], ["a.mblt", "b.mblt"])
        with self.assertRaises(qbcompiler.ArgumentError):
            mblt_compile(mblt_save_path=["a.mblt"], **arguments)

    def test_callbacks(self):
        events = []
        mblt_compile_with_callback("model.onnx", "model.mblt", "aries-rb", callback=events.append)
        self.assertTrue(events)
        self.assertTrue(qbcompiler.read_provenance("model.mblt"))

    def test_from_source(self):
        result = mxq_compile_from_source(model="model.onnx", target_device="aries-rb",
                                         calib_data_path="calib")
        self.assertEqual(result.path, "./tmp.mxq")

    def test_a_saved_config_gives_the_same_compile(self):
        first = mxq_compile("model.onnx", "aries-rb", "calib", "a.mxq",
                            config_preset="classification", config_save_path="out/used.yaml")
        again = mxq_compile("model.onnx", "aries-rb", "calib", "b.mxq", compile_config="out/used.yaml")
        self.assertEqual(first.outputs[0].sha256, again.outputs[0].sha256)

    def test_command_line(self):
        environment = {**os.environ, "PYTHONPATH": str(under_test.SITE)}
        for line in ["dump-config --output compile_config.yaml",
                     "dump-config --preset yolo_640 --output yolo_640.yaml",
                     "parse --model model.onnx --output model.mblt --target-device aries-rb",
                     "quantize --mblt model.mblt --output a.mxq --target-device aries-rb "
                     "--calib-data-path calib",
                     "compile --model model.onnx --output b.mxq --target-device aries-rb "
                     "--calib-data-path calib --backend onnx --device cpu --config-save-path c.json",
                     "info --mblt model.mblt", "check", "presets",
                     "validate --model model.onnx --target-device aries-rb"]:
            done = subprocess.run([sys.executable, "-m", "qbcompiler", *line.split()], check=False,
                                  capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, (line, done.stderr))
        self.assertEqual(pathlib.Path("a.mxq").read_bytes(), pathlib.Path("b.mxq").read_bytes())
        self.assertEqual(CompileConfig.from_file("yolo_640.yaml").grouped(),
                         CompileConfig.from_preset("yolo_640").grouped())


if __name__ == "__main__":
    python_report.main()
