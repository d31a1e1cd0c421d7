// Functions of the operators of ops/binary.def: each is its row of loops.
#include "torch/core/ops/binary.h"

#include "dispatch/register.h"
#include "iterate/complex_loops.h"
#include "iterate/elementwise.h"
#include "levels/isa.h"

namespace torch {

TORCH_PER_ISA(extern const LoopRow binary_loops[];)

// Here the words of the list mean an index, a row of kOps, and functions to set.
#undef TORCH_BINARY
#undef TORCH_BINARY_RIGHT
#undef TORCH_BINARY_TENSOR
#undef TORCH_BINARY_PLAIN
#define TORCH_BINARY_RIGHT TORCH_BINARY
#define TORCH_BINARY_TENSOR TORCH_BINARY

namespace {

enum Index {
#define TORCH_BINARY(NAME, ATTR, DOC) k_##NAME,
#define TORCH_BINARY_PLAIN(NAME, ATTR, DOC) k_##NAME,
#include "torch/core/ops/binary.def"
#undef TORCH_BINARY
#undef TORCH_BINARY_PLAIN
  kCount
};
constinit LoopRow loops[kCount] = {};

constexpr Elementwise kOps[] = {
#define TORCH_BINARY(NAME, ATTR, DOC) {#NAME, &loops[k_##NAME], (ATTR).promotes_to_float},
#define TORCH_BINARY_PLAIN(NAME, ATTR, DOC) {#NAME, &loops[k_##NAME], (ATTR).promotes_to_float},
#include "torch/core/ops/binary.def"
#undef TORCH_BINARY
#undef TORCH_BINARY_PLAIN
};

template <Index I>
void check_one_dtype(const Tensor& self, const Tensor& other) {
  if constexpr (I == k_heaviside)
    TORCH_CHECK(self.dtype() == other.dtype(), "heaviside: expected both tensors to have one dtype, got ", self.dtype(),
                " and ", other.dtype());
}
template <Index I>
Tensor plain(const Tensor& self, const Tensor& other) {
  check_one_dtype<I>(self, other);
  return binary(kOps[I], self, other);
}
template <Index I>
Tensor in_place(const Tensor& self, const Tensor& other) {
  check_one_dtype<I>(self, other);
  // A zero divisor is found midway: nothing must be written by then.
  if constexpr (I == k_floor_divide || I == k_remainder || I == k_fmod)
    if (is_integral(self.dtype())) {
      check_in_place(kOps[I].name, self, self.sizes(), promoted_dtype(kOps[I], {&self, &other}));
      Tensor result = binary(kOps[I], self, other);
      check_in_place(kOps[I].name, self, result.sizes(), result.dtype());
      copy_into(self, result);
      return self;
    }
  return binary_(kOps[I], self, other);
}

}  // namespace

void register_binary() {
  fill_loops(loops, *TORCH_PICK_ISA(binary_loops), complex_binary_loops, kCount, kFirstBinary);
#define TORCH_BINARY(NAME, ATTR, DOC)    \
  set_native<op::NAME>(plain<k_##NAME>); \
  set_native<op::NAME##_>(in_place<k_##NAME>);
#define TORCH_BINARY_PLAIN(NAME, ATTR, DOC) set_native<op::NAME>(plain<k_##NAME>);
#include "torch/core/ops/binary.def"
}

}  // namespace torch
