// Every operator as a C++ callable, declared from the rows in ops/*.def:  torch::add(a, b), torch::max_pool2d(x, {2,
// 2}).
#pragma once
#include "torch/core/operator.h"

#define TORCH_OP(NAME, SCHEMA, ATTR, DOC)  \
  namespace op {                           \
  struct TORCH_API NAME {                  \
    static constexpr char text[] = SCHEMA; \
    static void* slots[kSlots];            \
  };                                       \
  }                                        \
  TORCH_API extern const Operator<op::NAME> NAME;

namespace torch {
#include "torch/core/ops/all.def"
#ifdef TORCH_METHODS
#define TORCH_OVERLOADS(NAME, ...)                          \
  template <>                                               \
  struct detail::OverloadsOf<op::NAME> {                    \
    using Type = detail::Overloaded<op::NAME, __VA_ARGS__>; \
  };
#define TORCH_METHOD_OVERLOADS(NAME, ...)
#include "torch/core/ops/overloads.def"
#undef TORCH_OVERLOADS
#undef TORCH_METHOD_OVERLOADS
#endif
}  // namespace torch

#undef TORCH_OP
