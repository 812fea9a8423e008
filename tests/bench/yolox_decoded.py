#!/usr/bin/python3
"""A detector with its decode inside: writes yolox_nano_decoded.onnx and compiles it with CPU offloading.

    QBC_MODELS=DIR tests/bench/yolox_decoded.py [--set FOLDER] [--all] [--bin build/release/bin]
                                                [--output FILE] [--compile-config FILE]

DIR holds yolox_nano/yolox_nano.onnx, whose output [1, 3549, 85] is raw: centre and size of a box in its
cell's units, objectness, 80 class scores. The script appends what an application would do with it (cells
to pixels, corners, scores, NonMaxSuppression) with python3-onnx, compiles the result, and compares the
boxes that the executable keeps with those of ONNX Runtime in float: how many of those that the float model
scores over 0.3 are found again. FOLDER has calib/ and eval/ with pictures as float32 .npy of [1, 3, 416, 416]
(default: seeded blobs, which show that everything runs, not how accurate it is). With --all the boxes are
those of all pictures, calib/ included.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, load, numpy_helper, save

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "ort"))
import ort  # noqa: E402

SIZE, STRIDES = 416, (8, 16, 32)
MOST_PER_CLASS, IOU, SCORE = 100, 0.45, 0.25
COUNTED_SCORE, SAME_BOX = 0.3, 0.5  # which boxes of the float model count, and when one is found again


def cells():
    """Column, row and stride of each of the 3549 cells."""
    rows = []
    for stride in STRIDES:
        y, x = np.mgrid[0:SIZE // stride, 0:SIZE // stride]
        rows.append(np.stack([x.ravel(), y.ravel(), np.full(x.size, stride)], 1))
    return np.concatenate(rows).astype(np.float32)


def append_decode(model):
    """The graph's output becomes boxes [1, N, 4], scores [1, 80, N] and the selected triples."""
    graph = model.graph
    raw = graph.output[0].name
    grid = cells()

    def constant(name, array):
        graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(kind, inputs, output, **attributes):
        graph.node.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def part(name, start, end):
        ints = [constant(f"{name}_{what}", np.array([value], np.int64))
                for what, value in (("start", start), ("end", end), ("axis", 2))]
        return op("Slice", [raw] + ints, name)

    stride = constant("cell_stride", grid[None, :, 2:])
    centre = op("Mul", [op("Add", [part("raw_xy", 0, 2), constant("cell", grid[None, :, :2])],
                           "moved"), stride], "centre")
    half = op("Mul", [op("Mul", [op("Exp", [part("raw_wh", 2, 4)], "grown"), stride], "box_size"),
                      constant("half", np.float32([0.5]))], "half_size")
    op("Concat", [op("Sub", [centre, half], "top_left"), op("Add", [centre, half], "bottom_right")],
       "boxes", axis=2)
    scores = op("Mul", [part("objectness", 4, 5), part("class_scores", 5, 85)], "cell_scores")
    op("Transpose", [scores], "scores", perm=[0, 2, 1])
    op("NonMaxSuppression",
       ["boxes", "scores", constant("most", np.array([MOST_PER_CLASS], np.int64)),
        constant("iou", np.float32([IOU])), constant("score", np.float32([SCORE]))], "selected")
    del graph.output[:]
    graph.output.extend([
        helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, len(grid), 4]),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 80, len(grid)]),
        helper.make_tensor_value_info("selected", TensorProto.INT64, ["n", 3])])
    return model


def write_blobs(folder, count):
    """Smooth seeded images, so that activations look like those of pictures."""
    random = np.random.default_rng(11)
    folder.mkdir(parents=True)
    for i in range(count):
        coarse = random.uniform(0, 255, (3, 13, 13)).astype(np.float32)
        image = np.kron(coarse, np.ones((1, 32, 32), np.float32))[None]
        np.save(folder / f"{i:04d}.npy", image + random.normal(0, 4, image.shape).astype(np.float32))


def qbcompiler(binary, *arguments):
    done = subprocess.run([binary] + [str(a) for a in arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"qbcompiler {arguments[0]}: {done.stderr}")
    return done.stdout


def kept(outputs):
    """(class, box) of each selected triple; rows of a fixed-size list that are empty begin with -1."""
    boxes, scores = outputs["boxes"], outputs["scores"]
    return [(int(c), boxes[0, n], float(scores[0, c, n]))
            for batch, c, n in outputs["selected"].reshape(-1, 3) if batch >= 0]


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.prod(np.maximum(high - low, 0))
    area = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared
    return shared / area if area > 0 else 0.0


def recall(reference, candidate):
    """How many boxes of `reference` have one of the same class at the same place in `candidate`."""
    left = list(candidate)
    found = 0
    for c, box, _ in reference:
        best = max((i for i, other in enumerate(left) if other[0] == c),
                   key=lambda i: overlap(box, left[i][1]), default=None)
        if best is not None and overlap(box, left[best][1]) >= SAME_BOX:
            found += 1
            left.pop(best)
    return found


def read_outputs(folder):
    return {path.stem: np.load(path) for path in folder.iterdir()}


def run_all(binary, folder, sets):
    """(sample, outputs of the executable) of every sample."""
    for number, samples in enumerate(sets):
        results = folder / f"results_{number}"
        qbcompiler(binary, "run", "--mxq", folder / "m.mxq", "--data", samples, "--output", results)
        for path in sorted(samples.glob("*.npy")):
            yield path, read_outputs(results / path.stem)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", help="folder with calib/ and eval/")
    parser.add_argument("--all", action="store_true", help="count the pictures of calib/ too")
    parser.add_argument("--compile-config")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--output", help="keep the model here")
    options = parser.parse_args()
    models = os.environ.get("QBC_MODELS")
    if not models or ort.library_path() is None:
        print("SKIPPED: set QBC_MODELS to a folder of models and install ONNX Runtime")
        return
    binary = os.path.join(options.bin, "qbcompiler")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model = pathlib.Path(options.output or folder / "yolox_nano_decoded.onnx")
        save(append_decode(load(os.path.join(models, "yolox_nano", "yolox_nano.onnx"))), str(model))
        calibration = pathlib.Path(options.set) / "calib" if options.set else folder / "samples"
        samples = pathlib.Path(options.set) / "eval" if options.set else calibration
        if not options.set:
            write_blobs(samples, 8)
        settings = ["--compile-config", options.compile_config] if options.compile_config else []
        print(qbcompiler(binary, "validate", "--model", model, "--target-device", "aries-rb",
                         "--cpu-offload").split("\n\n")[-1])
        qbcompiler(binary, "compile", "--model", model, "--output", folder / "m.mxq",
                   "--target-device", "aries-rb", "--cpu-offload", "--calib-data-path", calibration, *settings)
        stages = json.loads(qbcompiler(binary, "info", "--mxq", folder / "m.mxq")) or {}
        print("stages:", [stage["name"] for stage in stages.get("stages", [])])
        session = ort.Session(str(model), threads=2)
        total = found = extra = kept_by_us = 0
        for path, outputs in run_all(binary, folder, [samples, calibration] if options.all else [samples]):
            image = np.load(path).astype(np.float32).reshape(1, 3, SIZE, SIZE)
            expected = kept(session.run({session.inputs[0][0]: image}))
            ours = kept(outputs)
            counted = [box for box in expected if box[2] > COUNTED_SCORE]
            ours_counted = [box for box in ours if box[2] > COUNTED_SCORE]
            total += len(counted)
            found += recall(counted, ours)
            kept_by_us += len(ours_counted)
            extra += len(ours_counted) - recall(ours_counted, expected)
        print(f"float boxes over {COUNTED_SCORE}: {total}, found again (same class, IoU >= {SAME_BOX}): "
              f"{found} ({100 * found / max(total, 1):.1f} %); boxes of the executable over "
              f"{COUNTED_SCORE}: {kept_by_us}, of which the float model has not: {extra}")


if __name__ == "__main__":
    main()
