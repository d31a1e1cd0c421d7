// Tensors by formula over the index: arange, linspace, logspace, eye, triangles' indices.
#include <cmath>
#include <limits>

#include "dispatch/work.h"
#include "iterate/elementwise.h"
#include "ops/create/create.h"
#include "ops/create/fill.h"
#include "ops/create/write_sequence.h"
#include "torch/core/arithmetic.h"
#include "torch/core/layer.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"

namespace torch {

namespace {

using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<Device>;

int64_t arange_count(const char* op, const Scalar& start, const Scalar& end, const Scalar& step, bool inclusive) {
  TORCH_CHECK(!start.is_complex() && !end.is_complex() && !step.is_complex(), op,
              ": bounds and step must be real numbers");
  if (start.is_integral() && end.is_integral() && step.is_integral()) {
    __int128 from = start.to_int(), to = end.to_int(), by = step.to_int();
    TORCH_CHECK(by != 0, op, ": step must be nonzero");
    TORCH_CHECK(by > 0 ? to >= from : to <= from, op,
                ": upper bound and lower bound inconsistent with step sign: ", start, ", ", end, ", ", step);
    __int128 span = by > 0 ? to - from : from - to, stride = by > 0 ? by : -by;
    __int128 n = inclusive ? span / stride + 1 : (span + stride - 1) / stride;
    TORCH_CHECK(n <= INT64_MAX, op, ": invalid size, possible overflow");
    return int64_t(n);
  }
  double from = start.to_double(), to = end.to_double(), by = step.to_double();
  TORCH_CHECK(by != 0 && !std::isnan(by), op, ": step must be nonzero");
  TORCH_CHECK(std::isfinite(from) && std::isfinite(to), op, ": unsupported range: ", from, " -> ", to);
  TORCH_CHECK(by > 0 ? to >= from : to <= from, op,
              ": upper bound and lower bound inconsistent with step sign: ", start, ", ", end, ", ", step);
  double n = inclusive ? std::floor((to - from) / by) + 1 : std::ceil((to - from) / by);
  TORCH_CHECK(n < 9.2e18, op, ": invalid size, possible overflow");
  return int64_t(n);
}

// Integer dtypes count in whole steps: bounds and step lose their fractions, for int64 before they are counted.
Tensor arange_of(const char* op, const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
                 MaybeDevice device, bool inclusive) {
  auto is_finite = [](const Scalar& x) { return !x.is_complex() && std::isfinite(x.to_double()); };
  const bool whole = dtype == DType::Int64 && is_finite(start) && is_finite(end) && is_finite(step);
  TORCH_CHECK_VALUE(!whole || step.to_double() == 0 || step.to_int() != 0, op, ": step must be nonzero; ", step, " as ",
                    dtype, " is 0");
  const int64_t count = whole ? arange_count(op, start.to_int(), end.to_int(), step.to_int(), inclusive)
                              : arange_count(op, start, end, step, inclusive);
  Tensor out = empty_tensor({count}, dtype, device.value_or(Device()));
  if (is_integral(dtype) || (start.is_integral() && step.is_integral())) {
    generate(out, CountBy{uint64_t(start.to_int()), uint64_t(step.to_int())});
  } else {
    generate(out, StepBy{start.to_double(), step.to_double()});
  }
  return out;
}
DType arange_dtype(const Scalar& a, const Scalar& b, const Scalar& c) {
  return a.is_integral() && b.is_integral() && c.is_integral() ? DType::Int64 : default_dtype();
}
Tensor arange_kernel(const Scalar& end, MaybeDType dtype, MaybeDevice device) {
  return arange_of("arange", 0, end, 1, dtype.value_or(arange_dtype(0, end, 1)), device, false);
}
Tensor arange_start_kernel(const Scalar& start, const Scalar& end, const Scalar& step, MaybeDType dtype,
                           MaybeDevice device) {
  return arange_of("arange", start, end, step, dtype.value_or(arange_dtype(start, end, step)), device, false);
}
Tensor range_kernel(const Scalar& start, const Scalar& end, const Scalar& step, MaybeDType dtype, MaybeDevice device) {
  return arange_of("range", start, end, step, dtype.value_or(default_dtype()), device, true);
}

// Formulas of complex numbers are the CPU's: what is made here is moved.
template <class F>
void generate_complex(const Tensor& out, F f) {
  if (out.device().type == DeviceType::CPU) return write_sequence(out, f);
  if (out.is_meta()) return;
  const Tensor here = empty_tensor(out.sizes(), out.dtype());
  write_sequence(here, f);
  copy_into(out, here);
}

DType space_dtype(const Scalar& start, const Scalar& end) {
  return start.is_complex() || end.is_complex() ? complex_of(default_dtype()) : default_dtype();
}
void check_steps(const char* op, int64_t steps, const Scalar& start, const Scalar& end, DType dtype) {
  TORCH_CHECK(steps >= 0, op, ": number of steps must be non-negative, got ", steps);
  TORCH_CHECK((!start.is_complex() && !end.is_complex()) || is_complex(dtype), op, ": inferred dtype ",
              space_dtype(start, end), " can't be safely cast to passed dtype ", dtype);
}
Tensor linspace_kernel(const Scalar& start, const Scalar& end, int64_t steps, MaybeDType dtype, MaybeDevice device) {
  DType t = dtype.value_or(space_dtype(start, end));
  check_steps("linspace", steps, start, end, t);
  Tensor out = empty_tensor({steps}, t, device.value_or(Device()));
  if (is_complex(t))
    generate_complex(out, LineOf(start.to_complex(), end.to_complex(), steps));
  else if (is_integral(t))
    generate(out, LineOf(double(start.to_int()), double(end.to_int()), steps));
  else
    generate(out, LineOf(start.to_double(), end.to_double(), steps));
  return out;
}
Tensor logspace_kernel(const Scalar& start, const Scalar& end, int64_t steps, double base, MaybeDType dtype,
                       MaybeDevice device) {
  DType t = dtype.value_or(space_dtype(start, end));
  check_steps("logspace", steps, start, end, t);
  Tensor out = empty_tensor({steps}, t, device.value_or(Device()));
  if (is_complex(t))
    generate_complex(out, [base, f = LineOf(start.to_complex(), end.to_complex(), steps)](int64_t i) {
      return std::pow(std::complex<double>(base), f(i));
    });
  else if (is_integral(t))
    generate(out, PowersOf{base, LineOf(double(start.to_int()), double(end.to_int()), steps)});
  else
    generate(out, PowersOf{base, LineOf(start.to_double(), end.to_double(), steps)});
  return out;
}

void check_ends(const char* op, const Tensor& start, const Tensor& end) {
  TORCH_CHECK(start.dim() == 0 && end.dim() == 0, op, ": start and end must be numbers or 0-d tensors, got shapes ",
              start.sizes(), " and ", end.sizes());
}
// Of ends whose values cannot be read here: on another device, or of all examples of a batch. Nor are they where
// somebody watches the operators on the way, to whom a number would be a constant.
bool are_numbers(const Tensor& start, const Tensor& end) {
  if (thread_keys.include & key(DispatchKey::Dispatch)) return false;
  const auto is_number = [](const Tensor& t) { return t.has_memory() && t.device().type == DeviceType::CPU; };
  return is_number(start) && is_number(end);
}
Tensor line_of_tensors(const char* op, const Tensor& start, const Tensor& end, int64_t steps, DType t) {
  TORCH_CHECK(steps >= 0, op, ": number of steps must be non-negative, got ", steps);
  const DType wide = is_complex(t) ? DType::Complex128 : DType::Float64;
  const Device device = start.is_wrapped_number() ? end.device() : start.device();
  const Tensor a = _to_copy(detach(start), wide, device), b = _to_copy(detach(end), wide, device);
  return add(a, mul(sub(b, a), linspace(0, 1, steps, wide, device)));
}
DType space_dtype(const Tensor& start, const Tensor& end) {
  return is_complex(start.dtype()) || is_complex(end.dtype()) ? complex_of(default_dtype()) : default_dtype();
}

Tensor linspace_tensor_composite(const Tensor& start, const Tensor& end, int64_t steps, MaybeDType dtype,
                                 MaybeDevice device) {
  check_ends("linspace", start, end);
  const DType t = dtype.value_or(space_dtype(start, end));
  if (!are_numbers(start, end)) return _to_copy(line_of_tensors("linspace", start, end, steps, t), t, device);
  return linspace(number_of(start), number_of(end), steps, dtype, device);
}
Tensor logspace_tensor_composite(const Tensor& start, const Tensor& end, int64_t steps, double base, MaybeDType dtype,
                                 MaybeDevice device) {
  check_ends("logspace", start, end);
  const DType t = dtype.value_or(space_dtype(start, end));
  if (!are_numbers(start, end))
    return _to_copy(pow(number(base), line_of_tensors("logspace", start, end, steps, t)), t, device);
  return logspace(number_of(start), number_of(end), steps, base, dtype, device);
}

Tensor eye_kernel(int64_t n, std::optional<int64_t> m, MaybeDType dtype, MaybeDevice device) {
  int64_t cols = m.value_or(n);
  TORCH_CHECK(n >= 0, "eye: n must be greater or equal to 0, got ", n);
  TORCH_CHECK(cols >= 0, "eye: m must be greater or equal to 0, got ", cols);
  Tensor out = new_zeros_tensor({n, cols}, dtype.value_or(default_dtype()), device.value_or(Device()));
  if (out.is_meta() || out.numel() == 0) return out;
  if (out.device().type != DeviceType::CPU) {  // by one operator; a small matrix of the CPU costs less by hand
    fill_(diagonal(out), 1);
    return out;
  }
  visit_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, k = std::min(n, cols); i < k; ++i) out.data<T>()[i * cols + i] = T(1);
  });
  return out;
}

template <bool upper>
Tensor triangle_indices(int64_t rows, int64_t cols, int64_t offset, MaybeDType dtype, MaybeDevice device) {
  constexpr const char* op = upper ? "triu_indices" : "tril_indices";
  DType t = dtype.value_or(DType::Int64);
  TORCH_CHECK(rows >= 0 && cols >= 0, op, ": row and col must be non-negative, got row=", rows, ", col=", cols);
  TORCH_CHECK(t == DType::Int64 || t == DType::Int32, op, ": dtype must be torch.int64 or torch.int32, got ", t);
  // Columns of row r that belong to the triangle: [first(r), last(r)).
  auto clamp = [cols](__int128 x) { return x < 0 ? int64_t(0) : x > cols ? cols : int64_t(x); };
  auto first = [&](int64_t r) { return upper ? clamp(__int128(r) + offset) : 0; };
  auto last = [&](int64_t r) { return upper ? cols : clamp(__int128(r) + offset + 1); };
  // The first row that has any column, the rows that the diagonal crosses, and the sum of an arithmetic series there.
  auto row = [rows](__int128 r) { return r < 0 ? __int128(0) : r > rows ? __int128(rows) : r; };
  const __int128 above = row(-__int128(offset)), below = std::max(above, row(__int128(cols) - offset));
  const __int128 crossed = below - above, series = (above + below - 1 + 2 * __int128(offset)) * crossed / 2;
  const __int128 count = upper ? above * cols + crossed * cols - series : series + crossed + (rows - below) * cols;
  TORCH_CHECK(count <= std::numeric_limits<int64_t>::max() / 16, op, ": too many indices: row=", rows, ", col=", cols,
              ", offset=", offset);
  const int64_t n = int64_t(count), start = upper ? 0 : int64_t(above);
  Tensor out = empty_tensor({2, n}, t, device.value_or(Device()));
  if (out.is_meta()) return out;
  if (out.device().type != DeviceType::CPU) {  // made here, and moved
    copy_into(out, triangle_indices<upper>(rows, cols, offset, t, Device()));
    return out;
  }
  auto write = [&](auto* p) {
    for (int64_t r = start, k = 0; k < n; ++r)
      for (int64_t c = first(r); c < last(r); ++c, ++k) {
        p[k] = std::decay_t<decltype(*p)>(r);
        p[n + k] = std::decay_t<decltype(*p)>(c);
      }
  };
  if (t == DType::Int64)
    write(out.data<int64_t>());
  else
    write(out.data<int32_t>());
  return out;
}

}  // namespace

void register_create_ranges() {
  set_native<op::arange>(arange_kernel);
  set_native<op::arange_start>(arange_start_kernel);
  set_native<op::range>(range_kernel);
  set_native<op::linspace>(linspace_kernel);
  set_native<op::logspace>(logspace_kernel);
  set_composite<op::linspace_tensor>(linspace_tensor_composite);
  set_composite<op::logspace_tensor>(logspace_tensor_composite);
  set_native<op::eye>(eye_kernel);
  set_native<op::tril_indices>(triangle_indices<false>);
  set_native<op::triu_indices>(triangle_indices<true>);
}

}  // namespace torch
