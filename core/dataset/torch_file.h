// Tensors that torch.save wrote (.pt, .pth): a ZIP archive with a pickle in it.
//
// The pickle is read by a small machine that knows tensors, storages, dictionaries, lists and plain
// values. It runs nothing, imports nothing and refuses every other name and opcode.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/dataset/named_array.h"

namespace qb {

// A tensor gives one array without a name, a dictionary {name: tensor} one a name in its order, a
// list or tuple of one tensor that tensor. bfloat16 becomes float32.
//
// Errors: InvalidArgument saying what was found: no archive, the format of torch before 1.6, a name
// that is no tensor's ("posix.system"), a view that leaves its storage, quantized, sparse and
// complex tensors, big-endian files.
absl::StatusOr<std::vector<NamedArray>> ParseTorchFile(absl::string_view bytes);

}  // namespace qb
