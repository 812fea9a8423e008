#include "core/package/mblt.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/failure.h"
#include "core/base/file_map.h"
#include "core/base/status_macros.h"
#include "core/package/graph_onnx.h"
#include "core/package/graph_onnx_names.h"
#include "core/package/package_manifest.h"
#include "core/package/zip_reader.h"
#include "core/package/zip_writer.h"

namespace qb {
namespace {

absl::Status WriteEntries(const std::string& path, const Graph& graph, const Json& manifest) {
  const std::unique_ptr<SerializedGraph> serialized = GraphToOnnx(graph);
  const Json full = CompleteManifest(
      kMbltFormat, manifest,
      {{"graph.onnx", DigestOf(serialized->model)}, {kWeightsEntry, DigestOf(serialized->weights)}});
  QB_ASSIGN_OR_RETURN(ZipWriter writer, ZipWriter::Create(path));
  QB_RETURN_IF_ERROR(writer.Add(kManifestEntry, full.Dump(1)));
  QB_RETURN_IF_ERROR(writer.Add("graph.onnx", serialized->model));
  QB_RETURN_IF_ERROR(writer.Add(kWeightsEntry, serialized->weights));
  return writer.Finish();
}

absl::StatusOr<MbltFile> ReadEntries(absl::string_view bytes, std::shared_ptr<const void> owner) {
  QB_ASSIGN_OR_RETURN(const ZipReader zip, ZipReader::Open(bytes));
  QB_ASSIGN_OR_RETURN(Json manifest, CheckedManifest(zip, kMbltFormat));
  QB_ASSIGN_OR_RETURN(const absl::string_view model, zip.Entry("graph.onnx"));
  QB_ASSIGN_OR_RETURN(const absl::string_view weights, zip.Entry(kWeightsEntry));
  QB_ASSIGN_OR_RETURN(Graph graph, GraphFromOnnx(model, weights, std::move(owner)));
  return MbltFile{std::move(graph), std::move(manifest)};
}

}  // namespace

absl::Status WriteMblt(const std::string& path, const Graph& graph, const Json& manifest) {
  return WithFailureCode(WriteEntries(path, graph, manifest), FailureCode::kOutputWriteError);
}

absl::StatusOr<MbltFile> ReadMbltBytes(absl::string_view bytes, std::shared_ptr<const void> owner) {
  absl::StatusOr<MbltFile> file = ReadEntries(bytes, std::move(owner));
  if (!file.ok()) {
    return WithFailureCode(file.status(), FailureCode::kModelParseError);
  }
  return file;
}

absl::StatusOr<MbltFile> ReadMblt(const std::string& path) {
  absl::StatusOr<FileMap> map = FileMap::Open(path);
  if (!map.ok()) {
    return WithFailureCode(map.status(), FailureCode::kModelParseError);
  }
  const auto owner = std::make_shared<const FileMap>(*std::move(map));
  absl::StatusOr<MbltFile> file = ReadMbltBytes(owner->bytes(), owner);
  if (!file.ok()) {
    return PrefixMessage(file.status(), absl::StrCat("'", path, "': "));
  }
  return file;
}

absl::StatusOr<Json> ReadManifest(const std::string& path) {
  absl::StatusOr<FileMap> map = FileMap::Open(path);
  if (!map.ok()) {
    return WithFailureCode(map.status(), FailureCode::kModelParseError);
  }
  const auto read = [&]() -> absl::StatusOr<Json> {
    QB_ASSIGN_OR_RETURN(const ZipReader zip, ZipReader::Open(map->bytes()));
    return CheckedManifest(zip, "");
  };
  absl::StatusOr<Json> manifest = read();
  if (!manifest.ok()) {
    return WithFailureCode(PrefixMessage(manifest.status(), absl::StrCat("'", path, "': ")),
                           FailureCode::kModelParseError);
  }
  return manifest;
}

}  // namespace qb
