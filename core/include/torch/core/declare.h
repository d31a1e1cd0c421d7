// What a row means where operators are declared: a tag with its functions, torch::op::sort, and a callable,
// torch::sort(x). The header of a family, ops/<family>.h, is this one and the family's rows.
#include "torch/core/operator.h"
#include "torch/core/ops/shorthand.def"

#define TORCH_OP(NAME, SCHEMA, ATTR, DOC)         \
  namespace torch {                               \
  namespace op {                                  \
  struct TORCH_API NAME {                         \
    static constexpr char text[] = SCHEMA;        \
    static void* functions[kEntries];             \
  };                                              \
  }                                               \
  TORCH_API extern const Operator<op::NAME> NAME; \
  }
