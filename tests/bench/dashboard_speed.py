#!/usr/bin/python3
"""The dashboard in Chromium: the list with 10^5 jobs, the graph of a model with 1000 layers.

    tests/bench/dashboard_speed.py [--jobs 100000] [--layers 1000] [--rounds 5]

Times are the page's own, from the start of the navigation: of the list until a screen of its rows is painted (bar
200 ms, and beside it the time of the API request in it), of the graph until its first paint (bar 1 s). The first
visit fetches the dashboard's files and is left out. A browser wants two processors: on a machine with other work the
figures grow with the load, which is printed."""

import argparse
import os
import pathlib
import statistics
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/browser"), str(ROOT / "tests/e2e"), str(ROOT / "tests/bench")]
import browser
import many_jobs
import stack

# qbc.v1.JobSpec: model {main: "net.onnx"}, target_device "aries-rb".
SPEC = b"\x12\x0a\x12\x08net.onnx" + b"\x3a\x08aries-rb"


def chain(layers):
    """A model of residual blocks: Conv, Relu, Conv, Add."""
    rng = np.random.default_rng(1)
    nodes, weights, last = [], [], "x"
    for block in range(layers // 4):
        for part in range(2):
            name = f"block{block}/w{part}"
            weights.append(onnx.numpy_helper.from_array(rng.normal(0, 0.1, (4, 4, 1, 1)).astype(np.float32), name))
        names = [f"block{block}/{part}" for part in ("conv1", "relu", "conv2", "add")]
        nodes += [onnx.helper.make_node("Conv", [last, f"block{block}/w0"], [names[0]]),
                  onnx.helper.make_node("Relu", [names[0]], [names[1]]),
                  onnx.helper.make_node("Conv", [names[1], f"block{block}/w1"], [names[2]]),
                  onnx.helper.make_node("Add", [names[2], last], [names[3]])]
        last = names[3]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "chain", [value("x", onnx.TensorProto.FLOAT, [1, 4, 4, 4])],
                                   [value(last, onnx.TensorProto.FLOAT, [1, 4, 4, 4])], weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


def show(name, times, bar_ms=None):
    times = times[1:]
    middle = statistics.median(times)
    print(f"{name}: median {middle:.0f} ms, worst {max(times):.0f} ms of {len(times)}"
          + (f" (bar {bar_ms} ms)" if bar_ms else ""), flush=True)
    return bar_ms is None or middle <= bar_ms


def list_speed(jobs, rounds):
    with stack.Stack(compiler="chaos_compiler", http=True, workers=0) as own:
        own.server.terminate()
        own.server.wait(timeout=60)
        # Half of the rows belong to the tenant that asks.
        many_jobs.fill(own.folder / "data/qbc.db", 2 * jobs, 0, SPEC)
        own.start_server()
        times = browser.run("speed", site=own.site, list="/jobs", graph=None, rounds=rounds)
    show("  its API request", times["api"])
    return show(f"list with {jobs} jobs", times["list"], 200)


def graph_speed(layers, rounds):
    with stack.Stack(http=True) as own:
        model = own.path("chain.onnx")
        onnx.save(chain(layers), model)
        job = own.qbc("submit", model, "-t", "aries-rb", "--use-random-calib", check=0).stdout.strip()
        own.qbc("wait", job, check=0, timeout_s=900)
        times = browser.run("speed", site=own.site, list=None, graph=f"/jobs/{job}#graph", rounds=rounds)
    return show(f"first paint of a graph with {layers} layers", times["graph"], 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    missing = browser.why_not()
    if missing:
        print(f"SKIPPED: {missing}")
        return 0
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    good = [list_speed(arguments.jobs, arguments.rounds), graph_speed(arguments.layers, arguments.rounds)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
