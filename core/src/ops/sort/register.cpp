#include "dispatch/register.h"

#include "ops/sort/rows.h"

namespace torch {

void register_sort() {
  register_sort_order();
  register_sort_select();
  register_sort_unique();
  register_sort_quantile();
}

}  // namespace torch
