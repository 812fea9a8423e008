#!/usr/bin/python3
"""Parts of the package that need no program: shapes, samples, manifests, events, display, errors."""

import io
import os
import pathlib
import subprocess
import tempfile
import unittest

import under_test
import numpy as np
import onnx
import python_report
from onnx import TensorProto, helper

import qbcompiler
from qbcompiler import (ArgumentError, CalibrationDataError, LogEvent, ModelParseError, ProgressDisplay,
                        ProgressEvent, QBCompilerError, StatusEvent, connection, display, errors,
                        manifest, onnx_side_files, samples, shapes, wire)
from qbcompiler.model_dict.parser.patcher.parts import available_parts


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qbpy.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, data=b"x"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)


class Shapes(unittest.TestCase):
    FEED = {"x": np.zeros((1, 3, 8, 8)), "y": np.zeros((1, 4))}

    def test_one_axis_and_several(self):
        sizes = shapes.sizes_of({"x": {"axis": 3, "values": (100, 200)}}, self.FEED, None)
        self.assertEqual([size["x"] for size in sizes], [(1, 3, 8, 100), (1, 3, 8, 200)])
        sizes = shapes.sizes_of({"x": {"axis": (2, 3), "values": [(2, 3), [4, 5]]},
                                 "y": {"axis": -1, "values": [6, 7]}}, self.FEED, None)
        self.assertEqual(sizes, [{"x": (1, 3, 2, 3), "y": (1, 6)}, {"x": (1, 3, 4, 5), "y": (1, 7)}])

    def test_what_is_refused(self):
        good = {"x": {"axis": 3, "values": [1]}}
        for multi, feed, dynamic in [
                (good, None, None), (good, self.FEED, {"x": {3: "w"}}), ({"z": good["x"]}, self.FEED, None),
                ({"x": {"axis": 4, "values": [1]}}, self.FEED, None),
                ({"x": {"axis": 3, "values": []}}, self.FEED, None),
                ({"x": {"axis": 3, "values": [0]}}, self.FEED, None),
                ({"x": {"axis": 3, "values": [True]}}, self.FEED, None),
                ({"x": {"axis": (2, 3), "values": [(1, 2, 3)]}}, self.FEED, None),
                ({"x": {"axis": 3}}, self.FEED, None), ({"x": 3}, self.FEED, None),
                ({"x": good["x"], "y": {"axis": 1, "values": [1, 2]}}, self.FEED, None)]:
            with self.assertRaises(ArgumentError, msg=multi):
                shapes.sizes_of(multi, feed, dynamic)

    def test_flags(self):
        self.assertEqual(shapes.shape_flags([shapes.shapes_of({**self.FEED, "s": np.float32(1)})]),
                         ["x:1x3x8x8", "y:1x4"])
        sizes = shapes.sizes_of({"x": {"axis": 3, "values": (100, 200)}}, self.FEED, None)
        self.assertEqual(shapes.shape_flags(sizes), ["x:1x3x8x100,1x3x8x200", "y:1x4,1x4"])
        self.assertEqual(shapes.shape_flags([]), [])
        with self.assertRaises(ArgumentError):
            shapes.shapes_of({"x": [1, 2]})


class Samples(Folder):
    def arrays(self, value):
        path, = samples.sample_paths(value, str(self.folder))
        return {str(file.relative_to(path)): np.load(file)
                for file in sorted(pathlib.Path(path).rglob("*.npy"))}

    def test_paths_stay_paths(self):
        self.assertEqual(samples.sample_paths("a", str(self.folder)), ["a"])
        self.assertEqual(samples.sample_paths([pathlib.Path("a"), "b"], str(self.folder)), ["a", "b"])
        self.assertEqual(samples.sample_paths(None, str(self.folder)), [])

    def test_an_array_is_samples_along_its_first_axis(self):
        data = np.arange(12, dtype=np.float32).reshape(3, 4)
        found = self.arrays(data)
        self.assertEqual(list(found), ["000000.npy", "000001.npy", "000002.npy"])
        np.testing.assert_array_equal(np.stack(list(found.values())), data)

    def test_lists_of_arrays_and_of_mappings(self):
        self.assertEqual(len(self.arrays([np.zeros(2), np.ones(2)])), 2)

    def test_a_mapping_has_the_inputs_of_each_sample(self):
        found = self.arrays({"a": np.zeros((2, 3)), "b": np.ones((2, 4))})
        self.assertEqual(sorted(found), ["000000/a.npy", "000000/b.npy", "000001/a.npy", "000001/b.npy"])
        self.assertEqual(found["000001/b.npy"].shape, (4,))

    def test_what_is_refused(self):
        for value, kind in [(np.zeros((0, 3)), CalibrationDataError), ([], CalibrationDataError),
                            ({"a": np.zeros((2, 1)), "b": np.zeros((3, 1))}, CalibrationDataError),
                            (np.array([None]), CalibrationDataError), (5, ArgumentError),
                            ({"../a": np.zeros((1, 1))}, ArgumentError)]:
            with tempfile.TemporaryDirectory() as folder, self.assertRaises(kind, msg=value):
                samples.sample_paths(value, folder)


class MakeCalib(Folder):
    def test_function_per_file(self):
        for number in range(5):
            self.write(f"raw/{number}.txt", str(number))
        done = qbcompiler.calibration.make_calib_man(
            pre_ftn=lambda path: np.full((2,), float(pathlib.Path(path).read_text())),
            data_dir=self.folder / "raw", save_dir=self.folder, save_name="set", max_size=3)
        lines = pathlib.Path(done).read_text().split()
        self.assertEqual(done, str(self.folder / "set.txt"))
        self.assertEqual(lines, ["set/000000.npy", "set/000001.npy", "set/000002.npy"])
        self.assertEqual([np.load(self.folder / line)[0] for line in lines], [0, 1, 2])

        again = dict(pre_ftn=lambda path: np.zeros(1), data_dir=self.folder / "raw",
                     save_dir=self.folder, save_name="set", max_size=2, seed=7)
        with self.assertRaises(CalibrationDataError):
            qbcompiler.calibration.make_calib_man(**again)
        qbcompiler.calibration.make_calib_man(**again, remove_npy=True)
        self.assertEqual(len(list((self.folder / "set").glob("*.npy"))), 2)

    def test_what_is_refused(self):
        self.write("raw/a", "1")
        for function, folder in [(lambda path: None, "raw"), (lambda path: np.zeros(0), "raw"),
                                 (lambda path: np.zeros(1), "nowhere")]:
            with self.assertRaises(CalibrationDataError):
                qbcompiler.calibration.make_calib_man(function, self.folder / folder, self.folder, "s")


def external_tensor(name, location):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[2],
                         data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def external_model(locations):
    """One initializer, one Constant inside an If, the others in sparse initializers."""
    first, second, *others = locations
    constant = helper.make_node("Constant", [], ["c"], value=external_tensor("v", second))
    branch = helper.make_graph([constant], "b", [], [helper.make_tensor_value_info("c", 1, [2])])
    node = helper.make_node("If", ["k"], ["y"], then_branch=branch, else_branch=branch)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("k", 9, [])],
                              [helper.make_tensor_value_info("y", 1, [2])], [external_tensor("w", first)])
    for location in others:
        graph.sparse_initializer.add().values.CopyFrom(external_tensor("s", location))
    return helper.make_model(graph).SerializeToString()


class Manifests(Folder):
    @staticmethod
    def names(found):
        return [path for path, _ in found.entries]

    def test_external_data_is_found_wherever_it_is_named(self):
        data = external_model(["w.bin", "sub/v.bin", "s.bin"])
        self.assertEqual(sorted(onnx_side_files.external_data_locations(memoryview(data))),
                         ["s.bin", "sub/v.bin", "w.bin"])

    def test_damaged_models_do_no_harm(self):
        data = external_model(["w.bin", "v.bin"])
        for end in range(0, len(data), 3):
            onnx_side_files.external_data_locations(memoryview(data[:end]))
        nested = b""
        for _ in range(20000):
            size, varint = len(nested), b""
            while size > 127:
                varint, size = varint + bytes([size & 127 | 128]), size >> 7
            nested = b"\x32" + varint + bytes([size]) + nested
            if len(nested) > 200000:
                break
        onnx_side_files.external_data_locations(memoryview(b"\x3a\xff\xff\xff\x7f" + nested))
        onnx_side_files.external_data_locations(memoryview(bytes(range(256)) * 8))

    def test_a_model_goes_with_the_data_beneath_its_folder_only(self):
        self.write("secret", "no")
        path = self.write("m/net.onnx", external_model(["w.bin", "../secret", "/etc/passwd", "gone"]))
        self.write("m/w.bin")
        os.symlink(self.folder / "secret", self.folder / "m/link")
        found, warnings = manifest.model_manifest(path)
        self.assertEqual((self.names(found), found.main), (["net.onnx", "w.bin"], "net.onnx"))
        self.assertEqual(len(warnings), 3)
        with self.assertRaises(ModelParseError):
            manifest.model_manifest(str(self.folder / "none.onnx"))
        self.assertEqual(self.names(manifest.model_manifest(self.write("e.onnx", b""))[0]), ["e.onnx"])

    def test_folders_and_listings(self):
        self.write("set/b.npy", "b"), self.write("set/a/x.npy", "x"), self.write("set/.hidden", "h")
        found, _ = manifest.dataset_manifest(str(self.folder / "set"))
        self.assertEqual((self.names(found), found.main), (["a/x.npy", "b.npy"], ""))
        outside = self.write("other/o.npy", "o")
        listing = self.write("set/l.txt", f"b.npy\n\n{outside}\n a \n")
        found, _ = manifest.dataset_manifest(listing)
        self.assertEqual(self.names(found), ["a/x.npy", "b.npy", "l.txt", "listed/000000/o.npy"])
        self.assertEqual(found.entries[2][1].content, b"b.npy\nlisted/000000/o.npy\na\n")
        listing = self.write("set/l.json", '[{"in": "b.npy"}]')
        found, _ = manifest.dataset_manifest(listing)
        self.assertEqual((self.names(found), found.main), (["b.npy", "l.json"], "l.json"))

    def test_labels(self):
        labels = self.write("set/labels.csv", "sample,label\n")
        self.write("set/a.npy")
        found, inside = manifest.dataset_manifest(str(self.folder / "set"), labels)
        self.assertEqual((self.names(found), found.main, inside),
                         (["labels.csv", "samples.txt", "samples/a.npy"], "samples.txt", "labels.csv"))
        listing = self.write("set/l.txt", "a.npy\n")
        found, inside = manifest.dataset_manifest(listing, labels)
        self.assertEqual((self.names(found), inside),
                         (["a.npy", "l.txt", "labels/labels.csv"], "labels/labels.csv"))

    def test_bad_data_sets(self):
        for name, text in [("l.txt", "nothing.npy\n"), ("l.txt", ""), ("l.json", "[1]"), ("l.json", "{"),
                           ("l.json", "[" * 100000), ("l.txt", "l.txt\n")]:
            with self.assertRaises(CalibrationDataError, msg=text[:20]):
                manifest.dataset_manifest(self.write(name, text))
        (self.folder / "empty").mkdir()
        for path in ("empty", "none"):
            with self.assertRaises(CalibrationDataError):
                manifest.dataset_manifest(str(self.folder / path))

    def test_equal_files_give_equal_digests(self):
        path = self.write("a.npy", b"12345")
        entry, = manifest.dataset_manifest(path)[0].entries
        said = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
        self.assertEqual(entry[1].sha256, said.split()[0])


class Addresses(unittest.TestCase):
    def test_spellings(self):
        for given, target in [("unix:/a/b", "unix:/a/b"), ("unix:///a", "unix:/a"), ("/a", "unix:/a"),
                              ("host:1", "host:1"), ("[::1]:7410", "[::1]:7410")]:
            self.assertEqual(connection.channel_target(given), target)
        for given in ("host", "host:0", "host:99999", "http://host:80", "", "unix:", "host:x"):
            with self.assertRaises(ArgumentError, msg=given):
                connection.channel_target(given)


class Errors(unittest.TestCase):
    def test_every_code_of_the_service_has_a_class(self):
        names = [name[len("FAILURE_REASON_"):] for name in wire.Wire().names("FailureReason")]
        known = errors.known_codes()
        for name in names[1:]:
            self.assertIn(name, known)
            self.assertEqual(errors.error_of(name, "m").code, name)

    def test_newer_codes_stay_readable(self):
        error = errors.error_of("NEW_CODE", "text", "hint", {"layer": "a"})
        self.assertIsInstance(error, QBCompilerError)
        self.assertEqual(str(error), "[NEW_CODE] text (hint)")
        self.assertEqual(error.details, {"layer": "a"})

    def test_they_are_also_what_python_calls_them(self):
        for code, kind in [("ARGUMENT_ERROR", ValueError), ("OUTPUT_WRITE_ERROR", OSError),
                           ("OUT_OF_MEMORY", MemoryError), ("TIMEOUT", TimeoutError),
                           ("SERVER_UNAVAILABLE", ConnectionError)]:
            self.assertIsInstance(errors.error_of(code, "m"), kind)


class Handle:
    """What IPython's display() gives back."""

    def __init__(self):
        self.shown = []

    def update(self, thing):
        self.shown.append(thing)


class Display(unittest.TestCase):
    def test_a_line_that_is_redrawn(self):
        stream = io.StringIO()
        shown = ProgressDisplay(stream=stream)
        shown(StatusEvent("running", "calibrate"))
        shown(ProgressEvent("calibrate", 0.5, 3, 3, "sample", 75.0))
        shown(LogEvent("warning", "config", "text"))
        shown(StatusEvent("running", "evil\x1b]0;\n"))
        text = stream.getvalue()
        self.assertIn("[############............] calibrate 3/3 sample  50 %  1 min 15 s left", text)
        self.assertNotIn("\x1b]", text)
        self.assertNotIn("\n", text)

    def test_a_notebook_gets_html_that_is_escaped(self):
        handle = Handle()
        shown = ProgressDisplay(handle)
        shown(StatusEvent("running", "<script>"))
        shown(ProgressEvent("<script>", 0.25, 4, 4))
        self.assertIn('value="0.250"', handle.shown[-1]._repr_html_())
        self.assertNotIn("<script>", handle.shown[-1]._repr_html_())
        self.assertIn("25 %", repr(handle.shown[-1]))

    def test_nothing_where_nobody_looks(self):
        self.assertIsNone(display.default_display())


class Others(unittest.TestCase):
    def test_log_level(self):
        import logging
        child = logging.getLogger("qbcompiler.config")
        for level, number in [("debug", 10), (logging.ERROR, 40), ("WARNING", 30)]:
            child.setLevel(5)
            qbcompiler.set_log_level(level)
            self.assertEqual((logging.getLogger("qbcompiler").level, child.getEffectiveLevel()),
                             (number, number))
        with self.assertRaises(ValueError):
            qbcompiler.set_log_level("loud")

    def test_parts(self):
        self.assertEqual(available_parts("model.onnx"), ())

    def test_public_names_exist(self):
        for name in qbcompiler.__all__:
            self.assertTrue(hasattr(qbcompiler, name), name)
        self.assertEqual(len(set(qbcompiler.__all__)), len(qbcompiler.__all__))


if __name__ == "__main__":
    python_report.main()
