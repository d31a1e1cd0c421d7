// Functions of the operators of ops/special.def: loops that call the functions of special.h.
#define TORCH_ISA host
#include "dispatch/register.h"

#include <type_traits>

#include "iterate/elementwise.h"
#include "kernels/math.h"
#include "torch/core/interrupt.h"
#include "torch/core/ops/special.h"

namespace torch::special {
namespace {
void poll() { check_interrupt(); }
using Long = long double;
}  // namespace
}  // namespace torch::special
#include "ops/special/special.h"

// Here the words of the list mean loops and functions.
#undef TORCH_SPECIAL
#undef TORCH_SPECIAL2

namespace torch {

namespace special {
static double zeta(double s, double q) { return host::math::zeta_scalar(s, q); }
}  // namespace special

namespace {

template <auto f, class T>
void loop(char* const* data, int64_t n, const void*) {
  T* out = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_invocable_v<decltype(f), double>)
      out[i] = T(f(a[i]));
    else
      out[i] = T(f(a[i], reinterpret_cast<const T*>(data[2])[i]));
  }
}
// The place of each in ops/special.def.
enum Place : uint16_t {
#define TORCH_SPECIAL(NAME, ATTR, DOC) kPlace_##NAME,
#define TORCH_SPECIAL2(NAME, X, Y, ATTR, DOC) kPlace_##NAME,
#include "torch/core/ops/special.def"
#undef TORCH_SPECIAL
#undef TORCH_SPECIAL2
};
template <auto f>
constexpr LoopRow loops_of(Place place) {
  LoopRow row{.by_dtype = {}, .gives = Gives::Same, .heavy = true, .formula = uint16_t(kFirstSpecial + place)};
  row.by_dtype[int(DType::Float32)] = loop<f, float>;
  row.by_dtype[int(DType::Float64)] = loop<f, double>;
  return row;
}

#define TORCH_SPECIAL(NAME, ATTR, DOC) constexpr LoopRow k_##NAME = loops_of<special::NAME>(kPlace_##NAME);
#define TORCH_SPECIAL2(NAME, X, Y, ATTR, DOC) constexpr LoopRow k_##NAME = loops_of<special::NAME>(kPlace_##NAME);
#include "torch/core/ops/special.def"
#undef TORCH_SPECIAL
#undef TORCH_SPECIAL2

}  // namespace

void register_special() {
#define TORCH_SPECIAL(NAME, ATTR, DOC) \
  set_native<op::NAME>([](const Tensor& self) { return unary({#NAME, &k_##NAME, true}, self); });
#define TORCH_SPECIAL2(NAME, X, Y, ATTR, DOC) \
  set_native<op::NAME>([](const Tensor& x, const Tensor& y) { return binary({#NAME, &k_##NAME, true}, x, y); });
#include "torch/core/ops/special.def"
}

}  // namespace torch
