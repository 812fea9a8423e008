#!/usr/bin/python3
"""Memory of large calibration sets, and how long the executor waits for samples.

    QB_BIN_DIR=build/release/bin [QBC_MODELS=DIR] /usr/bin/python3 tests/bench/sample_streaming.py
        [--few 50] [--many 5000] [--photos 400] [--threads 2]

Memory: the peak of a compile that is calibrated with `--many` JPEG and PNG files of one megapixel
against that with `--few` of them; at most 64 MiB more. Every file has other bytes: one of 32 pictures
with a number of its own behind the end of its picture data.

Waiting: with QBC_MODELS, mobilenet_v1_0.75_224 is calibrated with photographs (data/imagenet) through
resize 256 (Pillow), crop 224 and a fused normalization, once without and once with bias correction.
The share is the time that threads waited for a sample, of `threads` times the time of the stages that
read samples; at most 10 %.
"""
import argparse
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from PIL import Image

MIB = 2**20
MOST_MORE = 64 * MIB
MOST_SHARE = 0.10
STAGES = ("calibrate", "quantize", "correct")  # these read samples
PICTURES = 32
PIPELINE = """
uint8Input: {apply: true}
imageChannels: 3
preprocessing:
  apply: true
  autoConvertFormat: true
  pipeline:
    - {op: resize, size: %d, mode: bilinear, backend: pil}
    - {op: centerCrop, height: %d, width: %d}
    - {op: normalize, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5], scaleToUint8: true, fuseIntoFirstLayer: true}
biasCorrection: {apply: %s}
"""


def write_small_model(path):
    """One convolution: reading samples is what its compile does."""
    weight = np.random.default_rng(1).normal(0, 0.2, (8, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
         helper.make_node("Relu", ["c"], ["y"], name="relu")],
        "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 32, 32])],
        [numpy_helper.from_array(weight, "w")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def picture(seed):
    """One megapixel, smooth with some noise, as photographs are."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (24, 32, 3), dtype=np.uint8))
    pixels = np.asarray(coarse.resize((1152, 912), Image.BICUBIC)).astype(np.int16)
    return Image.fromarray(np.clip(pixels + random.integers(-6, 7, pixels.shape), 0, 255).astype(np.uint8))


def encoded(count):
    """`count` pictures as (extension, bytes, place of a number in the file that no reader shows)."""
    files = []
    for seed in range(count):
        out = io.BytesIO()
        if seed % 8 == 7:  # deflating and inflating takes longest
            picture(seed).save(out, "PNG", compress_level=1)
        else:
            picture(seed).save(out, "JPEG", quality=88)
        files.append(("png" if seed % 8 == 7 else "jpg", out.getvalue()))
    return files


def numbered(kind, data, number):
    """The same picture in other bytes: a JPEG comment or a PNG text chunk behind the header."""
    note = b"number %08d" % number
    if kind == "jpg":
        return data[:2] + b"\xff\xfe" + struct.pack(">H", len(note) + 2) + note + data[2:]
    body = b"tEXt" + b"Comment\0" + note
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return data[:33] + chunk + data[33:]


def write_pictures(folder, count, files):
    os.makedirs(folder)
    for i in range(count):
        kind, data = files[i % len(files)]
        with open(os.path.join(folder, f"{i:05d}.{kind}"), "wb") as file:
            file.write(numbered(kind, data, i))


def compile_once(model, samples, config, threads, folder):
    """The result's report and the peak resident memory of the compiler in bytes."""
    path = os.path.join(folder, "config.yaml")
    with open(path, "w") as file:
        file.write(config)
    command = [os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler"), "compile", "--model", model,
               "--calib-data-path", samples, "--target-device", "aries-rb", "--threads", str(threads),
               "--compile-config", path, "--output", os.path.join(folder, "out.mxq")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, QBCOMPILER_JSONL="1"))
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n" + "\n".join(lines[-3:]))
    report = json.loads(lines[-1])["report"]
    return report, report["peak_memory_bytes"]


def measure_memory(args, folder):
    model = os.path.join(folder, "small.onnx")
    write_small_model(model)
    files = encoded(PICTURES)
    peaks = []
    for count in (args.few, args.many):
        samples = os.path.join(folder, f"pictures_{count}")
        write_pictures(samples, count, files)
        report, peak = compile_once(model, samples, PIPELINE % (72, 64, 64, "false"), args.threads,
                                    folder)
        peaks.append(peak)
        seconds = ", ".join(f"{name} {value:.1f}" for name, value in report["seconds"].items())
        print(f"{count} pictures of one megapixel: peak {peak / MIB:.0f} MiB; s: {seconds}", flush=True)
    more = peaks[1] - peaks[0]
    print(f"{args.many} pictures take {more / MIB:.1f} MiB more than {args.few} (bar {MOST_MORE // MIB})")
    return more <= MOST_MORE


def measure_waiting(args, folder):
    models = os.environ.get("QBC_MODELS")
    if not models:
        print("waiting: not measured, QBC_MODELS is not set")
        return True
    name = "mobilenet_v1_0.75_224"
    photos = os.path.join(models, "data", "imagenet")
    names = sorted(n for n in os.listdir(photos) if n.endswith(".jpg"))[:args.photos]
    listing = os.path.join(folder, "photos.txt")
    with open(listing, "w") as file:
        file.write("\n".join(os.path.join(photos, n) for n in names) + "\n")
    good = True
    for correction in ("false", "true"):
        report, peak = compile_once(os.path.join(models, name, name + ".onnx"), listing,
                                    PIPELINE % (256, 224, 224, correction), args.threads, folder)
        seconds = report["seconds"]
        reading = sum(seconds.get(stage, 0.0) for stage in STAGES)
        share = report["sample_wait_seconds"] / (args.threads * reading)
        good = good and share <= MOST_SHARE
        stages = ", ".join(f"{stage} {seconds.get(stage, 0.0):.2f}" for stage in STAGES)
        print(f"{name}, {len(names)} photographs, bias correction {correction}: waits {share:.1%} of "
              f"{args.threads} x {reading:.2f} s (bar {MOST_SHARE:.0%}); {stages}; peak {peak / MIB:.0f} MiB",
              flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--few", type=int, default=50)
    parser.add_argument("--many", type=int, default=5000)
    parser.add_argument("--photos", type=int, default=400)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        waits = measure_waiting(args, folder)
        memory = measure_memory(args, folder)
    return 0 if memory and waits else 1


if __name__ == "__main__":
    sys.exit(main())
