#!/usr/bin/python3
"""The settings' JSON Schema and dumps in the eyes of a validator and a YAML reader that we did not write."""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]
import python_report

COMPILER = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")


def qbcompiler(*arguments):
    return subprocess.run([COMPILER, *arguments], check=True, capture_output=True, text=True).stdout


class ConfigSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(qbcompiler("dump-config", "--schema"))
        cls.validator = jsonschema.Draft202012Validator(cls.schema)
        cls.presets = [line.split()[0] for line in qbcompiler("presets").splitlines()]

    def test_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)
        self.assertEqual(len(self.presets), 9)

    def test_every_preset_validates_in_yaml_and_json(self):
        with tempfile.TemporaryDirectory() as folder:
            for preset in self.presets:
                dumped = qbcompiler("dump-config", "--preset", preset)
                tree = yaml.safe_load(dumped)
                self.validator.validate(tree)
                path = os.path.join(folder, preset + ".json")
                qbcompiler("dump-config", "--preset", preset, "--output", path)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(json.load(file), tree, preset)

    def test_broken_files_do_not_validate(self):
        good = yaml.safe_load(qbcompiler("dump-config"))
        self.validator.validate(good)
        changes = [
            lambda tree: tree.update(calibraton={}),
            lambda tree: tree.update(device="tpu"),
            lambda tree: tree.update(optimizeOption=5),
            lambda tree: tree.update(useRandomCalib=1),
            lambda tree: tree["quantization"]["calibration"].update(mode="1"),
            lambda tree: tree["preprocessing"].update(pipeline=[{"op": "spin"}]),
            lambda tree: tree["preprocessing"].update(pipeline=[{"op": "centerCrop", "height": 0,
                                                                 "width": 3}]),
            lambda tree: tree["advancedQuantization"]["mod"]["attributes"].update(epochs=0),
        ]
        for number, change in enumerate(changes):
            tree = copy.deepcopy(good)
            change(tree)
            self.assertFalse(self.validator.is_valid(tree), number)

    def test_expectations_validate(self):
        expectations = pathlib.Path("tests/testdata/config_expectations.json").read_text("utf-8")
        for row in json.loads(expectations)["fields"]:
            for name, good in [("valid", True), ("invalid", False)]:
                tree = row[name]
                for level in reversed(row["path"].split(".")):
                    tree = {level: tree}
                self.assertEqual(self.validator.is_valid(tree), good, (row["path"], name))


if __name__ == "__main__":
    python_report.main()
