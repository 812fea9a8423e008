#!/usr/bin/python3
"""Our resized pixels against those of Pillow, OpenCV and torch: random sizes and contents.

    ./qb bench resize_parity [--pixels N] [--backend pil|opencv|torch] [--seed S]

Needs python3-pil, python3-opencv, python3-torch (./setup --dev). Counts pixels that differ; pil and
opencv must have none on uint8. A pixel is one of source or result, whichever has more.
"""
import argparse
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODES = {"pil": ["nearest", "bilinear", "bicubic", "lanczos"],
         "opencv": ["nearest", "bilinear", "bicubic", "area", "lanczos"],
         "torch": ["nearest", "bilinear", "bicubic", "area"]}


def reference(backend, mode, image, height, width, align, antialias):
    if backend == "pil":
        from PIL import Image
        method = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC,
                  "lanczos": Image.LANCZOS}[mode]
        source = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
        return np.asarray(source.resize((width, height), method)).reshape(height, width, -1)
    if backend == "opencv":
        import cv2
        method = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC,
                  "area": cv2.INTER_AREA, "lanczos": cv2.INTER_LANCZOS4}[mode]
        return cv2.resize(image, (width, height), interpolation=method).reshape(height, width, -1)
    import torch
    x = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))[None].float()
    extra = {} if mode in ("nearest", "area") else {"align_corners": align, "antialias": antialias}
    y = torch.nn.functional.interpolate(x, (height, width), mode=mode, **extra)
    if image.dtype == np.uint8:
        y = torch.round(y).clamp(0, 255).to(torch.uint8)
    return y[0].numpy().transpose(1, 2, 0)


def contents(rng, height, width, channels):
    """Noise, flat blocks with hard edges, or a slope: what rounds differently shows on one of them."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    if kind == 1:
        return (rng.integers(0, 2, (height, width, channels)) * 255).astype(np.uint8)
    if kind == 2:
        y, x = np.mgrid[0:height, 0:width]
        slope = rng.uniform(0.1, 3, (2, channels))
        return ((y[..., None] * slope[0] + x[..., None] * slope[1]) % 256).astype(np.uint8)
    size = int(rng.integers(2, 24))
    small = rng.integers(0, 256, (height // size + 1, width // size + 1, channels), dtype=np.uint8)
    return np.ascontiguousarray(np.kron(small, np.ones((size, size, 1), np.uint8))[:height, :width])


def sizes(rng):
    """Source and result: free, one axis kept, a whole multiple, or tiny."""
    big = lambda: int(rng.integers(1, 40 if rng.random() < 0.3 else 700))
    h, w, h2, w2 = big(), big(), big(), big()
    kind = rng.integers(8)
    if kind == 0:
        h2 = h
    elif kind == 1:
        w2 = w
    elif kind == 2:
        h2, w2 = max(1, h // 2), max(1, w // 2)
        h, w = h2 * 2, w2 * 2
    elif kind == 3:
        fy, fx = int(rng.integers(1, 9)), int(rng.integers(1, 9))
        h2, w2 = max(1, h // fy), max(1, w // fx)
        h, w = h2 * fy, w2 * fx
    elif kind == 4:
        h2, w2 = h * 2, w * 2
    return h, w, min(h2, 1400), min(w2, 1400)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pixels", type=float, default=1e8)
    parser.add_argument("--backend", choices=MODES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", default=os.environ.get("QB_BIN_DIR", f"{ROOT}/build/release/bin") + "/qb_resize_pixels")
    args = parser.parse_args()
    ours = subprocess.Popen([args.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    rng = np.random.default_rng(args.seed)
    backends = [args.backend] if args.backend else ["pil", "opencv"]
    table = {}
    pixels = 0
    while pixels < args.pixels:
        backend = backends[int(rng.integers(len(backends)))]
        mode = MODES[backend][int(rng.integers(len(MODES[backend])))]
        channels = [1, 3, 4][int(rng.integers(3))]
        h, w, h2, w2 = sizes(rng)
        align, antialias = bool(rng.integers(2)), bool(rng.integers(2))
        if backend != "torch" or mode in ("nearest", "area") or align:
            antialias = False
        if backend != "torch" or mode in ("nearest", "area"):
            align = False
        image = contents(rng, h, w, channels)
        want = reference(backend, mode, image, h2, w2, align, antialias)
        ours.stdin.write(f"{backend} {mode} {h} {w} {channels} {h2} {w2} u8 {int(align)} {int(antialias)}\n".encode())
        ours.stdin.write(image.tobytes())
        ours.stdin.flush()
        got = np.frombuffer(ours.stdout.read(h2 * w2 * channels), np.uint8).reshape(h2, w2, channels)
        count = max(h * w, h2 * w2)
        pixels += count
        differing = int((got != want).any(axis=2).sum())
        largest = int(np.abs(got.astype(int) - want.astype(int)).max())
        if backend == "torch" and (align or antialias):
            mode += "+align" if align else "+antialias"
        row = table.setdefault((backend, mode, channels), [0, 0, 0, 0])
        row[0] += count
        row[1] += 1
        row[2] += differing
        row[3] = max(row[3], largest)
        if differing and backend != "torch" and row[2] == differing:
            print(f"first difference: {backend} {mode} {h}x{w}x{channels} -> {h2}x{w2}: {differing} pixels, "
                  f"by at most {largest}", flush=True)
    print(f"{'backend':8} {'mode':18} ch {'pixels':>12} images  differing  largest")
    for (backend, mode, channels), (count, images, differing, largest) in sorted(table.items()):
        print(f"{backend:8} {mode:18} {channels:2} {count:12} {images:6} {differing:10} {largest:8}")
    bad = sum(row[2] for (backend, _, _), row in table.items() if backend != "torch")
    print(f"{pixels} pixels, {bad} differ from Pillow and OpenCV")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
