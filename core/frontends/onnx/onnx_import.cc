#include "core/frontends/onnx/onnx_import.h"

#include <utility>

#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/file_map.h"
#include "core/base/status_macros.h"
#include "core/frontends/onnx/import_graph.h"
#include "core/frontends/onnx/read_model.h"

namespace qb {
namespace {

// What is left of a file once it was read: `bytes` are not needed any more.
struct Source {
  onnx_import::OnnxModel model;
  std::string sha256;
};

absl::StatusOr<Source> ReadSource(absl::string_view bytes, const std::string& folder) {
  Source source;
  QB_ASSIGN_OR_RETURN(source.model, onnx_import::ReadModel(bytes, folder));
  source.sha256 = Sha256Hex(bytes);
  return source;
}

absl::StatusOr<ImportedModel> ImportSource(absl::StatusOr<Source> source,
                                           const ImportOptions& options) {
  QB_RETURN_IF_ERROR(source.status());
  onnx_import::OnnxModel& model = source->model;
  ImportedModel imported;
  QB_ASSIGN_OR_RETURN(imported.graph, onnx_import::ImportGraph(model, options));
  imported.source_sha256 = std::move(source->sha256);
  imported.external_data = std::move(model.external_files);
  imported.opset = model.opset;
  imported.ir_version = model.ir_version;
  imported.producer_name = std::move(model.producer_name);
  imported.producer_version = std::move(model.producer_version);
  return imported;
}

// "folder/model.onnx" -> "folder"; a bare name -> ".".
std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::StatusOr<Source> ReadSourceFile(const std::string& path) {
  const absl::StatusOr<FileMap> map = FileMap::Open(path);
  if (!map.ok()) {  // also without permission
    return WithFailureCode(map.status(), FailureCode::kModelParseError);
  }
  return ReadSource(map->bytes(), FolderOf(path));
}

absl::Status WithCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
      return WithFailureCode(status, FailureCode::kUnsupportedOperator);
    case absl::StatusCode::kInternal:
      return WithFailureCode(status, FailureCode::kInternalError);
    default:
      return WithFailureCode(status, FailureCode::kModelParseError);
  }
}

}  // namespace

absl::StatusOr<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options) {
  // The file's map is gone before the graph is built: weights are in memory once.
  absl::StatusOr<ImportedModel> model = ImportSource(ReadSourceFile(path), options);
  return model.ok() ? std::move(model) : WithCode(model.status());
}

absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes, const std::string& folder,
                                              const ImportOptions& options) {
  absl::StatusOr<ImportedModel> model = ImportSource(ReadSource(bytes, folder), options);
  return model.ok() ? std::move(model) : WithCode(model.status());
}

absl::StatusOr<std::vector<std::string>> OnnxInputNames(const std::string& path) {
  const absl::StatusOr<Source> source = ReadSourceFile(path);
  if (!source.ok()) {
    return WithCode(source.status());
  }
  std::vector<std::string> names;
  for (const onnx_import::OnnxValue& input : source->model.inputs) {
    names.push_back(input.name);
  }
  return names;
}

}  // namespace qb
