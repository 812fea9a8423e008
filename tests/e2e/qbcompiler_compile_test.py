#!/usr/bin/python3
"""Whole compiles as a script sees them: exit codes, error codes, JSONL, saved settings, validate."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]
import python_report

COMPILER = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")


def write_model(path, operator="Relu", dilation=1):
    """x [1, 3, 8, 8] -> Conv 3x3 -> `operator` -> y."""
    weights = numpy.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(numpy.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv",
                              pads=[dilation] * 4, dilations=[dilation] * 2),
             helper.make_node(operator, ["c"], ["y"], name="last")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
        [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


class Cli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = write_model(cls.path("good.onnx"))
        cls.odd = write_model(cls.path("odd.onnx"), "RandomNormalLike")
        cls.wide = write_model(cls.path("wide.onnx"), dilation=1000)
        cls.write("broken.onnx", "not a model")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def write(cls, name, text):
        with open(cls.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return cls.path(name)

    def call(self, *arguments, jsonl=None):
        environment = {key: value for key, value in os.environ.items() if key != "QBCOMPILER_JSONL"}
        if jsonl is not None:
            environment["QBCOMPILER_JSONL"] = jsonl
        return subprocess.run([COMPILER, *arguments], capture_output=True, text=True, timeout=300,
                              env=environment, check=False)

    def compile_flags(self, model=None, output="out.mxq", *more):
        return ["compile", "--model", model or self.model, "--output", self.path(output),
                "--target-device", "aries-rb", "--device", "cpu", "--use-random-calib", *more]

    def lines(self, done):
        """The JSONL of a run, after checking what holds for every run."""
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["seq"] for line in lines], list(range(1, len(lines) + 1)))
        ends = [line for line in lines if line["type"] in ("result", "error")]
        self.assertEqual(len(ends), 1, done.stdout)
        self.assertIs(ends[0], lines[-1])
        self.assertLessEqual({line["type"] for line in lines},
                             {"status", "progress", "log", "result", "error"})
        for line in lines:
            self.assertRegex(line["ts"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        return lines

    def test_exit_and_error_codes(self):
        blocked = os.path.join(self.model, "x.mxq")  # beneath a file
        for arguments, code, name, words in [
                (self.compile_flags(None, "x.mxq", "--no-use-random-calib"), 2, "ARGUMENT_ERROR",
                 "No calibration dataset is provided"),
                (self.compile_flags(self.path("broken.onnx")), 1, "MODEL_PARSE_ERROR", "damaged"),
                (self.compile_flags(self.odd), 1, "UNSUPPORTED_OPERATOR", "RandomNormalLike"),
                (self.compile_flags() + ["--output", blocked], 1, "OUTPUT_WRITE_ERROR", "x.mxq"),
                (self.compile_flags() + ["--device", "gpu", "--require-device"], 1,
                 "DEVICE_UNAVAILABLE", "gpu"),
                (self.compile_flags() + ["--calib-data-path", self.path("none"),
                                         "--no-use-random-calib"], 1, "CALIBRATION_DATA_ERROR",
                 "none")]:
            with self.subTest(arguments):
                done = self.call(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn(words, done.stderr)
                self.assertIn(f"ERROR [{name}]: ", done.stderr)
                done = self.call(*arguments, jsonl="1")
                self.assertEqual(done.returncode, code)
                error = self.lines(done)[-1]
                self.assertEqual((error["type"], error["code"]), ("error", name))
                self.assertIn(words, error["message"])
                self.assertEqual(done.stderr, "")

    def test_layer_names_that_match_nothing(self):
        config = self.write("names.yaml", "biasCorrection: {attributes: {applyLayers: [yy], "
                                          "excludeLayers: [zzz*, y*]}}\n")
        done = self.call(*self.compile_flags(None, "x.mxq", "--compile-config", config))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("biasCorrection.attributes.applyLayers: \"yy\" matches no layer; nearest: y",
                      done.stderr)
        self.assertIn("excludeLayers: \"zzz*\" matches no layer", done.stderr)
        self.assertNotIn("\"y*\"", done.stderr)

    def test_interrupted(self):
        process = subprocess.Popen(
            [COMPILER, *self.compile_flags(None, "never.mxq")], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "QBCOMPILER_JSONL": "1"})
        process.stdout.readline()  # it has begun, so its handlers are set
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        self.assertIn(process.wait(), (0, 130))  # a small model may be done before the signal
        self.assertEqual(process.returncode == 0, os.path.exists(self.path("never.mxq")))
        process.stdout.close()
        process.stderr.close()

    def test_jsonl_of_a_compile(self):
        for setting in ("1", "TRUE", "yes", "on"):
            done = self.call(*self.compile_flags(), jsonl=setting)
            self.assertEqual(done.returncode, 0, done.stdout)
            lines = self.lines(done)
            result = lines[-1]
            self.assertEqual(result["outputs"][0]["path"], self.path("out.mxq"))
            self.assertEqual(result["outputs"][0]["bytes"], os.path.getsize(self.path("out.mxq")))
            fractions = [line["fraction"] for line in lines if line["type"] == "progress"]
            self.assertEqual(fractions, sorted(fractions))
            stages = [line["stage"] for line in lines if line["type"] == "status"]
            self.assertEqual(stages[0], "import")
        done = self.call("presets", jsonl="0")
        self.assertTrue(done.stdout.startswith("classification "))

    def test_model_and_output_may_stand_in_the_settings(self):
        config = self.write("paths.yaml", f"modelPaths: [{self.model}]\nuseRandomCalib: true\n"
                            f"savePaths: [{self.path('named.mxq')}]\ndevice: cpu\ndebug: true\n")
        flags = ["compile", "--target-device", "aries-rb", "--compile-config", config]
        done = self.call(*flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.path("named.mxq")))
        # `debug` tells what is set and what each stage took.
        self.assertRegex(done.stderr, r"debug: config: useRandomCalib = true \(file .*paths.yaml\)\n")
        self.assertRegex(done.stderr, r"debug: phases: calibrate took \d+\.\d+ s; peak memory ")
        self.assertNotIn("debug: ", self.call(*self.compile_flags()).stderr)
        done = self.call(*flags, "--output", self.path("other.mxq"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.path("other.mxq")))
        config = self.write("two.yaml", "modelPaths: [a, b]\nsavePaths: [c]\n")
        done = self.call("compile", "--target-device", "aries-rb", "--compile-config", config)
        self.assertEqual(done.returncode, 2)
        self.assertIn("ERROR [CONFIG_ERROR]: modelPaths: 2 paths (file ", done.stderr)

    def test_config_save_path_gives_the_same_bytes(self):
        self.call(*self.compile_flags(None, "a.mxq", "--config-save-path", self.path("c/saved.yaml")))
        done = self.call("compile", "--model", self.model, "--output", self.path("b.mxq"),
                         "--target-device", "aries-rb", "--compile-config",
                         self.path("c/saved.yaml"), "--config-save-path", self.path("again.yaml"))
        self.assertEqual(done.returncode, 0, done.stderr)
        read = lambda name: pathlib.Path(self.path(name)).read_bytes()
        self.assertEqual(read("a.mxq"), read("b.mxq"))
        self.assertEqual(read("c/saved.yaml"), read("again.yaml"))
        origins = json.loads(read("c/saved.yaml.origins.json"))
        self.assertEqual(origins["useRandomCalib"], "--use-random-calib")

    def test_validate(self):
        done = self.call("validate", "--model", self.model, "--target-device", "aries-rb")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\ny +Convolution +\S+ +NPU")
        done = self.call("validate", "--model", self.model, "--target-device", "aries-rb", "--json")
        self.assertEqual(json.loads(done.stdout)[0]["device"], "npu")
        done = self.call("validate", "--model", self.wide, "--target-device", "aries-rb")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\ny +Convolution +\S+ +CPU +\S.*dilation")
        self.assertIn("ERROR [UNSUPPORTED_OPERATOR]: ", done.stderr)
        done = self.call("validate", "--model", self.wide, "--target-device", "aries-rb", jsonl="1")
        self.assertEqual(self.lines(done)[-1]["code"], "UNSUPPORTED_OPERATOR")
        done = self.call("validate", "--model", self.odd, "--target-device", "aries-rb")
        self.assertEqual(done.returncode, 1)
        self.assertIn("UNSUPPORTED_OPERATOR", done.stderr)


if __name__ == "__main__":
    python_report.main()
