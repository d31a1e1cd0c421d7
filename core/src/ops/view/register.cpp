#include "dispatch/register.h"

#include "ops/view/geometry.h"

namespace torch {

void register_view() {
  register_view_shape();
  register_view_order();
  register_view_slicing();
  register_view_split();
  register_view_memory();
  register_view_scatter();
}

}  // namespace torch
