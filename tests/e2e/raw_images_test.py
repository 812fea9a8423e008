#!/usr/bin/python3
"""Compiles from raw images: pipelines, saved samples, uint8 executables, make-calib, the dry run."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]
import python_report

COMPILER = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")
RESIZE = {"op": "resize", "size": 36, "mode": "bilinear", "backend": "pil"}
CROP = {"op": "centerCrop", "height": 32, "width": 32}
NORMALIZE = {"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
             "scaleToUint8": True}


def write_model(path, size=32):
    """x [1, 3, size, size] -> Conv 3x3 with zero padding -> Relu -> Conv, stride 4 -> mean -> y."""
    random = numpy.random.default_rng(1)
    first = random.normal(0, 0.3, (8, 3, 3, 3)).astype(numpy.float32)
    second = random.normal(0, 0.2, (10, 8, 3, 3)).astype(numpy.float32)
    nodes = [helper.make_node("Conv", ["x", "a"], ["c"], name="conv1", pads=[1] * 4),
             helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("Conv", ["r", "b"], ["d"], name="conv2", strides=[4, 4]),
             helper.make_node("GlobalAveragePool", ["d"], ["p"], name="pool"),
             helper.make_node("Flatten", ["p"], ["y"], name="flat")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(first, "a"), numpy_helper.from_array(second, "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)


def picture(seed, height, width):
    """Soft colours with some noise, redder than blue as photographs are."""
    random = numpy.random.default_rng(seed)
    small = random.integers(0, 256, (4, 5, 3)).astype(numpy.uint8)
    image = numpy.asarray(Image.fromarray(small).resize((width, height), Image.BICUBIC)).astype(int)
    image = image + random.integers(-9, 10, image.shape) + numpy.array([25, 0, -25])
    return Image.fromarray(image.clip(0, 255).astype(numpy.uint8))


class RawImages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        cls.model = os.path.join(cls.folder, "m.onnx")
        write_model(cls.model)
        cls.photos = os.path.join(cls.folder, "photos")
        os.mkdir(cls.photos)
        for i in range(12):
            name = f"{cls.photos}/p{i:02d}." + ("png" if i % 3 == 0 else "jpg")
            picture(i, 48 + 7 * i, 90 - 3 * i).save(name)
        picture(50, 60, 60).convert("L").save(f"{cls.photos}/q_grey.png")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_compiler(self, *arguments, code=0):
        done = subprocess.run([COMPILER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr[-2000:]}")
        return done

    def config(self, name, **sections):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(sections, file)
        return self.path(name)

    def compile(self, name, data, config=None, code=0, model=None, target="aries-rb"):
        flags = ["--compile-config", config] if config else []
        return self.run_compiler("compile", "--model", model or self.model, "--target-device", target,
                                 "--calib-data-path", data, "--output", self.path(name), *flags,
                                 code=code)

    def entries(self, name):
        with zipfile.ZipFile(self.path(name)) as archive:
            return {entry: archive.read(entry) for entry in archive.namelist()}

    def outputs(self, name, data, *flags):
        folder = self.path(f"out_{name}_{len(os.listdir(self.folder))}")
        self.run_compiler("run", "--mxq", self.path(name), "--data", data, "--output", folder, *flags)
        return {file: numpy.load(f"{folder}/{file}") for file in sorted(os.listdir(folder))}

    def pipeline(self, fuse):
        normalize = dict(NORMALIZE, fuseIntoFirstLayer=fuse)
        return {"preprocessing": {"apply": True, "autoConvertFormat": True,
                                  "pipeline": [RESIZE, CROP, normalize]}, "imageChannels": 3}

    def test_saved_samples_give_the_same_program(self):
        samples = self.path("saved")
        config = self.config("raw.json", **self.pipeline(False),
                             saveSample={"apply": True, "path": samples, "maxSamples": 100})
        self.compile("raw.mxq", self.photos, config)
        self.assertEqual(len(os.listdir(samples)), 13)
        # What calibration saw is what Pillow and numpy make of the file.
        image = Image.open(f"{self.photos}/p01.jpg")
        width, height = image.size
        scale = 36 / min(image.size)
        self.assertGreaterEqual(min(width, height) * scale, 36)
        size = (36, int(36 * height / width)) if width <= height else (int(36 * width / height), 36)
        image = image.resize(size, Image.BILINEAR)
        left, top = round((size[0] - 32) / 2), round((size[1] - 32) / 2)
        pixels = numpy.asarray(image.crop((left, top, left + 32, top + 32)), numpy.float32)
        mean, deviation = (numpy.array(NORMALIZE[key], numpy.float32) for key in ("mean", "std"))
        want = ((pixels / numpy.float32(255) - mean) / deviation).transpose(2, 0, 1)[None]
        numpy.testing.assert_array_equal(numpy.load(f"{samples}/p01.npy"), want)
        self.compile("again.mxq", samples)
        first, second = self.entries("raw.mxq"), self.entries("again.mxq")
        self.assertEqual(first["program/single.pb"], second["program/single.pb"])
        self.assertEqual(first["weights.bin"], second["weights.bin"])

    def test_a_fused_normalize_takes_bytes_and_gives_the_same(self):
        self.compile("plain.mxq", self.photos, self.config("plain.json", **self.pipeline(False)))
        self.compile("fused.mxq", self.photos, self.config("fused.json", **self.pipeline(True)))
        plain, fused = self.entries("plain.mxq"), self.entries("fused.mxq")
        scales = [[(layer["name"], layer["scale"], layer["zero_point"])
                   for layer in json.loads(entries["report.json"])["layers"]]
                  for entries in (plain, fused)]
        self.assertEqual(scales[0], scales[1])
        contract = json.loads(fused["manifest.json"])["inputs"][0]
        self.assertEqual((contract["dtype"], contract["layout"], contract["color_order"],
                          contract["range"]), ("uint8", "NCHW", "RGB", "0..255"))
        self.assertEqual([step["op"] for step in contract["steps_before"]], ["resize", "centerCrop"])
        self.assertEqual([step["op"] for step in contract["fused"]], ["normalize"])
        numpy.testing.assert_allclose(contract["codes"]["scale"],
                                      1 / (255 * numpy.array(NORMALIZE["std"])), rtol=1e-6)
        # The bytes that a pipeline makes are exact; only ties of the input's codes may differ.
        one, two = self.outputs("plain.mxq", self.photos), self.outputs("fused.mxq", self.photos)
        self.assertEqual(list(one), list(two))
        step = [row["scale"] for row in json.loads(plain["report.json"])["layers"]][-1]
        for name in one:
            self.assertLessEqual(abs(one[name] - two[name]).max(), 1.01 * step, name)
        done = self.run_compiler("evaluate", "--model", self.model, "--mxq", self.path("fused.mxq"),
                                 "--data", self.photos, "--json", "-", "--per-layer")
        report = json.loads(done.stdout)
        self.assertGreater(report["outputs"][0]["sqnr_db"], 25)
        self.assertGreater(min(layer["sqnr_db"] for layer in report["layers"]), 25)

    def test_uint8_input_divides(self):
        letterbox = {"op": "letterbox", "height": 32, "width": 32, "backend": "opencv"}
        sections = {"preprocessing": {"apply": True, "autoConvertFormat": True, "pipeline": [letterbox]},
                    "imageChannels": 3, "uint8Input": {"apply": True}}
        for target in ("aries-rb", "regulus-rb-usb"):
            self.compile("bytes.mxq", self.photos, self.config("bytes.json", **sections), target=target)
            contract = json.loads(self.entries("bytes.mxq")["manifest.json"])["inputs"][0]
            self.assertEqual(contract["dtype"], "uint8")
            self.assertEqual(contract["fused"], [{"op": "divide", "by": 255.0}])
            done = self.run_compiler("evaluate", "--model", self.model, "--mxq", self.path("bytes.mxq"),
                                     "--data", self.photos, "--json", "-")
            self.assertGreater(json.loads(done.stdout)["outputs"][0]["sqnr_db"], 25)
        sections["preprocessing"]["pipeline"] = [RESIZE, CROP, NORMALIZE]
        done = self.compile("bytes.mxq", self.photos, self.config("bytes.json", **sections), code=2)
        self.assertIn("needs fuseIntoFirstLayer", done.stderr)

    def test_a_fused_letterbox_takes_whole_frames(self):
        frames = self.path("frames")
        os.makedirs(frames)
        for i in range(6):
            picture(100 + i, 40, 64).save(f"{frames}/f{i}.png")
        box = {"op": "letterbox", "height": 32, "width": 32, "padValue": 114, "backend": "opencv"}
        fused = dict(box, fuseIntoFirstLayer=True, sourceHeight=40, sourceWidth=64)

        def sections(*steps, uint8=False):
            return {"preprocessing": {"apply": True, "autoConvertFormat": True, "pipeline": list(steps)},
                    "imageChannels": 3, "uint8Input": {"apply": uint8}}

        normalize = dict(NORMALIZE, fuseIntoFirstLayer=True)
        for tail, uint8 in (([normalize], False), ([], True)):
            self.compile("apart.mxq", frames,
                         self.config("apart.json", **sections(box, *tail, uint8=uint8)))
            self.compile("whole.mxq", frames,
                         self.config("whole.json", **sections(fused, *tail, uint8=uint8)))
            contract = json.loads(self.entries("whole.mxq")["manifest.json"])["inputs"][0]
            self.assertEqual((contract["dtype"], contract["shape"], contract["layout"], contract["range"],
                              contract["color_order"]), ("uint8", [1, 3, 40, 64], "NCHW", "0..255", "RGB"))
            self.assertEqual(contract["steps_before"], [])
            self.assertEqual([step["op"] for step in contract["fused"]],
                             ["letterbox", "normalize" if tail else "divide"])
            self.assertEqual(contract["letterbox"],
                             {"factor": 2, "top": 6, "left": 0, "height": 20, "width": 32})
            # Every bit is that of the executable whose application does the letterbox.
            one, two = self.outputs("apart.mxq", frames), self.outputs("whole.mxq", frames)
            self.assertEqual(len(one), 6)
            for name in one:
                numpy.testing.assert_array_equal(one[name], two[name], name)
            reports = [json.loads(self.run_compiler(
                "evaluate", "--model", self.model, "--mxq", self.path(name), "--data", frames, "--json", "-",
                "--per-layer").stdout) for name in ("apart.mxq", "whole.mxq")]
            self.assertEqual(reports[0]["outputs"], reports[1]["outputs"])
            entire = [{layer["name"]: layer["entire_sqnr_db"] for layer in report["layers"]}
                      for report in reports]
            self.assertGreaterEqual(len(entire[1]), 5)
            self.assertEqual(entire[1], {name: entire[0][name] for name in entire[1]})
            self.assertGreater(reports[1]["outputs"][0]["sqnr_db"], 25)
        # The application's own bytes need no preprocessing.
        arrays = self.path("frame_arrays")
        os.makedirs(arrays)
        for i in range(6):
            frame = numpy.asarray(Image.open(f"{frames}/f{i}.png"))
            numpy.save(f"{arrays}/f{i}.npy", frame.transpose(2, 0, 1)[None])
        raw = self.outputs("whole.mxq", arrays, "--no-preprocessing")
        for name, value in self.outputs("whole.mxq", frames).items():
            numpy.testing.assert_array_equal(raw[name], value, name)
        # Frames of another size are refused, with what is accepted; so is what cannot be folded.
        done = self.compile("other.mxq", self.photos, self.path("whole.json"), code=1)
        self.assertIn("CALIBRATION_DATA_ERROR", done.stderr)
        self.assertIn("uint8[1x3x40x64]", done.stderr)
        for change, words in (({"sourceWidth": 65}, "no whole factor"),
                              ({"sourceWidth": 0}, "sourceWidth"),
                              ({"mode": "bicubic"}, "reads beyond its block")):
            done = self.compile("x.mxq", frames, self.config("x.json", **sections(dict(fused, **change))),
                                code=2)
            self.assertIn(words, done.stderr)
        done = self.compile("x.mxq", frames, self.config("x.json", **sections(dict(box, fuseIntoFirstLayer=True))),
                            code=2)
        self.assertIn("needs sourceHeight and sourceWidth", done.stderr)
        done = self.compile("x.mxq", frames, self.config("x.json", **sections(
            dict(fused, height=24, width=32, sourceHeight=48))), code=2)
        self.assertIn("cannot be folded into input 'x'", done.stderr)

    def test_peak_memory_is_its_own(self):
        ballast = bytearray(os.urandom(1 << 20)) * 512
        environment = dict(os.environ, QBCOMPILER_JSONL="1")
        done = subprocess.run([COMPILER, "compile", "--model", self.model, "--target-device", "aries-rb",
                               "--use-random-calib", "--output", self.path("peak.mxq")], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, close_fds=False,
                              check=True)
        report = json.loads(done.stdout.strip().splitlines()[-1])["report"]
        self.assertLess(report["peak_memory_bytes"], len(ballast) // 2)
        self.assertGreater(report["peak_memory_bytes"], 1 << 20)

    def test_the_torchvision_preset(self):
        model = self.path("m224.onnx")
        write_model(model, 224)
        few = self.path("few")
        os.makedirs(few, exist_ok=True)
        for name in ("p01.jpg", "p03.png", "q_grey.png"):
            shutil.copy(f"{self.photos}/{name}", few)
        self.run_compiler("compile", "--model", model, "--target-device", "aries-rb",
                          "--calib-data-path", few, "--config-preset", "classification_torchvision",
                          "--output", self.path("preset.mxq"))
        contract = json.loads(self.entries("preset.mxq")["manifest.json"])["inputs"][0]
        self.assertEqual(contract["dtype"], "uint8")

    def test_mistakes_in_settings_are_named(self):
        for sections, words in (
                ({"preprocessing": {"apply": True, "inputConfigs": {"z": {"pipeline": []}}}},
                 "no input 'z'"),
                ({"uint8Input": {"apply": True, "inputs": ["z"]}}, "no input 'z'"),
                ({"imageChannels": 2}, "imageChannels"),
                ({"preprocessing": {"apply": True, "pipeline": [
                    dict(NORMALIZE, fuseIntoFirstLayer=True), CROP]}}, "for the last step")):
            done = self.compile("x.mxq", self.photos, self.config("x.json", **sections), code=2)
            self.assertIn(words, done.stderr)
        # Without a pipeline the images must have the input's size already; nothing is guessed.
        done = self.compile("x.mxq", self.photos, code=1)
        self.assertIn("CALIBRATION_DATA_ERROR", done.stderr)
        self.assertIn("p01.jpg", done.stderr)
        self.assertIn("expected float32[1x3x32x32]", done.stderr)

    def test_make_calib_writes_a_set(self):
        with open(self.path("manual.yaml"), "w", encoding="utf-8") as file:
            file.write("Datatype: Image\nGetImage:\n  to_float32: false\n  channel_order: RGB\n"
                       "Pre-Order: [ResizeTorch, CenterCrop, Normalize, SetOrder]\nPre-processing:\n"
                       "  ResizeTorch: {size: [36, 36], interpolation: bilinear}\n"
                       "  CenterCrop: {size: [32, 32]}\n"
                       "  Normalize: {mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5], to_float_div255: true}\n"
                       "  SetOrder: {shape: HWC}\n")
        flags = ["make-calib", "--preprocess", self.path("manual.yaml"), "--data-dir", self.photos,
                 "--save-dir", self.path("made"), "--save-name", "set", "--max-size", "5"]
        self.run_compiler(*flags)
        listing = self.path("made/set.txt")
        with open(listing, encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(), [f"set/p{i:02d}.npy" for i in range(5)])
        sample = numpy.load(self.path("made/set/p00.npy"))
        self.assertEqual((sample.shape, sample.dtype), ((32, 32, 3), numpy.float32))
        self.compile("made.mxq", listing)
        self.assertIn("earlier run", self.run_compiler(*flags, code=1).stderr)
        config = self.config("steps.json", preprocessing={"pipeline": [RESIZE, CROP, NORMALIZE]})
        self.run_compiler("make-calib", "--preprocess", config, "--data-dir", self.photos, "--save-dir",
                          self.path("made"), "--save-name", "second")
        self.assertEqual(len(os.listdir(self.path("made/second"))), 13)

    def validate(self, data, config=None, code=0):
        flags = ["--compile-config", config] if config else []
        done = self.run_compiler("validate", "--model", self.model, "--target-device", "aries-rb",
                                 "--calib-data-path", data, "--json", *flags, code=code)
        return json.loads(done.stdout)["calibration"] if code == 0 else done

    def test_the_dry_run_describes_and_warns(self):
        good = self.config("dry.json", **self.pipeline(False))
        report = self.validate(self.photos, good)
        self.assertEqual(report["samples"], 13)
        self.assertEqual(report["inputs"][0]["type"], "float32[1x3x32x32]")
        self.assertEqual(len(report["inputs"][0]["channels"]), 3)
        self.assertEqual(report["warnings"], [])
        samples = self.path("dry")
        self.compile("dry.mxq", self.photos, self.config(
            "save.json", **self.pipeline(False),
            saveSample={"apply": True, "path": samples, "maxSamples": 100}))
        arrays = {name: numpy.load(f"{samples}/{name}") for name in os.listdir(samples)}

        def variant(name, change):
            os.makedirs(self.path(name), exist_ok=True)
            for file, array in arrays.items():
                numpy.save(self.path(f"{name}/{file}"), change(array))
            return self.path(name)

        twice = self.validate(variant("twice", lambda x: x[0].transpose(1, 2, 0)), good)
        self.assertIn("normalized already", "".join(twice["warnings"]))
        alike = self.validate(variant("alike", lambda x: numpy.ones_like(x)))
        self.assertIn("all samples are alike", "".join(alike["warnings"]))
        mean, deviation = (numpy.array(NORMALIZE[k]).reshape(3, 1, 1) for k in ("mean", "std"))
        bytes_ = lambda x: numpy.rint((x * deviation + mean) * 255).astype(numpy.float32)
        self.assertIn("0 to 255", "".join(self.validate(variant("bytes", bytes_))["warnings"]))
        bgr = self.validate(variant("bgr", lambda x: bytes_(x)[:, ::-1] / numpy.float32(255)))
        self.assertIn("BGR", "".join(bgr["warnings"]))
        done = self.validate(self.path("nothing-here"), code=1)
        self.assertIn("does not exist", done.stderr)


if __name__ == "__main__":
    python_report.main()
