#!/usr/bin/python3
"""Inputs that somebody made to hurt, or by mistake: each ends its job with a code and a message that names
the trouble, and the server goes on."""

import json
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parents[1])]
import numpy
import onnx
import onnx.helper
import python_report
import stack

EXAMPLE = stack.ROOT / "examples/fashion"


def tiny_model(op="Relu", shape=(1, 1, 28, 28), initializers=(), inputs=("x",), domain=""):
    value = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node(op, list(inputs), ["y"], name="the_node", domain=domain)
    graph = onnx.helper.make_graph([node], "g", [value("x", onnx.TensorProto.FLOAT, shape)],
                                   [value("y", onnx.TensorProto.FLOAT, shape)], list(initializers))
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])


def external_tensor(location, **entries):
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[1, 1, 28, 28],
                              data_location=onnx.TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


class HostileInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.Stack()
        cls.stack.start_server()
        cls.good = (EXAMPLE / "fashion.onnx").read_bytes()

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def tearDown(self):
        self.stack.qbc("status", check=0)
        listed = json.loads(self.stack.qbc("jobs", "--json", check=0).stdout)["jobs"]
        self.assertEqual([job for job in listed if job["state"] in ("queued", "running")], [])

    def refuse(self, model, code, exit_code, *words, calib=EXAMPLE / "calib", flags=(),
               target="aries-rb"):
        """qbc compile must end so; `words` must be in its message."""
        output = self.stack.path("never.mxq")
        done = self.stack.qbc("compile", model, "-t", target, "--calib-data-path", calib, "-o",
                              output, *flags, timeout_s=300)
        self.assertIn(f"ERROR [{code}]: ", done.stderr)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("root:x:0", done.stderr)
        self.assertFalse(pathlib.Path(output).exists())
        self.assertEqual(done.stdout, "")
        return done.stderr

    def model(self, name, data):
        if isinstance(data, onnx.ModelProto):
            data = data.SerializeToString()
        return self.stack.write(f"models/{name}.onnx", data)

    def samples(self, name, good=2, **bad):
        """A folder with good samples and the given bad one."""
        for index, path in enumerate(sorted((EXAMPLE / "calib").iterdir())[:good]):
            self.stack.write(f"{name}/good{index}.npy", path.read_bytes())
        for stem, data in bad.items():
            if isinstance(data, numpy.ndarray):
                pathlib.Path(self.stack.path(name)).mkdir(exist_ok=True)
                numpy.save(self.stack.path(f"{name}/{stem}.npy"), data, allow_pickle=True)
            else:
                self.stack.write(f"{name}/{stem}.npy", data)
        return self.stack.path(name)

    # --- models ---

    def test_truncated_model(self):
        for size in (1, len(self.good) // 3, len(self.good) - 1):
            self.refuse(self.model(f"cut{size}", self.good[:size]), "MODEL_PARSE_ERROR", 3)

    def test_empty_model(self):
        self.refuse(self.model("empty", b""), "MODEL_PARSE_ERROR", 3)

    def test_random_bytes(self):
        generator = random.Random(7)
        for index in range(3):
            self.refuse(self.model(f"random{index}", generator.randbytes(5000)),
                        "MODEL_PARSE_ERROR", 3)

    def test_external_data_outside_the_folder(self):
        for location in ("../../etc/passwd", "../../../../../../../etc/passwd", "/etc/passwd"):
            model = tiny_model("Add", inputs=("x", "w"),
                               initializers=[external_tensor(location, length=3136)])
            text = self.refuse(self.model("passwd", model), "MODEL_PARSE_ERROR", 3, "passwd")
            self.assertIn("warning: the model names external data", text)

    def test_external_data_beyond_its_file(self):
        self.stack.write("models/small.bin", b"\0" * 64)
        for entries in ({"length": 1 << 62}, {"offset": 1 << 62, "length": 3136},
                        {"offset": -8, "length": 3136}, {"offset": "x"}):
            model = tiny_model("Add", inputs=("x", "w"),
                               initializers=[external_tensor("small.bin", **entries)])
            self.refuse(self.model("beyond", model), "MODEL_PARSE_ERROR", 3, "w")

    def test_tensor_that_claims_to_be_huge(self):
        tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT,
                                  dims=[1 << 40, 1 << 40], raw_data=b"\0" * 16)
        model = tiny_model("Add", inputs=("x", "w"), initializers=[tensor])
        self.refuse(self.model("huge", model), "MODEL_PARSE_ERROR", 3, "w")

    def test_unknown_operator(self):
        model = self.model("strange", tiny_model("Frobnicate", domain="com.example"))
        self.refuse(model, "UNSUPPORTED_OPERATOR", 3, "Frobnicate", "the_node")

    def test_opset_of_the_future(self):
        model = tiny_model()
        model.opset_import[0].version = 99
        self.refuse(self.model("future", model), "UNSUPPORTED_OPERATOR", 3, "99")

    def test_fixed_batch(self):
        model = tiny_model(shape=(4, 1, 28, 28))
        done = self.stack.qbc("compile", self.model("batch", model), "-t", "aries-rb",
                              "--calib-data-path", EXAMPLE / "calib", "-o",
                              self.stack.path("never.mxq"), timeout_s=300)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("batch", done.stderr)

    # --- samples ---

    def test_sample_of_no_bytes(self):
        calib = self.samples("zero", empty=b"")
        self.refuse(EXAMPLE / "fashion.onnx", "CALIBRATION_DATA_ERROR", 3, "empty.npy", calib=calib)

    def test_sample_with_nan(self):
        bad = numpy.zeros((1, 1, 28, 28), numpy.float32)
        bad[0, 0, 3, 4] = numpy.nan
        calib = self.samples("nan", broken=bad)
        self.refuse(EXAMPLE / "fashion.onnx", "CALIBRATION_DATA_ERROR", 3, "broken.npy", "NaN",
                    calib=calib)

    def test_sample_of_the_wrong_shape(self):
        calib = self.samples("shape", small=numpy.zeros((1, 1, 27, 28), numpy.float32))
        self.refuse(EXAMPLE / "fashion.onnx", "CALIBRATION_DATA_ERROR", 3, "small.npy", "27",
                    calib=calib)

    def test_sample_that_is_a_pickle(self):
        calib = self.samples("pickle", objects=numpy.array([{"a": 1}], dtype=object))
        self.refuse(EXAMPLE / "fashion.onnx", "CALIBRATION_DATA_ERROR", 3, "objects.npy",
                    calib=calib)

    def test_sample_whose_header_lies(self):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 64
        calib = self.samples("lie", liar=data)
        self.refuse(EXAMPLE / "fashion.onnx", "CALIBRATION_DATA_ERROR", 3, "liar.npy", calib=calib)

    # --- settings ---

    def test_unknown_target(self):
        self.refuse(EXAMPLE / "fashion.onnx", "TARGET_ERROR", 10, "aries-zz", "regulus-rb-usb",
                    target="aries-zz")

    def test_scheme_that_the_target_has_not(self):
        self.refuse(EXAMPLE / "fashion.onnx", "TARGET_ERROR", 10, "global8", target="regulus-rb",
                    flags=("--inference-scheme", "global8"))

    def test_unknown_setting(self):
        config = self.stack.write("bad.yaml", "calibratoin:\n  mode: 1\n")
        self.refuse(EXAMPLE / "fashion.onnx", "CONFIG_ERROR", 10, "calibratoin",
                    flags=("--compile-config", config))

    def test_unknown_preset(self):
        done = self.stack.qbc("compile", EXAMPLE / "fashion.onnx", "-t", "aries-rb",
                              "--calib-data-path", EXAMPLE / "calib", "--config-preset", "nonesuch",
                              "-o", self.stack.path("never.mxq"))
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertIn("nonesuch", done.stderr)

    def test_zz_a_good_job_still_succeeds(self):
        self.stack.qbc("compile", EXAMPLE / "fashion.onnx", "-t", "aries-rb", "--calib-data-path",
                       EXAMPLE / "calib", "-o", self.stack.path("good.mxq"), check=0, timeout_s=300)


if __name__ == "__main__":
    python_report.main()
