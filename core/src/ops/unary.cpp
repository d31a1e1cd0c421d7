// Functions of the operators of ops/unary.def: each is its row of loops.
#include "torch/core/ops/unary.h"

#include "dispatch/register.h"
#include "iterate/complex_loops.h"
#include "iterate/elementwise.h"
#include "levels/isa.h"
#include "torch/core/ops/copy.h"

namespace torch {

TORCH_PER_ISA(extern const LoopRow unary_loops[];)

// Here the words of the list mean an index, a row of kOps, and functions to set.
#undef TORCH_UNARY
#undef TORCH_PREDICATE

namespace {

enum Index {
#define TORCH_UNARY(NAME, ATTR, DOC) k_##NAME,
#define TORCH_PREDICATE(NAME, ATTR, DOC) k_##NAME,
#include "torch/core/ops/unary.def"
#undef TORCH_UNARY
#undef TORCH_PREDICATE
  kCount
};
constinit LoopRow loops[kCount] = {};

constexpr Elementwise kOps[] = {
#define TORCH_UNARY(NAME, ATTR, DOC) {#NAME, &loops[k_##NAME], (ATTR).promotes_to_float},
#define TORCH_PREDICATE(NAME, ATTR, DOC) {#NAME, &loops[k_##NAME], (ATTR).promotes_to_float},
#include "torch/core/ops/unary.def"
#undef TORCH_UNARY
#undef TORCH_PREDICATE
};

void check_dtype(Index i, DType t) {
  if (t == DType::Bool) {
    TORCH_CHECK(
        i != k_neg,
        "neg: Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
        "use the `~` or `logical_not()` operator instead.");
    TORCH_CHECK(i != k_relu, "relu: Boolean inputs not supported for relu");
  }
  if (is_complex(t) && i == k_sign)
    throw_error(ErrorKind::NotImplemented, "sign: complex numbers have no sign; use torch.sgn instead");
}

template <Index I>
Tensor plain(const Tensor& self) {
  if constexpr (I == k_neg || I == k_relu || I == k_sign) check_dtype(I, self.dtype());
  if constexpr (I == k_abs)
    if (is_complex(self.dtype())) return unary({"abs", &complex_abs_loops, false}, self);
  if constexpr (I == k_square)  // a power of a bool is a number
    if (self.dtype() == DType::Bool) return _to_copy(self, DType::Int64);
  return unary(kOps[I], self);
}
template <Index I>
Tensor in_place(const Tensor& self) {
  if constexpr (I == k_neg || I == k_relu || I == k_sign) check_dtype(I, self.dtype());
  if constexpr (I == k_abs)
    TORCH_CHECK(!is_complex(self.dtype()), "abs_: the length of a complex number is real; use abs() instead");
  if constexpr (I == k_square)
    if (self.dtype() == DType::Bool) check_in_place("square_", self, self.sizes(), DType::Int64);
  return unary_(kOps[I], self);
}

}  // namespace

void register_unary() {
  fill_loops(loops, *TORCH_PICK_ISA(unary_loops), complex_unary_loops, kCount, kFirstUnary);
#define TORCH_UNARY(NAME, ATTR, DOC)     \
  set_native<op::NAME>(plain<k_##NAME>); \
  set_native<op::NAME##_>(in_place<k_##NAME>);
#define TORCH_PREDICATE(NAME, ATTR, DOC) set_native<op::NAME>(plain<k_##NAME>);
#include "torch/core/ops/unary.def"
}

}  // namespace torch
