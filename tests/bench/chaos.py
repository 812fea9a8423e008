#!/usr/bin/python3
"""The long chaos run: 20 seeds of 200 jobs while servers, agents and compile processes are killed.

    tests/bench/chaos.py [--build build/release] [--seeds 1-20] [--jobs 200] [--kills 60]
                         [--real-seed 20]

One seed (--real-seed, 0 for none) uses the real qbcompiler on the example model instead of
chaos_compiler. Ends with 1 when a job was lost, doubled or wrong."""

import argparse
import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def example_model():
    models = sorted(glob.glob(os.path.join(ROOT, "examples", "fashion", "*.onnx")))
    return models[0] if models else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--real-seed", type=int, default=20)
    arguments = parser.parse_args()
    os.environ["QB_BIN_DIR"] = os.path.join(arguments.build, "bin")
    sys.path[:0] = [os.path.join(arguments.build, "gen_py"),
                    os.path.join(ROOT, "tests", "integration")]
    import chaos_run  # after the paths are set

    good = []
    for seed in chaos_run.parse_seeds(arguments.seeds):
        if seed == arguments.real_seed:
            good.append(run_with_real_compiler(chaos_run, seed, arguments))
        else:
            good.append(chaos_run.run_seed(seed, arguments.jobs, arguments.kills))
    print(f"{sum(good)} of {len(good)} seeds without a problem")
    return 0 if all(good) else 1


def run_with_real_compiler(chaos_run, seed, arguments):
    import chaos_jobs
    compiler = os.path.join(arguments.build, "bin", "qbcompiler")
    model = example_model()
    if model is None or not os.path.exists(compiler):
        print(f"seed {seed}: no qbcompiler or no example model, left out")
        return False
    with open(model, "rb") as file:
        data = file.read()
    print(f"seed {seed}: the real compiler on {os.path.basename(model)}")
    return chaos_run.run_seed(seed, arguments.jobs, arguments.kills, compiler="qbcompiler",
                              make_job=lambda rng, tag: chaos_jobs.Job("example", data,
                                                                       path="model.onnx", alone=True))


if __name__ == "__main__":
    sys.exit(main())
