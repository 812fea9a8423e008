#include "core/frontends/onnx/importers/window.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"

namespace qb::onnx_import {
namespace {

// Products of two stay far from overflow.
constexpr int64_t kLargest = int64_t{1} << 24;

absl::StatusOr<std::vector<int64_t>> ReadList(NodeImporter& node, absl::string_view name,
                                              size_t count, int64_t smallest) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.IntsAttr(name));
  if (values.empty()) {
    return std::vector<int64_t>(count, smallest);
  }
  if (values.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has ", values.size(),
                                                   " elements; ", count, " are accepted"));
  }
  for (const int64_t value : values) {
    if (value < smallest || value > kLargest) {
      return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' is [",
                                                     absl::StrJoin(values, ", "), "]; ", smallest,
                                                     " to ", kLargest, " is accepted"));
    }
  }
  return values;
}

// Paddings for ceil(size / stride) results. Source: ONNX Conv, auto_pad.
void SetSamePadding(int64_t size, bool upper, size_t axis, Window& window) {
  const int64_t stride = window.stride[axis];
  const int64_t extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
  const int64_t results = (size + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((results - 1) * stride + extent - size, 0);
  const int64_t less = total / 2;
  window.begin[axis] = upper ? less : total - less;
  window.end[axis] = upper ? total - less : less;
}

absl::Status CheckKernel(const std::vector<int64_t>& kernel, size_t spatial) {
  if (kernel.size() != spatial) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the kernel has ", kernel.size(), " dimensions, the input has ", spatial, " spatial ones"));
  }
  for (const int64_t extent : kernel) {
    if (extent < 1 || extent > kLargest) {
      return absl::InvalidArgumentError(absl::StrCat("the kernel is [", absl::StrJoin(kernel, ", "),
                                                     "]; 1 to ", kLargest, " is accepted"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Window> ReadWindow(NodeImporter& node, const Shape& input,
                                  const std::vector<int64_t>& kernel) {
  if (input.rank() < 3 || input.rank() > 5) {
    return absl::InvalidArgumentError(absl::StrCat("the input has shape ", input.ToString(),
                                                   "; [N, C, L] to [N, C, D, H, W] is accepted"));
  }
  const auto spatial = static_cast<size_t>(input.rank() - 2);
  QB_RETURN_IF_ERROR(CheckKernel(kernel, spatial));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ReadList(node, "strides", spatial, 1));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations,
                      ReadList(node, "dilations", spatial, 1));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, ReadList(node, "pads", 2 * spatial, 0));
  QB_ASSIGN_OR_RETURN(const std::string auto_pad, node.StringAttr("auto_pad", "NOTSET"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "auto_pad is '", auto_pad, "'; NOTSET, VALID, SAME_UPPER and SAME_LOWER are accepted"));
  }
  Window window;
  const size_t first = Window::kAxes - spatial;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = first + i;
    window.kernel[axis] = kernel[i];
    window.stride[axis] = strides[i];
    window.dilation[axis] = dilations[i];
    if (same) {
      SetSamePadding(input[static_cast<int64_t>(i) + 2], auto_pad == "SAME_UPPER", axis, window);
    } else if (auto_pad != "VALID") {
      window.begin[axis] = pads[i];
      window.end[axis] = pads[spatial + i];
    }
  }
  return window;
}

absl::StatusOr<Node*> AsImage(NodeImporter& node, absl::string_view role, Node* input) {
  const Shape& shape = input->shape();
  if (shape.rank() == 4) {
    return input;
  }
  if (shape.rank() == 3) {
    return node.AddReshape(role, input, {shape[0], shape[1], 1, shape[2]});
  }
  if (shape.rank() == 5) {
    return absl::UnimplementedError(absl::StrCat("the 3-D form (input ", shape.ToString(),
                                                 ") is not supported; 1-D and 2-D are"));
  }
  return absl::InvalidArgumentError(absl::StrCat("the input has shape ", shape.ToString(),
                                                 "; [N, C, L] or [N, C, H, W] is accepted"));
}

absl::Status FinishImage(NodeImporter& node, const Node* source, OpKind kind,
                         absl::Span<Node* const> operands, std::unique_ptr<Attributes> attrs) {
  if (source->shape().rank() == 4) {
    return node.Finish(node.AddNode("", kind, operands, std::move(attrs)));
  }
  QB_ASSIGN_OR_RETURN(Node * image, node.AddNode("2d", kind, operands, std::move(attrs)));
  const Shape& shape = image->shape();
  return node.Finish(node.AddReshape("", image, {shape[0], shape[1], shape[3]}));
}

}  // namespace qb::onnx_import
