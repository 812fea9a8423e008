// Shares of a compile's time, as measured on models of several kinds.
#include "core/compiler/compile.h"

namespace qb {

std::vector<std::pair<std::string, double>> ParseStages() {
  return {{"import", 0.4}, {"optimize", 0.4}, {"write", 0.2}};
}

std::vector<std::pair<std::string, double>> QuantizeStages() {
  return {{"samples", 0.05},  {"calibrate", 0.46}, {"quantize", 0.05}, {"correct", 0.24},
          {"schedule", 0.03}, {"check", 0.13},     {"write", 0.02},    {"report", 0.02}};
}

// "write" comes twice (the temporary .mblt, the .mxq); its share is that of one.
std::vector<std::pair<std::string, double>> CompileStages() {
  return {{"import", 0.04},   {"optimize", 0.04}, {"samples", 0.05},  {"calibrate", 0.42},
          {"quantize", 0.05}, {"correct", 0.22},  {"schedule", 0.02}, {"check", 0.12},
          {"write", 0.02},    {"report", 0.02}};
}

}  // namespace qb
