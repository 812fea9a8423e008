#!/usr/bin/python3
"""The tree obeys tests/layering/arrows.py, and each check finds what it is there to find."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_layering

ROOT = pathlib.Path(__file__).resolve().parents[2]


class TheTree(unittest.TestCase):
    """One case a check, on the real sources."""


def add_case(check):
    def case(self):
        problems = check(ROOT)
        self.assertFalse(problems, "\n" + "\n".join(problems))
    setattr(TheTree, f"test_{check.__name__}", case)


for each in check_layering.ALL_CHECKS:
    add_case(each)


class TheChecks(unittest.TestCase):
    """Each check goes red on a small tree with one fault, and stays green without it."""

    def problems(self, check, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = pathlib.Path(root) / path
                full.parent.mkdir(parents=True, exist_ok=True)
                full.write_text(text)
            return check(root)

    def assert_found(self, check, files, *words):
        problems = self.problems(check, files)
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])

    def test_upward_include_is_found(self):
        self.assert_found(check_layering.check_includes,
                          {"core/ir/graph.cc": '#include "core/base/check.h"\n'
                                               '#include "core/passes/fold.h"\n'},
                          "core/ir/graph.cc:2", "core/passes")

    def test_core_may_not_see_the_service(self):
        self.assert_found(check_layering.check_includes,
                          {"core/npu/program.cc": '#include "proto/qbc/v1/job.pb.h"\n'}, "proto")
        self.assert_found(check_layering.check_includes,
                          {"core/base/x_test.cc": '#include "server/jobs/store.h"\n'}, "server")

    def test_server_sees_only_base_and_config_of_the_core(self):
        self.assert_found(check_layering.check_includes,
                          {"server/service/a.cc": '#include "core/config/schema.h"\n'
                                                  '#include "core/ops/conv.h"\n'}, "core/ops")

    def test_single_parts_are_for_their_user_alone(self):
        include = '#include "core/target/target_spec.h"\n'
        self.assertEqual([], self.problems(check_layering.check_includes,
                                           {"server/service/a.cc": include}))
        self.assert_found(check_layering.check_includes,
                          {"server/service/a.cc": '#include "core/target/support.h"\n'}, "core/target")
        self.assert_found(check_layering.check_includes, {"client/cli/a.cc": include}, "core/target")

    def test_a_single_part_links_only_the_base(self):
        self.assert_found(check_layering.check_links,
                          {"core/target/CMakeLists.txt": "qb_library(qb_target_spec DEPS qb_ops)\n",
                           "core/ops/CMakeLists.txt": "qb_library(qb_ops)\n"}, "no single part")

    def test_client_and_server_are_strangers(self):
        self.assert_found(check_layering.check_includes,
                          {"client/cli/a.cc": '#include "server/jobs/job_store.h"\n'}, "server")

    def test_use_through_another_folder_is_allowed(self):
        self.assertEqual([], self.problems(
            check_layering.check_includes,
            {"core/npu/planner.cc": '#include "core/ir/graph.h"\n#include "core/base/check.h"\n'}))

    def test_tests_may_use_the_whole_core(self):
        self.assertEqual([], self.problems(
            check_layering.check_includes,
            {"core/ops/conv_test.cc": '#include "core/execute/executor.h"\n'}))

    def test_folder_without_a_row_is_found(self):
        self.assert_found(check_layering.check_table, {"core/gadgets/a.cc": ""}, "core/gadgets/a.cc")

    def test_misplaced_package_header_is_found(self):
        for path, header in [("core/passes/fold.cc", "<dnnl.hpp>"),
                             ("core/base/digest.cc", "<nlohmann/json.hpp>"),
                             ("core/passes/fold.h", "<onnx/onnx_pb.h>"),
                             ("server/service/a.cc", "<grpcpp/grpcpp.h>"),
                             ("server/service/b.cc", "<sqlite3.h>"),
                             ("client/cpp/connection.cc", '"proto/qbc/v1/job_service.grpc.pb.h"')]:
            with self.subTest(path):
                self.assert_found(check_layering.check_third_party, {path: f"#include {header}\n"},
                                  path)

    def test_package_header_in_its_place_is_allowed(self):
        self.assertEqual([], self.problems(check_layering.check_third_party, {
            "core/base/json.cc": "#include <nlohmann/json.hpp>\n",
            "server/jobs/sqlite_store.cc": "#include <sqlite3.h>\n",
            "client/cpp/grpc_stub.cc": "#include <grpcpp/grpcpp.h>\n",
            "core/execute/conv.cc": "#include <dnnl.hpp>\n"}))

    def test_upward_link_is_found(self):
        self.assert_found(check_layering.check_links, {
            "core/passes/CMakeLists.txt": "qb_library(qb_passes SRCS a.cc DEPS qb_ops)\n",
            "core/ir/CMakeLists.txt": "qb_library(qb_ir SRCS a.cc PRIVATE_DEPS qb_passes)\n"},
            "qb_ir may not link qb_passes")

    def test_misplaced_package_link_is_found(self):
        self.assert_found(check_layering.check_links, {
            "core/ir/CMakeLists.txt": "qb_library(qb_ir SRCS a.cc PRIVATE_DEPS gRPC::grpc++)\n"},
            "gRPC::grpc++")
        self.assert_found(check_layering.check_links, {
            "client/cli/CMakeLists.txt": "qb_library(cli SRCS a.cc)\n"
                                         "target_link_libraries(cli PRIVATE SQLite::SQLite3)\n"},
            "SQLite::SQLite3")

    def test_test_targets_may_link_more(self):
        self.assertEqual([], self.problems(check_layering.check_links, {
            "core/execute/CMakeLists.txt": "qb_library(qb_execute SRCS a.cc)\n",
            "core/ops/CMakeLists.txt": "qb_test(qb_ops_test SRCS a.cc DEPS qb_execute)\n"}))

    def test_include_without_a_link_is_found(self):
        tree = {"core/ir/CMakeLists.txt": "qb_library(qb_ir SRCS graph.cc)\n",
                "core/base/CMakeLists.txt": "qb_library(qb_base SRCS check.cc)\n",
                "core/ir/graph.cc": '#include "core/base/check.h"\n'}
        self.assert_found(check_layering.check_links_cover_includes, tree, "core/ir/graph.cc:1")
        tree["core/ir/CMakeLists.txt"] = "qb_library(qb_ir SRCS graph.cc DEPS qb_base)\n"
        self.assertEqual([], self.problems(check_layering.check_links_cover_includes, tree))

    def test_long_file_is_found(self):
        self.assert_found(check_layering.check_file_length,
                          {"core/ir/long.cc": "\n" * 601, "core/ir/short.cc": "\n" * 600},
                          "core/ir/long.cc", "601")

    def test_build_folders_are_not_looked_at(self):
        self.assertEqual([], self.problems(check_layering.check_file_length,
                                           {"build/dev/gen/x.cc": "\n" * 5000}))


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    import python_report
    python_report.main()
