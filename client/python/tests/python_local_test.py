#!/usr/bin/python3
"""The package and the qbcompiler program of this machine, and a program that behaves badly."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import under_test
import numpy as np
import python_report
from under_test import CALIB, MODEL

import qbcompiler
from qbcompiler import (ArgumentError, CalibrationConfig, CalibrationDataError, CancelledError,
                        CompilerCrashError, CompilerNotFoundError, ConfigError, InternalError, LogEvent,
                        ModelParseError, OutOfMemoryError, ProgressEvent, StatusEvent, TargetError,
                        UnsupportedOperatorError)


class Here(unittest.TestCase):
    compiler = "qbcompiler"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qbpy.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        under_test.use_compiler(self.compiler)

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.path(name)


class Compile(Here):
    def by_hand(self, *flags):
        output = self.path("by_hand.mxq")
        subprocess.run([under_test.BIN / "qbcompiler", "compile", "--model", MODEL, "--output", output,
                        "--target-device", "aries-rb", "--calib-data-path", CALIB, *flags], check=True,
                       capture_output=True)
        return pathlib.Path(output).read_bytes()

    def test_statistics_of_one_compile_serve_the_next(self):
        stats = self.path("kept.stats")
        first = qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path("1.mxq"), calib_stats_save=stats)
        logs = []
        second = qbcompiler.mxq_compile(
            MODEL, "aries-rb", CALIB, self.path("2.mxq"), calib_stats_load=pathlib.Path(stats),
            callback=lambda event: logs.append(event.message) if isinstance(event, LogEvent) else None)
        self.assertEqual(pathlib.Path(second.path).read_bytes(), pathlib.Path(first.path).read_bytes())
        self.assertTrue(any("are those of the file" in log for log in logs), logs)
        with self.assertRaisesRegex(ArgumentError, "calib_stats_load: .*on this machine"):
            qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path("3.mxq"), calib_stats_load=stats,
                                   server="127.0.0.1:1")

    def test_every_way_gives_the_bytes_of_the_program(self):
        expected = self.by_hand()
        arrays = np.stack([np.load(file) for file in sorted(CALIB.glob("*.npy"))])
        mblt = qbcompiler.mblt_compile(MODEL, self.path("new/m.mblt"), "aries-rb").path
        for number, (model, samples, more) in enumerate([
                (MODEL, CALIB, {}), (str(MODEL), [str(CALIB)], {"device": "gpu", "threads": 1}),
                (MODEL, arrays, {"calibration_config": CalibrationConfig(mode=1)}),
                (MODEL, list(arrays), {"config_preset": "classification", "optimize_option": 1}),
                (mblt, CALIB, {}), ([mblt], arrays, {"use_random_calib": False})]):
            result = qbcompiler.mxq_compile(model, "aries-rb", samples, self.path(f"{number}.mxq"), **more)
            self.assertEqual(pathlib.Path(result.path).read_bytes(), expected, number)
        self.assertEqual(result.outputs[0].size_bytes, len(expected))
        self.assertGreater(result.report["check"]["outputs"][0]["sqnr_db"], 30)
        self.assertIsNone(result.job_id)

    def test_settings_reach_the_compiler(self):
        plain = self.by_hand()
        config = self.write("c.yaml", "calibration: {mode: 0}")
        expected = self.by_hand("--compile-config", config)
        self.assertNotEqual(plain, expected)
        for number, more in enumerate([{"compile_config": config}, {"compile_config": {"calibration": {"mode": 0}}},
                                       {"calibration_config": CalibrationConfig(mode=0)}]):
            saved = self.path(f"saved/{number}.yaml")
            result = qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path(f"{number}.mxq"),
                                            config_save_path=saved, **more)
            self.assertEqual(pathlib.Path(result.path).read_bytes(), expected, more)
            self.assertEqual(qbcompiler.CompileConfig.from_file(saved).calibration.mode, 0)

    def test_callbacks_tell_stages_progress_and_messages(self):
        events = []
        qbcompiler.mxq_compile_with_callback(MODEL, "aries-rb", use_random_calib=True, device="gpu",
                                             save_path=self.path("m.mxq"), callback=events.append)
        stages = [event.stage for event in events if isinstance(event, StatusEvent)]
        self.assertEqual(stages[:2], ["import", "optimize"])
        fractions = [event.fraction for event in events if isinstance(event, ProgressEvent)]
        self.assertEqual(fractions, sorted(fractions))
        self.assertTrue(any(isinstance(event, LogEvent) and event.level == "warning" for event in events))
        events.clear()
        qbcompiler.mblt_compile_with_callback(MODEL, self.path("m.mblt"), "aries-rb",
                                              callback=events.append)
        self.assertTrue(events)
        with self.assertRaises(TypeError):
            qbcompiler.mxq_compile_with_callback(MODEL, "aries-rb")

    def test_messages_are_records_of_logging(self):
        with self.assertLogs("qbcompiler", "WARNING") as caught:
            qbcompiler.mxq_compile(MODEL, "aries-rb", use_random_calib=True, save_path=self.path("m.mxq"))
        self.assertTrue(any("random" in record.getMessage() for record in caught.records))

    def test_evaluation(self):
        result = qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path("m.mxq"),
                                        eval_data=under_test.EXAMPLE / "eval",
                                        eval_labels=under_test.EXAMPLE / "labels.csv")
        self.assertEqual(result.report["check"]["labelled"], 500)

    def test_provenance(self):
        path = qbcompiler.mblt_compile(MODEL, self.path("m.mblt"), "aries-rb").path
        self.assertIn("source", qbcompiler.read_provenance(path))
        os.environ["QBCOMPILER_PROVENANCE"] = "0"
        self.addCleanup(os.environ.pop, "QBCOMPILER_PROVENANCE")
        qbcompiler.mblt_compile(MODEL, path, "aries-rb")
        self.assertIsNone(qbcompiler.read_provenance(path))

    def test_errors_by_code(self):
        broken = self.write("broken.onnx", "no model")
        np.save(self.path("000.npy"), np.zeros((2, 2), np.float32))
        good = dict(model=MODEL, target_device="aries-rb", calib_data_path=CALIB)
        for change, kind, text in [
                ({"model": "nowhere.onnx"}, ModelParseError, "nowhere.onnx"),
                ({"model": broken}, ModelParseError, "damaged"),
                ({"target_device": None}, ArgumentError, "regulus-rb-usb"),
                ({"target_device": "aries"}, TargetError, "aries-rb"),
                ({"target_device": "regulus-rb", "inference_scheme": "multi"}, TargetError, "multi"),
                ({"calib_data_path": None}, ArgumentError, "No calibration dataset is provided"),
                ({"calib_data_path": self.folder}, CalibrationDataError, "000"),
                ({"config_preset": "nope"}, ConfigError, "yolo_640"),
                ({"compile_config": {"llm": {"apply": True}}}, ConfigError, "not supported yet"),
                ({"backend": "tflite"}, ArgumentError, "tflite"),
                ({"model_part": "vision"}, UnsupportedOperatorError, "model_part"),
                ({"yolo_decode_include": True}, UnsupportedOperatorError, "yolo_decode_include"),
                ({"dynamic_axes": {"x": {0: "n"}}}, ArgumentError, "dynamic_axes"),
                ({"model": 5}, ArgumentError, "model"), ({"threads": 0}, ArgumentError, "threads"),
                ({"feed_dict": {"nope": np.zeros((1, 2))}}, Exception, "nope")]:
            with self.assertRaises(kind, msg=change) as caught:
                qbcompiler.mxq_compile(**{**good, "save_path": self.path("m.mxq"), **change})
            self.assertIn(text, str(caught.exception), change)
            self.assertFalse(os.path.exists(self.path("m.mxq")), change)

    def test_removed_and_misplaced_arguments(self):
        for name in ("hf_config", "in_dformats", "input_shape_dict", "layer_bias_correction",
                     "layer_bias_correction_config"):
            for function in (qbcompiler.mxq_compile, qbcompiler.mblt_compile,
                             qbcompiler.mxq_compile_from_source, qbcompiler.mxq_compile_from_mblt):
                with self.assertRaisesRegex(ValueError, f"{name} was removed"):
                    function("m.onnx", "x", **{name: 1})
        with self.assertRaises(ValueError):
            qbcompiler.mxq_compile("m.mblt", "aries-rb", model_part="vision")
        with self.assertRaises(ValueError):
            qbcompiler.mxq_compile_from_mblt("m.mblt", "aries-rb", model_part="vision")
        for function in (qbcompiler.mxq_compile_from_mblt, qbcompiler.mxq_compile_from_source):
            with self.assertRaisesRegex(TypeError, "calib_path"):
                function("m.mblt", calib_path=1)

    def test_arguments_of_parsing_are_ignored_for_an_mblt_and_said(self):
        mblt = qbcompiler.mblt_compile(MODEL, self.path("m.mblt"), "aries-rb").path
        with self.assertLogs("qbcompiler", "WARNING") as caught:
            qbcompiler.mxq_compile_from_mblt(mblt, "aries-rb", CALIB, self.path("m.mxq"),
                                             feed_dict={"x": 1}, multi_shape={"x": 1})
        self.assertIn("feed_dict, multi_shape", caught.output[0])

    def test_one_size_twice(self):
        mblt = qbcompiler.mblt_compile(MODEL, self.path("m.mblt"), "aries-rb").path
        with self.assertRaisesRegex(ArgumentError, "two of the sizes are the same"):
            qbcompiler.mxq_compile([mblt, mblt], "aries-rb", [CALIB, CALIB], self.path("m.mxq"))

    def test_several_mblt_go_to_no_server(self):
        with self.assertRaisesRegex(UnsupportedOperatorError, "on a server"):
            qbcompiler.mxq_compile(["a.mblt", "b.mblt"], "aries-rb", CALIB, self.path("m.mxq"),
                                   server="unix:/nowhere")

    def test_an_exception_of_the_callback_ends_the_compile(self):
        class Stop(Exception):
            pass

        def stop(event):
            raise Stop

        with self.assertRaises(Stop):
            qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path("m.mxq"), callback=stop)
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_compiler(self):
        os.environ["QBC_COMPILER"] = "/nowhere/qbcompiler"
        with self.assertRaises(CompilerNotFoundError) as caught:
            qbcompiler.mxq_compile(MODEL, "aries-rb", CALIB, self.path("m.mxq"))
        self.assertIn("QBC_SERVER", str(caught.exception))


class Misbehaviour(Here):
    compiler = "chaos_compiler"

    def run_script(self, script, callback=None):
        model = self.write("m.onnx", script)
        return qbcompiler.mxq_compile(model, "aries-rb", use_random_calib=True,
                                      save_path=self.path("m.mxq"), callback=callback)

    def test_it_works_at_all(self):
        self.assertEqual(self.run_script("stage a\nprogress 50\n").outputs[0].size_bytes, 1000)

    def test_lines_that_are_not_of_the_protocol(self):
        with self.assertRaises(InternalError):
            self.run_script("garbage\nhang\n")

    def test_a_crash(self):
        with self.assertRaisesRegex(CompilerCrashError, "SIGSEGV.*last words.*good bye"):
            self.run_script("stderr good bye\ncrash SIGSEGV\n")
        with self.assertRaises(OutOfMemoryError):
            self.run_script("crash SIGKILL\n")
        with self.assertRaises(CompilerCrashError):
            self.run_script("exit 7\n")
        with self.assertRaises(CancelledError):
            self.run_script("exit 130 CANCELLED by somebody\n")

    def test_much_output_on_both_streams(self):
        events = []
        self.run_script("flood 2000\nflood_stderr 2000\n", callback=events.append)
        self.assertGreaterEqual(len(events), 2000)

    def test_ctrl_c_ends_the_compiler(self):
        model = self.write("m.onnx", "stage a\nhang\n")
        code = (f"import sys; sys.path.insert(0, {str(under_test.SITE)!r}); import qbcompiler\n"
                "def tell(event): print(event, flush=True)\n"
                f"qbcompiler.mxq_compile({model!r}, 'aries-rb', use_random_calib=True, "
                f"save_path={self.path('m.mxq')!r}, callback=tell)\n")
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "stage='a'" in line:
                break
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", words)
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.assertNotIn(model.encode(), entry.read_bytes())
            except OSError:
                pass  # ended meanwhile

    def test_calls_from_several_threads(self):
        results = []

        def work(number):
            model = self.write(f"{number}.onnx", f"# {number}\nstage a\n")
            results.append(qbcompiler.mxq_compile(model, "aries-rb", use_random_calib=True,
                                                  save_path=self.path(f"{number}.mxq")))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({result.outputs[0].sha256 for result in results}), 4)


class CommandLine(Here):
    def run_module(self, *arguments, **environment):
        return subprocess.run([sys.executable, "-m", "qbcompiler", *arguments], check=False, text=True,
                              capture_output=True, cwd=self.folder,
                              env={**os.environ, "PYTHONPATH": str(under_test.SITE), **environment})

    def test_commands_are_those_of_the_program(self):
        for arguments in (["presets"], ["check"], ["compile", "--help"], ["dump-config", "--preset", "llm"]):
            done = self.run_module(*arguments)
            there = subprocess.run([under_test.BIN / "qbcompiler", *arguments], capture_output=True,
                                   text=True, check=True)
            self.assertEqual((done.returncode, done.stdout), (0, there.stdout))
        self.assertEqual(self.run_module("compile").returncode, 2)

    def test_no_program(self):
        done = self.run_module("presets", QBC_COMPILER="/nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("QBC_COMPILER", done.stderr)


if __name__ == "__main__":
    python_report.main()
