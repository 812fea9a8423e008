#!/usr/bin/python3
"""The whole product on the example: server, agent, compiler, client; then the accuracy of what came out."""

import json
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1])]
import onnx
import python_report
import stack

EXAMPLE = stack.ROOT / "examples/fashion"


class CompileFashion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack()
        cls.stack.start_server()
        cls.first = cls.stack.path("first.mxq")
        cls.transcript = cls.compile(EXAMPLE / "fashion.onnx", cls.first).stderr

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    @classmethod
    def compile(cls, model, output, *flags, calib=EXAMPLE / "calib", check=0):
        return cls.stack.qbc("compile", model, "-t", "aries-rb", "--calib-data-path", calib, "-o",
                             output, *flags, check=check, timeout_s=300)

    @staticmethod
    def bytes_of(path):
        return pathlib.Path(path).read_bytes()

    @staticmethod
    def qbcompiler(*arguments):
        done = subprocess.run([stack.BIN / "qbcompiler", *map(str, arguments)], check=False,
                              capture_output=True, text=True, timeout=300,
                              env=stack.clean_environment())
        if done.returncode != 0:
            raise AssertionError(f"qbcompiler {arguments}: {done.stderr}")
        return done.stdout

    def evaluate(self, mxq):
        return json.loads(self.qbcompiler(
            "evaluate", "--model", EXAMPLE / "fashion.onnx", "--mxq", mxq, "--data",
            EXAMPLE / "eval", "--labels", EXAMPLE / "labels.csv", "--json", "-"))

    def test_the_result_is_as_accurate_as_the_float_model(self):
        figures = self.evaluate(self.first)
        self.assertEqual(figures["samples"], 500)
        # What examples/fashion/train.py measured with torch on the same 500 images.
        self.assertAlmostEqual(figures["float_top1"], 0.924, delta=0.0021)
        self.assertGreaterEqual(figures["quantized_top1"], figures["float_top1"] - 0.01)
        self.assertGreaterEqual(figures["outputs"][0]["agreement"], 0.97)
        self.assertGreaterEqual(figures["outputs"][0]["sqnr_db"], 25.0)

    def test_the_phases_are_told(self):
        for phase in ("import", "calibrate", "quantize"):
            self.assertIn(f"  {phase}\n", self.transcript)

    def test_the_executable_is_smaller_and_can_be_listed(self):
        self.assertLess(os.path.getsize(self.first), os.path.getsize(EXAMPLE / "fashion.onnx") / 2)
        with zipfile.ZipFile(self.first) as package:
            self.assertIsNone(package.testzip())
            self.assertIn("manifest.json", package.namelist())
            manifest = json.loads(package.read("manifest.json"))
        self.assertEqual(manifest["format"], "qbc-mxq")

    def test_equal_inputs_give_equal_bytes(self):
        for threads in (1, 2):
            other = self.stack.path(f"threads{threads}.mxq")
            self.compile(EXAMPLE / "fashion.onnx", other, "--threads", threads)
            self.assertEqual(self.bytes_of(other), self.bytes_of(self.first), threads)

    def test_the_compiler_without_a_server_gives_the_same_bytes(self):
        local = self.stack.path("local.mxq")
        self.qbcompiler("compile", "--model", EXAMPLE / "fashion.onnx", "--target-device",
                        "aries-rb", "--calib-data-path", EXAMPLE / "calib", "--output", local)
        self.assertEqual(self.bytes_of(local), self.bytes_of(self.first))

    def test_the_second_compile_uploads_nothing(self):
        again = self.compile(EXAMPLE / "fashion.onnx", self.stack.path("again.mxq"))
        self.assertIn("the server has every file already", again.stderr)

    def test_a_listing_is_the_same_as_the_folder(self):
        paths = sorted(str(path) for path in (EXAMPLE / "calib").iterdir())
        listing = self.stack.write("listings/calib.txt", "\n".join(paths) + "\n")
        output = self.stack.path("listed.mxq")
        self.compile(EXAMPLE / "fashion.onnx", output, calib=listing)
        self.assertEqual(self.bytes_of(output), self.bytes_of(self.first))

    def test_evaluation_data_travels_along(self):
        done = self.compile(EXAMPLE / "fashion.onnx", self.stack.path("evaluated.mxq"), "--eval-data",
                            EXAMPLE / "eval", "--eval-labels", EXAMPLE / "labels.csv", "--json")
        answer = json.loads(done.stdout.splitlines()[-1])
        text = json.dumps(answer["job"]["result"])
        self.assertIn('"float_top1": 0.924', text)

    def test_external_data_travels_along(self):
        model = onnx.load(EXAMPLE / "fashion.onnx")
        folder = self.stack.folder / "external"
        folder.mkdir()
        onnx.save_model(model, str(folder / "net.onnx"), save_as_external_data=True,
                        all_tensors_to_one_file=True, location="net.weights", size_threshold=0)
        self.assertGreater((folder / "net.weights").stat().st_size, 300_000)
        output = self.stack.path("external.mxq")
        self.compile(folder / "net.onnx", output)
        self.assertEqual(self.evaluate(output), self.evaluate(self.first))

    def test_other_targets(self):
        for target in ("regulus-ra", "regulus-rb", "regulus-rb-usb"):
            output = self.stack.path(f"{target}.mxq")
            self.stack.qbc("compile", EXAMPLE / "fashion.onnx", "-t", target, "--calib-data-path",
                           EXAMPLE / "calib", "-o", output, check=0, timeout_s=300)
            self.assertNotEqual(self.bytes_of(output), self.bytes_of(self.first), target)


if __name__ == "__main__":
    python_report.main()
