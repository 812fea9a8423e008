#!/usr/bin/python3
"""Which server the package calls, and with what: the variables and files of qbc, tokens, TLS, trace contexts."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import under_test
import python_report
import stack

import qbcompiler
from qbcompiler import ArgumentError, Server, ServiceError
from qbcompiler.access import Access, chosen_access
from qbcompiler.connection import Connection

VARIABLES = ("QBC_SERVER", "QBC_CONTEXT", "QBC_TOKEN_FILE", "QBC_TOKEN", "QBC_TLS_CA", "QBC_TLS_CERT", "QBC_TLS_KEY",
             "XDG_CONFIG_HOME", "TRACEPARENT")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qbpy.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text, mode=0o600):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    @contextlib.contextmanager
    def having(self, **variables):
        """Of qbc's variables exactly these, and a configuration folder of the test's own."""
        kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        with mock.patch.dict(os.environ, {**kept, "XDG_CONFIG_HOME": str(self.folder / "config"), **variables}, clear=True):
            yield

    def qbc(self, *arguments, typed=""):
        """qbc with that configuration folder."""
        environment = stack.clean_environment(XDG_CONFIG_HOME=str(self.folder / "config"))
        return subprocess.run([stack.BIN / "qbc", *arguments], input=typed, capture_output=True, text=True, timeout=60, check=True,
                              env=environment).stdout


class Choice(InFolder):
    def chosen(self, server=None, **variables):
        with self.having(**variables):
            return chosen_access(server)

    def test_without_a_name_this_machine_compiles(self):
        self.qbc("context", "set", "farm", "--server", "farm.example:7410")
        self.qbc("context", "use", "farm")
        self.assertIsNone(self.chosen())
        self.assertIsNone(self.chosen("", QBC_SERVER="unix:/x", QBC_CONTEXT="farm"))

    def test_flag_before_variable_before_context(self):
        token = self.write("t", "qbt_a\n")
        self.qbc("context", "set", "farm", "--server", "farm.example:7410", "--token-file", token, "--tls-ca", "/ca.pem")
        self.qbc("context", "use", "farm")
        farm = Access("farm.example:7410", "qbt_a", "/ca.pem")
        self.assertEqual(self.chosen(Server()), farm)
        self.assertEqual(self.chosen(QBC_CONTEXT="farm"), farm)
        self.assertEqual(self.chosen(Server(context="farm"), QBC_SERVER="unix:/other"), farm)
        self.assertEqual(self.chosen(Server(), QBC_SERVER="unix:/other"), Access("unix:/other"))
        self.assertEqual(self.chosen("unix:/given", QBC_SERVER="unix:/other", QBC_CONTEXT="farm"), Access("unix:/given"))
        self.assertEqual(self.chosen(Server(tls_ca="/mine.pem"), QBC_TLS_CA="/theirs.pem").tls_ca, "/mine.pem")
        self.assertEqual(self.chosen(Server(), QBC_TLS_CA="/theirs.pem").tls_ca, "/theirs.pem")

    def test_tokens(self):
        file, other = self.write("t", "qbt_file\n"), self.write("o", "qbt_other")
        self.assertEqual(self.chosen("h:1", QBC_TOKEN="qbt_text").token, "qbt_text")
        self.assertEqual(self.chosen("h:1", QBC_TOKEN="qbt_text", QBC_TOKEN_FILE=file).token, "qbt_file")
        self.assertEqual(self.chosen(Server("h:1", token_file=other), QBC_TOKEN_FILE=file).token, "qbt_other")
        self.assertNotIn("qbt_text", repr(self.chosen("h:1", QBC_TOKEN="qbt_text")))

    def test_files_that_are_not_as_they_must_be(self):
        shown = self.write("shown", "qbt_a", 0o644)
        for server, variables, words in [
                (Server("h:1", token_file=shown), {}, "chmod 600"), (Server("h:1", token_file="/none"), {}, "/none"),
                ("h:1", {"QBC_TOKEN_FILE": self.write("two", "a b")}, "visible ASCII"), (Server(context="none"), {}, "there are: none"),
                (Server(), {}, "no address"), (Server("h:1", tls_cert="/c"), {}, "both or neither")]:
            with self.assertRaisesRegex(ArgumentError, words):
                self.chosen(server, **variables)
        (self.folder / "config/qbc").mkdir(parents=True)
        self.write("config/qbc/contexts.json", "[")
        with self.assertRaisesRegex(ArgumentError, "damaged"):
            self.chosen(Server())

    def test_trace_contexts(self):
        self.assertEqual(self.chosen("h:1", TRACEPARENT=TRACE).traceparent, TRACE)
        for text in ("", "x", TRACE.upper(), TRACE + "-more", "ff" + TRACE[2:], "00-" + "0" * 32 + TRACE[35:]):
            self.assertEqual(self.chosen("h:1", TRACEPARENT=text).traceparent, "", text)


class Tokens(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.stack = stack.TokenStack(compiler="chaos_compiler")
        cls.stack.start_server()

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def compile(self, server=None, **variables):
        with self.having(QBCOMPILER_PROGRESS="0", **variables):
            return qbcompiler.mxq_compile(self.write("m.onnx", "stage a\n"), "aries-rb", use_random_calib=True,
                                          save_path=str(self.folder / "m.mxq"), server=server)

    def test_no_or_a_wrong_token_is_not_allowed(self):
        for variables in ({}, {"QBC_TOKEN": "qbt_0_0"}):
            with self.assertRaises(ServiceError) as caught:
                self.compile(self.stack.address, **variables)
            self.assertEqual(caught.exception.code, "NOT_ALLOWED")

    def test_a_token_by_file_by_text_and_by_context(self):
        address, file = self.stack.address, self.stack.tokens["a"]
        self.qbc("context", "set", "here", "--server", address, "--token-file", file)
        for server, variables in [(Server(address, token_file=file), {}), (address, {"QBC_TOKEN_FILE": file}),
                                  (address, {"QBC_TOKEN": self.stack.token("a")}), (Server(context="here"), {}),
                                  (None, {"QBC_CONTEXT": "here"})]:
            self.assertIsNotNone(self.compile(server, **variables).job_id)

    def test_what_login_stored_counts_for_its_server(self):
        self.qbc("login", "--server", self.stack.address, typed=self.stack.token("b"))
        job = self.compile(self.stack.address, TRACEPARENT=TRACE).job_id
        for tenant, code in (("b", 0), ("a", 7)):
            self.stack.qbc("get", job, "--token-file", self.stack.tokens[tenant], check=code)
        with Connection(Access(self.stack.address, self.stack.token("b"))) as server:
            found = server.call("JobService", "GetJob", server.wire.GetJobRequest(job_id=job))
        self.assertEqual(found.traceparent, TRACE)
        os.chmod(self.folder / "config/qbc/credentials.json", 0o640)
        with self.assertRaisesRegex(ArgumentError, "chmod 600"):
            self.compile(self.stack.address)


class Tls(InFolder):
    """A server on a port, whose certificate and whose callers' certificates an authority of the test signs."""

    def openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60, cwd=self.folder)

    def sign(self, name, extension):
        self.write(f"{name}.cnf", extension)
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout",
                     f"{name}.key", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1",
                     "-extfile", f"{name}.cnf", "-out", f"{name}.pem")

    def setUp(self):
        super().setUp()
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=authority", "-days",
                     "1", "-keyout", "ca.key", "-out", "ca.pem")
        self.sign("server", "subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        self.sign("robot", "subjectAltName=DNS:robot.example\n")
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        subprocess.run([stack.BIN / "qbc-server", "token", "create", "--data-dir", data, "--tenant", "a", "--certificate",
                        "robot.example"], check=True, capture_output=True, timeout=60)
        self.server = subprocess.Popen(
            [stack.BIN / "qbc-server", "--data-dir", data, "--listen", "127.0.0.1:0", "--auth", "required", "--tls-cert",
             self.folder / "server.pem", "--tls-key", self.folder / "server.key", "--tls-client-ca", self.folder / "ca.pem",
             "--local-workers", "1", "--worker-binary", stack.BIN / "qbc-worker", "--compiler-binary", stack.BIN / "chaos_compiler"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=stack.clean_environment())
        self.addCleanup(self.end)
        self.address = self.server.stdout.readline().strip()

    def end(self):
        self.server.terminate()
        self.server.wait(timeout=60)
        self.server.stdout.close()

    def path(self, name):
        return str(self.folder / name)

    def test_a_certificate_is_who_calls(self):
        ca = self.path("ca.pem")
        with self.having(QBC_TLS_CERT=self.path("robot.pem"), QBC_TLS_KEY=self.path("robot.key"), QBCOMPILER_PROGRESS="0"):
            result = qbcompiler.mxq_compile(self.write("m.onnx", "stage a\n"), "aries-rb", use_random_calib=True,
                                            save_path=self.path("m.mxq"), server=Server(self.address, tls_ca=ca))
        self.assertEqual(result.outputs[0].size_bytes, 1000)
        self.assertIn("a at 127.0.0.1:", self.qbc("whoami", "--server", self.address, "--tls-ca", ca, "--tls-cert", self.path("robot.pem"),
                                                  "--tls-key", self.path("robot.key")))
        # The other authority of this machine's system has not signed the server's certificate.
        with mock.patch.object(Connection, "backoff", lambda own: qbcompiler.connection.Backoff(own.address, 0.3)):
            self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=other",
                         "-keyout", "other.key", "-out", "other.pem")
            for access in (Access(self.address, tls_ca=self.path("other.pem"), tls_cert=self.path("robot.pem"),
                                  tls_key=self.path("robot.key")), Access(self.address, tls_ca=ca)):
                with Connection(access) as connection, self.assertRaises(qbcompiler.QBCompilerError):
                    connection.call("ServerInfo", "GetCapabilities", connection.wire.GetCapabilitiesRequest())


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        del Tls
        print("SKIPPED: openssl is not installed (apt-get install openssl)", flush=True)
    python_report.main()
