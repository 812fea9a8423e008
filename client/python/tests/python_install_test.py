#!/usr/bin/python3
"""pip installs the package from a checkout, offline, into the folder given as argument; the other tests of
the package use it there. And it does not replace another package of the same name in silence."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv

import under_test
import python_report

TARGET = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else under_test.SITE)


def pip_install(checkout, *flags, python="/usr/bin/python3", **environment):
    """Installs from `checkout`; pip builds in that folder, so it is a copy."""
    return subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation",
         "--no-deps", "--no-index", "--root-user-action=ignore", *flags, checkout / "client/python"],
        capture_output=True, text=True, check=False, timeout=200,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment})


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="qbpip."))
        cls.checkout = cls.folder / "checkout"
        ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info", "*.binpb")
        for part in ("client/python", "proto"):
            shutil.copytree(under_test.ROOT / part, cls.checkout / part, ignore=ignored)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_pip_installs_from_the_checkout(self):
        new = self.folder / "site"
        done = pip_install(self.checkout, "--target", new)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        for file in ("py.typed", "qbc_v1.binpb", "model_dict/parser/patcher/parts.py"):
            self.assertTrue((new / "qbcompiler" / file).is_file(), file)
        self.assertTrue(list(new.glob("qbcompiler-*.dist-info")))
        shutil.rmtree(TARGET, ignore_errors=True)
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(new, TARGET)

    def test_another_package_of_the_name_is_not_replaced(self):
        home = self.folder / "venv"
        venv.create(home, system_site_packages=True, symlinks=True, with_pip=False)
        site = next(home.glob("lib/python3*/site-packages"))
        (site / "qbcompiler").mkdir()
        (site / "qbcompiler/__init__.py").write_text("VENDOR = True\n")
        refused = pip_install(self.checkout, python=home / "bin/python3")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("another package named qbcompiler", refused.stdout + refused.stderr)
        self.assertEqual((site / "qbcompiler/__init__.py").read_text(), "VENDOR = True\n")
        replaced = pip_install(self.checkout, python=home / "bin/python3", QBCOMPILER_REPLACE="1")
        self.assertEqual(replaced.returncode, 0, replaced.stderr)
        self.assertIn("mxq_compile", (site / "qbcompiler/__init__.py").read_text())


if __name__ == "__main__":
    python_report.main()
