#!/usr/bin/python3
"""Calibration data that cannot be right: every set below is refused before any work begins, with the
file and the reason; nothing crashes, hangs, runs or unpickles anything.

The corpus is made here, from nothing but good files that are then broken."""

import io
import os
import pathlib
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib

import numpy
from PIL import Image

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parent)]
import python_report
from raw_images_test import picture, write_model

COMPILER = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")
SHAPE = (1, 3, 32, 32)


def encoded(image, format, **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def npy(array, **options):
    buffer = io.BytesIO()
    numpy.save(buffer, array, **options)
    return buffer.getvalue()


def npy_header(text, data=b""):
    text = text.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width, height):
    """A PNG that says how large it is, with a few bytes of pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) +
            png_chunk(b"IDAT", zlib.compress(b"\0" * 4096)) + png_chunk(b"IEND", b""))


def archive(entries, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in entries:
            file.writestr(name, content)
    return buffer.getvalue()


# What a pickle that is run would leave behind.
TRACE = os.path.join(tempfile.gettempdir(), f"qb_bad_data_ran_{os.getpid()}")


class Hostile:
    def __reduce__(self):
        return os.system, (f"touch {TRACE}",)


def hostile_pt():
    return archive([("archive/data.pkl", pickle.dumps(Hostile(), 2)), ("archive/version", b"3\n")],
                   zipfile.ZIP_STORED)


def lying_pt(offset=0, size="(1,3,32,32)", strides="(3072,1024,32,1)", key="0"):
    """torch.save's pickle written by hand, over a storage of eight floats."""
    number = lambda n: b"J" + struct.pack("<i", n)
    tuple_of = lambda text: b"(" + b"".join(number(int(n)) for n in text.strip("()").split(",") if n) + b"t"
    text = lambda s: b"X" + struct.pack("<I", len(s)) + s.encode()
    program = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
               b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + number(3072) + b"tQ" + number(offset) +
               tuple_of(size) + tuple_of(strides) + b"\x89ccollections\nOrderedDict\n)RtR.")
    return archive([("archive/data.pkl", program), ("archive/data/0", b"\0" * 32)], zipfile.ZIP_STORED)


def single_files():
    """(file name, content, a word of the reason)."""
    image = picture(1, 32, 32)
    jpeg, png, bmp, webp = (encoded(image, kind) for kind in ("JPEG", "PNG", "BMP", "WEBP"))
    good = numpy.zeros(SHAPE, numpy.float32)
    plain = npy(good)
    spoiled = lambda value: npy(numpy.where(numpy.arange(good.size).reshape(SHAPE) == 77, value, good))
    npz = archive([("x.npy", plain)])
    yield "empty.npy", b"", "not a .npy file"
    yield "text.npy", b"this is no array", "not a .npy file"
    yield "object.npy", npy(numpy.array([Hostile()], object), allow_pickle=True), "never unpickled"
    yield "record.npy", npy(numpy.zeros(4, [("a", "<f4")])), "record"
    yield "complex.npy", npy(numpy.zeros(SHAPE, numpy.complex64)), "c8"
    yield "words.npy", npy(numpy.array(["a", "b"])), "U1"
    yield "nan.npy", spoiled(numpy.float32("nan")), "NaN or infinity at element 77"
    yield "inf.npy", spoiled(numpy.float32("-inf")), "NaN or infinity at element 77"
    yield "shape.npy", npy(numpy.zeros((1, 3, 32, 31), numpy.float32)), "expected float32[1x3x32x32]"
    yield "rank.npy", npy(numpy.zeros(3072, numpy.float32)), "expected float32[1x3x32x32]"
    yield "batch.npy", npy(numpy.zeros((2, 3, 32, 32), numpy.float32)), "expected float32[1x3x32x32]"
    yield "no_elements.npy", npy(numpy.zeros((0, 3, 32, 32), numpy.float32)), "expected"
    yield "cut.npy", plain[:-1], "cut off"
    yield "long.npy", plain + b"PK", "2 bytes follow"
    yield "lying.npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }"), "cut off"
    yield "huge.npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }"), ""
    yield "negative.npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }"), "shape"
    yield "code.npy", npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': __import__('os'), }"), "shape"
    yield "version.npy", b"\x93NUMPY\x09\x00" + plain[8:], "version 9"
    yield "cut.jpg", jpeg[:len(jpeg) * 2 // 3], "damaged JPEG"
    yield "header_only.jpg", jpeg[:40], "damaged JPEG"
    yield "noise.jpg", jpeg[:200] + bytes(range(256)) * 2, "damaged JPEG"
    yield "zip_behind.jpg", jpeg + npz, "ZIP archive"
    yield "png_inside.jpg", png, "the content is PNG"
    yield "text.jpg", b"<html>404</html>", "no image"
    yield "bomb.png", bomb(60000, 60000), "60000 x 60000"
    yield "wide.png", bomb(2000000, 1), "2000000 x 1"
    yield "cut.png", png[:len(png) // 2], "damaged PNG"
    yield "crc.png", png[:60] + bytes([png[60] ^ 1]) + png[61:], "damaged PNG"
    yield "zip_behind.png", png + npz, "other bytes"
    yield "cut.bmp", bmp[:-100], "cut off"
    yield "bomb.bmp", bmp[:18] + struct.pack("<ii", 60000, 60000) + bmp[26:], "60000 x 60000"
    yield "compressed.bmp", bmp[:30] + struct.pack("<I", 1) + bmp[34:], "compression 1"
    yield "cut.webp", webp[:len(webp) // 2], "WebP"
    yield "moving.webp", encoded(image, "WEBP", save_all=True, append_images=[picture(2, 32, 32)]), "animated"
    yield "other_size.png", encoded(picture(3, 40, 40), "PNG"), "expected float32[1x3x32x32]"
    yield "grey.png", encoded(image.convert("L"), "PNG"), "expected float32[1x3x32x32]"
    yield "cut.npz", npz[:-30], "archive"
    yield "two_arrays.npz", archive([("x.npy", plain), ("y.npy", plain)]), "both hold input"
    yield "not_arrays.npz", archive([("x.txt", b"hello")]), "no .npy array"
    yield "object_inside.npz", archive([("x.npy", npy(numpy.array([None]), allow_pickle=True))]), "never unpickled"
    yield "damaged.npz", npz[:60] + bytes([npz[60] ^ 0xff]) + npz[61:], "archive"
    yield "before.npz", b"PK\x03\x04" + b"x" * 100 + npz, ""
    yield "bomb.npz", archive([("x.npy", npy_header(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }", b"\0" * (64 << 20)))]), "bytes follow"
    yield "hostile.pt", hostile_pt(), "posix.system"
    yield "hostile_bare.pt", pickle.dumps(Hostile(), 2), "before 1.6"
    yield "beyond.pt", lying_pt(), "reaches beyond its storage"
    yield "far.pt", lying_pt(strides="(2147483647,2147483647,2147483647,2147483647)"), "reaches beyond"
    yield "nowhere.pt", lying_pt(key="7"), "storage '7' is missing"
    yield "no_pickle.pth", archive([("archive/version", b"3\n")], zipfile.ZIP_STORED), "no data.pkl"


class BadData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        cls.model = os.path.join(cls.folder, "m.onnx")
        write_model(cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def compile(self, data, *flags):
        return subprocess.run(
            [COMPILER, "compile", "--model", self.model, "--target-device", "aries-rb",
             "--calib-data-path", data, "--output", os.path.join(self.folder, "out.mxq"), *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
            timeout=120, env=dict(os.environ, QBCOMPILER_JSONL=""))

    def expect_refusal(self, data, *words):
        done = self.compile(data)
        self.assertEqual(done.returncode, 1, f"{data}: exit {done.returncode}\n{done.stderr[-3000:]}")
        self.assertIn("ERROR [CALIBRATION_DATA_ERROR]", done.stderr, data)
        for word in words:
            self.assertIn(word, done.stderr, data)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out.mxq")))

    def new_set(self, name):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        numpy.save(f"{folder}/good.npy", numpy.zeros(SHAPE, numpy.float32))
        return folder

    def test_every_bad_file_is_named_with_its_reason(self):
        cases = list(single_files())
        self.assertGreaterEqual(len(cases), 40)
        for number, (name, content, reason) in enumerate(cases):
            folder = self.new_set(f"case{number}")
            with open(f"{folder}/{name}", "wb") as file:
                file.write(content)
            self.expect_refusal(folder, f"{name}': ", reason, "1 of 2 samples")
        self.assertFalse(os.path.exists(TRACE))

    def test_all_bad_files_of_a_set_come_together(self):
        folder = self.new_set("together")
        cases = list(single_files())
        for number, (name, content, _) in enumerate(cases):
            with open(f"{folder}/{number:02d}_{name}", "wb") as file:
                file.write(content)
        self.expect_refusal(folder, f"{len(cases)} of {len(cases) + 1} samples",
                            f"and {len(cases) - 20} more", "00_empty.npy")

    def test_files_that_are_no_files(self):
        for name, make, words in (
                ("pipe", lambda path: os.mkfifo(path), "neither a file nor a folder"),
                ("loop", lambda path: os.symlink(path, path), "cannot be looked at"),
                ("nothing", lambda path: os.symlink("/no/such/file", path), "a link to nothing"),
                ("device", lambda path: os.symlink("/dev/zero", path), "neither a file nor a folder")):
            folder = self.new_set(name)
            make(f"{folder}/bad.npy")
            self.expect_refusal(folder, "bad.npy", words)
        folder = self.new_set("circle")
        os.symlink(folder, f"{folder}/again")
        self.expect_refusal(folder, "again")

    def test_sets_that_are_no_sets(self):
        base = self.new_set("base")
        empty = os.path.join(self.folder, "empty")
        os.makedirs(empty)
        self.expect_refusal(empty, "has no samples")
        self.expect_refusal(self.model, "neither a folder nor a .txt or .json listing")
        self.expect_refusal(os.path.join(self.folder, "missing"), "does not exist")
        shutil.copy(f"{base}/good.npy", f"{base}/good.jpg")
        self.expect_refusal(base, "two samples are called", "good.jpg")

    def test_listings(self):
        base = self.new_set("listed")
        for name, text, words in (
                ("empty.txt", "\n \n", "has no samples"),
                ("climbs.txt", "../listed/good.npy\n", "line 1: '../listed/good.npy' leaves"),
                ("hidden_climb.txt", "a/../../listed/good.npy\n", "leaves the listing's folder"),
                ("gone.txt", "good.npy\ngone.npy\n", "line 2: there is no 'gone.npy'"),
                ("twice.txt", "good.npy\ngood.npy\n", "two samples are called"),
                ("other.txt", "empty.txt\n", "is no sample"),
                ("broken.json", "[\"good.npy\"", "broken.json"),
                ("object.json", "{\"x\": \"good.npy\"}", "a list"),
                ("number.json", "[7]", "item 0"),
                ("stranger.json", "[{\"z\": \"good.npy\"}]", "no input 'z'"),
                ("nested.json", "[" * 100 + "]" * 100, "nested.json"),
                ("climbs.json", "[{\"x\": \"../listed/good.npy\"}]", "leaves the listing's folder")):
            with open(f"{base}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
            self.expect_refusal(f"{base}/{name}", words)

    def test_folders_with_too_many_and_too_few_arrays(self):
        folder = os.path.join(self.folder, "folders")
        for sample, names in (("a", ["x.npy"]), ("b", ["x.npy", "y.npy"]), ("c", [])):
            os.makedirs(f"{folder}/{sample}")
            for name in names:
                numpy.save(f"{folder}/{sample}/{name}", numpy.zeros(SHAPE, numpy.float32))
        self.expect_refusal(folder, "2 of 3 samples", "both hold input 'x'", "no array for input 'x'")


if __name__ == "__main__":
    python_report.main()
