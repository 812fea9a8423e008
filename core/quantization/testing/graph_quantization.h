// Graphs in text form, quantized and compared with the float executor.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "core/execute/executor.h"
#include "core/integer/run_layer.h"
#include "core/ops/graph_text.h"
#include "core/quantization/quantize.h"

namespace qb::testing {

inline absl::StatusOr<Graph> ParseGraph(const std::string& body) {
  return GraphFromText("graph \"g\" {\n" + body + "\n}");
}

inline std::vector<InputSpec> InputsOf(const Graph& graph) {
  std::vector<InputSpec> specs;
  for (const Node* input : graph.inputs()) {
    specs.push_back({input->name(), input->type()});
  }
  return specs;
}

inline absl::StatusOr<QuantizedModel> QuantizeGraph(const Graph& graph, const Dataset& dataset,
                                                    const QuantizationOptions& options = {}) {
  NullProgressSink sink;
  return Quantize(graph, dataset, options, sink, CancelToken());
}

inline std::vector<Tensor> RunInteger(const integer::Network& network,
                                      const std::vector<Tensor>& inputs) {
  std::vector<const void*> in;
  in.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    in.push_back(input.raw());
  }
  std::vector<Tensor> outputs;
  std::vector<void*> out;
  out.reserve(network.outputs.size());
  for (const int output : network.outputs) {
    const integer::TensorInfo& info = network.tensors[static_cast<size_t>(output)];
    outputs.push_back(Tensor::Allocate({info.dtype, info.shape}));
  }
  for (Tensor& output : outputs) {
    out.push_back(output.mutable_raw());
  }
  EXPECT_THAT(integer::RunNetwork(network, in, out), IsOk());
  return outputs;
}

// Signal to quantization noise over all samples of the first output, and the share of the noise
// that is a constant offset.
struct Noise {
  double sqnr_db = 0.0;
  double mean = 0.0;
};
inline Noise Measure(const Graph& graph, const integer::Network& network, const Dataset& dataset) {
  double signal = 0.0, noise = 0.0, offset = 0.0;
  int64_t count = 0;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::vector<Tensor> inputs = *dataset.Load(i);
    const std::vector<Tensor> want = *RunOnce(graph, inputs);
    const std::vector<Tensor> got = RunInteger(network, inputs);
    for (int64_t k = 0; k < want[0].elements(); ++k) {
      const double expected = want[0].data<float>()[k];
      const double error = got[0].data<float>()[k] - expected;
      signal += expected * expected;
      noise += error * error;
      offset += error;
      ++count;
    }
  }
  return {10.0 * std::log10(signal / std::max(noise, 1e-300)), offset / static_cast<double>(count)};
}

}  // namespace qb::testing
