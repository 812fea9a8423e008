#include "core/execute/kernels/weight_pack.h"

namespace qb::execute {

WeightPack::WeightPack(const memory::desc& in_graph, const memory::desc& wanted,
                       const Tensor* constant, const dnnl::engine& engine)
    : engine_(engine), in_graph_(in_graph), wanted_(wanted) {
  if (in_graph_ == wanted_) {
    return;
  }
  dnnl::reorder reorder(dnnl::reorder::primitive_desc(engine_, in_graph_, engine_, wanted_));
  if (constant == nullptr) {
    reorder_ = reorder;
    return;
  }
  dnnl::stream stream(engine_);
  packed_ = memory(wanted_, engine_);
  memory source = Bind(in_graph_, engine_, constant->raw());
  reorder.execute(stream, source, *packed_);
}

memory WeightPack::Get(const void* in_graph, void* scratch, dnnl::stream& stream) const {
  if (packed_.has_value()) {
    return *packed_;
  }
  memory source = Bind(in_graph_, engine_, in_graph);
  if (!reorder_.has_value()) {
    return source;
  }
  memory target = Bind(wanted_, engine_, scratch);
  dnnl::reorder(*reorder_).execute(stream, source, target);
  return target;
}

}  // namespace qb::execute
