#include "dispatch/register.h"

#include "ops/create/create.h"

namespace torch {

void register_create() {
  register_create_factories();
  register_create_ranges();
  register_create_windows();
  register_create_grids();
  register_create_diagonals();
}

}  // namespace torch
