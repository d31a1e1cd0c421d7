// Operators whose result has no gradient: comparisons, questions, positions. A test requires every operator that takes
// a tensor to have a derivative, to be written in operators that have one, or to stand here.
#include "register.h"
#include "torch/autograd/record.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/quantized.h"
#include "torch/core/ops/sort.h"
#include "torch/core/ops/unary.h"

namespace torch::autograd {

void register_not_differentiable() {
  not_differentiable<op::eq, op::ne, op::lt, op::le, op::gt, op::ge>();
  not_differentiable<op::logical_and, op::logical_or, op::logical_xor, op::logical_not>();
  not_differentiable<op::isfinite, op::isinf, op::isnan, op::isneginf, op::isposinf, op::signbit>();
  not_differentiable<op::bitwise_and, op::bitwise_and_, op::bitwise_or, op::bitwise_or_, op::bitwise_xor,
                     op::bitwise_xor_, op::bitwise_not, op::bitwise_not_, op::bitwise_left_shift,
                     op::bitwise_left_shift_, op::bitwise_right_shift, op::bitwise_right_shift_>();
  not_differentiable<op::gcd, op::gcd_, op::lcm, op::lcm_>();
  not_differentiable<op::result_type_op, op::_holds>();
  not_differentiable<op::nonzero, op::nonzero_tuple, op::one_hot, op::searchsorted, op::isin, op::histc>();
  not_differentiable<op::int8_linear, op::int8_quantize, op::int8_dequantize, op::int8_add, op::int8_dense,
                     op::int8_convolution, op::int8_packed_convolution, op::int8_dynamic, op::int8_pack,
                     op::narrow_linear>();
  not_differentiable<op::repeat_interleave>();
}

}  // namespace torch::autograd
