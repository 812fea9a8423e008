"""Float inference: our executor (samples in parallel, one thread each) against ONNX Runtime (threads
within a sample), ResNet-50, same machine, turn by turn.

  QB_BIN_DIR=build/release/bin /usr/bin/python3 tests/bench/float_speed.py
      [--model X.onnx] [--samples 32] [--threads 2] [--rounds 3]

Prints the best of the rounds for each. CPU seconds vary less than wall time on a busy machine.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
ORT_FLOAT = os.path.join(FOLDER, "..", "ort", "ort_float.py")
MAKE_MODEL = os.path.join(FOLDER, "models", "make_resnet50.py")


def run_json(command):
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(model, args):
    bench = os.path.join(os.environ["QB_BIN_DIR"], "qb_executor_bench")
    samples, threads = str(args.samples), str(args.threads)
    forms = {
        "onnxruntime": [PYTHON, ORT_FLOAT, model, "--samples", samples, "--threads", threads],
        "ours": [bench, model, samples, threads],
        "ours, all observed": [bench, model, samples, threads, "--observe"],
    }
    rounds = {name: [] for name in forms}
    for _ in range(args.rounds):
        for name, command in forms.items():
            rounds[name].append(run_json(command))
    return rounds


def print_table(rounds):
    best = {name: {key: min(r[key] for r in results) for key in ("wall_s", "cpu_s")}
            for name, results in rounds.items()}
    yardstick = best["onnxruntime"]
    print("%-20s %12s %8s %12s %8s" % ("", "wall ms", "ratio", "CPU ms", "ratio"))
    for name, figures in best.items():
        samples = rounds[name][0]["samples"]
        print("%-20s %12.1f %8.2f %12.1f %8.2f"
              % (name, 1e3 * figures["wall_s"] / samples, figures["wall_s"] / yardstick["wall_s"],
                 1e3 * figures["cpu_s"] / samples, figures["cpu_s"] / yardstick["cpu_s"]))
    ours = rounds["ours"][0]
    print("per sample; arena %.2f MB (lower bound %.2f MB), packed weights %.1f MB"
          % (ours["arena_bytes"] / 1e6, ours["largest_live_bytes"] / 1e6,
             ours["packed_weight_bytes"] / 1e6))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model")
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = args.model
        if model is None:
            model = os.path.join(folder, "resnet50.onnx")
            subprocess.run([PYTHON, MAKE_MODEL, model], check=True)
        print_table(measure(model, args))


if __name__ == "__main__":
    sys.exit(main())
