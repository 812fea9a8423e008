"""Models with one operator under test, compiled, exported and run three ways: the float executor, the
simulator, and ONNX Runtime on both exports."""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, load, numpy_helper, save

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ort"))
import ort  # noqa: E402

# The share of elements that may be one step off. Products: ONNX Runtime multiplies the 32-bit sum with a
# float32 scale; within 1e-5 of a tie that rounds to the other side, about twice in 10^6 results. Ours is the
# exact value rounded once: tests/bench/export_ties.py recomputes every such element in whole numbers.
EXACT, PRODUCT, ROUNDED, FLOAT = 0.0, 1e-5, 1e-5, 1e-4
BLOCK_BYTES = 64 << 20  # of samples on the disk at a time


@dataclasses.dataclass
class Case:
    """`nodes` is a function of a Builder that returns the name of the result."""
    name: str
    nodes: object
    bar: float
    inputs: dict  # name: shape
    target: str = "aries-rb"
    settings: str = "{}"  # a config file
    mean: float = 0.0   # of the samples


class Builder:
    """A small ONNX graph."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def constant(self, array):
        name = "c%d" % len(self.initializers)
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape):
        return self.constant((self.random.normal(0, 1, shape) / np.sqrt(np.prod(shape[1:])))
                             .astype(np.float32))

    def op(self, kind, inputs, **attributes):
        name = "v%d" % len(self.nodes)
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def save(self, path, inputs, result):
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                  for name, shape in inputs.items()]
        graph = helper.make_graph(self.nodes, "case", values,
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  self.initializers)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
             path)


def qbcompiler(*arguments):
    binary = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")
    done = subprocess.run([binary] + [str(a) for a in arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError("qbcompiler %s: %s" % (" ".join(map(str, arguments)), done.stderr))
    return done.stdout


def write_samples(folder, inputs, count, seed, mean=0.0):
    """Samples in the form of a calibration set; a list of {name: array}."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    samples = []
    for i in range(count):
        sample = {name: random.normal(mean, 1, shape).astype(np.float32)
                  for name, shape in inputs.items()}
        if len(inputs) == 1:
            np.save(folder / ("%04d.npy" % i), next(iter(sample.values())))
        else:
            (folder / ("%04d" % i)).mkdir()
            for name, array in sample.items():
                np.save(folder / ("%04d" % i) / (name + ".npy"), array)
        samples.append(sample)
    return samples


def outputs_of(folder, count):
    """One .npy a sample, or of each sample a folder with one .npy an output."""
    result = []
    for i in range(count):
        path = folder / ("%04d.npy" % i)
        if path.exists():
            result.append({"": np.load(path)})
        else:
            result.append({p.stem: np.load(p) for p in sorted((folder / ("%04d" % i)).iterdir())})
    return result


@dataclasses.dataclass
class Comparison:
    elements: int
    off: int        # elements that differ
    most_steps: int
    plain_error: float  # of the plain export against the float executor, relative


def compare(case, folder, elements, runtime):
    """Runs the case over at least `elements` elements of its result."""
    folder = pathlib.Path(folder)
    builder = Builder(seed=1)
    builder.save(folder / "m.onnx", case.inputs, case.nodes(builder))
    calibration = folder / "calib"
    write_samples(calibration, case.inputs, 4, 2, case.mean)
    (folder / "config.yaml").write_text(case.settings)
    qbcompiler("parse", "--model", folder / "m.onnx", "--output", folder / "m.mblt",
               "--target-device", case.target)
    qbcompiler("quantize", "--mblt", folder / "m.mblt", "--output", folder / "m.mxq",
               "--target-device", case.target, "--calib-data-path", calibration, "--compile-config",
               folder / "config.yaml")
    qbcompiler("export-onnx", "--mblt", folder / "m.mblt", "--output", folder / "plain.onnx")
    qbcompiler("export-onnx", "--mxq", folder / "m.mxq", "--output", folder / "qdq.onnx")
    plain = ort.Session(str(folder / "plain.onnx"), runtime=runtime)
    qdq = ort.Session(str(folder / "qdq.onnx"), runtime=runtime)
    one = plain.run(write_samples(folder / "one", case.inputs, 1, 3, case.mean)[0])["y"]
    qbcompiler("run", "--mblt", folder / "m.mblt", "--data", folder / "one", "--output",
               folder / "float")
    result = Comparison(0, 0, 0, relative_error(outputs_of(folder / "float", 1)[0][""], one))
    scale = output_scale(folder / "m.mxq"), least_scale(folder / "qdq.onnx")
    sample_bytes = sum(4 * int(np.prod(shape)) for shape in case.inputs.values())
    left = max(1, -(-elements // one.size))
    block = 0
    while left > 0:
        count = min(left, max(1, BLOCK_BYTES // sample_bytes))
        compare_block(case, folder, (block, count), qdq, scale, result)
        left -= count
        block += 1
    plain.close()
    qdq.close()
    return result


def compare_block(case, folder, numbers, qdq, scale, result):
    """Adds the block's `numbers` (which one, how many samples) to the result."""
    block, count = numbers
    data, simulated_folder = folder / f"data_{block}", folder / f"simulated_{block}"
    samples = write_samples(data, case.inputs, count, 4 + block, case.mean)
    qbcompiler("run", "--mxq", folder / "m.mxq", "--data", data, "--output", simulated_folder)
    for sample, simulated in zip(samples, outputs_of(simulated_folder, count)):
        expected = qdq.run(sample)["y"]
        difference = np.abs(simulated[""].astype(np.float64) - expected)
        result.elements += difference.size
        result.off += int(np.count_nonzero(np.rint(difference / scale[1])))
        result.most_steps = max(result.most_steps, int(np.rint(difference / scale[0]).max()))
    shutil.rmtree(data)
    shutil.rmtree(simulated_folder)


def least_scale(qdq):
    """The smallest step of the last values that become real: channels may have steps of their own."""
    graph = load(str(qdq)).graph
    real = [node for node in graph.node if node.op_type == "DequantizeLinear"][-1]
    return float(next(numpy_helper.to_array(value).min() for value in graph.initializer
                      if value.name == real.input[1]))


def output_scale(mxq):
    """The step of the last layer's codes, the largest where channels have their own."""
    import json
    return json.loads(qbcompiler("layers", "--mxq", mxq, "--json"))[-1]["scale"]


def relative_error(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    if a.shape != b.shape:
        return float("inf")
    return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30))
