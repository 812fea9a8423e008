#!/usr/bin/python3
"""Every command and flag of qbcompiler against tests/testdata/qbcompiler_commands.json, which was written
from the contract and not from the program: help, completion, codes, removed names, secrets."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]
import python_report

COMPILER = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")
TABLE = json.loads(pathlib.Path("tests/testdata/qbcompiler_commands.json").read_text("utf-8"))


def call(*arguments, jsonl=None):
    environment = {key: value for key, value in os.environ.items() if key != "QBCOMPILER_JSONL"}
    if jsonl is not None:
        environment["QBCOMPILER_JSONL"] = jsonl
    return subprocess.run([COMPILER, *arguments], capture_output=True, text=True, timeout=300,
                          env=environment, check=False)


def kebab(name):
    """The flag of a removed key: hf_config and useGPUOnly... become --hf-config, --use-gpu-only-..."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return "--" + words.lower().replace("_", "-")


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.overview = call("--help").stdout
        cls.help = {command["name"]: call(command["name"], "--help").stdout
                    for command in TABLE["commands"]}
        cls.built = [command for command in TABLE["commands"]
                     if not re.search(rf"\n  {command['name']} .*\(not supported yet\)", cls.overview)]

    def flags_in_help(self, command):
        """{name: (negatable, takes a value, text)} as --help lists them."""
        found = {}
        for block in re.split(r"\n(?=  -)", "\n" + self.help[command]):
            title = re.match(r"  (?:-(\w), )?--(\[no-\])?([a-z0-9-]+)( \S+)?", block)
            if title:
                found[title.group(3)] = (bool(title.group(2)), bool(title.group(4)),
                                         " ".join(block[title.end():].split()))
        return found

    def test_every_command_is_in_the_overview(self):
        for command in TABLE["commands"]:
            self.assertRegex(self.overview, rf"\n  {command['name']} +\S.{{10}}")
        self.assertGreater(len(self.built), 11)

    def test_every_flag_is_in_the_help_with_a_text(self):
        for command in self.built:
            shown = self.flags_in_help(command["name"])
            for flag, kind in command["flags"].items():
                with self.subTest(command=command["name"], flag=flag):
                    self.assertIn(flag, shown)
                    negatable, takes_value, text = shown[flag]
                    self.assertEqual(negatable, kind == "negatable")
                    self.assertEqual(takes_value, kind in ("value", "repeated"))
            for flag, (_, _, text) in shown.items():
                self.assertGreater(len(text), 12, (command["name"], flag))

    def test_every_flag_of_the_help_is_in_the_table(self):
        """Or no other test here would hold it to anything."""
        for command in self.built:
            shown = self.flags_in_help(command["name"])
            self.assertEqual(sorted(set(shown) - set(command["flags"])), [], command["name"])
        listed = re.findall(r"\n  ([a-z][a-z-]*)  +\S", self.overview)
        self.assertEqual(sorted(listed), sorted(command["name"] for command in TABLE["commands"]))

    def test_every_help_teaches(self):
        for command in self.built:
            text = self.help[command["name"]]
            self.assertIn(f"Example:\n  {'eval ' if command['name'] == 'completion' else ''}", text)
            self.assertIn(f"qbcompiler {command['name']}", text.split("Example:")[1])
            self.assertGreater(len(text.split("Example:")[0]), 80, command["name"])
            self.assertLessEqual(max(map(len, text.split("Example:")[0].splitlines())), 88)

    def test_every_flag_is_known_and_every_other_is_not(self):
        for command in self.built:
            for flag, kind in command["flags"].items():
                with self.subTest(command=command["name"], flag=flag):
                    value = ["x"] if kind in ("value", "repeated") else []
                    done = call(command["name"], f"--{flag}", *value, "--no-such-flag")
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn("ERROR [ARGUMENT_ERROR]: unknown flag --no-such-flag", done.stderr)
                    if value:
                        done = call(command["name"], f"--{flag}")
                        self.assertEqual(done.returncode, 2)
                        self.assertIn(f"--{flag} needs a value", done.stderr)
                    else:
                        done = call(command["name"], f"--{flag}=1")
                        self.assertIn(f"--{flag} takes no value", done.stderr)
                        done = call(command["name"], f"--no-{flag}", "--no-such-flag")
                        self.assertEqual("unknown flag --no-such-flag" in done.stderr,
                                         kind == "negatable")

    def test_what_must_be_given_is_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            for command in self.built:
                for missing in command["required"]:
                    with self.subTest(command=command["name"], missing=missing):
                        flags = []
                        for flag in command["required"]:
                            if flag != missing:
                                value = "aries-rb" if flag == "target-device" else folder + "/none"
                                flags += [f"--{flag}", value]
                        done = call(command["name"], *flags)
                        self.assertEqual(done.returncode, 2, done.stderr)
                        self.assertIn("ERROR [ARGUMENT_ERROR]: ", done.stderr)
                        self.assertIn(f"--{missing}", done.stderr)

    def test_commands_that_are_not_built_say_so(self):
        for command in TABLE["commands"]:
            if command in self.built:
                continue
            done = call(command["name"])
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the command '{command['name']}' is not supported yet", done.stderr)
            self.assertIn("not supported yet", self.help[command["name"]])

    def test_removed_names_answer_with_their_replacement(self):
        with tempfile.TemporaryDirectory() as folder:
            for key, replacement in TABLE["removed"].items():
                for command in ("compile", "parse", "quantize"):
                    for flag in (kebab(key), kebab(key) + "=x"):
                        done = call(command, flag, "x")
                        self.assertEqual(done.returncode, 2)
                        self.assertIn("was removed; use ", done.stderr)
                        self.assertIn(replacement, done.stderr)
                for spelled in (key, kebab(key)[2:].replace("-", "_")):
                    for text in (f"{spelled}: 1\n", json.dumps({spelled: {}}),
                                 f"calibration: {{{spelled}: 1}}\n"):
                        path = pathlib.Path(folder, "c.yaml")
                        path.write_text(text, encoding="utf-8")
                        done = call("compile", "--compile-config", str(path), "--target-device",
                                    "aries-rb", "--model", "m", "--output", "o")
                        self.assertEqual(done.returncode, 2)
                        self.assertIn(f"{spelled}: this key was removed; use ", done.stderr)
                        self.assertIn(replacement, done.stderr)

    def test_hostile_settings_are_refused_in_a_moment(self):
        deep = 10000
        cases = {
            "big.json": b'{"dtype": "' + b"y" * 10_000_000 + b'"}',
            "big.yaml": b"dtype: " + b"y" * 10_000_000,
            "many.yaml": b"".join(b"k%d: 1\n" % i for i in range(900_000)),
            "deep.json": b'{"a":' * deep + b"1" + b"}" * deep,
            "deep_list.json": b'{"a":' + b"[" * deep + b"]" * deep + b"}",
            "deep_flow.yaml": b"a: " + b"[" * deep + b"]" * deep,
            "deep_block.yaml": b"- " * deep + b"1",
            "deep_map.yaml": b"".join(b" " * i + b"a:\n" for i in range(1300)),
            "nul.yaml": b"debug: true\0\n",
            "nul.json": b'{"debug": true}\0',
            "nul_escape.json": b'{"dtype": "a\\u0000b"}',
            "nul_escape.yaml": b'dtype: "a\\0b"',
            "bytes.yaml": b'dtype: "\xff\xfe"',
            "laughs.yaml": b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
                b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9))
                for c in range(ord("b"), ord("k"))),
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, data in cases.items():
                with self.subTest(name):
                    path = pathlib.Path(folder, name)
                    path.write_bytes(data)
                    begin = time.monotonic()
                    done = call("compile", "--compile-config", str(path), "--target-device",
                                "aries-rb", "--model", "m", "--output", "o")
                    took_s = time.monotonic() - begin
                    self.assertEqual(done.returncode, 2, done.stderr[:300])
                    self.assertIn("ERROR [CONFIG_ERROR]: ", done.stderr)
                    self.assertIn(name, done.stderr)
                    self.assertLess(len(done.stderr), 20000)
                    self.assertLess(took_s, 1.0)

    def test_programs_get_json_lines_for_help_and_version_too(self):
        for arguments, key in [(["--help"], "help"), (["help", "parse"], "help"), (["run", "-h"], "help"),
                               (["--version"], "version")]:
            plain = call(*arguments).stdout
            lines = [json.loads(line) for line in call(*arguments, jsonl="on").stdout.splitlines()]
            self.assertEqual([line["type"] for line in lines], ["result"])
            self.assertIn(lines[0][key].strip(), plain)
        self.assertEqual(call("help", "parse").stdout, self.help["parse"])
        done = call(jsonl="1")
        self.assertEqual((done.returncode, json.loads(done.stdout)["code"]), (2, "ARGUMENT_ERROR"))

    def test_no_flag_carries_a_secret(self):
        for command in self.built:
            for flag in self.flags_in_help(command["name"]):
                self.assertNotRegex(flag, "token|secret|passw|key|credential")

    def test_completion_knows_every_command_and_flag(self):
        scripts = {shell: call("completion", shell).stdout for shell in ("bash", "zsh", "fish")}
        for command in TABLE["commands"]:
            for script in scripts.values():
                self.assertRegex(script, rf"\b{command['name']}\b")
        for command in self.built:
            known = re.search(rf"\n    {command['name']}\) flags=\"([^\"]*)\"", scripts["bash"])
            for flag, kind in command["flags"].items():
                self.assertIn(f"--{flag}", known.group(1).split())
                self.assertEqual(f"--no-{flag}" in known.group(1).split(), kind == "negatable")
                self.assertRegex(scripts["fish"], rf"_from {command['name']}' -l {flag} ")

    def complete(self, *words):
        """What bash offers for the last word."""
        script = call("completion", "bash").stdout + (
            f"\nCOMP_WORDS=({' '.join(words)} ''); COMP_CWORD={len(words)}\n_qbcompiler\n"
            'printf "%s\\n" "${COMPREPLY[@]}"\n')
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                              check=True).stdout.split()

    def test_completion_offers_values(self):
        presets = [line.split()[0] for line in call("presets").stdout.splitlines()]
        self.assertEqual(self.complete("qbcompiler", "compile", "--config-preset"), presets)
        self.assertIn("regulus-rb-usb", self.complete("qbcompiler", "parse", "--target-device"))
        self.assertEqual(self.complete("qbcompiler", "compile", "--inference-scheme"),
                         ["single", "multi", "global4", "global8", "all"])
        self.assertEqual(self.complete("qbcompiler", "completion"), ["bash", "zsh", "fish"])


if __name__ == "__main__":
    python_report.main()
