#!/usr/bin/python3
"""Modules of torch and TorchScript archives, where torch is installed, and what is said where it is not."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import under_test
import numpy as np
import python_report

import qbcompiler

HAVE_TORCH = importlib.util.find_spec("torch") is not None


class WithoutTorch(unittest.TestCase):
    def test_the_package_imports_neither_it_nor_grpc(self):
        code = f"import sys; sys.path.insert(0, {str(under_test.SITE)!r}); import qbcompiler; " \
               "sys.exit('torch' in sys.modules or 'grpc' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)

    def test_what_is_missing_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = pathlib.Path(folder) / "m.pt"
            archive.write_bytes(b"")
            with self.assertRaises(qbcompiler.QBCompilerError) as caught:
                qbcompiler.mxq_compile(archive, "aries-rb", use_random_calib=True, backend="torchscript")
        self.assertRegex(str(caught.exception), "feed_dict|torch")


@unittest.skipUnless(HAVE_TORCH, "torch is not installed")
class WithTorch(unittest.TestCase):
    def setUp(self):
        global torch
        import torch
        torch.manual_seed(1)
        torch.set_num_threads(1)
        folder = tempfile.TemporaryDirectory(prefix="qbpy.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        under_test.use_compiler()
        self.module = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 5))
        self.example = torch.randn(1, 3, 16, 16)
        self.samples = torch.randn(8, 1, 3, 16, 16)

    def path(self, name):
        return str(self.folder / name)

    def outputs(self, *what):
        """What the program computes from the first sample."""
        np.save(self.folder / "s.npy", self.samples[0].numpy())
        (self.folder / "one.txt").write_text("s.npy\n")
        subprocess.run([under_test.BIN / "qbcompiler", "run", *what, "--data", self.folder / "one.txt",
                        "--output", self.folder / "out"], check=True, capture_output=True)
        return np.load(next((self.folder / "out").glob("*.npy")))

    def test_a_module_becomes_what_it_computes(self):
        self.module.train()
        result = qbcompiler.mxq_compile(self.module, "aries-rb", self.samples, self.path("m.mxq"),
                                        backend="torch", feed_dict={"image": self.example})
        self.assertTrue(self.module.training)  # as it was
        self.module.eval()
        expected = self.module(self.samples[0]).detach().numpy()
        found = self.outputs("--mxq", result.path).reshape(expected.shape)
        self.assertLess(np.abs(found - expected).max(), 0.05 * np.abs(expected).max())

    def test_an_archive_computes_what_the_module_does(self):
        self.module.eval()
        archive = self.path("m.pt")
        torch.jit.save(torch.jit.trace(self.module, self.example), archive)
        mblt = qbcompiler.mblt_compile(archive, self.path("a.mblt"), "aries-rb", backend="torchscript",
                                       feed_dict={"image": self.example})
        expected = self.module(self.samples[0]).detach().numpy()
        found = self.outputs("--mblt", mblt.path).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)

    def test_several_sizes(self):
        written = qbcompiler.mblt_compile(
            self.module, self.path("m.mblt"), "aries-rb", feed_dict={"image": self.example},
            multi_shape={"image": {"axis": (2, 3), "values": [(16, 16), (24, 32)]}})
        self.assertEqual(len({output.sha256 for output in written.outputs}), 2)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(qbcompiler.ArgumentError, "feed_dict"):
            qbcompiler.mxq_compile(self.module, "aries-rb", self.samples)
        with self.assertRaises(qbcompiler.ModelParseError):
            qbcompiler.mxq_compile(self.module, "aries-rb", self.samples,
                                   feed_dict={"image": torch.zeros(1, 7)})
        (self.folder / "broken.pt").write_bytes(os.urandom(100))
        with self.assertRaises(qbcompiler.ModelParseError):
            qbcompiler.mxq_compile(self.folder / "broken.pt", "aries-rb", self.samples,
                                   backend="TorchScript", feed_dict={"image": self.example})


if __name__ == "__main__":
    python_report.main()
