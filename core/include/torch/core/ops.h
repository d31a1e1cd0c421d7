// Every operator as a C++ callable: torch::add(a, b), torch::max_pool2d(x, {2, 2}). A file that needs a few families
// includes theirs (ops/<family>.h), so that a change of a row compiles what uses its family.
#pragma once
#include "torch/core/ops/activation.h"
#include "torch/core/ops/attention.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/contraction.h"
#include "torch/core/ops/conv.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/distance.h"
#include "torch/core/ops/embedding.h"
#include "torch/core/ops/fft.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/linalg.h"
#include "torch/core/ops/loss.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/norm.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/pooling.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/quantized.h"
#include "torch/core/ops/random.h"
#include "torch/core/ops/recurrent.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/softmax.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/ops/special.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

#ifdef TORCH_METHODS
namespace torch {
#define TORCH_OVERLOADS(NAME, ...)                          \
  template <>                                               \
  struct detail::OverloadsOf<op::NAME> {                    \
    using Type = detail::Overloaded<op::NAME, __VA_ARGS__>; \
  };
#define TORCH_METHOD_OVERLOADS(NAME, ...)
#include "torch/core/ops/overloads.def"
#undef TORCH_OVERLOADS
#undef TORCH_METHOD_OVERLOADS
}  // namespace torch
#endif
