#include "core/ops/signature.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace qb {

absl::StatusOr<TensorType> InferType(OpKind kind, absl::Span<Node* const> operands,
                                     const Attributes& attrs) {
  const OpDef& def = OpDefOf(kind);
  const int64_t count = static_cast<int64_t>(operands.size());
  if (count < def.min_operands || count > def.max_operands) {
    const std::string accepted = def.max_operands == kVariadic
                                     ? absl::StrCat(def.min_operands, " or more")
                                     : absl::StrCat(def.min_operands, " to ", def.max_operands);
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", count, " operands; accepted: ", accepted));
  }
  return def.infer(InferenceInput{operands, &attrs});
}

bool AttributesFit(OpKind kind, const Attributes& attrs) {
  const std::vector<NamedAttr> expected = OpDefOf(kind).make_attributes()->Fields();
  const std::vector<NamedAttr> found = attrs.Fields();
  if (found.size() != expected.size()) {
    return false;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].name != expected[i].name || found[i].value.index() != expected[i].value.index()) {
      return false;
    }
  }
  return true;
}

}  // namespace qb
