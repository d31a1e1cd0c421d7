// The iteration engine against plain nested loops, over layouts, dtypes and sizes.
#include "iterate/iterate.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "check.h"
#include "torch/core/init.h"
#include "torch/core/ops.h"

using namespace torch;

namespace {

std::mt19937 rng(7);
int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); }

// A float tensor of `sizes` whose strides are permuted, widened, negative or zero (only when `broadcast`).
Tensor make(IntArrayRef sizes, DType dtype, bool broadcast) {
  const int n = int(sizes.size());
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  if (pick(0, 1)) std::shuffle(order.begin(), order.end(), rng);
  std::vector<int64_t> strides(n), full(sizes.begin(), sizes.end());
  int64_t room = 1, offset = 0;
  for (int i = n - 1; i >= 0; --i) {
    const int d = order[i];
    if (broadcast && pick(0, 3) == 0) {
      strides[d] = 0;
      continue;
    }
    const int64_t gap = pick(0, 3) == 0 ? 2 : 1;
    strides[d] = room * gap;
    room *= std::max<int64_t>(1, full[d]) * gap;
    if (pick(0, 3) == 0 && full[d] > 0) {
      offset += strides[d] * (full[d] - 1);
      strides[d] = -strides[d];
    }
  }
  Tensor base = empty_tensor({room}, dtype);
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < room; ++i) base.data<T>()[i] = T(float(pick(0, 100)));
  });
  return view_of(base, sizes, strides, offset);
}

float at(const Tensor& t, IntArrayRef shape, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (int64_t d = 0; d < t.dim(); ++d) {
    const int64_t i = index[size_t(d + int64_t(shape.size()) - t.dim())];
    offset += (t.size(d) == 1 ? 0 : i) * t.stride(d);
  }
  return visit_dtype(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
      return float(t.data<T>()[offset].real());
    else
      return float(t.data<T>()[offset]);
  });
}

template <class F>
void for_each_index(IntArrayRef shape, F f) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t s : shape)
    if (s == 0) return;
  for (;;) {
    f(index);
    int d = int(shape.size()) - 1;
    for (; d >= 0; --d) {
      if (++index[size_t(d)] < shape[size_t(d)]) break;
      index[size_t(d)] = 0;
    }
    if (d < 0) return;
  }
}

void add_loop(char* const* data, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i)
    reinterpret_cast<float*>(data[0])[i] = reinterpret_cast<float*>(data[1])[i] + reinterpret_cast<float*>(data[2])[i];
}
constexpr DType kTypes[] = {DType::Float32, DType::Float32, DType::Int16, DType::Float64,
                            DType::UInt8,   DType::Float16, DType::Int64};

void random_layouts_agree_with_nested_loops() {
  const std::vector<std::vector<int64_t>> shapes = {
      {},          {1},           {5},        {0, 3},       {3, 0},
      {2, 3},      {70, 3},       {3, 200},   {40, 65},     {2000},
      {17, 130},   {5, 4, 3},     {33, 1, 7}, {100, 20, 3}, {2, 3, 4, 5},
      {40, 3, 70}, {3, 5, 2, 64}, {130, 130}, {2, 1100},    {2, 2, 2, 2, 2, 2, 2}};
  for (const auto& shape : shapes)
    for (int round = 0; round < 30; ++round) {
      const DType ta = kTypes[pick(0, 6)], tb = kTypes[pick(0, 6)],
                  to = kTypes[pick(0, 6)] == DType::UInt8 ? DType::Int32 : kTypes[pick(0, 3)];
      std::vector<int64_t> small = shape;
      for (auto& s : small)
        if (pick(0, 3) == 0 && s > 0) s = 1;
      if (!small.empty() && pick(0, 3) == 0) small.erase(small.begin());
      Tensor a = make(shape, ta, true), b = make(small, tb, true), out = make(shape, to, false);
      TensorImpl* operands[] = {out.get(), a.get(), b.get()};
      iterate({.loop = add_loop, .outputs = 1, .inputs = 2, .types = {DType::Float32, DType::Float32, DType::Float32}},
              operands);
      int64_t wrong = 0;
      for_each_index(shape, [&](const std::vector<int64_t>& i) {
        wrong += at(out, shape, i) != at(a, shape, i) + at(b, shape, i);
      });
      if (wrong) {
        CHECK_EQ(wrong, 0);
        std::fprintf(stderr, "  shape %zu dims, %s + %s -> %s\n", shape.size(), name(ta), name(tb), name(to));
      }
    }
}

void copies_between_all_pairs_of_dtypes_keep_small_numbers() {
  for (int from = 0; from < kDTypes; ++from)
    for (int to = 0; to < kDTypes; ++to)
      for (int64_t n : {1, 7, 1500}) {
        Tensor src = make({n, 2}, DType(from), false), dst = make({n, 2}, DType(to), false);
        copy_into(dst, src);
        int64_t wrong = 0;
        for_each_index(IntArrayRef(src.sizes()), [&](const std::vector<int64_t>& i) {
          float x = at(src, src.sizes(), i);
          if (DType(to) == DType::Bool) x = x != 0;
          wrong += at(dst, src.sizes(), i) != x;
        });
        if (wrong) std::fprintf(stderr, "  %s -> %s, n = %d\n", name(DType(from)), name(DType(to)), int(n));
        CHECK_EQ(wrong, 0);
      }
}

template <class From, class To>
To converted(From x) {
  Tensor src = empty_tensor({9}, dtype_of<From>), dst = empty_tensor({9}, dtype_of<To>);
  for (int i = 0; i < 9; ++i) src.data<From>()[i] = x;
  copy_into(dst, src);
  for (int i = 1; i < 9; ++i)
    CHECK(std::memcmp(&dst.data<To>()[i], &dst.data<To>()[0], sizeof(To)) == 0);  // the same in vector and tail
  return dst.data<To>()[8];
}

void conversions_at_the_edges() {
  const float inf = INFINITY, nan = NAN;
  CHECK_EQ((converted<float, uint8_t>(-1.0f)), 255);
  CHECK_EQ((converted<float, int8_t>(300.7f)), 44);
  CHECK_EQ((converted<float, uint32_t>(4e9f)), 4000000000u);
  CHECK_EQ((converted<double, uint64_t>(18446744073709549568.0)), 18446744073709549568ull);
  CHECK_EQ((converted<uint64_t, double>(18446744073709549568ull)), 18446744073709549568.0);
  CHECK_EQ((converted<int64_t, float>(int64_t(1) << 24 | 1)), 16777216.0f);
  CHECK_EQ((converted<int64_t, uint8_t>(-2)), 254);
  CHECK_EQ((converted<float, bool>(nan)), true);
  CHECK_EQ((converted<float, bool>(1e-45f)), true);
  CHECK_EQ((converted<int64_t, bool>(int64_t(1) << 40)), true);
  CHECK_EQ((converted<float, Half>(65519.0f).bits), 0x7bff);
  CHECK_EQ((converted<float, Half>(65520.0f).bits), 0x7c00);
  CHECK_EQ((converted<float, Half>(-inf).bits), 0xfc00);
  CHECK_EQ((converted<float, Half>(5.9604645e-08f).bits), 1);
  CHECK_EQ((converted<float, Half>(2.9802322e-08f).bits), 0);
  CHECK_EQ((converted<float, Half>(2.98023224e-08f * 1.01f).bits), 1);
  CHECK((converted<float, Half>(nan).bits & 0x7fff) > 0x7c00);
  CHECK((converted<float, BFloat16>(nan).bits & 0x7fff) > 0x7f80);
  CHECK_EQ((converted<float, BFloat16>(1.00390625f).bits), 0x3f80);  // a tie goes to even
  CHECK_EQ((converted<float, BFloat16>(3.4028235e38f).bits), 0x7f80);
  for (uint32_t bits = 0; bits < 65536; bits += 9) {  // all halves, nine at a time
    Tensor h = empty_tensor({9}, DType::Float16), f = empty_tensor({9}, DType::Float32);
    for (uint32_t i = 0; i < 9; ++i) h.data<Half>()[i].bits = uint16_t(bits + i);
    copy_into(f, h);
    for (int i = 0; i < 9; ++i) {
      const float expected = h.data<Half>()[i], got = f.data<float>()[i];
      if (!(std::isnan(expected) ? std::isnan(got) : std::bit_cast<uint32_t>(expected) == std::bit_cast<uint32_t>(got)))
        CHECK_EQ(got, expected);
    }
  }
}

void transposed_copies_are_exact_for_all_sizes() {
  for (DType t : {DType::UInt8, DType::Int16, DType::Float32, DType::Float64, DType::Complex128})
    for (int64_t rows : {4, 15, 16, 33, 100, 300})
      for (int64_t columns : {4, 16, 31, 64, 257, 1500}) {
        Tensor src = make({rows, columns}, t, false);
        src = contiguous_copy(src);
        Tensor turned = view_of(src, {columns, rows}, {1, columns}, 0), out = contiguous_copy(turned);
        int64_t wrong = 0;
        for_each_index(IntArrayRef(turned.sizes()), [&](const std::vector<int64_t>& i) {
          wrong += at(out, turned.sizes(), i) != at(turned, turned.sizes(), i);
        });
        CHECK_EQ(wrong, 0);
      }
}

void writing_to_an_expanded_tensor_is_refused() {
  Tensor base = empty_tensor({3}, DType::Float32), wide = view_of(base, {2, 3}, {0, 1}, 0);
  CHECK_THROWS(check_internal_overlap("add_", wide), Runtime, "more than one element of the written-to tensor");
}

void partial_overlap_is_refused_or_staged() {
  Tensor x = empty_tensor({10}, DType::Float32);
  Tensor head = view_of(x, {9}, {1}, 0), tail = view_of(x, {9}, {1}, 1), even = view_of(x, {5}, {2}, 0),
         odd = view_of(x, {5}, {2}, 1);
  CHECK_THROWS(check_overlap("add_", tail, head), Runtime,
               "some elements of the input tensor and the written-to tensor");
  CHECK(check_overlap("add_", x, view_of(x, {10}, {1}, 0)).data() == x.data());  // the same view
  CHECK(check_overlap("add_", even, odd).data() != odd.data());
}

void a_watch_sees_what_operators_of_its_thread_run() {
  struct Seen {
    int calls = 0;
    Kernel last{};
    TensorImpl* operands[3];
    static void note(void* self, const Kernel& k, TensorImpl* const* operands) {
      Seen& seen = *static_cast<Seen*>(self);
      ++seen.calls;
      seen.last = k;
      std::copy(operands, operands + k.outputs + k.inputs, seen.operands);
    }
  };
  const Tensor x = view_of(empty_tensor({3, 2}, DType::Float32), {2, 3}, {1, 2}, 0);
  std::fill_n(x.data<float>(), 6, 1.5f);
  Seen mine, other;
  Tensor y;
  {
    Watch watch(Seen::note, &mine);
    CHECK_EQ(watches.load(), 1);
    std::thread([&] { Watch elsewhere(Seen::note, &other); }).join();
    y = add(x, x, Scalar(2.0));
  }
  add(x, x);
  CHECK_EQ(watches.load(), 0);
  CHECK_EQ(mine.calls, 1);
  CHECK_EQ(other.calls, 0);
  CHECK_EQ(mine.last.outputs, 1);
  CHECK_EQ(mine.last.inputs, 2);
  CHECK(mine.last.types[0] == DType::Float32);
  CHECK_EQ(mine.last.scalar_bytes, 4);
  CHECK(mine.operands[0] == y.get());
  CHECK(mine.operands[1] == x.get() && mine.operands[2] == x.get());
  CHECK_NEAR(y.data<float>()[5], 4.5, 0);
}

// Sixteen operands: a sum of fifteen inputs of all layouts.
void kernels_may_have_many_operands() {
  auto sum = [](char* const* data, int64_t n, const void*) {
    for (int64_t i = 0; i < n; ++i) {
      float total = 0;
      for (int k = 1; k < kMaxOperands; ++k) total += reinterpret_cast<const float*>(data[k])[i];
      reinterpret_cast<float*>(data[0])[i] = total;
    }
  };
  Kernel kernel{.loop = sum, .outputs = 1, .inputs = kMaxOperands - 1, .types = {}};
  std::fill_n(kernel.types, kMaxOperands, DType::Float32);
  for (const bool broadcast : {false, true}) {
    std::vector<Tensor> all{empty_tensor({5, 70}, DType::Float32)};
    for (int k = 1; k < kMaxOperands; ++k) {
      Tensor t = empty_tensor({5, broadcast && k % 3 == 0 ? 1 : 70}, k % 4 == 0 ? DType::Int32 : DType::Float32);
      for (int64_t i = 0; i < t.numel(); ++i)
        t.dtype() == DType::Int32 ? void(t.data<int32_t>()[i] = k) : void(t.data<float>()[i] = float(k));
      all.push_back(t);
    }
    std::vector<TensorImpl*> operands;
    for (const Tensor& t : all) operands.push_back(t.get());
    iterate(kernel, operands.data());
    for (int64_t i = 0; i < 350; ++i) CHECK_EQ(all[0].data<float>()[i], 120.0f);
  }
}

}  // namespace

int main() {
  init();
  RUN(random_layouts_agree_with_nested_loops);
  RUN(copies_between_all_pairs_of_dtypes_keep_small_numbers);
  RUN(conversions_at_the_edges);
  RUN(transposed_copies_are_exact_for_all_sizes);
  RUN(writing_to_an_expanded_tensor_is_refused);
  RUN(partial_overlap_is_refused_or_staged);
  RUN(a_watch_sees_what_operators_of_its_thread_run);
  RUN(kernels_may_have_many_operands);
  return test::result();
}
