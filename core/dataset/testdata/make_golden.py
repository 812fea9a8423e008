#!/usr/bin/python3
"""Makes the golden data of this folder with the real libraries of Debian 12:

    /usr/bin/python3 core/dataset/testdata/make_golden.py

Needs python3-pil (9.4), python3-opencv (4.6), python3-torch, python3-torchvision and python3-numpy.
Every picture is computed here; none is a photograph. Where pixels must be equal to the last bit a file
holds their SHA-256, so that a million pixels take a line.
"""
import hashlib
import os
import struct

import cv2
import numpy as np
import PIL
import torch
import torchvision
from PIL import Image

FOLDER = os.path.dirname(os.path.abspath(__file__))
assert PIL.__version__.startswith("9.4"), PIL.__version__
assert cv2.__version__.startswith("4.6"), cv2.__version__

PIL_MODES = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC,
             "lanczos": Image.LANCZOS}
CV_MODES = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC,
            "area": cv2.INTER_AREA, "lanczos": cv2.INTER_LANCZOS4}


def noise(seed, count):
    """The upper bytes of splitmix64's numbers: golden_test.cc makes the same."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.uint64(0x9e3779b97f4a7c15) * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(56)).astype(np.uint8)


def picture(kind, seed, h, w, c):
    """0 noise, 1 black and white noise, 2 blocks of 7 x 7 with hard edges, 3 a slope with noise."""
    if kind == 0:
        return noise(seed, h * w * c).reshape(h, w, c)
    if kind == 1:
        return (noise(seed, h * w * c).reshape(h, w, c) >> 7) * np.uint8(255)
    if kind == 2:
        bh, bw = (h + 6) // 7, (w + 6) // 7
        blocks = noise(seed, bh * bw * c).reshape(bh, bw, c)
        return np.ascontiguousarray(np.repeat(np.repeat(blocks, 7, 0), 7, 1)[:h, :w])
    y, x, k = np.meshgrid(np.arange(h), np.arange(w), np.arange(c), indexing="ij")
    return ((y * 2 + x + k * 50 + (noise(seed, h * w * c).reshape(h, w, c) >> 3)) % 256).astype(np.uint8)


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def as_pil(image):
    return Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)


def resize_lines():
    cases = [(61, 47, 29, 31), (224, 180, 113, 90), (40, 33, 80, 66), (17, 23, 64, 41), (96, 64, 96, 31),
             (50, 90, 131, 90), (120, 90, 40, 30), (7, 5, 3, 2), (1, 9, 4, 4), (300, 200, 37, 23),
             (99, 101, 98, 100), (64, 48, 32, 24)]
    seed = 1
    for backend, modes in (("pil", PIL_MODES), ("opencv", CV_MODES)):
        for mode, method in modes.items():
            for c in (1, 3, 4):
                for h, w, h2, w2 in cases:
                    kind = seed % 4
                    image = picture(kind, seed, h, w, c)
                    if backend == "pil":
                        result = np.asarray(as_pil(image).resize((w2, h2), method))
                    else:
                        result = cv2.resize(image, (w2, h2), interpolation=method)
                    yield f"{backend} {mode} {kind} {seed} {h} {w} {c} {h2} {w2} {digest(result)}\n"
                    seed += 1


def write_torch_resize():
    """torch sums in an order of its own: its results are kept whole and compared within a step."""
    arrays = {}
    seed = 5000
    for mode in ("nearest", "bilinear", "bicubic", "area"):
        for align in (False, True):
            for antialias in (False, True):
                if (align or antialias) and mode in ("nearest", "area") or align and antialias:
                    continue
                for h, w, h2, w2 in ((31, 42, 17, 19), (12, 15, 29, 31), (40, 40, 20, 10)):
                    image = picture(seed % 4, seed, h, w, 3)
                    x = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))[None].float()
                    extra = {} if mode in ("nearest", "area") else {"align_corners": align,
                                                                    "antialias": antialias}
                    y = torch.nn.functional.interpolate(x, (h2, w2), mode=mode, **extra)
                    y = torch.round(y).clamp(0, 255).to(torch.uint8)[0].numpy().transpose(1, 2, 0)
                    name = f"{mode}_{int(align)}_{int(antialias)}_{seed % 4}_{seed}_{h}_{w}"
                    arrays[name] = np.ascontiguousarray(y)
                    seed += 1
    np.savez_compressed(f"{FOLDER}/torch_resize.npz", **arrays)


def pipeline_lines():
    """The presets' pipelines by the libraries that they are named after."""
    transform = torchvision.transforms.Compose([
        torchvision.transforms.Resize(256), torchvision.transforms.CenterCrop(224),
        torchvision.transforms.ToTensor(),
        torchvision.transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    for seed, (h, w) in enumerate(((300, 400), (431, 297), (256, 256), (250, 700), (1000, 333)), 9000):
        image = picture(3, seed, h, w, 3)
        chw = transform(Image.fromarray(image)).numpy()
        yield f"classification_torchvision {seed} {h} {w} {digest(chw.transpose(1, 2, 0))}\n"
    for seed, (h, w) in enumerate(((480, 640), (333, 500), (640, 640), (99, 31), (1001, 640)), 9100):
        image = picture(2, seed, h, w, 3)
        yield f"yolo_640 {seed} {h} {w} {digest(letterbox(image, 640))}\n"


def letterbox(image, size):
    """As the detectors of the YOLO family do it before they run."""
    h, w = image.shape[:2]
    ratio = min(size / h, size / w)
    inner_w, inner_h = int(round(w * ratio)), int(round(h * ratio))
    dw, dh = (size - inner_w) / 2, (size - inner_h) / 2
    if (w, h) != (inner_w, inner_h):
        image = cv2.resize(image, (inner_w, inner_h), interpolation=cv2.INTER_LINEAR)
    return cv2.copyMakeBorder(image, int(round(dh - 0.1)), int(round(dh + 0.1)), int(round(dw - 0.1)),
                              int(round(dw + 0.1)), cv2.BORDER_CONSTANT, value=(114, 114, 114))


def write_images():
    """One of each kind of file; returns a line each with the pixels that Pillow sees."""
    rgb = Image.fromarray(picture(3, 70, 37, 45, 3))
    grey = Image.fromarray(picture(3, 71, 37, 45, 1)[:, :, 0])
    rgba = Image.fromarray(picture(3, 72, 37, 45, 4))
    grey_alpha = Image.merge("LA", (grey, Image.fromarray(picture(0, 73, 37, 45, 1)[:, :, 0])))
    palette = rgb.quantize(16)
    inks = Image.fromarray(picture(3, 74, 37, 45, 4), "CMYK")
    files = {
        "rgb.jpg": (rgb, {"quality": 90}), "rgb_420.jpeg": (rgb, {"quality": 75, "subsampling": 2}),
        "progressive.jpg": (rgb, {"progressive": True}), "grey.jpg": (grey, {}), "cmyk.jpg": (inks, {}),
        "rgb.png": (rgb, {}), "grey.png": (grey, {}), "rgba.png": (rgba, {}), "grey_alpha.png": (grey_alpha, {}),
        "palette.png": (palette, {"bits": 4}), "bits1.png": (grey.convert("1"), {}),
        "rgb.bmp": (rgb, {}), "grey.bmp": (grey, {}), "palette.bmp": (palette, {}), "bits1.bmp": (grey.convert("1"), {}),
        "rgba.bmp": (rgba, {}),
        "lossy.webp": (rgb, {"quality": 80}), "lossless.webp": (rgb, {"lossless": True}),
        "alpha.webp": (rgba, {"lossless": True}),
    }
    os.makedirs(f"{FOLDER}/images", exist_ok=True)
    lines = []
    for name, (image, options) in files.items():
        path = f"{FOLDER}/images/{name}"
        image.save(path, **options)
        opened = Image.open(path)
        for channels, mode in ((1, "L"), (3, "RGB"), (4, "RGBA")):
            lines.append(f"{name} {channels} {opened.height} {opened.width} {digest(np.asarray(opened.convert(mode)))}\n")
    # A turned JPEG: Image.open leaves it as it lies.
    exif = Image.Exif()
    exif[0x0112] = 6
    rgb.save(f"{FOLDER}/images/turned.jpg", exif=exif)
    opened = Image.open(f"{FOLDER}/images/turned.jpg")
    lines.append(f"turned.jpg 3 {opened.height} {opened.width} {digest(np.asarray(opened))}\n")
    # 16 bits: Pillow keeps the upper byte of colours; grey has it here too.
    deep = noise(75, 11 * 13 * 3 * 2).view(np.uint16).reshape(11, 13, 3)
    cv2.imwrite(f"{FOLDER}/images/deep.png", deep[:, :, ::-1])
    lines.append(f"deep.png 3 11 13 {digest(np.asarray(Image.open(f'{FOLDER}/images/deep.png').convert('RGB')))}\n")
    cv2.imwrite(f"{FOLDER}/images/deep_grey.png", deep[:, :, 0])
    lines.append(f"deep_grey.png 1 11 13 {digest((deep[:, :, 0] >> 8).astype(np.uint8))}\n")
    # A bitmap of 16 bits, which Pillow reads but does not write.
    pixels = noise(76, 5 * 6 * 2).view(np.uint16).reshape(5, 6) & 0x7fff
    header = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + 60, 0, 0, 54, 40, 6, 5, 1, 16, 0, 60, 0, 0, 0, 0)
    with open(f"{FOLDER}/images/bits16.bmp", "wb") as file:
        file.write(header + pixels.tobytes())
    lines.append(f"bits16.bmp 3 5 6 {digest(np.asarray(Image.open(f'{FOLDER}/images/bits16.bmp').convert('RGB')))}\n")
    return lines


def write_arrays():
    """Files of numpy and torch with known content: element i is i."""
    os.makedirs(f"{FOLDER}/arrays", exist_ok=True)
    count = np.arange(24).reshape(2, 3, 4)
    np.savez(f"{FOLDER}/arrays/stored.npz", x=count.astype(np.float32), ids=count.astype(np.int64))
    np.savez_compressed(f"{FOLDER}/arrays/deflated.npz", x=count.astype(np.float16))
    for name in ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"):
        torch.save(torch.from_numpy(count.copy()).to(getattr(torch, name)), f"{FOLDER}/arrays/{name}.pt")
    torch.save(torch.from_numpy(count.astype(np.float32)).transpose(0, 2)[1:], f"{FOLDER}/arrays/view.pt")
    torch.save({"x": torch.ones(2), "ids": torch.from_numpy(count)}, f"{FOLDER}/arrays/dictionary.pt")
    torch.save(torch.nn.Parameter(torch.from_numpy(count.astype(np.float32))), f"{FOLDER}/arrays/parameter.pth")
    torch.save(torch.ones(3), f"{FOLDER}/arrays/old_format.pt", _use_new_zipfile_serialization=False)
    torch.save(torch.ones(3).to_sparse(), f"{FOLDER}/arrays/sparse.pt")
    torch.save(np.ones(3), f"{FOLDER}/arrays/numpy_inside.pt")


def main():
    with open(f"{FOLDER}/resize.txt", "w") as file:
        file.writelines(resize_lines())
    with open(f"{FOLDER}/pipelines.txt", "w") as file:
        file.writelines(pipeline_lines())
    with open(f"{FOLDER}/images.txt", "w") as file:
        file.writelines(write_images())
    write_torch_resize()
    write_arrays()


if __name__ == "__main__":
    main()
