// NumPy's .npy format: versions 1 to 3, C and Fortran order, either byte order.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/ir/tensor.h"

namespace qb {

struct NpyHeader {
  TensorType type;
  bool big_endian = false;
  bool fortran_order = false;
  int64_t data_offset = 0;  // bytes from the start of the file to the first element
};

// Reads the header of a file's bytes and checks that the elements it promises are there.
//
// Errors: InvalidArgument saying what was found: no .npy, a header above 64 KiB, an element type
// that is no plain number (objects are never unpickled), a shape above 2^40 elements, missing
// bytes.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes);

// The array in row-major order and native byte order. Errors: those of ParseNpyHeader.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes);

// Errors: those of FileMap::Open and of ParseNpy.
absl::StatusOr<Tensor> ReadNpy(const std::string& path);

// Version 1.0, C order, little endian; the data start at a multiple of 64 bytes.
std::string SerializeNpy(const Tensor& tensor);

}  // namespace qb
