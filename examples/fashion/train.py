#!/usr/bin/python3
"""Trains the example model and writes everything that this folder commits.

    /usr/bin/python3 train.py [--epochs N]

Needs two Debian packages that nothing else here needs (`./setup --dev` installs them):
python3-torch and dataset-fashion-mnist. Seeds are fixed; another machine or thread count may still
round differently, so a new run gives an equivalent model, not the same bytes.

Written beside this script:
    fashion.onnx     the trained model, opset 13, batch normalization left in the graph
    calib/*.npy      100 samples of the training set, float32 [1, 1, 28, 28] in [0, 1]
    eval/*.npy       500 samples of the test set (50 a class), same form
    labels.csv       sample,label for the files of eval/
"""

import argparse
import gzip
import pathlib
import shutil
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
SEED = 20200523


def load_images(name):
    """uint8 [count, 28, 28] of an IDX file."""
    with gzip.open(DATA / name) as stream:
        raw = stream.read()
    count, height, width = np.frombuffer(raw, ">i4", 3, offset=4)
    return np.frombuffer(raw, np.uint8, offset=16).reshape(count, height, width)


def load_labels(name):
    with gzip.open(DATA / name) as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=8)


class SeparableResidual(nn.Module):
    """x + BN(1x1(ReLU(BN(depthwise 3x3(x))))), then ReLU."""

    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = functional.relu(self.norm1(self.depthwise(x)))
        return functional.relu(x + self.norm2(self.pointwise(y)))


def conv_block(inputs, outputs, kernel):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU())


class FashionNet(nn.Module):
    """About 79,000 parameters. Input [1, 1, 28, 28] in [0, 1], output [1, 10] logits."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            conv_block(1, 24, 5),
            nn.MaxPool2d(2),
            conv_block(24, 48, 3),
            SeparableResidual(48),
            nn.MaxPool2d(2),
            conv_block(48, 96, 3),
            SeparableResidual(96),
            SeparableResidual(96),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(0.1))
        self.classify = nn.Linear(96, 10)

    def forward(self, x):
        return self.classify(self.layers(x))


def to_input(images):
    """uint8 [n, 28, 28] -> float32 [n, 1, 28, 28] in [0, 1]: what the model takes."""
    return torch.from_numpy(images.astype(np.float32)[:, None] / 255.0)


def accuracy(model, inputs, labels):
    model.eval()
    with torch.no_grad():
        guesses = [model(part).argmax(1) for part in inputs.split(500)]
    return float((torch.cat(guesses) == labels).float().mean())


def augment(batch, generator):
    """Mirrors half of the images."""
    mirrored = torch.rand(len(batch), generator=generator) < 0.5
    return torch.where(mirrored[:, None, None, None], batch.flip(3), batch)


def train(model, inputs, labels, epochs):
    generator = torch.Generator().manual_seed(SEED)
    batch_size = 128
    steps = epochs * (len(inputs) // batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=6e-3, total_steps=steps)
    for epoch in range(epochs):
        model.train()
        begin = time.time()
        order = torch.randperm(len(inputs), generator=generator)
        total = 0.0
        for step in range(len(inputs) // batch_size):
            chosen = order[step * batch_size:(step + 1) * batch_size]
            loss = functional.cross_entropy(model(augment(inputs[chosen], generator)),
                                            labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss)
        print(f"epoch {epoch + 1}: loss {total / (step + 1):.4f}, {time.time() - begin:.0f} s",
              flush=True)


def export(model):
    model.eval()
    torch.onnx.export(
        model, torch.zeros(1, 1, 28, 28), str(HERE / "fashion.onnx"), opset_version=13,
        input_names=["image"], output_names=["logits"],
        # PRESERVE keeps BatchNormalization as nodes: folding it is the compiler's work.
        training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


def write_samples(folder, images):
    """One .npy a sample; returns the stems."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    stems = []
    for index, image in enumerate(to_input(images).numpy()):
        stems.append(f"{index:03d}")
        np.save(folder / f"{stems[-1]}.npy", image[None])
    return stems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    arguments = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)

    train_images = load_images("train-images-idx3-ubyte.gz")
    train_labels = load_labels("train-labels-idx1-ubyte.gz")
    test_images = load_images("t10k-images-idx3-ubyte.gz")
    test_labels = load_labels("t10k-labels-idx1-ubyte.gz")

    model = FashionNet()
    train(model, to_input(train_images), torch.from_numpy(train_labels.astype(np.int64)),
          arguments.epochs)
    truth = torch.from_numpy(test_labels.astype(np.int64))
    print(f"top-1 on all 10,000 test images: {accuracy(model, to_input(test_images), truth):.4f}")
    export(model)

    # Calibration: ten training images a class. Evaluation: fifty test images a class.
    calibration = np.concatenate([np.flatnonzero(train_labels == c)[:10] for c in range(10)])
    write_samples(HERE / "calib", train_images[calibration])
    chosen = np.sort(np.concatenate([np.flatnonzero(test_labels == c)[:50] for c in range(10)]))
    stems = write_samples(HERE / "eval", test_images[chosen])
    lines = [f"{stem},{test_labels[index]}\n" for stem, index in zip(stems, chosen)]
    (HERE / "labels.csv").write_text("sample,label\n" + "".join(lines))
    print(f"top-1 on the committed 500: "
          f"{accuracy(model, to_input(test_images[chosen]), truth[chosen]):.4f}")


if __name__ == "__main__":
    main()
