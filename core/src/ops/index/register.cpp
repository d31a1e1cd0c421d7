#include "register.h"

#include "ops/index/index.h"

namespace torch {

void register_index() {
  register_index_select();
  register_index_tensors();
}

}  // namespace torch
