#!/usr/bin/python3
"""The Debian packages: what is in them, what they need, and that the programs in them run. And the manual
pages, which are written from --help."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import python_report
import stack

BUILD = pathlib.Path(os.environ.get("QB_BUILD_DIR", stack.ROOT / "build/release"))
PROGRAMS = {"qbc-server": "qbc-server", "qbc-worker": "qbc-worker", "qbc-sandbox": "qbc-worker", "qbc": "qbc",
            "qbcompiler": "qbc-worker"}


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **more).stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="qbdeb."))
        run("cmake", "--build", BUILD, "--target", "package-files")
        run("cpack", "-G", "DEB", "-B", cls.folder, cwd=BUILD)
        cls.packages = {path.name.split("_")[0]: path for path in cls.folder.glob("*.deb")}
        cls.root = cls.folder / "root"
        for path in cls.packages.values():
            run("dpkg-deb", "-x", path, cls.root)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_there_are_four(self):
        self.assertEqual(set(self.packages), {"qbc-server", "qbc-worker", "qbc", "python3-qbcompiler"})

    def test_contents(self):
        for program in PROGRAMS:
            for path in (f"usr/bin/{program}", f"usr/share/man/man1/{program}.1.gz"):
                self.assertTrue((self.root / path).is_file(), path)
        for path in ("usr/lib/systemd/system/qbc-server.service",
                     "usr/lib/systemd/system/qbc-worker@.service",
                     "usr/lib/systemd/user/qbc-server.service", "usr/lib/sysusers.d/qbc-server.conf",
                     "usr/lib/python3/dist-packages/qbcompiler/py.typed"):
            self.assertTrue((self.root / path).is_file(), path)
        for package in self.packages:
            text = (self.root / "usr/share/doc" / package / "copyright").read_text()
            self.assertIn("Apache-2.0", text)
            self.assertIn("not affiliated", text)
            self.assertIn("==== libgrpc-dev ====", text)

    def test_dependencies_name_what_the_programs_link(self):
        needs = {name: run("dpkg-deb", "-f", path, "Depends") for name, path in self.packages.items()}
        self.assertIn("libsqlite3-0", needs["qbc-server"])
        self.assertIn("libdnnl", needs["qbc-worker"])
        self.assertIn("libgrpc++", needs["qbc-server"])
        self.assertIn("libssl3", needs["qbc"])
        self.assertNotIn("libgrpc", needs["qbc"])  # it is in the program, which starts sooner so
        self.assertNotIn("libdnnl", needs["qbc"] + needs["qbc-server"])
        self.assertIn("python3-grpcio", needs["python3-qbcompiler"])

    def test_versions_grow_with_the_commits(self):
        versions = {run("dpkg-deb", "-f", path, "Version").strip() for path in self.packages.values()}
        self.assertEqual(len(versions), 1)
        version = versions.pop()
        self.assertRegex(version, r"^\d+\.\d+\.\d+(~git\d{12}\.[0-9a-f]+)?$")

    def test_the_programs_run_and_find_each_other(self):
        binaries = self.root / "usr/bin"
        compiler = run(binaries / "qbcompiler", "--version")
        self.assertIn("qbcompiler", compiler)
        with tempfile.TemporaryDirectory(prefix="qbdeb.") as folder:
            server = subprocess.Popen(
                [binaries / "qbc-server", "--data-dir", f"{folder}/data", "--listen",
                 f"unix:{folder}/s.sock", "--local-workers", "1"], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, env=stack.clean_environment())
            try:
                server.stdout.readline()
                run(binaries / "qbc", "compile", stack.ROOT / "examples/fashion/fashion.onnx", "-t",
                    "aries-rb", "--use-random-calib", "-o", f"{folder}/o.mxq", timeout=120,
                    env=stack.clean_environment(QBC_SERVER=f"unix:{folder}/s.sock"))
            finally:
                server.terminate()
                self.assertEqual(server.wait(timeout=60), 0)
                server.stdout.close()

    def test_the_python_package_imports(self):
        site = self.root / "usr/lib/python3/dist-packages"
        code = ("import qbcompiler, qbcompiler.wire, importlib.metadata as m; qbcompiler.wire.Wire(); "
                "print(m.version('qbcompiler') == qbcompiler.__version__, qbcompiler.__file__)")
        said = run("/usr/bin/python3", "-c", code, env={**os.environ, "PYTHONPATH": str(site),
                                                         "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertIn(f"True {site}", said)

    def test_manual_pages_have_every_flag(self):
        for program in PROGRAMS:
            page = self.root / f"usr/share/man/man1/{program}.1.gz"
            plain = re.sub(r"\\(?:f[BRI]|&)", "", run("gzip", "-dc", page)).replace("\\-", "-")
            flags = re.findall(r"^ +(?:-\w, )?(--\S+)", run(stack.BIN / program, "--help"), re.MULTILINE)
            for flag in flags:
                self.assertIn(flag, plain, program)
        page = self.root / "usr/share/man/man1/qbc.1.gz"
        plain = run("gzip", "-dc", page).replace("\\-", "-")
        for flag in ("--calib-data-path", "--after-seq", "--connect-timeout"):
            self.assertIn(flag, plain)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_manual_pages_are_well_formed(self):
        for program in PROGRAMS:
            page = self.folder / f"{program}.1"
            page.write_text(run("gzip", "-dc", self.root / f"usr/share/man/man1/{program}.1.gz"))
            done = subprocess.run(["mandoc", "-Tlint", "-W", "error", page], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.stdout, "", program)


if __name__ == "__main__":
    python_report.main()
