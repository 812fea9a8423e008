// The subset of pickle that saved tensors need, as a machine over plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

// A value of the machine. Values refer to each other by index, so a cycle is harmless.
struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kTuple,
    kList,
    kDict,
    kGlobal,
    kStorage,
    kTensor
  };

  Kind kind = Kind::kNone;
  int64_t number = 0;      // kBool, kInt; elements of kStorage; offset in elements of kTensor
  std::string text;        // kText; "module name" of kGlobal; archive key of kStorage
  std::string dtype;       // kStorage: "FloatStorage", ...
  std::vector<int> items;  // kTuple, kList; kDict: key, value, key, value, ...
  int storage = -1;        // kTensor
  std::vector<int64_t> sizes, strides;  // kTensor
};

struct PickleResult {
  std::vector<PickleValue> values;
  int root = -1;
};

// Runs the pickle. Only names of tensors, their storages and OrderedDict may be called.
//
// Errors: InvalidArgument naming the opcode or name that is not accepted, or what is malformed;
// also above 16 MiB or 200 000 values.
absl::StatusOr<PickleResult> RunPickle(absl::string_view bytes);

}  // namespace qb
