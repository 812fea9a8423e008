// Rules of operators that move elements.
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/ops/movement.h"
#include "core/target/constraint_rules.h"

namespace qb {

Finding ConstantPadding(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kPad) {
    return std::nullopt;
  }
  const PadAttrs& attrs = node.attrs<PadAttrs>();
  if (attrs.pad_mode != PadMode::kConstant) {
    return absl::StrCat("mode ", NameOfEnum(attrs.pad_mode));
  }
  for (const int64_t padding : attrs.padding_list) {
    if (padding < 0) {
      return absl::StrCat("padding ", padding);
    }
  }
  return std::nullopt;
}

Finding ImageResize(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kResize) {
    return std::nullopt;
  }
  const ResizeAttrs& attrs = node.attrs<ResizeAttrs>();
  if (!IsPlainResize(attrs)) {
    return std::string("antialias, exclude_outside or tf_crop_and_resize");
  }
  const Shape& from = node.operand(0)->shape();
  const Shape& to = node.shape();
  const bool is_image = from.rank() == 4 && to.rank() == 4 && from[0] == to[0] && from[3] == to[3];
  if (attrs.mode != ResizeMode::kCubic && is_image) {
    return std::nullopt;
  }
  return absl::StrCat("mode ", NameOfEnum(attrs.mode), " from ", from.ToString(), " to ",
                      to.ToString());
}

Finding ConstantIndices(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kGather) {
    return std::nullopt;
  }
  const Node* data = node.operand(0);
  const Node* indices = node.operand(1);
  if (data->is_constant() || !indices->is_constant()) {
    return std::string(data->is_constant() ? "constant data" : "indices that vary");
  }
  const int64_t extent = data->shape()[node.attrs<GatherAttrs>().axis];
  for (const int64_t place : IndexValues(indices->constant(), extent)) {
    if (place < 0 || place >= extent) {
      return absl::StrCat("index ", place, " of ", extent);
    }
  }
  return std::nullopt;
}

}  // namespace qb
