#!/usr/bin/python3
"""Every model of a manifest through the whole compiler, and its executable against the float model.

    QBC_MODELS=DIR tests/bench/wide_models.py [--sets SETS] [--bin build/release/bin] [--samples 2] [MODEL ...]

DIR holds MANIFEST.tsv (columns set, file, tags, input...) and the models; SETS holds, for some sets,
calib/ and eval/ samples in the model's input form. A model without a set is calibrated on noise and compared
on seeded noise. Each is parsed, validated, compiled and run. One line a model: whether it needs --cpu-offload
(some layer is not the NPU's), layers on the NPU and on the CPU, quantization points (NPU layers that choose a
scale of their own), parts, bytes that cross between parts, the float executor's largest relative error and the
executable's worst SQNR against ONNX Runtime (against the float executor where that is not installed); or the
command that refused and its message.

The bars, on which the exit status depends: every model goes through; the float executor is within 1e-4 of
ONNX Runtime (max|a-b| / max|b| of each output; the graph as it stands, as its optimizations change softmax
outputs of a text recognizer by 1.7e-4); a model without the tag `wide` needs no --cpu-offload; no
model has more quantization points than MOST_POINTS says.
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
import time

import numpy as np
from onnx import TensorProto, helper, load

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "ort"))
import ort  # noqa: E402

TARGET = ["--target-device", "aries-rb"]
# Layers that keep the scale of what they read.
KEEP_SCALE = {"Input", "Transpose", "Reshape", "Slice", "Split", "DepthToSpace", "SpaceToDepth", "Expand",
              "Gather", "Reorganize", "Identity", "Squeeze", "Unsqueeze", "Flatten", "Tile", "Pad"}
PART = re.compile(r"^(\w+)\s+(NPU|CPU)\s+\d+\s+\d+\s+\d+\s+\d+\s*$")
BOUNDARY = re.compile(r"^    (takes|gives) (.+) (\w+)\[([\dx]*)\]$")
ITEM_BYTES = {"float32": 4, "int64": 8, "int32": 4, "bool": 1, "uint8": 1, "int8": 1, "float16": 2,
              "float64": 8, "int16": 2, "uint16": 2, "uint32": 4, "uint64": 8}


MOST_FLOAT_ERROR = 1e-4
# Of a set: its layers that choose a scale, where pointwise chains are one unit each (397 with one on every edge).
MOST_POINTS = {"ppocr_v4_rec": 110}


class Refused(Exception):
    """A command of the compiler that did not succeed."""


def files_of(row, models):
    """The row's files: `a/b.onnx, c.onnx` are in one folder, `(also _x.onnx)` names a sibling b_x.onnx."""
    words = re.findall(r"[\w./-]+\.onnx", row["file"])
    first = pathlib.Path(models) / words[0]
    paths = [first]
    for word in words[1:]:
        paths.append(first.with_name(first.stem + word) if word.startswith("_")
                     else first.with_name(word))
    return paths


def inputs_of(path, row, sample):
    """[(name, dtype, shape, open)] with sizes for open dimensions: of the sample, else of the manifest's
    first shape where the ranks agree, else 1."""
    graph = load(str(path), load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    column = next((text for name, text in row.items() if name.startswith("input")), "")
    written = re.search(r"\[(\d+(?:,\d+)*)\]", column)
    described = [int(d) for d in written.group(1).split(",")] if written else []
    result = []
    for value in graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
        is_open = any(d < 1 for d in shape)
        if sample and value.name in sample:
            known = list(sample[value.name].shape)
        elif sample and len(sample) == 1 and "" in sample:
            known = list(sample[""].shape)
        else:
            known = described if len(described) == len(shape) else [1] * len(shape)
        shape = [d if d > 0 else k for d, k in zip(shape, known)]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type) if hasattr(
            helper, "tensor_dtype_to_np_dtype") else ort.DTYPES[tensor.elem_type]
        if tensor.elem_type == TensorProto.STRING:
            raise Refused(f"input {value.name}: strings")
        result.append((value.name, np.dtype(dtype), shape, is_open))
    return result


def read_sample(path):
    """{input: array}; the only input of a model has no name here."""
    if path.is_dir():
        return {p.stem: np.load(p) for p in sorted(path.iterdir())}
    return {"": np.load(path)}


def noise(inputs, count, folder):
    """Seeded samples as the compiler reads them."""
    random = np.random.default_rng(5)
    folder.mkdir()
    for i in range(count):
        sample = {}
        for name, dtype, shape, _ in inputs:
            if np.issubdtype(dtype, np.floating):
                sample[name] = random.uniform(-1, 1, shape).astype(dtype)
            elif dtype == np.bool_:
                sample[name] = np.ones(shape, dtype)
            else:
                sample[name] = random.integers(0, 2, shape).astype(dtype)
        if len(inputs) == 1:
            np.save(folder / f"{i:04d}.npy", next(iter(sample.values())))
        else:
            (folder / f"{i:04d}").mkdir()
            for name, array in sample.items():
                np.save(folder / f"{i:04d}" / (file_stem(name) + ".npy"), array)
    return sorted(folder.iterdir())


def qbcompiler(binary, *arguments):
    """Standard output and error of a command. Raises Refused."""
    done = subprocess.run([binary] + [str(a) for a in arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        begin = next((i for i, line in enumerate(lines) if "ERROR" in line or "CHECK" in line), -3)
        raise Refused(f"{arguments[0]} (exit {done.returncode}): {' '.join(lines[begin:])[:600]}")
    return done.stdout, done.stderr


def needs_offload(binary, path, shapes):
    """True when some layer is not the NPU's. Raises Refused for any other complaint."""
    try:
        qbcompiler(binary, "validate", "--model", path, *TARGET, *shapes)
    except Refused as refusal:
        if "UNSUPPORTED_OPERATOR" not in str(refusal):
            raise
        return True
    return False


def boundary_bytes(text):
    """Number of parts, and bytes of the tensors that one part gives and another takes."""
    parts, given, taken = 0, {}, set()
    for line in text.splitlines():
        parts += 1 if PART.match(line) else 0
        found = BOUNDARY.match(line)
        if found:
            way, name, dtype, shape = found.groups()
            if way == "gives":
                given[name] = ITEM_BYTES[dtype] * int(np.prod([int(d) for d in shape.split("x") if d]))
            else:
                taken.add(name)
    return max(parts, 1), sum(size for name, size in given.items() if name in taken)


def decibels(expected, found):
    """Signal to quantization noise."""
    expected, found = expected.astype(np.float64), found.astype(np.float64)
    noise_power = np.sum((expected - found) ** 2)
    if noise_power == 0:
        return float("inf")
    return float(10 * np.log10(max(np.sum(expected ** 2), 1e-30) / noise_power))


def file_stem(name):
    """A name as the compiler makes file names of it."""
    return re.sub(r"[^\w.-]", "_", name)


def output_of(folder, sample, name):
    """One .npy a sample, or with several outputs a folder."""
    path = folder / (sample + ".npy")
    return np.load(path if path.exists() else folder / sample / (file_stem(name) + ".npy"))


def compare(reference, folder, samples):
    """Worst SQNR over the outputs, each over all samples together; outputs that are not comparable."""
    worst, strange = float("inf"), []
    for name in reference[samples[0].stem]:
        pairs = [(reference[path.stem][name], output_of(folder, path.stem, name)) for path in samples]
        if any(a.shape != b.shape or not np.issubdtype(a.dtype, np.floating) for a, b in pairs):
            strange.append(f"{name}{list(pairs[0][0].shape)}/{list(pairs[0][1].shape)}")
            continue
        worst = min(worst, decibels(np.concatenate([a.ravel() for a, _ in pairs]),
                                    np.concatenate([b.ravel() for _, b in pairs])))
    return worst, strange


def relative_error(reference, folder, samples):
    """max|a - b| / max|b| over all samples, of the worst output; infinite where shapes differ."""
    worst = 0.0
    for name, first in reference[samples[0].stem].items():
        difference, largest = 0.0, 1e-30
        for path in samples:
            expected, found = reference[path.stem][name], output_of(folder, path.stem, name)
            if expected.shape != found.shape:
                return float("inf")
            if expected.size and np.issubdtype(first.dtype, np.floating):
                expected = expected.astype(np.float64)
                difference = max(difference, float(np.abs(expected - found).max()))
                largest = max(largest, float(np.abs(expected).max()))
        worst = max(worst, difference / largest)
    return worst


def reference_outputs(path, inputs, samples, ours):
    """{sample: {output: array}} of ONNX Runtime, else of the float executor."""
    if ort.library_path() is None:
        return {sample.stem: read_sample(
            ours / sample.stem if (ours / sample.stem).is_dir() else ours / (sample.stem + ".npy"))
            for sample in samples}
    session = ort.Session(str(path), threads=2, optimization="none")
    result = {}
    for sample in samples:
        arrays = read_sample(sample)
        result[sample.stem] = session.run(
            {name: arrays["" if "" in arrays else file_stem(name)].astype(dtype).reshape(shape)
             for name, dtype, shape, _ in inputs})
    session.close()
    return result


def measure(options, row, path, folder):
    """The figures of one model. Raises Refused."""
    binary = os.path.join(options.bin, "qbcompiler")
    sets = pathlib.Path(options.sets) / row["set"] if options.sets else None
    has_set = sets is not None and (sets / "calib").is_dir()
    samples = sorted((sets / "eval").iterdir())[:options.samples] if has_set else []
    inputs = inputs_of(path, row, read_sample(samples[0]) if samples else None)
    if not has_set:
        samples = noise(inputs, options.samples, folder / "noise")
    listing = folder / "samples.txt"
    listing.write_text("".join(f"{sample}\n" for sample in samples))
    shapes = [word for name, _, shape, is_open in inputs if is_open
              for word in ("--input-shape", f"{name}:{'x'.join(map(str, shape))}")]
    offload = ["--cpu-offload"] if needs_offload(binary, path, shapes) else []
    if offload and "wide" not in row["tags"].split(","):
        raise Refused("needs --cpu-offload; only models tagged `wide` may")
    qbcompiler(binary, "parse", "--model", path, "--output", folder / "m.mblt", *TARGET, *shapes,
               *offload)
    said, _ = qbcompiler(binary, "validate", "--model", path, *TARGET, *shapes, *offload)
    calibration = ["--calib-data-path", sets / "calib"] if has_set else ["--use-random-calib"]
    begun = time.monotonic()
    qbcompiler(binary, "compile", "--model", path, "--output", folder / "m.mxq", *TARGET, *shapes,
               *offload, *calibration)
    seconds = time.monotonic() - begun
    layers = json.loads(qbcompiler(binary, "layers", "--mxq", folder / "m.mxq", "--json")[0])
    qbcompiler(binary, "run", "--mxq", folder / "m.mxq", "--data", listing, "--output",
               folder / "quantized")
    qbcompiler(binary, "run", "--model", path, "--data", listing, "--output", folder / "float", *shapes)
    reference = reference_outputs(path, inputs, samples, folder / "float")
    sqnr, strange = compare(reference, folder / "quantized", samples)
    on_npu = [layer for layer in layers if layer["device"] == "npu"]
    parts, crossing = boundary_bytes(said)
    return {"offload": "yes" if offload else "no", "npu": len(on_npu), "cpu": len(layers) - len(on_npu),
            "points": sum(layer["op"] not in KEEP_SCALE for layer in on_npu), "parts": parts,
            "bytes": crossing, "float": relative_error(reference, folder / "float", samples),
            "sqnr": sqnr, "seconds": seconds, "strange": strange,
            "data": "set" if has_set else "noise"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets")
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("models", nargs="*", help="sets of the manifest, or file names; default: all")
    options = parser.parse_args()
    models = os.environ.get("QBC_MODELS")
    if not models:
        print("SKIPPED: set QBC_MODELS to a folder of models")
        return 0
    with open(os.path.join(models, "MANIFEST.tsv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    if ort.library_path() is None:
        print("ONNX Runtime is not installed: the float executor is compared with itself, and its bar says nothing")
    failed = []
    print(f"{'model':36} {'offload':>7} {'NPU':>5} {'CPU':>5} {'points':>6} {'parts':>5} {'boundary':>9} "
          f"{'float':>8} {'SQNR':>7} {'compile':>8} data")
    for row in rows:
        for path in files_of(row, models):
            if options.models and not {row["set"], path.name} & set(options.models):
                continue
            with tempfile.TemporaryDirectory(prefix="qbc_wide_") as folder:
                try:
                    m = measure(options, row, path, pathlib.Path(folder))
                except Refused as refusal:
                    failed.append(path.stem)
                    print(f"{path.stem:36} REFUSED {refusal}", flush=True)
                    continue
            over = "" if m["float"] <= MOST_FLOAT_ERROR else "  float: over its bar"
            over += "" if m["points"] <= MOST_POINTS.get(row["set"], m["points"]) else "  too many points"
            failed += [path.stem] if over else []
            strange = "  not compared: " + ", ".join(m["strange"]) if m["strange"] else ""
            print(f"{path.stem:36} {m['offload']:>7} {m['npu']:5} {m['cpu']:5} {m['points']:6} {m['parts']:5} "
                  f"{m['bytes']:9} {m['float']:8.1e} {m['sqnr']:7.2f} {m['seconds']:7.1f}s "
                  f"{m['data']}{strange}{over}", flush=True)
    if failed:
        print("below the bars: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
