"""One case for each operator that the simulator computes."""
import dataclasses

import numpy

from exported import EXACT, FLOAT, PRODUCT, ROUNDED, Case

IMAGE = [1, 16, 40, 40]


def conv(out=16, kernel=3, **attributes):
    def build(b):
        group = attributes.get("group", 1)
        weights = b.weights(out, 16 // group, kernel, kernel)
        bias = b.constant(b.random.normal(0, 1, out).astype("float32"))
        return b.op("Conv", ["x", weights, bias], **attributes)
    return build


def unary(kind, **attributes):
    return lambda b: b.op(kind, ["x"], **attributes)


def linear(*shape):
    def build(b):
        product = b.op("MatMul", ["x", b.weights(*shape)])
        return b.op("Add", [product, b.constant(b.random.normal(0, 1, shape[-1]).astype("float32"))])
    return build


def resize(mode, transform):
    """Behind a convolution, which makes it an image with its channels last."""
    def build(b):
        sizes = b.constant(numpy.array([1, 16, 90, 70], "int64"))
        return b.op("Resize", [conv(kernel=1)(b), "", "", sizes], mode=mode,
                    coordinate_transformation_mode=transform, nearest_mode="floor")
    return build


def scaled_pair(kind, ratio=3.7):
    """Two values of different ranges. With some ratios of scales a pair of codes, of which there are 65536, lies
    within float32's error of a tie."""
    def build(b):
        louder = b.op("Mul", ["z", b.constant(numpy.float32([ratio]))])
        return b.op("Concat", ["x", louder], axis=1) if kind == "Concat" else b.op(kind, ["x", louder])
    return build


def concat_of_scales(b):
    """Something behind it reads its codes, so both parts are rescaled to one step."""
    return b.op("MaxPool", [scaled_pair("Concat")(b)], kernel_shape=[2, 2])


def detector_head(b):
    """Boxes in pixels and scores of two levels in one output, a step for each channel."""
    def level(value):
        boxes = b.op("Mul", [b.op("Conv", [value, b.weights(4, 16, 1, 1)]),
                             b.constant(numpy.float32(160))])
        scores = b.op("Sigmoid", [b.op("Conv", [value, b.weights(3, 16, 1, 1)])])
        places = b.constant(numpy.array([1, 7, -1], "int64"))
        return b.op("Reshape", [b.op("Concat", [boxes, scores], axis=1), places])
    joined = b.op("Concat", [level("x"), level(b.op("MaxPool", ["x"], kernel_shape=[2, 2],
                                                    strides=[2, 2]))], axis=2)
    return b.op("Transpose", [joined], perm=[0, 2, 1])


def swish(b):
    return b.op("Mul", ["x", b.op("Sigmoid", ["x"])])


def conv_swish(b):
    """A table of 16-bit sums."""
    value = conv(pads=[1, 1, 1, 1])(b)
    return b.op("Mul", [value, b.op("Sigmoid", [value])])


def uneven_convs(b):
    """A value whose channels have ranges far apart, between two layers with weights."""
    weights = b.random.normal(0, 1, (16, 16, 1, 1)).astype(numpy.float32)
    weights *= numpy.float32(10.0) ** -(numpy.arange(16, dtype=numpy.float32) % 3)[:, None, None, None]
    value = b.op("Conv", ["x", b.constant(weights)])
    value = b.op("Mul", [value, b.op("Sigmoid", [value])])
    return b.op("Conv", [value, b.weights(16, 1, 3, 3)], group=16, pads=[1, 1, 1, 1])


def pad(b):
    amounts = b.constant(numpy.array([0, 0, 1, 2, 0, 0, 3, 4], "int64"))
    return b.op("Pad", ["x", amounts, b.constant(numpy.float32(0.5))])


def strided_slice(b):
    ints = lambda values: b.constant(numpy.array(values, "int64"))  # noqa: E731
    return b.op("Slice", ["x", ints([1, 38]), ints([16, -100]), ints([1, 2]), ints([2, -1])])


def uneven_gather(b):
    return b.op("Gather", ["x", b.constant(numpy.array([5, 0, 0, 39, 7], "int64"))], axis=2)


def expand(b):
    """Along two axes that are not neighbours."""
    sizes = b.constant(numpy.array([1, 8, 40, 30], "int64"))
    return b.op("Expand", ["x", sizes])


def layer_normalization(b):
    scale, bias = (b.constant(b.random.normal(mean, 0.5, 96).astype("float32")) for mean in (1, 0))
    return b.op("LayerNormalization", ["x", scale, bias], axis=-1, epsilon=1e-5)


def prelu(b):
    slopes = b.random.uniform(-0.5, 0.5, (16, 1, 1)).astype(numpy.float32)
    return b.op("PRelu", [conv(kernel=1)(b), b.constant(slopes)])


def transposed(b):
    return b.op("ConvTranspose", ["x", b.weights(16, 8, 3, 3)], strides=[2, 2], pads=[1, 1, 1, 1],
                output_padding=[1, 1])


ONE = {"x": IMAGE}
TWO = {"x": IMAGE, "z": IMAGE}
ROWS = {"x": [1, 64, 96]}

CASES = [
    Case("conv", conv(pads=[1, 1, 1, 1]), PRODUCT, ONE),
    Case("conv_strided", conv(24, 5, pads=[2, 2, 2, 2], strides=[2, 2]), PRODUCT, ONE),
    Case("conv_dilated", conv(dilations=[2, 2]), PRODUCT, ONE),
    Case("conv_grouped", conv(16, 3, group=4, pads=[1, 1, 1, 1]), PRODUCT, ONE),
    Case("depthwise", conv(16, 3, group=16, pads=[1, 1, 1, 1]), PRODUCT, ONE),
    Case("conv_relu", lambda b: b.op("Relu", [conv(pads=[1, 1, 1, 1])(b)]), PRODUCT, ONE),
    Case("gemm", linear(96, 80), PRODUCT, ROWS),
    Case("matmul", lambda b: b.op("MatMul", ["x", "z"]), PRODUCT,
         {"x": [1, 4, 64, 32], "z": [1, 4, 32, 64]}),
    Case("max_pool", unary("MaxPool", kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]), EXACT,
         ONE),
    Case("average_pool", unary("AveragePool", kernel_shape=[3, 3], strides=[1, 1],
                               pads=[1, 1, 1, 1]), ROUNDED, ONE),
    Case("average_pool_counting_padding",
         unary("AveragePool", kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1],
               count_include_pad=1), ROUNDED, ONE),
    Case("global_average_pool", unary("GlobalAveragePool"), FLOAT, {"x": [1, 4096, 5, 5]}),
    Case("reduce_mean", unary("ReduceMean", axes=[2], keepdims=0), FLOAT, {"x": [1, 400, 7, 40]}),
    Case("reduce_max", unary("ReduceMax", axes=[2], keepdims=0), EXACT, {"x": [1, 400, 7, 40]}),
    Case("add", scaled_pair("Add"), ROUNDED, TWO),
    Case("sub", scaled_pair("Sub", 2.9), ROUNDED, TWO),
    Case("mul", scaled_pair("Mul"), ROUNDED, TWO),
    Case("concat_rescaled", concat_of_scales, ROUNDED, TWO),
    Case("concat_of_outputs", scaled_pair("Concat"), EXACT, TWO),
    Case("detector_head", detector_head, FLOAT, ONE, settings="calibration: {output: 1}"),
    # Steps as fine as each channel allows: float32's error in the scaled sum is a larger part of them.
    Case("conv_by_channel", conv(pads=[1, 1, 1, 1]), FLOAT, ONE,
         settings="calibration: {output: 1}"),
    Case("concat_same_scale", lambda b: b.op("Concat", ["x", b.op("Neg", ["x"])], axis=1), ROUNDED,
         ONE),
    Case("sigmoid", unary("Sigmoid"), EXACT, ONE),
    Case("swish", swish, EXACT, ONE),
    Case("conv_swish", conv_swish, FLOAT, ONE),
    Case("uneven_convs", uneven_convs, FLOAT, ONE),
    Case("hard_swish", unary("HardSwish"), EXACT, ONE),
    Case("leaky_relu", unary("LeakyRelu", alpha=0.1), EXACT, ONE),
    Case("prelu", prelu, FLOAT, ONE),
    Case("softmax", unary("Softmax", axis=-1), FLOAT, {"x": [1, 8, 64, 64]}),
    Case("softmax_of_channels", unary("Softmax", axis=1), FLOAT, ONE),
    Case("layer_normalization", layer_normalization, FLOAT, {"x": [1, 256, 96]}),
    Case("resize_nearest", resize("nearest", "asymmetric"), PRODUCT, ONE),
    Case("resize_linear", resize("linear", "half_pixel"), FLOAT, ONE),
    Case("resize_linear_aligned", resize("linear", "align_corners"), FLOAT, ONE),
    Case("transposed_conv", transposed, FLOAT, ONE),
    Case("depth_to_space", unary("DepthToSpace", blocksize=2, mode="CRD"), EXACT, ONE),
    Case("space_to_depth", unary("SpaceToDepth", blocksize=2), EXACT, ONE),
    Case("pad", pad, EXACT, ONE),
    Case("slice", strided_slice, EXACT, ONE),
    Case("gather_uneven", uneven_gather, EXACT, ONE),
    Case("expand", expand, EXACT, {"x": [1, 1, 40, 1]}),
    Case("integer_border", conv(pads=[1, 1, 1, 1]), PRODUCT, ONE, "regulus-rb-usb"),
]

# The same with zero points: samples that do not lie evenly around zero, in codes that cover where they do.
WITH_ZERO_POINTS = ("conv", "depthwise", "gemm", "matmul", "max_pool", "average_pool", "add", "mul",
                    "concat_rescaled", "concat_of_outputs", "swish", "prelu", "softmax", "layer_normalization",
                    "resize_linear", "transposed_conv", "pad", "integer_border")

CASES += [dataclasses.replace(case, name=case.name + "_zero_points", mean=0.8,
                              settings="calibration: {method: 3}")
          for case in CASES if case.name in WITH_ZERO_POINTS]
