#include "core/frontends/all_frontends.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/frontends/onnx/onnx_import.h"

namespace qb {
namespace {

bool EndsWithOneOf(absl::string_view path, std::initializer_list<absl::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](absl::string_view ending) {
    return absl::EndsWithIgnoreCase(path, ending);
  });
}

bool MatchesOnnx(absl::string_view path) { return EndsWithOneOf(path, {".onnx"}); }
bool MatchesTflite(absl::string_view path) { return EndsWithOneOf(path, {".tflite"}); }
bool MatchesTensorflow(absl::string_view path) {
  return EndsWithOneOf(path, {".keras", ".h5", ".pb"});
}
bool MatchesTorch(absl::string_view path) {
  return EndsWithOneOf(path, {".pt", ".pth", ".torchscript"});
}

constexpr auto kFrontends = std::to_array<Frontend>({
    {"onnx", MatchesOnnx, ImportOnnx},
    {"tf", MatchesTensorflow, nullptr},
    {"tensorflow", nullptr, nullptr},
    {"keras", nullptr, nullptr},
    {"tflite", MatchesTflite, nullptr},
    {"torchscript", MatchesTorch, nullptr},
    {"torch", nullptr, nullptr},
});

}  // namespace

absl::Span<const Frontend> AllFrontends() { return kFrontends; }

absl::StatusOr<const Frontend*> FindFrontend(absl::string_view name) {
  for (const Frontend& frontend : kFrontends) {
    if (!absl::EqualsIgnoreCase(frontend.name, name)) {
      continue;
    }
    if (frontend.import == nullptr) {
      return Failure(FailureCode::kArgumentError,
                     absl::StrCat("backend '", frontend.name, "' is not supported yet; onnx is"));
    }
    return &frontend;
  }
  return Failure(
      FailureCode::kArgumentError,
      absl::StrCat("there is no backend '", name.substr(0, 64), "'; the backends are ",
                   absl::StrJoin(kFrontends, ", ", [](std::string* out, const Frontend& row) {
                     absl::StrAppend(out, row.name);
                   })));
}

absl::StatusOr<ImportedModel> ImportModel(absl::string_view backend, const std::string& path,
                                          const ImportOptions& options) {
  QB_ASSIGN_OR_RETURN(const Frontend* frontend, FindFrontend(backend));
  absl::StatusOr<ImportedModel> model = frontend->import(path, options);
  if (model.ok()) {
    return model;
  }
  // A file of another format fails with a message about damage; its name helps more.
  for (const Frontend& other : kFrontends) {
    if (&other != frontend && other.matches != nullptr && other.matches(path)) {
      const FailureCode code = FailureCodeOf(model.status());
      return Failure(code, absl::StrCat(model.status().message(), " (the file looks like ",
                                        other.name, ", the backend is ", frontend->name, ")"));
    }
  }
  return model;
}

}  // namespace qb
