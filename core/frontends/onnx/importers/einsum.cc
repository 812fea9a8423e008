// Einsum, written with transpositions, sums and matrix products: operands are joined from left to
// right, each label summed as soon as nothing further needs it.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/ops/movement.h"
#include "core/ops/reduce.h"

namespace qb::onnx_import {
namespace {

// A letter, or 256 + i for axis i (from the back) of what an ellipsis stands for.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

bool Has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Term {
  Node* value = nullptr;
  Labels labels;
};

// One term of the equation, for an operand of `rank` axes (-1: the result, whose ellipsis has
// `ellipsis_axes`).
absl::StatusOr<Labels> ParseTerm(absl::string_view text, int64_t rank, int64_t ellipsis_axes) {
  Labels labels;
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return c != '.'; });
  const int64_t open = rank >= 0 ? rank - letters : ellipsis_axes;
  size_t dots = 0;
  for (const char c : text) {
    if (c == '.') {
      if (++dots == 3) {
        for (int64_t i = open; i-- > 0;) {
          labels.push_back(kEllipsis + static_cast<Label>(i));
        }
      }
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      labels.push_back(static_cast<unsigned char>(c));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("the equation has '", std::string(1, c), "'"));
    }
  }
  if ((dots != 0 && dots != 3) || open < 0 ||
      (rank >= 0 && static_cast<int64_t>(labels.size()) != rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the term '", text, "' does not fit an operand of rank ", rank));
  }
  return labels;
}

class EinsumBuilder {
 public:
  explicit EinsumBuilder(NodeImporter& node) : node_(node) {}

  absl::Status Run() {
    QB_RETURN_IF_ERROR(ReadEquation());
    for (Term& term : terms_) {
      QB_RETURN_IF_ERROR(TakeDiagonals(term));
      QB_RETURN_IF_ERROR(DropBroadcastAxes(term));
    }
    Term joint = terms_.front();
    for (size_t i = 1; i < terms_.size(); ++i) {
      QB_ASSIGN_OR_RETURN(joint, Join(joint, terms_[i], LabelsFrom(i + 1)));
    }
    QB_RETURN_IF_ERROR(SumOut(joint, result_));
    QB_ASSIGN_OR_RETURN(Node * ordered, Ordered(joint, result_));
    std::vector<int64_t> dims;
    for (const Label label : result_) {
      dims.push_back(sizes_[label]);
    }
    return node_.Finish(node_.AddReshape("", ordered, Shape(std::move(dims))));
  }

 private:
  std::string Role(absl::string_view what) { return absl::StrCat(what, "_", next_role_++); }

  absl::Status ReadEquation() {
    QB_ASSIGN_OR_RETURN(std::string equation, node_.StringAttr("equation", ""));
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const size_t arrow = equation.find("->");
    std::string left = equation.substr(0, arrow);
    int64_t ellipsis_axes = 0;
    for (int64_t i = 0; i < node_.input_count(); ++i) {
      QB_ASSIGN_OR_RETURN(Node * value, node_.Input(i, "Inputs"));
      const size_t comma = left.find(',');
      const bool last = i + 1 == node_.input_count();
      if ((comma == std::string::npos) != last) {
        return absl::InvalidArgumentError(
            absl::StrCat("the equation '", equation, "' has not ", node_.input_count(), " terms"));
      }
      Term term;
      term.value = value;
      QB_ASSIGN_OR_RETURN(term.labels, ParseTerm(left.substr(0, comma), value->shape().rank(), 0));
      left = last ? "" : left.substr(comma + 1);
      ellipsis_axes = std::max<int64_t>(
          ellipsis_axes, std::count_if(term.labels.begin(), term.labels.end(),
                                       [](Label label) { return label >= kEllipsis; }));
      QB_RETURN_IF_ERROR(TakeSizes(term));
      terms_.push_back(std::move(term));
    }
    if (arrow != std::string::npos) {
      QB_ASSIGN_OR_RETURN(result_, ParseTerm(equation.substr(arrow + 2), -1, ellipsis_axes));
    } else {
      SetImplicitResult(ellipsis_axes);
    }
    for (const Label label : result_) {
      if (sizes_.count(label) == 0 || std::count(result_.begin(), result_.end(), label) != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("the result of '", equation, "' has a label twice or from nowhere"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TakeSizes(const Term& term) {
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const int64_t dim = term.value->shape().dims()[axis];
      int64_t& size = sizes_.emplace(term.labels[axis], dim).first->second;
      if (size != dim && size != 1 && dim != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("an axis of ", dim, " shares its label with one of ", size));
      }
      size = std::max(size, dim);
    }
    return absl::OkStatus();
  }

  // Without an arrow: the ellipsis, then all labels that occur once, in alphabetical order.
  void SetImplicitResult(int64_t ellipsis_axes) {
    for (int64_t i = ellipsis_axes; i-- > 0;) {
      result_.push_back(kEllipsis + static_cast<Label>(i));
    }
    for (const auto& [label, size] : sizes_) {
      int64_t uses = 0;
      for (const Term& term : terms_) {
        uses += std::count(term.labels.begin(), term.labels.end(), label);
      }
      if (label < kEllipsis && uses == 1) {
        result_.push_back(label);
      }
    }
  }

  // Labels that the terms from `first` on or the result need.
  Labels LabelsFrom(size_t first) const {
    Labels labels = result_;
    for (size_t i = first; i < terms_.size(); ++i) {
      labels.insert(labels.end(), terms_[i].labels.begin(), terms_[i].labels.end());
    }
    return labels;
  }

  // A label twice in one term: only elements with equal places count.
  absl::Status TakeDiagonals(Term& term) {
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const auto again = std::find(term.labels.begin() + static_cast<int64_t>(axis) + 1,
                                   term.labels.end(), term.labels[axis]);
      if (again == term.labels.end()) {
        continue;
      }
      const int64_t other = again - term.labels.begin();
      const Shape& shape = term.value->shape();
      const int64_t n = shape[static_cast<int64_t>(axis)];
      if (n != shape[other] || n > (1 << 12)) {
        return absl::UnimplementedError(
            absl::StrCat("a diagonal of ", n, " times ", shape[other], " is not supported"));
      }
      std::vector<int64_t> dims(static_cast<size_t>(shape.rank()), 1);
      dims[axis] = n;
      dims[static_cast<size_t>(other)] = n;
      Tensor mask = Tensor::Allocate({DType::kBool, Shape(std::move(dims))});
      for (int64_t i = 0; i < n; ++i) {
        mask.mutable_data<uint8_t>()[i * n + i] = 1;
      }
      QB_ASSIGN_OR_RETURN(Node * is_equal, node_.AddConstant(Role("mask"), std::move(mask)));
      QB_ASSIGN_OR_RETURN(Node * zero,
                          node_.AddScalar(Role("zero"), term.value->type().dtype, 0.0));
      QB_ASSIGN_OR_RETURN(Node * masked,
                          node_.Add(Role("masked"), OpKind::kWhere, {is_equal, term.value, zero}));
      QB_ASSIGN_OR_RETURN(term.value, Summed(masked, {other}));
      term.labels.erase(term.labels.begin() + other);
      --axis;  // the label may be there a third time
    }
    return absl::OkStatus();
  }

  // An axis of 1 that other terms have longer only repeats: it goes.
  absl::Status DropBroadcastAxes(Term& term) {
    Labels kept;
    std::vector<int64_t> dims;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      const int64_t dim = term.value->shape().dims()[axis];
      if (dim == sizes_[term.labels[axis]]) {
        kept.push_back(term.labels[axis]);
        dims.push_back(dim);
      }
    }
    if (kept.size() != term.labels.size()) {
      QB_ASSIGN_OR_RETURN(term.value,
                          node_.AddReshape(Role("narrow"), term.value, Shape(std::move(dims))));
      term.labels = std::move(kept);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Node*> Summed(Node* value, std::vector<int64_t> axes) {
    ReduceAttrs attrs;
    attrs.keep_dims = false;
    attrs.reduce_axes = std::move(axes);
    return node_.Add(Role("summed"), OpKind::kReduceSum, {value}, std::move(attrs));
  }

  // Sums over all labels that are not in `needed`.
  absl::Status SumOut(Term& term, const Labels& needed) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (Has(needed, term.labels[axis])) {
        kept.push_back(term.labels[axis]);
      } else {
        axes.push_back(static_cast<int64_t>(axis));
      }
    }
    if (!axes.empty()) {
      QB_ASSIGN_OR_RETURN(term.value, Summed(term.value, std::move(axes)));
      term.labels = std::move(kept);
    }
    return absl::OkStatus();
  }

  // The value with its axes in the order of `order`; labels that it lacks are left out.
  absl::StatusOr<Node*> Ordered(const Term& term, const Labels& order) {
    TransposeAttrs attrs;
    for (const Label label : order) {
      const auto found = std::find(term.labels.begin(), term.labels.end(), label);
      if (found != term.labels.end()) {
        attrs.transpose_axes.push_back(found - term.labels.begin());
      }
    }
    if (std::is_sorted(attrs.transpose_axes.begin(), attrs.transpose_axes.end())) {
      return term.value;
    }
    return node_.Add(Role("ordered"), OpKind::kTranspose, {term.value}, std::move(attrs));
  }

  int64_t Product(const Labels& labels) {
    int64_t product = 1;
    for (const Label label : labels) {
      product *= sizes_[label];
    }
    return product;
  }

  // The sum over what both have and `needed` has not, as a product of matrices.
  absl::StatusOr<Term> Join(Term a, Term b, const Labels& needed) {
    Labels b_or_needed = needed;
    b_or_needed.insert(b_or_needed.end(), b.labels.begin(), b.labels.end());
    Labels a_or_needed = needed;
    a_or_needed.insert(a_or_needed.end(), a.labels.begin(), a.labels.end());
    QB_RETURN_IF_ERROR(SumOut(a, b_or_needed));
    QB_RETURN_IF_ERROR(SumOut(b, a_or_needed));
    Labels batch, rows, columns, summed;
    for (const Label label : a.labels) {
      (Has(b.labels, label) ? (Has(needed, label) ? batch : summed) : rows).push_back(label);
    }
    for (const Label label : b.labels) {
      if (!Has(a.labels, label)) {
        columns.push_back(label);
      }
    }
    const auto joined = [](std::initializer_list<const Labels*> parts) {
      Labels all;
      for (const Labels* part : parts) {
        all.insert(all.end(), part->begin(), part->end());
      }
      return all;
    };
    QB_ASSIGN_OR_RETURN(Node * left, Ordered(a, joined({&batch, &rows, &summed})));
    QB_ASSIGN_OR_RETURN(Node * right, Ordered(b, joined({&batch, &summed, &columns})));
    QB_ASSIGN_OR_RETURN(left, node_.AddReshape(Role("left"), left,
                                               {Product(batch), Product(rows), Product(summed)}));
    QB_ASSIGN_OR_RETURN(right,
                        node_.AddReshape(Role("right"), right,
                                         {Product(batch), Product(summed), Product(columns)}));
    QB_ASSIGN_OR_RETURN(Node * product, node_.Add(Role("product"), OpKind::kMatMul, {left, right}));
    Term result;
    result.labels = joined({&batch, &rows, &columns});
    std::vector<int64_t> dims;
    for (const Label label : result.labels) {
      dims.push_back(sizes_[label]);
    }
    QB_ASSIGN_OR_RETURN(result.value,
                        node_.AddReshape(Role("joint"), product, Shape(std::move(dims))));
    return result;
  }

  NodeImporter& node_;
  std::vector<Term> terms_;
  Labels result_;
  std::map<Label, int64_t> sizes_;
  int next_role_ = 0;
};

}  // namespace

absl::Status ImportEinsum(NodeImporter& node) {
  if (node.input_count() < 1) {
    return absl::InvalidArgumentError("there are no operands");
  }
  return EinsumBuilder(node).Run();
}

}  // namespace qb::onnx_import
