#include "core/package/mxq.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/file_map.h"
#include "core/base/status_macros.h"
#include "core/package/mblt.h"
#include "core/package/package_manifest.h"
#include "core/package/zip_reader.h"
#include "core/package/zip_writer.h"

namespace qb {
namespace {

constexpr char kConfigEntry[] = "config.yaml";
constexpr char kReportEntry[] = "report.json";
}  // namespace

absl::Status WriteMxq(const std::string& path, const MxqContents& contents) {
  const std::string report = contents.report.Dump(1);
  std::vector<std::pair<std::string, absl::string_view>> entries = {
      {kConfigEntry, contents.config_yaml}};
  for (const auto& [name, bytes] : contents.entries) {
    entries.emplace_back(name, bytes);
  }
  entries.emplace_back(kReportEntry, report);
  std::vector<std::pair<std::string, std::string>> digests;
  digests.reserve(entries.size());
  for (const auto& [name, bytes] : entries) {
    digests.emplace_back(name, DigestOf(bytes));
  }
  const auto write = [&]() -> absl::Status {
    QB_ASSIGN_OR_RETURN(ZipWriter writer, ZipWriter::Create(path));
    const Json manifest = CompleteManifest(kMxqFormat, contents.manifest, digests);
    QB_RETURN_IF_ERROR(writer.Add(kManifestEntry, manifest.Dump(1)));
    for (const auto& [name, bytes] : entries) {
      QB_RETURN_IF_ERROR(writer.Add(name, bytes));
    }
    return writer.Finish();
  };
  return WithFailureCode(write(), FailureCode::kOutputWriteError);
}

struct MxqFile::State {
  FileMap map;
  Json manifest;
  Json report;
  absl::string_view config_yaml;
  std::vector<MxqSize> sizes;

  // ReadSizes sees to it that there is one.
  const MxqStage& FirstNpuStage() const {
    return *std::find_if(sizes.front().stages.begin(), sizes.front().stages.end(),
                         [](const MxqStage& stage) { return stage.npu; });
  }

  absl::Status Read(absl::string_view bytes) {
    QB_ASSIGN_OR_RETURN(const ZipReader zip, ZipReader::Open(bytes));
    QB_ASSIGN_OR_RETURN(manifest, CheckedManifest(zip, kMxqFormat));
    QB_ASSIGN_OR_RETURN(config_yaml, zip.Entry(kConfigEntry));
    QB_ASSIGN_OR_RETURN(const absl::string_view report_text, zip.Entry(kReportEntry));
    absl::StatusOr<Json> parsed = Json::Parse(report_text);
    if (!parsed.ok()) {
      return absl::DataLossError(absl::StrCat("report.json: ", parsed.status().message()));
    }
    report = *std::move(parsed);
    QB_ASSIGN_OR_RETURN(sizes, ReadSizes(manifest, zip.entries()));
    return absl::OkStatus();
  }
};

MxqFile::MxqFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
MxqFile::~MxqFile() = default;

absl::StatusOr<std::unique_ptr<MxqFile>> MxqFile::FromBytes(absl::string_view bytes) {
  auto state = std::make_unique<State>();
  QB_RETURN_IF_ERROR(WithFailureCode(state->Read(bytes), FailureCode::kModelParseError));
  return std::unique_ptr<MxqFile>(new MxqFile(std::move(state)));
}

absl::StatusOr<std::unique_ptr<MxqFile>> MxqFile::Open(const std::string& path) {
  absl::StatusOr<FileMap> map = FileMap::Open(path);
  if (!map.ok()) {
    return WithFailureCode(map.status(), FailureCode::kModelParseError);
  }
  absl::StatusOr<std::unique_ptr<MxqFile>> file = FromBytes(map->bytes());
  if (!file.ok()) {
    return PrefixMessage(file.status(), absl::StrCat("'", path, "': "));
  }
  (*file)->state_->map = *std::move(map);
  return file;
}

const Json& MxqFile::manifest() const { return state_->manifest; }
const Json& MxqFile::report() const { return state_->report; }
absl::string_view MxqFile::config_yaml() const { return state_->config_yaml; }
absl::string_view MxqFile::weights() const { return state_->FirstNpuStage().weights; }
const std::vector<MxqSize>& MxqFile::sizes() const { return state_->sizes; }
const std::map<std::string, absl::string_view>& MxqFile::programs() const {
  return state_->FirstNpuStage().programs;
}

}  // namespace qb
