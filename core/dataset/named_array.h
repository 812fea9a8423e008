// An array out of a file, before it is paired with an input of the model.
#pragma once

#include <string>

#include "core/ir/tensor.h"

namespace qb {

struct NamedArray {
  std::string name;  // its name within the file; empty where files hold one
  Tensor value;
  bool is_image = false;  // pixels [H, W, C] of an image file: RGB order
  int orientation = 1;    // of an image: what EXIF says
};

}  // namespace qb
