#!/usr/bin/python3
"""How long `qbcompiler -h` takes: wall time, and user and system time together.

Fails when the CPU time of the middle run is above 20 ms. Wall time on a busy machine says more about
the machine; on an idle one the two agree.

    QB_BIN_DIR=build/release/bin tests/bench/cli_start.py [RUNS]
"""

import os
import resource
import statistics
import subprocess
import sys
import time

BAR_MS = 20.0


def main():
    compiler = os.path.join(os.environ["QB_BIN_DIR"], "qbcompiler")
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    wall_ms, cpu_ms = [], []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        subprocess.run([compiler, "-h"], check=True, stdout=subprocess.DEVNULL)
        wall_ms.append((time.perf_counter() - begun) * 1e3)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_ms.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
    for name, figures in [("wall", wall_ms), ("cpu", cpu_ms)]:
        print(f"{name}: best {min(figures):.1f} ms, median {statistics.median(figures):.1f} ms")
    if statistics.median(cpu_ms) > BAR_MS:
        sys.exit(f"slower than {BAR_MS:.0f} ms")


if __name__ == "__main__":
    main()
