#include "dispatch/register.h"

#include "ops/join/join.h"

namespace torch {

void register_join() {
  register_join_cat();
  register_join_repeat();
  register_join_pad();
}

}  // namespace torch
