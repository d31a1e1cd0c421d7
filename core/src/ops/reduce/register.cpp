#include "dispatch/register.h"

#include "ops/reduce/engine.h"

namespace torch {

void register_reduce() {
  register_reduce_sums();
  register_reduce_extremes();
  register_reduce_moments();
  register_reduce_norms();
  register_reduce_scan();
}

}  // namespace torch
