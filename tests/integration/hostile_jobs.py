"""Compiles that somebody has taken over: each row is one thing that such a process tries, and how its job
must end. `hostile_child` does it in the place of the compiler, under a real server and agent.

A deed that is refused makes it exit with 1, one that works with 0, so the messages of the jobs tell which
it was. `SandboxOff` runs the same deeds without the sandbox: what does not work there either would prove
nothing here."""

import os
import pathlib
import signal
import socket

from cluster import Cluster
from proto.qbc.v1 import job_pb2
from service_scenarios import ServiceTest

CRASH = job_pb2.FAILURE_REASON_COMPILER_CRASH
VIOLATION = job_pb2.FAILURE_REASON_SANDBOX_VIOLATION
REFUSED = (CRASH, "exited with code 1")
WORKED = (CRASH, "exited with code 0")
KILLED = (VIOLATION, "system call that the sandbox forbids")

# Files of the machine, of the service and of other jobs; {canary} and the like are filled in.
READS = ["/etc/passwd", "/etc/shadow", "/etc/hostname", "/root", "/home", "/var/lib", "/run", "/boot",
         "/sys/kernel", "/proc/kcore", "/proc/1/environ", "/proc/sysrq-trigger", "/dev/mem", "/dev/kmsg",
         "/dev/sda", "/dev/shm", "{canary}", "{data}/qbc.db", "{data}/lock", "{socket}", "{work}/lock",
         "../../../../../../../../etc/passwd"]
WRITES = ["/usr/bin/env", "/lib/x", "/x", "/tmp/x", "/dev/x", "/proc/sys/kernel/core_pattern",
          "/proc/self/oom_score_adj", "/proc/self/uid_map", "model/model.txt", "model/new", "{canary}",
          "{data}/x", "new_file_beside_the_model"]
# By number, as <asm/unistd_64.h> has them: ptrace, process_vm_readv and _writev, kcmp, bpf,
# perf_event_open, userfaultfd, io_uring_setup, keyctl, mount, pivot_root, chroot, unshare, setns,
# init_module, kexec_load, reboot, open_by_handle_at.
SYSTEM_CALLS = [101, 310, 311, 312, 321, 298, 323, 425, 250, 165, 155, 161, 272, 308, 175, 246, 169, 304]


class Hostile(ServiceTest):
    """With limits that a test can reach."""

    agent_flags = ("--memory-limit", "128M", "--cpu-limit", "1s", "--scratch-limit", "16M")

    def setUp(self):
        super().setUp()
        self.canary = os.path.join(self.cluster.folder, "canary")
        pathlib.Path(self.canary).write_text("secret of somebody else", encoding="utf-8")

    def make_cluster(self):
        return Cluster(slots=self.slots, server_flags=self.server_flags, agent_flags=self.agent_flags)

    def fill_in(self, path):
        return path.format(canary=self.canary, data=os.path.join(self.cluster.folder, "data"),
                           socket=self.cluster.address.removeprefix("unix:"),
                           work=self.cluster.work_dir("a"))

    def run_all(self, rows):
        """[(script line, (reason, words of the message), more of the spec)]: submits all, then looks at each."""
        ids = [self.submit(line, **spec) for line, _, spec in rows]
        for (line, (reason, words), _), job_id in zip(rows, ids):
            with self.subTest(line):
                job, _ = self.finish(job_id)
                self.assert_failed(job, reason, words)
                self.assertEqual(job.attempt_count, 1)
        self.assert_unharmed()

    def deed(self, deed, argument="", end=REFUSED, **spec):
        return (f"become hostile_child {deed} {self.fill_in(argument)}".rstrip(), end, spec)

    def assert_unharmed(self):
        self.assertEqual(pathlib.Path(self.canary).read_text(encoding="utf-8"), "secret of somebody else")
        job, _ = self.finish(self.submit("progress 1"))
        self.assert_succeeded(job)
        self.wait_until(lambda: not self.cluster.children(), "a process of a job is still there")

    def server_rss(self):
        with open(f"/proc/{self.cluster.server.pid}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Contained(Hostile):
    def test_no_file_of_anybody_is_read_or_written(self):
        before = self.server_rss()
        self.run_all([self.deed("read", path) for path in READS] +
                     [self.deed("see", "{canary}"), self.deed("write_much", "{canary}")] +
                     [self.deed("write", path) for path in WRITES])
        self.assertLess(self.server_rss() - before, 50 << 20)

    def test_no_other_process_and_no_network_is_reached(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.run_all([
            self.deed("signal", str(self.cluster.server.pid)),
            self.deed("signal", str(self.cluster.agents["a"].pid)),
            self.deed("signal", str(os.getpid())),
            self.deed("connect", str(listener.getsockname()[1]), KILLED),
            self.deed("be_traced", "", KILLED),
            self.deed("descriptors"),
            self.deed("environment", "QBC_TEST_CLUSTER"),
            self.deed("run_written", "out/program"),
            self.deed("may_gain_privileges"),
            self.deed("may_regain_capabilities"),
            self.deed("many_files"),
            self.deed("host_name", socket.gethostname()),
        ])

    def test_system_calls_that_only_attackers_need_end_the_process(self):
        self.run_all([self.deed("system_call", str(number), KILLED) for number in SYSTEM_CALLS])

    def test_each_limit_tells_its_own_reason(self):
        seconds = {"run_timeout": {"seconds": 1}}
        self.run_all(self.memory_rows() + [
            self.deed("burn_cpu", "60", (job_pb2.FAILURE_REASON_CPU_LIMIT, "CPU time")),
            self.deed("write_much", "out/much", (job_pb2.FAILURE_REASON_DISK_LIMIT, "bytes in")),
            self.deed("write_much", "tmp/much", (job_pb2.FAILURE_REASON_DISK_LIMIT, "bytes in")),
            self.deed("flood", "1100", (job_pb2.FAILURE_REASON_OUTPUT_LIMIT, "bytes on its outputs")),
            ("hang", (job_pb2.FAILURE_REASON_TIMEOUT, "run time was over"), seconds),
            self.deed("leave_processes", "out,exit", WORKED),
        ])

    def memory_rows(self):
        """Where the kernel counts the memory of a group; a limit of addresses has other numbers."""
        log = pathlib.Path(self.cluster.folder, "agent-a.log").read_text(encoding="utf-8")
        if "limits: cgroup" not in log:
            return []
        return [self.deed("eat_memory", "512", (job_pb2.FAILURE_REASON_MEMORY_LIMIT, "bytes of memory"))]

    def test_what_a_process_says_or_leaves_is_not_believed(self):
        rows = [(f"crash {name}", (CRASH, f"signal {int(signal.Signals[name])}"), {})
                for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE")]
        rows += [(line, (CRASH, words), {}) for line, words in (
            ("exit 3", "code 3"), ("second_result", "after 2 results"), ("no_output", "model.mxq"))]
        rows += [(f"link_output {target}", (VIOLATION, "symbolic links"), {})
                 for target in (self.canary, "/etc/passwd", "../model/model.txt")]
        rows.append(("exit 1 SPAM not a code", (job_pb2.FAILURE_REASON_INTERNAL_ERROR, "SPAM"), {}))
        self.run_all(rows)


class Forks(Hostile):
    """Without a limit of CPU time, which a thousand forks may reach first."""

    agent_flags = ()

    def test_a_fork_bomb_meets_its_limit(self):
        self.run_all([self.deed("fork_bomb")])


class SandboxOff(Hostile):
    """The deeds are real: without the sandbox they work."""

    agent_flags = ("--sandbox", "off")

    def test_the_same_deeds_work(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.run_all([
            self.deed("read", "/etc/passwd", WORKED),
            self.deed("read", "{data}/qbc.db", WORKED),
            self.deed("read", "{canary}", WORKED),
            self.deed("see", "{canary}", WORKED),
            self.deed("write", "model/new", WORKED),
            self.deed("signal", str(self.cluster.server.pid), WORKED),
            self.deed("connect", str(listener.getsockname()[1]), WORKED),
            self.deed("be_traced", "", WORKED),
            self.deed("run_written", "out/program", WORKED),
            self.deed("may_gain_privileges", "", WORKED),
            self.deed("many_files", "", WORKED),
            self.deed("host_name", socket.gethostname(), WORKED),
            self.deed("eat_memory", "512", WORKED),
            self.deed("burn_cpu", "2", WORKED),
            self.deed("write_much", "out/much", WORKED),
        ])
