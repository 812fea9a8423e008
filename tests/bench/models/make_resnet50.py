"""Writes a ResNet-50 with seeded weights: what the speed figures are measured with.

The architecture is the published one (bottlenecks 3-4-6-3, stride in the 3x3 convolution, 224x224, 1000
classes, 25.6 M parameters). Batch normalizations are nodes of their own. Weights are He-initialised; the
statistics of the batch normalizations are close to what such activations have, so that values neither
die out nor grow over the 16 blocks.

  /usr/bin/python3 tests/bench/models/make_resnet50.py OUT.onnx [--size 224] [--seed 1]
"""
import argparse

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
EXPANSION = 4


class Builder:
    """Collects nodes and weights in order."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes = []
        self.weights = []

    def add(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def weight(self, name, values):
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def convolution(self, x, name, channels, results, kernel, stride, variance):
        """Convolution and batch normalization; `variance` is that of x."""
        fan_in = channels * kernel * kernel
        weights = self.random.standard_normal((results, channels, kernel, kernel))
        self.weight(name + ".weight", weights * np.sqrt(2.0 / fan_in))
        pad = kernel // 2
        y = self.add("Conv", [x, name + ".weight"], name, kernel_shape=[kernel, kernel],
                     strides=[stride, stride], pads=[pad, pad, pad, pad])
        jitter = lambda low, high: self.random.uniform(low, high, results)
        names = [self.weight(name + ".gamma", jitter(0.5, 1.0)),
                 self.weight(name + ".beta", jitter(-0.2, 0.2)),
                 self.weight(name + ".mean", jitter(-0.1, 0.1)),
                 self.weight(name + ".var", 2.0 * variance * jitter(0.8, 1.25))]
        return self.add("BatchNormalization", [y] + names, name + ".bn", epsilon=1e-5)

    def bottleneck(self, x, name, channels, width, stride):
        relu = lambda value: self.add("Relu", [value], value + ".relu")
        y = relu(self.convolution(x, name + ".conv1", channels, width, 1, 1, 0.5))
        y = relu(self.convolution(y, name + ".conv2", width, width, 3, stride, 0.4))
        y = self.convolution(y, name + ".conv3", width, width * EXPANSION, 1, 1, 0.4)
        if stride != 1 or channels != width * EXPANSION:
            x = self.convolution(x, name + ".downsample", channels, width * EXPANSION, 1, stride, 0.5)
        return relu(self.add("Add", [y, x], name + ".add"))


def build(size, seed):
    builder = Builder(seed)
    x = builder.convolution("input", "stem", 3, 64, 7, 2, 1.0)
    x = builder.add("Relu", [x], "stem.relu")
    x = builder.add("MaxPool", [x], "stem.pool", kernel_shape=[3, 3], strides=[2, 2],
                    pads=[1, 1, 1, 1])
    channels = 64
    for stage, (width, blocks, stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            x = builder.bottleneck(x, "layer%d.%d" % (stage, block), channels, width,
                                   stride if block == 0 else 1)
            channels = width * EXPANSION
    x = builder.add("GlobalAveragePool", [x], "pool")
    x = builder.add("Flatten", [x], "features", axis=1)
    builder.weight("fc.weight", builder.random.uniform(-1, 1, (1000, channels)) / np.sqrt(channels))
    builder.weight("fc.bias", builder.random.uniform(-0.1, 0.1, 1000))
    builder.add("Gemm", [x, "fc.weight", "fc.bias"], "logits", transB=1)
    image = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size, size])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1000])
    graph = helper.make_graph(builder.nodes, "resnet50", [image], [logits], builder.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    save(build(args.size, args.seed), args.out)


if __name__ == "__main__":
    main()
