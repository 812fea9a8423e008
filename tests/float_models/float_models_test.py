"""The float executor against ONNX Runtime: every model below $QBC_MODELS, as imported and after the
passes, on seeded inputs. max|a - b| / max|b| of each output must stay below 1e-4. Seeded noise can drive
an output into a corner where float32 has no such accuracy (a sigmoid at 1e-5): the bound is then four
times what ONNX Runtime differs from itself between its optimization levels.

Without QBC_MODELS or without ONNX Runtime the test counts as skipped. So does a model that the importer
refuses as unsupported, unless the folder's MANIFEST.tsv (columns set, file, tags) tags it `wide`.

  QB_BIN_DIR=build/dev/bin QBC_MODELS=FOLDER /usr/bin/python3 tests/float_models/float_models_test.py
"""
import json
import os
import subprocess
import sys
import tempfile
import xml.sax.saxutils

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ort"))
import ort  # noqa: E402

TOLERANCE = 1e-4
LAYOUTS = ("source", "channel_last")
# Open dimensions are 1, or this where the model needs an image: by dimension, last two of rank 4; or a
# stretch of sound: the last of rank 2.
OPEN_IMAGE_SIZE = 320
OPEN_SEQUENCE_SIZE = 576


def models_below(folder):
    found = []
    for root, _, names in os.walk(folder):
        found += [os.path.join(root, name) for name in names if name.endswith(".onnx")]
    return sorted(found)


def closed_shape(shape):
    if len(shape) == 4:
        return [1 if dim < 1 and i < 2 else OPEN_IMAGE_SIZE if dim < 1 else dim
                for i, dim in enumerate(shape)]
    if len(shape) == 2:
        return [shape[0] if shape[0] > 0 else 1, shape[1] if shape[1] > 0 else OPEN_SEQUENCE_SIZE]
    return [dim if dim > 0 else 1 for dim in shape]


def wide_models(folder):
    """Names of the files that have to import."""
    manifest = os.path.join(folder, "MANIFEST.tsv")
    names = set()
    if os.path.exists(manifest):
        with open(manifest, encoding="utf-8") as file:
            for line in file:
                columns = line.rstrip("\n").split("\t")
                if len(columns) > 2 and "wide" in columns[2].split(","):
                    words = columns[1].replace(",", " ").split()
                    names |= {os.path.basename(word) for word in words if word.endswith(".onnx")}
    return names


def make_input(random, dtype, shape):
    if np.issubdtype(dtype, np.floating):
        return random.uniform(-1, 1, shape).astype(dtype)
    if dtype is np.bool_:
        return np.ones(shape, dtype)
    return random.integers(0, 2, shape).astype(dtype)


def relative_error(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    if a.shape != b.shape or np.isnan(a).any() != np.isnan(b).any():
        return float("inf")
    if a.size == 0:
        return 0.0
    return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30))


def run_ours(binary, model, layout, inputs):
    """The outputs by name, or the message of a refusal."""
    with tempfile.TemporaryDirectory() as folder:
        for i, array in enumerate(inputs.values()):
            with open(os.path.join(folder, "input_%d.bin" % i), "wb") as file:
                file.write(np.ascontiguousarray(array).tobytes())
        shapes = ["%s:%s" % (name, "x".join(map(str, array.shape)))
                  for name, array in inputs.items() if array.ndim > 0]
        done = subprocess.run([binary, model, layout, folder] + shapes, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            return None, done.stderr.strip() or "exit %d" % done.returncode
        outputs = {}
        for i, described in enumerate(json.loads(done.stdout)):
            raw = np.fromfile(os.path.join(folder, "output_%d.bin" % i), described["dtype"])
            outputs[described["name"]] = raw.reshape(described["shape"])
        return outputs, ""


def bounds_of(model, runtime, inputs, expected):
    """The allowed error of each output."""
    plain = ort.Session(model, runtime=runtime, optimization="none")
    own = plain.run(inputs)
    plain.close()
    return {name: max(TOLERANCE, 4 * relative_error(own[name], expected[name])) for name in expected}


def compare(binary, model, runtime):
    """A list of (layout, worst error as a share of what is allowed, or None, message)."""
    session = ort.Session(model, runtime=runtime)
    random = np.random.default_rng(7)
    inputs = {name: make_input(random, dtype, closed_shape(shape))
              for name, dtype, shape in session.inputs}
    expected = bounds = None
    results = []
    for layout in LAYOUTS:
        outputs, message = run_ours(binary, model, layout, inputs)
        if outputs is None:
            results.append((layout, None, message))
            continue
        if expected is None:
            expected = session.run(inputs)
            bounds = bounds_of(model, runtime, inputs, expected)
        shares = [relative_error(outputs[name], expected[name]) / bounds[name] for name in expected]
        results.append((layout, max(shares), ""))
    session.close()
    return results


def write_report(cases):
    """The cases, each (name, "ok", "skipped" or "FAILED"), where and as gtest would write them."""
    target = os.environ.get("GTEST_OUTPUT", "")
    if not target.startswith("xml:"):
        return
    lines = []
    for name, state in cases:
        result = "skipped" if state == "skipped" else "completed"
        failure = "<failure/>" if state == "FAILED" else ""
        lines.append('<testcase classname="FloatModels" name=%s result="%s">%s</testcase>'
                     % (xml.sax.saxutils.quoteattr(name), result, failure))
    failures = sum(state == "FAILED" for _, state in cases)
    with open(os.path.join(target[4:], "float_models_test.xml"), "w") as file:
        file.write('<testsuites tests="%d" failures="%d" disabled="0"><testsuite>\n%s\n'
                   "</testsuite></testsuites>\n" % (len(cases), failures, "\n".join(lines)))


def state_of(share, message, has_to_import):
    if share is None:
        refused = not has_to_import and (
            "UNSUPPORTED" in message or "UNIMPLEMENTED" in message)
        return "skipped" if refused else "FAILED"
    return "ok" if share <= 1 else "FAILED"


def main():
    folder = os.environ.get("QBC_MODELS")
    if not folder or ort.library_path() is None:
        print("SKIPPED: set QBC_MODELS to a folder of models and install ONNX Runtime")
        write_report([("every model", "skipped")])
        return 0
    binary = os.path.join(os.environ["QB_BIN_DIR"], "qb_float_run")
    runtime = ort.Runtime()
    wide = wide_models(folder)
    cases = []
    for model in models_below(folder):
        name = os.path.relpath(model, folder)
        has_to_import = os.path.basename(model) in wide
        for layout, share, message in compare(binary, model, runtime):
            state = state_of(share, message, has_to_import)
            cases.append(("%s %s" % (name, layout), state))
            print("%-7s %-12s %s %s" % (state, layout, "-" if share is None else "%.4f" % share,
                                        name), message[:300])
    counts = {state: sum(s == state for _, s in cases) for state in ("ok", "skipped", "FAILED")}
    print("(figures: error as a share of the bound)")
    print("%d ok, %d refused by the importer, %d failed" % tuple(counts.values()))
    write_report(cases)
    return 1 if counts["FAILED"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
