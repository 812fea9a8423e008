#include "core/compiler/same_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status Differs(absl::string_view what) {
  return Failure(FailureCode::kArgumentError,
                 absl::StrCat("the models are not one model at several sizes: ", what));
}

absl::Status CompareBorder(absl::string_view kind, absl::Span<Node* const> first,
                           absl::Span<Node* const> other) {
  if (first.size() != other.size()) {
    return Differs(absl::StrCat("one has ", first.size(), " ", kind, "s, another ", other.size()));
  }
  for (size_t i = 0; i < first.size(); ++i) {
    const Node& a = *first[i];
    const Node& b = *other[i];
    if (a.name() != b.name() || a.type().dtype != b.type().dtype ||
        a.shape().rank() != b.shape().rank()) {
      return Differs(absl::StrCat(kind, " '", a.name(), "' of ", a.type().ToString(), " against '",
                                  b.name(), "' of ", b.type().ToString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSameModel(const MbltFile& first, const MbltFile& other) {
  const Json& a = first.manifest["provenance"]["source"]["sha256"];
  const Json& b = other.manifest["provenance"]["source"]["sha256"];
  if (a.is_string() && b.is_string() && a.as_string() != b.as_string()) {
    return Differs(
        absl::StrCat("their sources have the digests ", a.as_string(), " and ", b.as_string()));
  }
  QB_RETURN_IF_ERROR(CompareBorder("input", first.graph.inputs(), other.graph.inputs()));
  QB_RETURN_IF_ERROR(CompareBorder("output", first.graph.outputs(), other.graph.outputs()));
  for (const Node* node : first.graph.nodes()) {
    const Node* match = node->is_constant() ? other.graph.FindNode(node->name()) : nullptr;
    if (match != nullptr && match->is_constant() &&
        match->constant().type() == node->constant().type() &&
        !match->constant().Equals(node->constant())) {
      return Differs(absl::StrCat("constant '", node->name(), "' has other values"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOtherSize(const MbltFile& first, const MbltFile& other) {
  std::string shapes;
  for (size_t i = 0; i < first.graph.inputs().size(); ++i) {
    const Node& a = *first.graph.inputs()[i];
    const Node& b = *other.graph.inputs()[i];
    if (a.shape() != b.shape()) {
      return absl::OkStatus();
    }
    absl::StrAppend(&shapes, shapes.empty() ? "" : ", ", a.name(), " ", a.shape().ToString());
  }
  return Failure(
      FailureCode::kArgumentError,
      absl::StrCat("two of the sizes are the same: ", shapes,
                   "; the shapes of a sample choose the program, so sizes have to differ"));
}

}  // namespace qb
