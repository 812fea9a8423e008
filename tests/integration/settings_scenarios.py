"""Compile settings as any gRPC client sees them: violations in the standard error details, a dry run,
and where each value of a job came from."""

import json
import pathlib
import time
import unittest

import grpc

from client import Client
from cluster import Cluster
from proto.google.rpc import error_details_pb2, status_pb2
from proto.qbc.v1 import job_pb2, job_service_pb2

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIELDS = [row["path"] for row in
          json.loads((ROOT / "tests/testdata/config_expectations.json").read_text())["fields"]]
BAD_FILE = """
calibration:
  mode: 9            # out of its choices
  mod: 1             # no such key
quantization:
  calibration: {}    # the same section again
uint8Input: {inputs: 3}
clusteringMethods: []
splitParts: 2
splitBlocks: [1]
llm: {apply: true}
"""


def details_of(error):
    """The google.rpc.Status that an error carries, as {type: message}."""
    trailers = dict(error.trailing_metadata())
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    assert status.code == error.code().value[0]
    found = {}
    for detail in status.details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest):
            message = kind()
            if detail.Unpack(message):
                found[kind.__name__] = message
    return found, len(trailers["grpc-status-details-bin"])


class SettingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.cluster.start_server()
        cls.client = Client(cls.cluster.address)
        cls.client.wait_until_ready()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.__exit__(None, None, None)

    def spec(self, file_text="", **config):
        request = self.client.submit_request(b"model")
        request.spec.config.file_text = file_text
        for name, value in config.items():
            setattr(request.spec.config, name, value)
        return request.spec

    def submit(self, spec):
        return self.client.jobs.SubmitJob(job_service_pb2.SubmitJobRequest(spec=spec), timeout=30)

    def validate(self, spec):
        return self.client.jobs.ValidateJob(job_service_pb2.ValidateJobRequest(spec=spec), timeout=30)

    def refusal(self, spec):
        with self.assertRaises(grpc.RpcError) as caught:
            self.submit(spec)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        return caught.exception

    def test_submit_answers_with_all_violations(self):
        spec = self.spec(BAD_FILE)
        spec.threads = -1
        error = self.refusal(spec)
        details, size = details_of(error)
        self.assertLessEqual(size, 4096)
        self.assertEqual(details["ErrorInfo"].domain, "compile.qb")
        self.assertEqual(details["ErrorInfo"].reason, "ARGUMENT_ERROR")
        violations = details["BadRequest"].field_violations
        self.assertEqual([v.field for v in violations], [
            "spec.threads", "calibration.mode", "calibration.mod", "quantization.calibration",
            "uint8Input.inputs", "clusteringMethods", "splitParts", "splitBlocks", "splitParts",
            "llm.apply"])
        self.assertEqual(details["ErrorInfo"].metadata["violations"], str(len(violations)))
        self.assertNotIn("violations_left_out", details["ErrorInfo"].metadata)
        by_field = {v.field: v for v in violations}
        self.assertIn("nearest: mode", by_field["calibration.mod"].description)
        self.assertIn("both spellings", by_field["quantization.calibration"].description)
        self.assertIn("calibration.groupLut", by_field["clusteringMethods"].description)
        self.assertEqual(by_field["llm.apply"].reason, "CONFIG_ERROR")
        # A dry run says the same.
        dry = self.validate(spec)
        self.assertEqual([(v.field, v.description, v.reason) for v in dry.violations],
                         [(v.field, v.description, v.reason) for v in violations])
        self.assertEqual(dry.resolved_config_json, "")

    def test_what_finds_no_room_is_counted_and_the_dry_run_has_it(self):
        spec = self.spec(json.dumps({"unknown_%d_%s" % (i, "y" * 80): 1 for i in range(70)}))
        details, size = details_of(self.refusal(spec))
        self.assertLessEqual(size, 4096)
        shown = len(details["BadRequest"].field_violations)
        total = int(details["ErrorInfo"].metadata["violations"])
        self.assertEqual(total - shown, int(details["ErrorInfo"].metadata["violations_left_out"]))
        self.assertEqual(len(self.validate(spec).violations), total)

    def test_the_worst_texts_still_arrive(self):
        keys = ["\u00e4" * 100, "\n" * 100, "\U0001f600" * 50, "\x00" * 100, "%" * 200]
        text = json.dumps({f"{key}{i}": "\U0001f600" * 100 for key in keys for i in range(12)})
        details, size = details_of(self.refusal(self.spec(text)))
        self.assertLessEqual(size, 4096)
        self.assertEqual(details["ErrorInfo"].reason, "CONFIG_ERROR")
        spec = self.spec()
        spec.device = "\U0001f600" * 1000
        spec.target_device = "\u00e4" * 5000
        details, _ = details_of(self.refusal(spec))
        self.assertEqual([v.field for v in details["BadRequest"].field_violations],
                         ["spec.target_device", "spec.device"])

    def test_a_hostile_file_is_refused_in_a_moment(self):
        for text in ("[" * 10000, "{a: " * 10000, "a: &a [x]\n" + "\n".join(
                f"b{i}: [*a, *a]" for i in range(5)), "debug: \x00", "{" + '"a":{' * 10000,
                     "x: " + "y" * 1000000):
            begin = time.monotonic()
            self.assertGreater(len(self.validate(self.spec(text)).violations), 0)
            self.assertLess(time.monotonic() - begin, 1.0, text[:20])

    def test_every_value_has_an_origin(self):
        spec = self.spec("debug: true\ncalibration: {mode: 0}\n",
                         overrides_json='{"inference-scheme": "multi", "use-random-calib": true}')
        spec.device = "cpu"
        job_id = self.submit(spec).job.id
        resolved = json.loads(self.client.get(job_id).resolved_config_json)
        self.assertEqual(sorted(resolved["settings"]), sorted(FIELDS))
        origins = {path: setting["origin"] for path, setting in resolved["settings"].items()}
        self.assertEqual({path: origin for path, origin in origins.items() if origin != "default"}, {
            "debug": "file spec.config.file_text",
            "calibration.mode": "file spec.config.file_text",
            "inferenceScheme": "--inference-scheme", "useRandomCalib": "--use-random-calib",
            "device": "--device"})
        self.assertEqual(resolved["settings"]["calibration.mode"]["value"], 0)
        # What is shown is a config file: it means the same when it is handed back.
        again = json.loads(self.validate(
            self.spec(json.dumps(resolved["config"]))).resolved_config_json)
        self.assertEqual(again["config"], resolved["config"])

    def test_a_preset_wins_over_the_file_and_says_so(self):
        resolved = json.loads(self.validate(
            self.spec("calibration: {output: 0}", preset="classification")).resolved_config_json)
        self.assertEqual(resolved["settings"]["calibration.mode"]["origin"], "preset classification")
        self.assertIn("is ignored", resolved["warnings"][0])

    def test_a_scheme_that_the_target_has_not(self):
        spec = self.spec("inferenceScheme: global4")
        spec.target_device = "regulus-rb"
        details, _ = details_of(self.refusal(spec))
        self.assertEqual(details["ErrorInfo"].reason, "TARGET_ERROR")
        self.assertEqual(details["BadRequest"].field_violations[0].field, "inferenceScheme")

    def test_a_dry_run_needs_no_model_and_stores_nothing(self):
        before = len(self.client.list_all())
        answer = self.validate(job_pb2.JobSpec())
        self.assertEqual(len(answer.violations), 0)
        self.assertNotEqual(answer.resolved_config_json, "")
        self.assertEqual(len(self.client.list_all()), before)

    def test_other_errors_say_why_too(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.client.jobs.GetJob(job_service_pb2.GetJobRequest(job_id="x"), timeout=30)
        details, _ = details_of(caught.exception)
        self.assertEqual(details["ErrorInfo"].reason, "NOT_FOUND")


if __name__ == "__main__":
    unittest.main()
