#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/constant_text.h"
#include "core/ops/graph_text.h"
#include "core/ops/text_tokens.h"

namespace qb {
namespace {

// What one text may ask us to allocate: a few bytes of text can name a constant of any size.
constexpr int64_t kMostConstantBytes = int64_t{512} << 20;
constexpr size_t kMostRank = 16;

class GraphParser {
 public:
  explicit GraphParser(absl::string_view text) : scanner_(text) {}

  absl::StatusOr<Graph> Run() {
    QB_ASSIGN_OR_RETURN(const std::string keyword, scanner_.ReadIdentifier("'graph'"));
    if (keyword != "graph") {
      return scanner_.Error(absl::StrCat("expected 'graph', found '", keyword, "'"));
    }
    QB_ASSIGN_OR_RETURN(const std::string name, scanner_.ReadName("the graph's name"));
    graph_ = Graph(name);
    QB_RETURN_IF_ERROR(scanner_.Expect('{'));
    while (!scanner_.Consume('}')) {
      QB_RETURN_IF_ERROR(ReadNode());
    }
    if (!scanner_.AtEnd()) {
      return scanner_.Error("text after the graph");
    }
    return std::move(graph_);
  }

 private:
  absl::Status ReadNode() {
    QB_ASSIGN_OR_RETURN(const std::string name, scanner_.ReadName("a node's name or '}'"));
    QB_RETURN_IF_ERROR(scanner_.Expect('='));
    QB_ASSIGN_OR_RETURN(const std::string op, scanner_.ReadIdentifier("an operator"));
    const OpDef* def = FindOpDef(op);
    if (def == nullptr) {
      return scanner_.Error(absl::StrCat("there is no operator '", op, "'"));
    }
    if (name.empty()) {
      return scanner_.Error("a node's name is empty");
    }
    const bool is_output = def->kind == OpKind::kOutput;
    if (is_output ? !output_names_.insert(name).second : graph_.FindNode(name) != nullptr) {
      return scanner_.Error(absl::StrCat("the name '", name, "' is taken"));
    }
    if (def->kind == OpKind::kInput || def->kind == OpKind::kInputConstant) {
      return ReadSource(name, def->kind);
    }
    return ReadOperator(name, *def);
  }

  absl::Status ReadSource(const std::string& name, OpKind kind) {
    QB_ASSIGN_OR_RETURN(TensorType type, ReadType());
    if (kind == OpKind::kInput) {
      graph_.AddInput(name, std::move(type));
      return absl::OkStatus();
    }
    if (type.size_bytes() > kMostConstantBytes - constant_bytes_) {
      return scanner_.Error(absl::StrCat("constants of more than ", kMostConstantBytes, " bytes"));
    }
    constant_bytes_ += type.size_bytes();
    QB_ASSIGN_OR_RETURN(Tensor value, ReadConstant(scanner_, type));
    graph_.AddConstant(name, std::move(value));
    return absl::OkStatus();
  }

  // "float32[1x3x8x8]", "int64[scalar]"
  absl::StatusOr<TensorType> ReadType() {
    QB_ASSIGN_OR_RETURN(const std::string dtype_name, scanner_.ReadIdentifier("an element type"));
    const std::optional<DType> dtype = DTypeFromName(dtype_name);
    if (!dtype.has_value()) {
      return scanner_.Error(absl::StrCat("there is no element type '", dtype_name, "'"));
    }
    QB_RETURN_IF_ERROR(scanner_.Expect('['));
    QB_ASSIGN_OR_RETURN(const std::string shape, scanner_.ReadUntil(']', "a shape"));
    std::vector<int64_t> dims;
    if (shape != "scalar") {
      for (const absl::string_view part : absl::StrSplit(shape, 'x')) {
        int64_t dim = 0;
        if (dims.size() == kMostRank || !absl::SimpleAtoi(part, &dim)) {
          return scanner_.Error(absl::StrCat("'", shape, "' is no shape like 1x3x8x8 or scalar"));
        }
        dims.push_back(dim);
      }
    }
    if (absl::Status status = CheckedElements(dims).status(); !status.ok()) {
      return scanner_.Error(status.message());
    }
    return TensorType{*dtype, Shape(std::move(dims))};
  }

  absl::Status ReadOperator(const std::string& name, const OpDef& def) {
    QB_ASSIGN_OR_RETURN(const std::vector<Node*> operands, ReadOperands());
    QB_ASSIGN_OR_RETURN(std::unique_ptr<Attributes> attrs, ReadAttributes(def));
    if (absl::Status status = AddOp(graph_, def.kind, name, operands, std::move(attrs)).status();
        !status.ok()) {
      return scanner_.Error(status.message());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Node*>> ReadOperands() {
    std::vector<Node*> operands;
    QB_RETURN_IF_ERROR(scanner_.Expect('('));
    while (!scanner_.Consume(')')) {
      if (!operands.empty()) {
        QB_RETURN_IF_ERROR(scanner_.Expect(','));
      }
      QB_ASSIGN_OR_RETURN(const std::string name, scanner_.ReadName("an operand"));
      Node* operand = graph_.FindNode(name);
      if (operand == nullptr) {
        return scanner_.Error(absl::StrCat("there is no node '", name, "' above"));
      }
      operands.push_back(operand);
    }
    return operands;
  }

  absl::StatusOr<std::unique_ptr<Attributes>> ReadAttributes(const OpDef& def) {
    std::unique_ptr<Attributes> attrs = def.make_attributes();
    if (!scanner_.Consume('{')) {
      return attrs;
    }
    bool first = true;
    while (!scanner_.Consume('}')) {
      if (!first) {
        QB_RETURN_IF_ERROR(scanner_.Expect(','));
      }
      first = false;
      QB_RETURN_IF_ERROR(ReadAttribute(def, *attrs));
    }
    return attrs;
  }

  absl::Status ReadAttribute(const OpDef& def, Attributes& attrs) {
    QB_ASSIGN_OR_RETURN(const std::string name, scanner_.ReadIdentifier("an attribute"));
    QB_RETURN_IF_ERROR(scanner_.Expect('='));
    QB_ASSIGN_OR_RETURN(const AttrValue value, scanner_.ReadAttrValue("an attribute"));
    if (absl::Status status = attrs.Set(name, value); !status.ok()) {
      return scanner_.Error(absl::StrCat(def.name, ": ", status.message()));
    }
    return absl::OkStatus();
  }

  TextScanner scanner_;
  Graph graph_;
  absl::flat_hash_set<std::string> output_names_;
  int64_t constant_bytes_ = 0;
};

}  // namespace

absl::StatusOr<Graph> GraphFromText(absl::string_view text) { return GraphParser(text).Run(); }

}  // namespace qb
