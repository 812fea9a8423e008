#include "core/quantization/equivalent/scaling_place.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/quantization/equivalent/channel_trace.h"
#include "core/quantization/equivalent/scaled_layers.h"

namespace qb {
namespace {

int64_t LastExtent(const Node& node) {
  return node.shape().rank() == 0 ? 0 : node.shape()[node.shape().rank() - 1];
}

std::vector<float> Counted(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

// All readers, when each is a linear layer that reads the value as its input and is not its own.
std::vector<Node*> LinearReaders(const Node& value) {
  std::vector<Node*> readers;
  for (Node* user : value.users()) {
    if (user->operand(0) != &value || !TakesInputScale(*user)) {
      return {};
    }
    readers.push_back(user);
  }
  std::sort(readers.begin(), readers.end(),
            [](const Node* a, const Node* b) { return a->id() < b->id(); });
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

bool AllDistinct(const std::vector<int64_t>& channels) {
  return std::set<int64_t>(channels.begin(), channels.end()).size() == channels.size();
}

// Where each channel of `value` comes from among those of the linear layer `source`.
std::optional<std::vector<int64_t>> ChannelsOf(const Node& source, const Node& value) {
  const std::vector<float> traced = TraceChannels(source, value, Counted(LastExtent(source)));
  std::optional<std::vector<int64_t>> channels = ConstantAlong(traced, LastExtent(value), 1);
  return channels.has_value() && AllDistinct(*channels) ? channels : std::nullopt;
}

std::optional<ScalingPlace> NormPlace(Node* value, std::vector<Node*> readers) {
  if (!IsScalableNorm(*value)) {
    return std::nullopt;
  }
  std::vector<int64_t> same(static_cast<size_t>(LastExtent(*value)));
  std::iota(same.begin(), same.end(), int64_t{0});
  return ScalingPlace{"NormConv", value, value, std::move(same), std::move(readers)};
}

// linear (-> movement) -> value, or through one factor of a product of two values.
std::optional<ScalingPlace> UpDownPlace(Node* value, const std::vector<Node*>& readers) {
  std::vector<Node*> ways;
  Node* source = SourceThroughMovement(value);
  if (source != nullptr && source->op() == OpKind::kMultiply &&
      source->operand(0) != source->operand(1) && source == value &&
      source->operand(0)->type() == source->type() &&
      source->operand(1)->type() == source->type()) {
    ways = {source->operand(1), source->operand(0)};
  } else if (source != nullptr) {
    ways = {value};
  }
  for (Node* way : ways) {
    Node* producer = SourceThroughMovement(way);
    if (producer == nullptr || !TakesOutputScale(*producer)) {
      continue;
    }
    std::optional<std::vector<int64_t>> channels = ChannelsOf(*producer, *way);
    if (channels.has_value()) {
      return ScalingPlace{"UD", value, producer, *std::move(channels), readers};
    }
  }
  return std::nullopt;
}

// linear -> movement -> second operand of a product of two values -> movement -> value.
std::optional<ScalingPlace> ValueOutputPlace(Node* value, const std::vector<Node*>& readers) {
  Node* product = SourceThroughMovement(value);
  if (product == nullptr || product->op() != OpKind::kMatMul || product->operand_count() != 2 ||
      product->operand(1)->is_constant()) {
    return std::nullopt;
  }
  Node* operand = product->operand(1);
  Node* producer = SourceThroughMovement(operand);
  if (producer == nullptr || !TakesOutputScale(*producer)) {
    return std::nullopt;
  }
  // The channels of the operand, the same in all rows, are those of the product's last axis.
  const std::vector<float> traced =
      TraceChannels(*producer, *operand, Counted(LastExtent(*producer)));
  const int64_t columns = LastExtent(*operand);
  const int64_t rows = operand->shape()[operand->shape().rank() - 2];
  const int64_t batches = operand->shape().elements() / std::max<int64_t>(1, rows * columns);
  const int64_t results = product->shape().elements() / std::max<int64_t>(1, columns);
  if (traced.empty() || batches == 0 || results % batches != 0) {
    return std::nullopt;
  }
  std::vector<float> of_product;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const std::vector<float> own(traced.begin() + batch * rows * columns,
                                 traced.begin() + (batch + 1) * rows * columns);
    const std::optional<std::vector<int64_t>> channels = ConstantAlong(own, columns, 1);
    if (!channels.has_value()) {
      return std::nullopt;
    }
    for (int64_t row = 0; row < results / batches; ++row) {
      of_product.insert(of_product.end(), channels->begin(), channels->end());
    }
  }
  const std::optional<std::vector<int64_t>> channels =
      ConstantAlong(TraceChannels(*product, *value, of_product), LastExtent(*value), 1);
  if (!channels.has_value() || !AllDistinct(*channels)) {
    return std::nullopt;
  }
  return ScalingPlace{"VO", value, producer, *channels, readers};
}

}  // namespace

std::vector<ScalingPlace> FindScalingPlaces(Graph& graph, const EquivalentOptions& options) {
  std::vector<ScalingPlace> places;
  for (Node* value : graph.TopologicalOrder()) {
    if (value->is_constant() || value->op() == OpKind::kOutput ||
        value->type().dtype != DType::kFloat32) {
      continue;
    }
    const std::vector<Node*> readers = LinearReaders(*value);
    if (readers.empty()) {
      continue;
    }
    std::optional<ScalingPlace> place;
    if (options.norm_conv) {
      place = NormPlace(value, readers);
    }
    if (!place.has_value() && options.vo) {
      place = ValueOutputPlace(value, readers);
    }
    if (!place.has_value() && options.ud) {
      place = UpDownPlace(value, readers);
    }
    if (place.has_value()) {
      places.push_back(*std::move(place));
    }
  }
  return places;
}

namespace {

// partner[channel of the query's layer] = channel of the key's layer.
std::optional<std::vector<int64_t>> Partners(const Node& product, const Node& query,
                                             const Node& key) {
  const Node& a = *product.operand(0);
  const Node& b = *product.operand(1);
  const int64_t inner = LastExtent(a);
  const int64_t rows = a.shape()[a.shape().rank() - 2];
  const int64_t columns = LastExtent(b);
  const std::vector<float> of_a = TraceChannels(query, a, Counted(LastExtent(query)));
  const std::vector<float> of_b = TraceChannels(key, b, Counted(LastExtent(key)));
  const int64_t batches = static_cast<int64_t>(of_a.size()) / std::max<int64_t>(1, rows * inner);
  if (of_a.empty() || batches * inner * columns != static_cast<int64_t>(of_b.size())) {
    return std::nullopt;
  }
  std::vector<int64_t> partner(static_cast<size_t>(LastExtent(query)), -1);
  std::vector<int64_t> taken;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const auto from_a = of_a.begin() + batch * rows * inner;
    const auto from_b = of_b.begin() + batch * inner * columns;
    const auto left = ConstantAlong({from_a, from_a + rows * inner}, inner, 1);
    const auto right = ConstantAlong({from_b, from_b + inner * columns}, inner, columns);
    if (!left.has_value() || !right.has_value()) {
      return std::nullopt;
    }
    for (int64_t i = 0; i < inner; ++i) {
      int64_t& own = partner[static_cast<size_t>((*left)[static_cast<size_t>(i)])];
      if (own >= 0) {
        return std::nullopt;  // a channel that several heads read
      }
      own = (*right)[static_cast<size_t>(i)];
      taken.push_back(own);
    }
  }
  return AllDistinct(taken) ? std::optional(std::move(partner)) : std::nullopt;
}

}  // namespace

std::vector<ProductPlace> FindProductPlaces(Graph& graph) {
  std::vector<ProductPlace> places;
  for (Node* product : graph.TopologicalOrder()) {
    if (product->op() != OpKind::kMatMul || product->operand_count() != 2 ||
        product->operand(0)->is_constant() || product->operand(1)->is_constant() ||
        product->operand(0)->shape().rank() < 2 || product->operand(1)->shape().rank() < 2) {
      continue;
    }
    Node* query = SourceThroughMovement(product->operand(0));
    Node* key = SourceThroughMovement(product->operand(1));
    if (query == nullptr || key == nullptr || !TakesOutputScale(*query) ||
        !TakesOutputScale(*key)) {
      continue;
    }
    std::optional<std::vector<int64_t>> partner = Partners(*product, *query, *key);
    if (partner.has_value()) {
      places.push_back({product, query, key, *std::move(partner)});
    }
  }
  return places;
}

}  // namespace qb
