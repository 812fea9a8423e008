#!/usr/bin/python3
"""Top-1 of two MobileNets from JPEG files, and compiles from files against compiles from saved samples.

    QB_BIN_DIR=build/release/bin QBC_MODELS=DIR /usr/bin/python3 tests/bench/jpeg_top1.py [--threads 2] [MODEL ...]

Each model is compiled from photographs through resize 256 (Pillow), centre crop 224 and normalize with
mean and deviation 0.5, and evaluated on the 400 photographs of data/imagenet that are for that.

- Float top-1 must be that of the same model behind a preprocessing of its own, within one photograph.
- A compile from the samples that the first one saved gives the same program and weights.
- With the normalization fused every activation scale is the same, and the executable takes uint8.

Prints SKIPPED without QBC_MODELS. Exits 1 when one of these does not hold.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import zipfile

# Model -> (class 0 is the background, float top-1 in percent with another program's preprocessing).
MODELS = {"mobilenet_v1_0.75_224": (0, 84.25), "mobilenet_v2_1.0_224_dequant": (1, 87.00)}
CONFIG = {
    "imageChannels": 3,
    "preprocessing": {"apply": True, "autoConvertFormat": True, "pipeline": [
        {"op": "resize", "size": 256, "mode": "bilinear", "backend": "pil"},
        {"op": "centerCrop", "height": 224, "width": 224},
        {"op": "normalize", "mean": [0.5] * 3, "std": [0.5] * 3, "scaleToUint8": True}]}}


def run(*arguments):
    command = [os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def read_photos(models):
    """{"calib" | "eval": [(path, class index)]}"""
    folder = os.path.join(models, "data", "imagenet")
    photos = {"calib": [], "eval": []}
    with open(os.path.join(folder, "labels.csv"), newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            photos[row["split"]].append((os.path.join(folder, row["file"]), int(row["class_index"])))
    return photos


def write_listing(path, photos):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{photo}\n" for photo, _ in photos)
    return path


def write_labels(path, photos, offset):
    with open(path, "w", encoding="utf-8") as file:
        file.write("sample,label\n")
        for photo, index in photos:
            file.write(f"{os.path.splitext(os.path.basename(photo))[0]},{index + offset}\n")
    return path


def write_config(path, fuse, samples=None):
    config = json.loads(json.dumps(CONFIG))
    config["preprocessing"]["pipeline"][-1]["fuseIntoFirstLayer"] = fuse
    if samples:
        config["saveSample"] = {"apply": True, "path": samples, "maxSamples": 10000}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def scales(package):
    return [(layer["name"], layer["scale"], layer["zero_point"])
            for layer in json.loads(package["report.json"])["layers"]]


def measure(name, models, photos, threads, folder):
    offset, bar = MODELS[name]
    model = os.path.join(models, name, name + ".onnx")
    calib = write_listing(os.path.join(folder, "calib.txt"), photos["calib"])
    held = write_listing(os.path.join(folder, "eval.txt"), photos["eval"])
    labels = write_labels(os.path.join(folder, "labels.csv"), photos["eval"], offset)
    saved = os.path.join(folder, "saved")
    made = {}
    for kind, data, config in (
            ("files", calib, write_config(os.path.join(folder, "files.json"), False, saved)),
            ("saved", saved, None),
            ("fused", calib, write_config(os.path.join(folder, "fused.json"), True))):
        output = os.path.join(folder, kind + ".mxq")
        run("compile", "--model", model, "--target-device", "aries-rb", "--calib-data-path", data,
            "--threads", str(threads), "--output", output, *(["--compile-config", config] if config else []))
        made[kind] = entries(output)
    same = all(made["files"][entry] == made["saved"][entry]
               for entry in made["files"] if entry.startswith("program/") or entry == "weights.bin")
    same_scales = scales(made["files"]) == scales(made["fused"])
    takes_bytes = json.loads(made["fused"]["manifest.json"])["inputs"][0]["dtype"] == "uint8"
    print(f"{name}: {len(photos['calib'])} photographs; program and weights from saved samples "
          f"{'equal' if same else 'DIFFER'}; scales with fused normalize "
          f"{'equal' if same_scales else 'DIFFER'}; input {'uint8' if takes_bytes else 'NOT uint8'}")
    good = same and same_scales and takes_bytes
    for kind in ("files", "fused"):
        report = json.loads(run("evaluate", "--model", model, "--mxq", os.path.join(folder, kind + ".mxq"),
                                "--data", held, "--labels", labels, "--json", "-", "--threads", str(threads)))
        photo = 100 / report["labelled"]
        float_top1 = 100 * report["float_top1"]
        within = abs(float_top1 - bar) <= photo + 1e-9
        good = good and within
        print(f"  {kind}: {report['labelled']} photographs, top-1 float {float_top1:.2f} % (bar {bar:.2f} within "
              f"{photo:.2f}{'' if within else ': MISSED'}), int8 {100 * report['quantized_top1']:.2f} %, agreement "
              f"{100 * report['outputs'][0]['agreement']:.2f} %", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("model", nargs="*", default=list(MODELS))
    arguments = parser.parse_args()
    models = os.environ.get("QBC_MODELS")
    if not models:
        print("SKIPPED: QBC_MODELS is not set")
        return 0
    photos = read_photos(models)
    good = True
    for name in arguments.model:
        with tempfile.TemporaryDirectory() as folder:
            good = measure(name, models, photos, arguments.threads, folder) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
