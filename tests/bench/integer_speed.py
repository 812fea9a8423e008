#!/usr/bin/python3
"""The simulator against ONNX Runtime's int8 kernels: the same codes, the same threads, turn by turn.

    QB_BIN_DIR=build/release/bin [QBC_MODELS=DIR] /usr/bin/python3 tests/bench/integer_speed.py
        [--threads 1] [--rounds 5] [--seconds 1] [MODEL.onnx ...]

The ratio is ONNX Runtime's best time of an inference over ours, so above 1 the simulator is faster. Products: one
matrix product of each size against QLinearMatMul of uint8 and int8, the fastest that it has; nearly all time is the
integer GEMM; bar 1.0. Models: those given, else a ResNet-50 with random weights and, with QBC_MODELS, the first-light
models, each compiled with random calibration and exported as QDQ ONNX, which ONNX Runtime turns into its int8
operators; bar 0.5. Exits 1 below a bar.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
ORT = FOLDER.parent / "ort" / "ort_float.py"  # runs QDQ models as well
PRODUCTS = [(256, 256, 256), (512, 512, 512), (196, 1024, 256), (3136, 64, 256)]  # rows, depth, columns
LEAST_PRODUCT, LEAST_MODEL = 1.0, 0.5


def write_product(path, rows, depth, columns):
    weight = np.random.default_rng(3).normal(0, 0.05, (depth, columns)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, rows, columns])],
        [numpy_helper.from_array(weight, "w")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def write_int8_product(path, rows, depth, columns):
    weight = np.random.default_rng(3).integers(-127, 128, (depth, columns)).astype(np.int8)
    scalars = {"xs": np.float32(0.02), "xz": np.uint8(128), "ws": np.float32(0.01), "wz": np.int8(0),
               "ys": np.float32(0.1), "yz": np.uint8(128)}
    graph = helper.make_graph(
        [helper.make_node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])], "product",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, rows, depth])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, rows, columns])],
        [numpy_helper.from_array(weight, "w")]
        + [numpy_helper.from_array(np.asarray(value), name) for name, value in scalars.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def run_json(command):
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(name, model, least, args, folder, peer=None):
    """Whether the ratio holds; against `peer`, else against the export of the executable."""
    binary = pathlib.Path(os.environ["QB_BIN_DIR"])
    mxq, qdq = folder / "m.mxq", folder / "m.onnx"
    for command in (["compile", "--model", model, "--use-random-calib", "--target-device", "aries-rb", "--output",
                     mxq], ["export-onnx", "--mxq", mxq, "--output", qdq]):
        subprocess.run([str(word) for word in [binary / "qbcompiler", *command]], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    once = run_json([binary / "qb_simulator_bench", mxq, args.threads, args.threads])["wall_s"]
    samples = max(args.threads, min(20000, int(args.seconds / max(once / args.threads, 1e-6))))
    best = {"ours": 1e9, "theirs": 1e9}
    for _ in range(args.rounds):
        ours = run_json([binary / "qb_simulator_bench", mxq, samples, args.threads])
        theirs = run_json([PYTHON, ORT, peer or qdq, "--samples", samples, "--threads", args.threads])
        best["ours"] = min(best["ours"], ours["wall_s"] / samples)
        best["theirs"] = min(best["theirs"], theirs["wall_s"] / samples)
    ratio = best["theirs"] / best["ours"]
    print(f"{name:32} ours {best['ours'] * 1e3:9.3f} ms  ONNX Runtime {best['theirs'] * 1e3:9.3f} ms  ratio "
          f"{ratio:5.2f} (bar {least}) {'ok' if ratio >= least else 'MISSED'}", flush=True)
    return ratio >= least


def models_of(args, folder):
    if args.models:
        return [(pathlib.Path(path).stem, path) for path in args.models]
    resnet = folder / "resnet50.onnx"
    subprocess.run([PYTHON, str(FOLDER / "models" / "make_resnet50.py"), str(resnet)], check=True)
    found = [("resnet50 (random weights)", resnet)]
    root = os.environ.get("QBC_MODELS")
    if not root:
        print("SKIPPED the trained models: QBC_MODELS is not set")
        return found
    with open(os.path.join(root, "MANIFEST.tsv"), newline="", encoding="utf-8") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if "first-light" in row["tags"].split(","):
                found.append((row["set"], os.path.join(root, re.findall(r"[\w./-]+\.onnx", row["file"])[0])))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of one round")
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    args = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="qb_integer_") as name:
        folder = pathlib.Path(name)
        for rows, depth, columns in [] if args.models else PRODUCTS:
            write_product(folder / "product.onnx", rows, depth, columns)
            write_int8_product(folder / "peer.onnx", rows, depth, columns)
            good &= measure(f"product {rows}x{depth}x{columns}", folder / "product.onnx", LEAST_PRODUCT, args, folder,
                            folder / "peer.onnx")
        for label, model in models_of(args, folder):
            good &= measure(label, model, LEAST_MODEL, args, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
