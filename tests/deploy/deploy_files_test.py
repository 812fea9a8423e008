#!/usr/bin/python3
"""Units, images and manifests use only what the programs have, and agree with each other.

No container engine and no cluster runs here: files are read, and the command lines in them are run as
processes."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]),
                str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
import python_report
import stack

ROOT = stack.ROOT
UNITS = sorted((ROOT / "deploy/systemd").rglob("*.service"))
PROGRAMS = ("qbc-server", "qbc-worker", "qbc", "qbcompiler")
SITE = os.environ.get("QB_PYTHON_SITE", str(ROOT / "build/release/python"))
EXPORTER = ROOT / "deploy/prometheus/qbc_exporter.py"


def load(path):
    return list(yaml.safe_load_all((ROOT / path).read_text("utf-8")))


def directives(unit):
    """{key: [values]} of a unit."""
    found = {}
    for line in unit.read_text("utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def dockerfile():
    """Instructions of the Dockerfile, continued lines joined, and its stages {name: base}."""
    text = (ROOT / "docker/Dockerfile").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    instructions = [line.strip() for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line]
    stages = {}
    for line in instructions:
        match = re.match(r"FROM (\S+) AS (\S+)$", line)
        if match:
            stages[match[2]] = match[1]
    return instructions, stages


def stateful_set():
    return load("deploy/kubernetes/statefulset.yaml")[0]


def containers():
    return {row["name"]: row for row in stateful_set()["spec"]["template"]["spec"]["containers"]}


def services():
    """(name, service) of the compose files."""
    for path in ("docker/compose.yaml", "docker/compose.metrics.yaml"):
        yield from load(path)[0]["services"].items()


def command_lines():
    """(where, program, arguments) of everything that starts one of our programs."""
    for unit in UNITS:
        for line in directives(unit)["ExecStart"]:
            program, *arguments = shlex.split(line)
            yield unit.name, pathlib.Path(program).name, arguments
    for name, service in services():
        if "command" in service and "build" in service:
            yield f"compose {name}", service["image"], service["command"]
    instructions, _ = dockerfile()
    program = None
    for line in instructions:
        if line.startswith("ENTRYPOINT "):
            program = pathlib.Path(yaml.safe_load(line[len("ENTRYPOINT "):])[-1]).name
            program = "qbc-exporter" if program == EXPORTER.name else program
        elif line.startswith("CMD "):
            yield "Dockerfile", program, yaml.safe_load(line[len("CMD "):])
        elif line.startswith("HEALTHCHECK "):
            check = yaml.safe_load(line[line.index("CMD ") + 4:])
            yield "Dockerfile health", check[0], check[1:]
    for name, row in containers().items():
        yield f"kubernetes {name}", row["image"], row["args"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            if probe in row:
                command = row[probe]["exec"]["command"]
                yield f"kubernetes {name} {probe}", command[0], command[1:]


class CommandLines(unittest.TestCase):
    def help_of(self, program, arguments):
        words = [word for word in arguments[:1] if not word.startswith("-")]
        if program == "qbc-exporter":
            return re.sub(r"(?m)^options:.*", "", subprocess.run(
                ["/usr/bin/python3", EXPORTER, "--help"], check=True, capture_output=True, text=True,
                env={**os.environ, "PYTHONPATH": SITE}).stdout)
        return subprocess.run([stack.BIN / program, *words, "--help"], check=True, capture_output=True,
                              text=True).stdout

    def test_every_flag_exists(self):
        seen = set()
        for where, program, arguments in command_lines():
            seen.add(program)
            self.assertIn(program, (*PROGRAMS, "qbc-exporter"), where)
            text = self.help_of(program, arguments)
            for word in arguments:
                if word.startswith("--") and word != "--help":
                    self.assertRegex(text, rf"(?m)^\s+(-\w, )?{re.escape(word)}\b", (where, program))
        self.assertEqual(seen, {"qbc-server", "qbc-worker", "qbc", "qbc-exporter"})

    def test_they_work_together(self):
        """The server, the worker and the probe of the manifests, in a folder instead of a container."""
        rows = containers()
        with tempfile.TemporaryDirectory(prefix="qbdeploy.") as folder:
            def local(arguments, address):
                return [address if word.startswith(("unix:", "127.0.0.1:")) else
                        word.replace("/var/lib/qbc", folder) for word in arguments]

            port_file = pathlib.Path(folder) / "port"
            server = subprocess.Popen(
                [stack.BIN / "qbc-server", *local(rows["server"]["args"], "127.0.0.1:0"), "--port-file",
                 port_file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env=stack.clean_environment())
            worker = None
            try:
                address = server.stdout.readline().strip()
                self.assertRegex(address, r"^127\.0\.0\.1:\d+$")
                worker = subprocess.Popen(
                    [stack.BIN / "qbc-worker", *local(rows["worker"]["args"], address)],
                    stderr=subprocess.DEVNULL, env=stack.clean_environment())
                probe = rows["server"]["readinessProbe"]["exec"]["command"]
                done = subprocess.run([stack.BIN / probe[0], *probe[1:]], capture_output=True, text=True,
                                      check=False, timeout=60,
                                      env=stack.clean_environment(QBC_SERVER=address))
                self.assertEqual(done.returncode, 0, done.stderr)
                output = pathlib.Path(folder) / "out.mxq"
                done = subprocess.run(
                    [stack.BIN / "qbc", "compile", ROOT / "examples/fashion/fashion.onnx", "-t", "aries-rb",
                     "--calib-data-path", ROOT / "examples/fashion/calib", "-o", output],
                    capture_output=True, text=True, check=False, timeout=120,
                    env=stack.clean_environment(QBC_SERVER=address))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(output.exists())
            finally:
                for process in (worker, server):
                    if process is not None:
                        process.terminate()
                        self.assertEqual(process.wait(timeout=60), 0)
                server.stdout.close()

    def test_the_probe_fails_without_a_server(self):
        probe = containers()["server"]["readinessProbe"]["exec"]["command"]
        done = subprocess.run([stack.BIN / probe[0], *probe[1:]], capture_output=True, check=False,
                              timeout=60, env=stack.clean_environment(QBC_SERVER="unix:/nowhere/s"))
        self.assertNotEqual(done.returncode, 0)


class Images(unittest.TestCase):
    def test_stages_exist_and_none_runs_as_root(self):
        instructions, stages = dockerfile()
        for name, base in stages.items():
            self.assertTrue(base in stages or base == "${DEBIAN}", (name, base))
        for source in re.findall(r"(?:--from=|from=)(\w+)", "\n".join(instructions)):
            self.assertIn(source, stages)
        for name in ("server", "worker", "worker-cuda", "client", "exporter"):
            user, at = None, name
            while at in stages and user is None:
                start = next(i for i, line in enumerate(instructions) if line.endswith(f" AS {at}"))
                for line in instructions[start + 1:]:
                    if line.startswith("FROM "):
                        break
                    if line.startswith("USER "):
                        user = line.split()[1]
                at = stages[at]
            self.assertEqual(user, "qbc", name)

    def test_packages_that_are_installed_are_built(self):
        text = (ROOT / "docker/Dockerfile").read_text("utf-8")
        names = set(re.findall(r"/packages/([a-z0-9-]+)_\*\.deb", text))
        cmake = (ROOT / "cmake/packaging.cmake").read_text("utf-8")
        built = set(re.search(r"foreach\(pair ([^)]*)\)", cmake)[1].split())
        self.assertLessEqual(names, {pair.split(":")[1] for pair in built})
        self.assertEqual(names, {"qbc", "qbc-server", "qbc-worker", "python3-qbcompiler"})

    def test_compose(self):
        _, stages = dockerfile()
        volumes = load("docker/compose.yaml")[0]["volumes"] | load("docker/compose.metrics.yaml")[0]["volumes"]
        for name, service in services():
            for volume in service["volumes"]:
                source = volume.split(":")[0]
                if source.startswith("."):
                    self.assertTrue((ROOT / "docker" / source).is_file(), source)
                else:
                    self.assertIn(source, volumes, name)
            for port in service.get("ports", ()):
                self.assertTrue(port.startswith("127.0.0.1:"), port)
            if "build" not in service:
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$", name)
                continue
            self.assertIn(service["build"]["target"], stages, name)
            self.assertTrue((ROOT / "docker" / service["build"]["context"] /
                             service["build"]["dockerfile"]).is_file())
            if name != "exporter":
                self.assertEqual(service["network_mode"], "none", name)


class Kubernetes(unittest.TestCase):
    def test_the_list_is_complete(self):
        listed = load("deploy/kubernetes/kustomization.yaml")[0]
        files = {path.name for path in (ROOT / "deploy/kubernetes").glob("*.yaml")}
        self.assertEqual(set(listed["resources"]) | {"kustomization.yaml"}, files)
        self.assertEqual({row["name"] for row in listed["images"]},
                         {row["image"] for row in containers().values()})

    def test_selectors_find_the_pods(self):
        spec = stateful_set()["spec"]
        labels = spec["template"]["metadata"]["labels"]
        for found in (spec["selector"]["matchLabels"],
                      load("deploy/kubernetes/service.yaml")[0]["spec"]["selector"],
                      load("deploy/kubernetes/disruption-budget.yaml")[0]["spec"]["selector"]["matchLabels"],
                      load("deploy/kubernetes/network-policy.yaml")[0]["spec"]["podSelector"]["matchLabels"]):
            self.assertLessEqual(found.items(), labels.items())

    def test_pods_get_little(self):
        pod = stateful_set()["spec"]["template"]["spec"]
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertFalse(pod["automountServiceAccountToken"])
        volumes = {row["name"] for row in pod["volumes"]} | {
            row["metadata"]["name"] for row in stateful_set()["spec"]["volumeClaimTemplates"]}
        for name, row in containers().items():
            context = row["securityContext"]
            self.assertTrue(context["readOnlyRootFilesystem"], name)
            self.assertEqual(context["capabilities"]["drop"], ["ALL"], name)
            self.assertIn("memory", row["resources"]["limits"], name)
            self.assertLessEqual({mount["name"] for mount in row["volumeMounts"]}, volumes, name)

    def test_the_network_is_closed(self):
        policy = load("deploy/kubernetes/network-policy.yaml")[0]["spec"]
        self.assertEqual(policy["policyTypes"], ["Ingress", "Egress"])
        self.assertNotIn("ingress", policy)
        self.assertNotIn("egress", policy)


class Units(unittest.TestCase):
    def test_restarts_and_ends_are_those_of_the_programs(self):
        self.assertEqual(len(UNITS), 3)
        for unit in UNITS:
            found = directives(unit)
            self.assertEqual(found["KillMode"], ["mixed"], unit.name)
            self.assertEqual(found["Restart"], ["on-failure"], unit.name)
            self.assertEqual(found["RestartPreventExitStatus"], ["2"], unit.name)
        for program in ("qbc-server", "qbc-worker"):
            done = subprocess.run([stack.BIN / program, "--no-such-flag"], capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, program)

    def test_server_and_worker_agree_on_socket_and_account(self):
        lines = {unit.name: directives(unit) for unit in UNITS if unit.parent.name != "user"}
        server, worker = lines["qbc-server.service"], lines["qbc-worker@.service"]
        self.assertIn("--listen unix:/run/qbc/qbc.sock", server["ExecStart"][0])
        self.assertIn("--server unix:/run/qbc/qbc.sock", worker["ExecStart"][0])
        self.assertEqual(server["User"], worker["User"])
        self.assertIn("u qbc ", (ROOT / "deploy/systemd/qbc.sysusers").read_text())
        # A compile that is ended for its memory must not take the agent with it.
        self.assertEqual(worker["OOMPolicy"], ["continue"])
        # oneDNN writes its kernels while it runs.
        self.assertNotIn("MemoryDenyWriteExecute", worker)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_reads_them(self):
        with tempfile.TemporaryDirectory() as folder:
            for unit in UNITS:
                if unit.parent.name == "user":
                    continue  # needs a session
                name = unit.name.replace("@.", "@1.")
                copy = pathlib.Path(folder) / unit.name
                copy.write_text(unit.read_text().replace("/usr/bin/", f"{stack.BIN}/"))
            for name in ("qbc-server.service", "qbc-worker@1.service"):
                done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{folder}/{name}"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)
                template = name.replace("@1.", "@.")
                done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=10",
                                       f"{folder}/{template}"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, (name, done.stdout[-400:], done.stderr))


if __name__ == "__main__":
    python_report.main()
