"""Runs a scenario of scenarios.mjs in Debian's Chromium, with playwright-core from npm."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import stack

FOLDER = pathlib.Path(__file__).resolve().parent
TOOLS = stack.ROOT / ".cache/browser/node_modules"


def why_not():
    """"" when a browser can be driven here, else what is missing and how to get it."""
    if shutil.which("chromium") is None:
        return "chromium is not installed (./setup --dev, or apt-get install chromium)"
    if shutil.which("node") is None:
        return "node is not installed (./setup --test)"
    missing = [name for name in ("playwright-core", "axe-core") if not (TOOLS / name / "package.json").exists()]
    return f"{' and '.join(missing)} from npm not unpacked in {TOOLS} (./setup --test)" if missing else ""


def run(scenario, timeout_s=300, **arguments):
    """What the scenario gives back. Errors: AssertionError with what it says."""
    done = subprocess.run(["node", FOLDER / "scenarios.mjs", scenario, json.dumps(arguments)], capture_output=True, text=True,
                          check=False, timeout=timeout_s,
                          env={**os.environ, "QB_BROWSER_TOOLS": str(TOOLS)})
    if done.returncode != 0:
        raise AssertionError(f"{scenario}: {done.stderr.strip()}\n{done.stdout.strip()}")
    return json.loads(done.stdout.splitlines()[-1])
