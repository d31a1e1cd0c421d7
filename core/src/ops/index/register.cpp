#include "dispatch/register.h"

#include "ops/index/index.h"

namespace torch {

void register_index() {
  register_index_select();
  register_index_tensors();
  register_index_scatter();
  register_index_mask();
  register_index_search();
}

}  // namespace torch
