"""The arrows of the house: who may use whom. The one table that the layering test holds the tree to.

A folder may use itself, the folders named here, and whatever those may use. docs/architecture.md draws
the picture; a change here belongs there too, with a page in docs/decisions/.
"""

# folder -> folders that it may use directly.
ARROWS = {
    "core/base": [],
    "core/ir": ["core/base"],
    "core/integer": ["core/base", "core/ir"],
    "core/ops": ["core/ir"],
    "core/config": ["core/base"],
    "core/execute": ["core/ops"],
    "core/passes": ["core/execute"],
    # Importers fold constant chains (Shape, Gather, ...) that decide shapes with the executor's kernels.
    "core/frontends": ["core/execute"],
    "core/target": ["core/ops"],
    "core/partition": ["core/target"],
    "core/dataset": ["core/ir"],
    "core/calibration": ["core/execute", "core/dataset"],
    "core/quantization": ["core/calibration", "core/integer"],
    "core/npu": ["core/quantization", "core/target", "core/partition"],
    "core/package": ["core/npu"],
    "core/evaluate": ["core/execute", "core/package", "core/dataset"],
    "core/tuning": ["core/evaluate"],
    "core/compiler": ["core/config", "core/frontends", "core/passes", "core/package",
                      "core/evaluate", "core/tuning"],
    "proto": [],
    "server": ["core/base", "core/config", "proto"],
    # Nothing but the C library and libseccomp: it stands between strangers and the machine.
    "worker/sandbox": [],
    "worker/agent": ["core/base", "proto", "worker/sandbox"],
    "worker/qbcompiler": ["core/compiler"],
    "client/cpp": ["core/base", "proto"],
    "client/cli": ["client/cpp"],
}

# Parts of a folder that one more folder may use, without what the rest of it needs:
# (user, header, CMake target that has it and links nothing but core/base).
SINGLE_PARTS = [
    # Names and schemes of the targets: a job that its target cannot run is refused when it is submitted.
    ("server", "core/target/target_spec.h", "qb_target_spec"),
]

# Folders whose files may use everything: they test what crosses folders.
FREE_FOLDERS = ["tests", "examples"]

# Third-party headers: (prefix of the #include, places that may have it). A place is a folder, or a
# prefix of file names that ends in '*'.
THIRD_PARTY = [
    ("grpcpp/", ["server/rpc", "server/build_server*", "worker/agent", "client/cpp/grpc_stub*"]),
    ("grpc/", ["server/rpc", "server/build_server*", "worker/agent", "client/cpp/grpc_stub*"]),
    ("sqlite3.h", ["server/jobs/sqlite_*", "server/build_server*"]),
    ("onnx/", ["core/frontends/onnx", "core/package"]),
    ("dnnl", ["core/execute"]),
    ("nlohmann/", ["core/base/json.cc", "core/config"]),
    ("yaml-cpp/", ["core/config"]),
    ("prometheus/", ["server/metrics"]),
    ("microhttpd.h", ["server/http"]),
    ("openssl/", ["core/base/certificate.cc", "core/base/digest.cc"]),
    ("zlib.h", ["core/package", "core/dataset"]),
    ("jpeglib.h", ["core/dataset/images"]),
    ("jerror.h", ["core/dataset/images"]),
    ("png.h", ["core/dataset/images"]),
    ("webp/", ["core/dataset/images"]),
    ("google/protobuf/", ["core/frontends/onnx", "core/package", "core/npu", "server", "worker/agent",
                          "client"]),
]

# Service stubs are gRPC as much as grpcpp is.
GRPC_STUB_SUFFIX = ".grpc.pb.h"
GRPC_STUB_PLACES = ["server/rpc", "worker/agent", "client/cpp/grpc_stub*"]

# CMake targets of other packages: (prefix of the name, folders whose CMakeLists.txt may link it).
# Test targets are free.
THIRD_PARTY_TARGETS = [
    ("gRPC::", ["server", "worker/agent", "client/cpp"]),
    ("SQLite::", ["server/jobs"]),
    ("onnx", ["core/frontends", "core/package"]),
    ("dnnl", ["core/execute"]),
    ("${QB_DNNL}", ["core/execute"]),
    ("nlohmann_json", ["core/base", "core/config"]),
    ("yaml-cpp", ["core/config"]),
    ("prometheus-cpp", ["server/metrics"]),
    ("${QB_MICROHTTPD}", ["server/http"]),
    ("OpenSSL::", ["core/base"]),
    ("ZLIB::", ["core/package", "core/dataset"]),
    ("JPEG::", ["core/dataset"]),
    ("PNG::", ["core/dataset"]),
    ("${QB_WEBP}", ["core/dataset"]),
]

MAX_FILE_LINES = 600
# Written by programs from tables that people read instead.
GENERATED_FILES = ["client/python/qbcompiler/config_sections.py"]
