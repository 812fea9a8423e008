#!/usr/bin/python3
"""qbcompiler as a script sees it: exit codes, error codes, JSONL, help, completion."""

import json
import os
import pathlib
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
COMMANDS = ["compile", "parse", "quantize", "run", "evaluate", "layers", "validate", "make-calib", "info",
            "check",
            "presets", "dump-config", "completion", "extract-body", "export-onnx"]


def write_model(path, operator="Relu"):
    """x [1, 3, 8, 8] -> Conv 3x3 -> `operator` -> y."""
    weights = numpy.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(numpy.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
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
        cls.odd = write_model(cls.path("odd.onnx"), "Sinh")
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

    # --- codes ---

    def test_exit_and_error_codes(self):
        config = self.write("bad.yaml", "calibraton: {}\ndevice: tpu\n")
        for arguments, code, name, words in [
                ([], 2, "", "usage"),
                (["frobnicate"], 2, "ARGUMENT_ERROR", "there is no command"),
                (["complie"], 2, "ARGUMENT_ERROR", "did you mean compile?"),
                (["compile", "--modle", "x"], 2, "ARGUMENT_ERROR", "did you mean --model?"),
                (["compile", "extra"], 2, "ARGUMENT_ERROR", "'extra' is no flag"),
                (["compile", "--model", self.model, "--output", "x"], 2, "ARGUMENT_ERROR",
                 "--target-device is missing; devices: "),
                (["compile", "--in-dformats", "x"], 2, "ARGUMENT_ERROR", "was removed; use nothing"),
                (["quantize", "--cpu-offload"], 2, "ARGUMENT_ERROR", "set cpuOffload"),
                (self.compile_flags(None, "x.mxq", "--compile-config", config), 2, "CONFIG_ERROR",
                 "nearest: calibration"),
                (self.compile_flags(None, "x.mxq", "--compile-config", self.path("none")), 2,
                 "CONFIG_ERROR", "none"),
                (self.compile_flags(None, "x.mxq", "--threads", "0"), 2, "ARGUMENT_ERROR", "1 to"),
                (self.compile_flags() + ["--target-device", "tpu"], 2, "TARGET_ERROR", "aries-rb"),
                (self.compile_flags() + ["--target-device", "regulus-rb", "--inference-scheme",
                                         "multi"], 2, "TARGET_ERROR", "it has single"),
                (["extract-body"], 2, "ARGUMENT_ERROR", "--mblt is missing"),
                (["export-onnx", "--output", "x"], 2, "ARGUMENT_ERROR", "exactly one of"),
                (["completion", "tcsh"], 2, "ARGUMENT_ERROR", "bash, zsh, fish")]:
            with self.subTest(arguments):
                done = self.call(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn(words, done.stderr)
                if not name:
                    continue
                self.assertIn(f"ERROR [{name}]: ", done.stderr)
                done = self.call(*arguments, jsonl="1")
                self.assertEqual(done.returncode, code)
                error = self.lines(done)[-1]
                self.assertEqual((error["type"], error["code"]), ("error", name))
                self.assertIn(words, error["message"])
                self.assertEqual(done.stderr, "")

    def test_every_wrong_setting_is_a_violation_for_programs(self):
        config = self.write("many.yaml", "calibraton: {}\ndevice: tpu\nllm: {apply: true}\n")
        error = self.lines(self.call(*self.compile_flags(None, "x.mxq", "--compile-config", config),
                                     jsonl="1"))[-1]
        self.assertEqual([item["field"] for item in error["details"]["violations"]],
                         ["calibraton", "device", "llm.apply"])
        self.assertIn("nearest: calibration", error["details"]["violations"][0]["description"])

    # --- what commands say ---

    def test_check_lists_refused_settings(self):
        done = self.call("check")
        self.assertIn("not supported    llm.apply\n", done.stdout)
        lines = self.lines(self.call("check", jsonl="1"))
        self.assertIn("moe.apply", lines[-1]["refused_config"])
        self.assertRegex(done.stdout, r"library          oneDNN \d+\.\d+\.\d+ \(\w[^)]*\)\n")
        self.assertEqual(lines[-1]["libraries"][0]["name"], "oneDNN")

    def test_help_of_every_command(self):
        general = self.call("--help").stdout
        for command in COMMANDS:
            self.assertRegex(general, rf"\n  {command} +\S")
            for flag in ("--help", "-h"):
                done = self.call(command, flag)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertTrue(done.stdout.startswith(f"qbcompiler {command}"))

    # --- completion ---

    def complete(self, *words):
        """What bash offers for the last word."""
        script = self.call("completion", "bash").stdout + (
            f"\nCOMP_WORDS=({' '.join(words)}); [[ '{words[-1]}' == EMPTY ]] && "
            f"COMP_WORDS[{len(words) - 1}]=\nCOMP_CWORD={len(words) - 1}\n_qbcompiler\n"
            'printf "%s\\n" "${COMPREPLY[@]}"\n')
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_bash_completion(self):
        script = self.write("completion.bash", self.call("completion", "bash").stdout)
        subprocess.run(["bash", "-n", script], check=True)
        self.assertEqual(self.complete("qbcompiler", "EMPTY"), COMMANDS)
        self.assertEqual(self.complete("qbcompiler", "va"), ["validate"])
        self.assertEqual(self.complete("qbcompiler", "compile", "--no-u"), ["--no-use-random-calib"])
        self.assertEqual(self.complete("qbcompiler", "compile", "--device", "EMPTY"), ["gpu", "cpu"])
        self.assertIn("--mblt", self.complete("qbcompiler", "quantize", "--m"))

    def test_other_completions_know_every_command(self):
        for shell in ("zsh", "fish"):
            script = self.call("completion", shell).stdout
            for command in COMMANDS:
                self.assertIn(command, script)


if __name__ == "__main__":
    python_report.main()
