// The CPU's loops of gather, scatter and scatter_add.
#include "ops/index/along.h"

#include <cstring>

#include "dispatch/work.h"
#include "kernels/truth.h"

namespace torch {

namespace {

void gather_along(const Tensor& x, int64_t dim, const Tensor& at, const Tensor& y) {
  const Walk w = walk_of(x, dim, at, y);
  const IndexKernels& k = index_kernels();
  const int c = size_class(x.item_size());
  const int64_t item = x.item_size(), *index_data = at.data<int64_t>();
  const char* from = x.data<char>();
  char* to = y.data<char>();
  parallel_for(w.rows, std::max<int64_t>(1, kAlongGrain / std::max<int64_t>(w.n, 1)), [&](int64_t begin, int64_t end) {
    each_row(w, begin, end, [&](int64_t a, int64_t b, int64_t first) {
      if (w.self_step == 0)
        k.gather_row[c](to + b * item, 1, from + a * item, w.along, index_data + first, 1, w.n);
      else if (w.self_step == 1)
        k.gather_across[c](to + b * item, from + a * item, w.along, index_data + first, w.n);
      else
        for (int64_t i = 0; i < w.n; ++i)
          std::memcpy(to + (b + i) * item, from + (a + index_data[first + i] * w.along + i * w.self_step) * item,
                      size_t(item));
    });
  });
}

struct Bytes16 {
  uint64_t low, high;
};
void put_along(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other) {
  const auto assign = [](auto& to, auto from) { to = from; };
  switch (self.item_size()) {
    case 1:
      return scatter_into<uint8_t>(self, dim, index, other, assign);
    case 2:
      return scatter_into<uint16_t>(self, dim, index, other, assign);
    case 4:
      return scatter_into<uint32_t>(self, dim, index, other, assign);
    case 8:
      return scatter_into<uint64_t>(self, dim, index, other, assign);
    default:
      return scatter_into<Bytes16>(self, dim, index, other, assign);
  }
}

void add_along(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other) {
  visit_dtype(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    scatter_into<Element<T>>(self, dim, index, other, [](Element<T>& to, Element<T> from) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        to = T(float(T(to)) + float(T(from)));
      else
        to = T(T(to) + T(from));
    });
  });
}

template <IndexMode mode, class T>
T joined(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(joined<mode>(float(a), float(b)));
  else if constexpr (mode == IndexMode::Multiply)
    return T(a * b);
  else if constexpr (std::is_floating_point_v<T>)
    return (mode == IndexMode::Max ? b > a : b < a) || b != b ? b : a;
  else
    return (mode == IndexMode::Max ? b > a : b < a) ? b : a;
}
template <IndexMode mode>
void join_along(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& other) {
  visit_dtype(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    constexpr bool complex = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;
    if constexpr (!complex || mode == IndexMode::Multiply)
      scatter_into<Element<T>>(self, dim, index, other,
                               [](Element<T>& to, Element<T> from) { to = joined<mode>(T(to), T(from)); });
  });
}

}  // namespace

void along_on_cpu(const char*, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor& other) {
  switch (mode) {
    case IndexMode::Take:
      return gather_along(self, dim, index, other);
    case IndexMode::Put:
      return put_along(self, dim, index, other);
    case IndexMode::Add:
      return add_along(self, dim, index, other);
    case IndexMode::Multiply:
      return join_along<IndexMode::Multiply>(self, dim, index, other);
    case IndexMode::Max:
      return join_along<IndexMode::Max>(self, dim, index, other);
    case IndexMode::Min:
      return join_along<IndexMode::Min>(self, dim, index, other);
  }
}

}  // namespace torch
