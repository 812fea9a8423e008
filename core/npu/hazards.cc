#include "core/npu/hazards.h"

#include <algorithm>

namespace qb::npu {

Clock Hazards::Needed(const Access& access, std::array<int, kMostCores>* culprit) {
  Clock needed{};
  work_ += static_cast<int64_t>(live_.size());
  for (const Access& other : live_) {
    const size_t core = static_cast<size_t>(other.core);
    if ((access.write || other.write) && other.done > needed[core] &&
        MayMeet(access.bytes, other.bytes)) {
      needed[core] = other.done;
      if (culprit != nullptr) {
        (*culprit)[core] = other.layer;
      }
    }
  }
  return needed;
}

void Hazards::EndLayer(const ByteRuns& output) {
  live_.erase(std::remove_if(live_.begin(), live_.end(),
                             [&](const Access& access) {
                               return access.bytes.offset >= output.offset &&
                                      access.bytes.end() <= output.end();
                             }),
              live_.end());
  live_.insert(live_.end(), pending_.begin(), pending_.end());
  pending_.clear();
}

std::vector<Access> AccessesOf(const integer::Layer& layer, const std::vector<int64_t>& addresses,
                               const PartLayer& part, Access access) {
  std::vector<Access> accesses;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const int64_t address = addresses[static_cast<size_t>(layer.inputs[i])];
    if (address >= 0) {  // constants never change
      access.write = false;
      access.bytes = part.reads[i];
      access.bytes.offset += address;
      accesses.push_back(access);
    }
  }
  access.write = true;
  access.bytes = part.write;
  access.bytes.offset += addresses[static_cast<size_t>(layer.output)];
  accesses.push_back(access);
  return accesses;
}

}  // namespace qb::npu
