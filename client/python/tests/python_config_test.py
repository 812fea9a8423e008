#!/usr/bin/python3
"""Settings in Python are those of the compiler: generated classes, presets, files, types."""

import ast
import inspect
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import under_test
import python_report
import yaml

import qbcompiler
from qbcompiler import (BitConfig, CalibrationConfig, CompileConfig, ConfigError, LlmConfig,
                        PreprocessingConfig, Uint8InputConfig)
from qbcompiler import config_sections, settings

COMPILER = under_test.BIN / "qbcompiler"
PACKAGE = under_test.ROOT / "client/python"


def dumped(*flags):
    return yaml.safe_load(subprocess.run([COMPILER, "dump-config", *flags], check=True,
                                         capture_output=True, text=True).stdout)


class Generated(unittest.TestCase):
    def test_classes_and_presets_are_not_stale(self):
        done = subprocess.run(["/usr/bin/python3", PACKAGE / "generate_config.py", COMPILER, "--check"],
                              check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_defaults_and_presets_are_those_of_the_compiler(self):
        self.assertEqual(CompileConfig().grouped(), dumped())
        rows = qbcompiler.list_presets()
        self.assertEqual(len(rows), 9)
        for row in rows:
            self.assertEqual(CompileConfig.from_preset(row["name"]).grouped(),
                             dumped("--preset", row["name"]), row)

    def test_the_descriptors_are_those_of_the_protos(self):
        protos = sorted((under_test.ROOT / "proto/qbc/v1").glob("*.proto"))
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "set"
            subprocess.run(["protoc", f"-I{under_test.ROOT}", "--include_imports",
                            f"--descriptor_set_out={target}", *protos], check=True)
            self.assertEqual(target.read_bytes(),
                             (under_test.SITE / "qbcompiler/qbc_v1.binpb").read_bytes())


class Source(unittest.TestCase):
    def test_it_parses_as_python_3_9(self):
        for path in sorted((PACKAGE / "qbcompiler").rglob("*.py")):
            ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 9))

    @unittest.skipUnless(shutil.which("mypy"), "mypy is not installed")
    def test_it_is_clean_for_mypy(self):
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(["mypy", "--strict", "--cache-dir", cache, "qbcompiler"], cwd=PACKAGE,
                                  check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


class Values(unittest.TestCase):
    def test_values_of_another_type_are_refused(self):
        for section, values in [
                (CalibrationConfig, {"mode": True}), (CalibrationConfig, {"mode": "1"}),
                (CalibrationConfig, {"mode": 7}), (CalibrationConfig, {"mod": 1}),
                (CalibrationConfig, {"max_percentile": {"percentile": "0.9"}}),
                (CalibrationConfig, {"max_percentile": {"percentile": 0.1}}),
                (CompileConfig, {"useRandomCalib": 1}), (CompileConfig, {"buffer_mode": 1.5}),
                (CompileConfig, {"splitBlocks": [True]}), (CompileConfig, {"device": "tpu"}),
                (Uint8InputConfig, {"inputs": "x"}), (Uint8InputConfig, {"divisionFactor": "255"})]:
            with self.assertRaises(ValueError, msg=(section, values)):
                section.model_validate(values)

    def test_both_spellings_are_read(self):
        for values in ({"max_percentile": {"topk_ratio": 0.5}}, {"maxPercentile": {"topkRatio": 0.5}}):
            config = CalibrationConfig.model_validate(values)
            self.assertEqual(config.set_values(), {"maxPercentile": {"topkRatio": 0.5}})
        self.assertEqual(CompileConfig.model_validate({"calib_data_path": ["a"]}).set_values(),
                         {"calibDataPaths": ["a"]})
        self.assertEqual(BitConfig.model_validate(
            {"transformer": {"activation": {"ffn": {"up": 8, "down": 16}}}}).set_values(),
            {"transformer": {"activation": {"ffn": {"up": 8, "down": 16}}}})

    def test_pydantic_interfaces(self):
        config = CalibrationConfig(mode=0)
        self.assertEqual(config.model_dump()["mode"], 0)
        self.assertEqual(config.model_dump(by_alias=True, exclude_unset=True), {"mode": 0})
        self.assertEqual(CalibrationConfig.model_validate(config.model_dump(by_alias=True)), config)

    def test_assignment_counts_as_set_also_inside(self):
        config = CompileConfig()
        config.calibration.mode = 0
        config.optimize_option = 2
        self.assertEqual(config.set_values(), {"calibration": {"mode": 0}, "optimizeOption": 2})


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_templates_read_back(self):
        for name in ("new/folder/c.yaml", "c.yml", "c.json"):
            qbcompiler.dump_default_config(self.folder / name, preset="yolo_640")
            config = CompileConfig.from_file(self.folder / name)
            self.assertEqual(config.grouped(), CompileConfig.from_preset("yolo_640").grouped())
        done = subprocess.run([COMPILER, "dump-config", "--preset", "yolo_640", "--output",
                               self.folder / "theirs.json"], check=True, capture_output=True)
        self.assertEqual(done.returncode, 0)
        self.assertEqual((self.folder / "theirs.json").read_text(),
                         (self.folder / "c.json").read_text())

    def test_grouped_flat_and_either_spelling(self):
        for text in ("calibration: {mode: 2}", "quantization: {calibration: {mode: 2}}",
                     '{"quantization": {"calibration": {"mode": 2}}}'):
            config = CompileConfig.from_file(self.write("c.yaml", text))
            self.assertEqual(config.set_values(), {"calibration": {"mode": 2}})
        for name in ("equivalentTransformation", "EquivalentTransformation", "equivalent_transformation"):
            text = "advancedQuantization: {%s: {QK: {apply: true}}}" % name
            config = CompileConfig.from_file(self.write("c.yaml", text))
            self.assertTrue(config.equivalent_transformation.qk.apply)

    def test_bad_files(self):
        for name, text, expected in [
                ("c.yaml", "calibraton: {}", "calibraton: there is no such setting"),
                ("c.yaml", "calibration: {mode: yes}", "calibration"),
                ("c.yaml", "calibration: {}\nquantization: {calibration: {}}", "given twice"),
                ("c.yaml", "quantization: {llm: {}}", "quantization.llm"),
                ("c.yaml", "quantization: 1", "expected an object"),
                ("c.yaml", "[1]", "expected an object"), ("c.yaml", "a: [", "c.yaml"),
                ("c.yaml", "!!python/object/apply:os.system ['true']", "c.yaml"),
                ("c.json", "{", "c.json"), ("c.json", "[" * 100000, "c.json"),
                ("c.json", "\xff", "c.json"), ("c.txt", "{}", ".json, .yaml"),
                ("c.json", " " * (1 << 20) + "{}", "more than")]:
            path = self.folder / name
            path.write_bytes(text.encode("latin-1"))
            with self.assertRaises(ConfigError, msg=text[:40]) as caught:
                CompileConfig.from_file(path)
            self.assertIn(expected, str(caught.exception))
        with self.assertRaises(ConfigError):
            CompileConfig.from_file(self.folder / "missing.yaml")
        with self.assertRaisesRegex(ConfigError, "yolo_640"):
            CompileConfig.from_preset("yolo_64")

    def test_unknown_keys_name_path_and_file(self):
        path = self.write("c.yaml", "calibration: {maxPercentile: {percent: 1}}")
        with self.assertRaises(ConfigError) as caught:
            CompileConfig.from_file(path)
        self.assertIn("calibration.maxPercentile.percent", str(caught.exception))
        self.assertIn("c.yaml", str(caught.exception))


class Precedence(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "c.yaml")
        pathlib.Path(self.file).write_text("# mine\nquantization: {calibration: {mode: 0, output: 1}}\n")

    def resolve(self, **arguments):
        return settings.resolve(arguments, settings.FLAGS)

    def tree(self, **arguments):
        return yaml.safe_load(self.resolve(**arguments).text)

    def test_file_and_preset_go_as_they_are(self):
        self.assertEqual(self.resolve(compile_config=self.file).text, pathlib.Path(self.file).read_text())
        resolved = self.resolve(config_preset="detection", device="cpu", use_random_calib=False)
        self.assertEqual((resolved.preset, resolved.text), ("detection", ""))
        self.assertEqual(resolved.flag_list(), ["--device", "cpu", "--no-use-random-calib"])

    def test_sections_win_over_the_file_and_arguments_over_sections(self):
        section = CalibrationConfig(mode=1)
        self.assertEqual(self.tree(compile_config=self.file, calibration_config=section),
                         {"calibration": {"mode": 1, "output": 1}})
        tree = self.tree(config_preset="detection", calibration_config={"mode": 0},
                         bias_correction_config={"apply": True}, bias_correction=False,
                         optimize_option=2)
        self.assertEqual(tree, {"calibration": {"output": 1, "mode": 0}, "optimizeOption": 2,
                                "biasCorrection": {"apply": False}})

    def test_the_preset_wins_over_the_file_and_says_so(self):
        resolved = self.resolve(config_preset="detection", compile_config=self.file)
        self.assertEqual((resolved.preset, resolved.text), ("detection", ""))
        self.assertIn("ignored", resolved.warnings[0])

    def test_objects_and_dictionaries_are_configs_too(self):
        config = CompileConfig.from_preset("detection")
        config.calibration.mode = 0
        self.assertEqual(self.tree(compile_config=config), {"calibration": {"output": 1, "mode": 0}})
        self.assertEqual(self.tree(compile_config={"quantization": {"calibration": {"mode": 0}}}),
                         {"calibration": {"mode": 0}})

    def test_wrong_ones(self):
        with self.assertRaises(TypeError):
            self.resolve(calibration_config=LlmConfig())
        with self.assertRaises(ConfigError):
            self.resolve(calibration_config={"mode": 9})
        with self.assertRaises(ConfigError):
            self.resolve(optimize_option=5)
        with self.assertRaises(ConfigError):
            self.resolve(compile_config={"nope": 1})
        self.assertEqual(self.resolve(preprocessing_config=PreprocessingConfig()).text, "")

    def test_every_section_is_an_argument(self):
        parameters = inspect.signature(qbcompiler.mxq_compile).parameters
        for name in config_sections.SECTIONS:
            if name != "runtime_options":  # metadata
                self.assertIn(f"{name}_config", parameters)


if __name__ == "__main__":
    python_report.main()
