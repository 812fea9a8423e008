#include "core/integer/network_digest.h"

#include <gtest/gtest.h>

#include <set>

namespace qb::integer {
namespace {

Network Small() {
  Network network;
  network.tensors = {{"x", DType::kInt8, Shape{1, 2, 2, 1}, 0.5f, 3},
                     {"y", DType::kInt8, Shape{1, 2, 2, 1}, 0.25f, -128},
                     {"z", DType::kInt8, Shape{1, 2, 2, 1}, 0.25f, -128}};
  ConvParams conv;
  conv.weights = {5};
  conv.weight_scales = {0.1f};
  conv.bias = {7};
  conv.requant = {{1 << 30, 31}};
  network.layers = {{"a", {0}, 1, conv}, {"b", {1}, 2, ReshapeParams{}}};
  network.inputs = {0};
  network.outputs = {2};
  return network;
}

TEST(NetworkDigest, NamesDoNotCountAndEverythingElseDoes) {
  Network renamed = Small();
  renamed.name = "other";
  renamed.tensors[0].name = "other";
  renamed.layers[0].name = "other";
  EXPECT_EQ(NetworkDigest(renamed), NetworkDigest(Small()));

  std::set<std::string> digests = {NetworkDigest(Small())};
  const auto expect_new = [&](const auto& change) {
    Network network = Small();
    change(network, std::get<ConvParams>(network.layers[0].params));
    EXPECT_TRUE(digests.insert(NetworkDigest(network)).second);
  };
  expect_new([](Network& network, ConvParams&) { network.tensors[0].zero_point = 4; });
  expect_new([](Network& network, ConvParams&) { network.tensors[1].scale = 0.26f; });
  expect_new([](Network& network, ConvParams&) { network.layers[1].inputs = {0}; });
  expect_new([](Network& network, ConvParams&) { network.layers[1].params = TransposeParams{}; });
  expect_new([](Network& network, ConvParams&) { network.constants = {{2, {1, 2, 3, 4}}}; });
  expect_new([](Network& network, ConvParams&) { network.outputs = {1}; });
  expect_new([](Network&, ConvParams& conv) { conv.weights = {6}; });
  expect_new([](Network&, ConvParams& conv) { conv.bias = {8}; });
  expect_new([](Network&, ConvParams& conv) { conv.requant[0].shift = 30; });
  expect_new([](Network&, ConvParams& conv) { conv.clamp_max = 126; });
  expect_new([](Network&, ConvParams& conv) { conv.pad_left = 1; });
}

}  // namespace
}  // namespace qb::integer
