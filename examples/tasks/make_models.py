#!/usr/bin/python3
"""Small models for the tasks of the user guide, with samples, in the current folder.

    make_models.py detector|recognizer|encoder

    detector.onnx     a YOLO-like head on strided convolutions: the best boxes in pixels, with scores   frames/
    recognizer.onnx   a line of text as characters by column, for CTC; characters.txt                   lines/
    encoder.onnx      two blocks of a transformer encoder                                               tokens/

Weights are drawn from a fixed seed, not trained: they show how such models are compiled, not how good they are."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

SAMPLES = 16
BEST = 20  # boxes of the detector
OPSET = 17


class Builder:
    """Adds nodes one after another; `last` is the newest value."""

    def __init__(self, name, shape):
        self.random = np.random.default_rng(7)
        self.nodes, self.weights, self.last, self.input = [], [], name, helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    def constant(self, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def drawn(self, *shape):
        """Weights that keep the spread of values."""
        fan_in = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
        return self.constant(self.random.normal(0, (1.5 / fan_in) ** 0.5, shape).astype(np.float32))

    def add(self, op, *inputs, **attributes):
        self.last = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [self.last], **attributes))
        return self.last

    def conv(self, value, channels, out, kernel, stride=1):
        top = kernel // 2
        return self.add("Conv", value, self.drawn(out, channels, kernel, kernel), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=[top] * 4)

    def linear(self, value, inputs, outputs):
        return self.add("Add", self.add("MatMul", value, self.drawn(inputs, outputs)), self.constant(np.zeros(outputs, np.float32)))

    def save(self, path, shape):
        output = helper.make_tensor_value_info(self.last, onnx.TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, pathlib.Path(path).stem, [self.input], [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def samples(folder, shape, low, high):
    random = np.random.default_rng(3)
    pathlib.Path(folder).mkdir(exist_ok=True)
    for number in range(SAMPLES):
        coarse = random.uniform(low, high, [max(1, size // 8) if at >= len(shape) - 2 else size for at, size in enumerate(shape)])
        for axis in (len(shape) - 2, len(shape) - 1):
            coarse = np.repeat(coarse, shape[axis] // coarse.shape[axis], axis)
        noisy = coarse + random.normal(0, 0.05 * (high - low), shape)
        np.save(f"{folder}/{number:03}.npy", np.clip(noisy, low, high).astype(np.float32))


def detector():
    classes, grid = 3, 8
    net = Builder("frame", [1, 3, 64, 64])
    value = "frame"
    for channels, out in ((3, 16), (16, 32), (32, 32)):
        value = net.add("Relu", net.conv(value, channels, out, 3, stride=2))
    head = net.add("Reshape", net.conv(value, 32, 4 + classes, 1), net.constant(np.array([1, 4 + classes, grid * grid])))
    offsets, sizes, scores = (net.add("Slice", head, *(net.constant(np.array([number])) for number in (start, end, 1)))
                              for start, end in ((0, 2), (2, 4), (4, 4 + classes)))
    cells = np.stack(np.meshgrid(np.arange(grid), np.arange(grid))).reshape(1, 2, -1).astype(np.float32)
    stride = net.constant(np.float32(64 / grid))
    centers = net.add("Mul", net.add("Add", net.add("Sigmoid", offsets), net.constant(cells)), stride)
    extents = net.add("Mul", net.add("Exp", net.add("Clip", sizes, net.constant(np.float32(-4)), net.constant(np.float32(2)))), stride)
    scores = net.add("Sigmoid", scores)
    every = net.add("Concat", centers, extents, scores, axis=1)
    # The best boxes only: which ones is known when it runs, so this is no work for an NPU.
    net.nodes.append(helper.make_node("TopK", [net.add("ReduceMax", scores, axes=[1], keepdims=0), net.constant(np.array([BEST]))],
                                      ["best_scores", "best"], axis=1))
    net.add("Gather", every, net.add("Squeeze", "best", net.constant(np.array([0]))), axis=2)
    net.save("detector.onnx", [1, 4 + classes, BEST])
    samples("frames", [1, 3, 64, 64], 0.0, 1.0)


def recognizer():
    characters = "0123456789"
    net = Builder("line", [1, 1, 32, 128])
    value = "line"
    for channels, out in ((1, 16), (16, 32), (32, 48)):
        value = net.add("Relu", net.conv(value, channels, out, 3, stride=2))
    columns = net.add("Squeeze", net.add("ReduceMean", value, axes=[2], keepdims=1), net.constant(np.array([2])))
    net.linear(net.add("Transpose", columns, perm=[0, 2, 1]), 48, 1 + len(characters))
    net.save("recognizer.onnx", [1, 16, 1 + len(characters)])
    pathlib.Path("characters.txt").write_text("\n".join(characters) + "\n", "ascii")
    samples("lines", [1, 1, 32, 128], 0.0, 1.0)


def encoder():
    tokens, width, heads = 16, 32, 4
    net = Builder("tokens", [1, tokens, width])

    def normalized(value):
        return net.add("LayerNormalization", value, net.constant(np.ones(width, np.float32)), net.constant(np.zeros(width, np.float32)))

    def split(value, perm):
        shape = net.constant(np.array([1, tokens, heads, width // heads]))
        return net.add("Transpose", net.add("Reshape", value, shape), perm=perm)

    value = "tokens"
    for _ in range(2):
        read = normalized(value)
        query, keys, values = (split(net.linear(read, width, width), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = net.add("Mul", net.add("MatMul", query, keys), net.constant(np.float32((width / heads) ** -0.5)))
        mixed = net.add("Transpose", net.add("MatMul", net.add("Softmax", scores, axis=-1), values), perm=[0, 2, 1, 3])
        merged = net.add("Reshape", mixed, net.constant(np.array([1, tokens, width])))
        value = net.add("Add", value, net.linear(merged, width, width))
        wide = net.linear(normalized(value), width, 2 * width)
        gelu = net.add("Mul", net.add("Mul", wide, net.add("Add", net.add("Erf", net.add("Div", wide, net.constant(np.float32(2**0.5)))),
                                                           net.constant(np.float32(1)))), net.constant(np.float32(0.5)))
        value = net.add("Add", value, net.linear(gelu, 2 * width, width))
    normalized(value)
    net.save("encoder.onnx", [1, tokens, width])
    samples("tokens", [1, tokens, width], -2.0, 2.0)


if __name__ == "__main__":
    kinds = {"detector": detector, "recognizer": recognizer, "encoder": encoder}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    kinds[sys.argv[1]]()
