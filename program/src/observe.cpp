#include "observe.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace torch::program {

namespace {

constexpr int64_t kRows = 2, kColumns = 3;

// Values that a formula may single out, and some that it does not.
constexpr double kNumbers[] = {0.75, 0, 1, 2, 3, -1, -2, 0.5, -0.5, 1e300};

Tensor number_tensor(const Tensor& like, double value) {
  Scalar s =
      is_integral(like.dtype()) || like.dtype() == DType::Bool
          ? Scalar(int64_t(value > 1e9 ? 7 : value))
          : Scalar(is_reduced_floating(like.dtype()) || like.dtype() == DType::Float32 ? std::min(value, 1e30) : value);
  return scalar_tensor_of(s, like.dtype(), like.is_wrapped_number());
}

// Six elements, transposed: operators on contiguous ones go past a watch.
Tensor stand_in(DType t, int seed) {
  Tensor base = empty_tensor({kColumns, kRows}, t);
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const double x =
        is_floating(t) || is_complex(t) ? 0.15 + 0.11 * double((i + seed) % 7) : 1 + double((i + seed) % 5);
    visit_dtype(t, [&](auto zero) {
      using T = decltype(zero);
      base.data<T>()[i] = Scalar(t == DType::Bool ? double((i + seed) % 2) : x).to<T>();
    });
  }
  return view_of(base, {kRows, kColumns}, {1, kRows}, 0);
}

bool is_stand_in_like(const Tensor& t) {
  return t.dim() == 2 && t.size(0) == kRows && t.size(1) == kColumns && t.stride(0) == 1 && t.stride(1) == kRows &&
         t.has_memory() && t.device().type == DeviceType::CPU;
}

struct Watched {
  Observed out;
  std::map<TensorImpl*, int> known;
  std::vector<Tensor> alive;  // an address is that of one tensor only
  bool failed = false;

  int add(const Tensor& t, TileValue::Role role) {
    alive.push_back(t);
    TileValue v{t.dtype(), role};
    if (role == TileValue::Role::Number) std::memcpy(v.number, t.data(), size_t(t.item_size()));
    out.values.push_back(v);
    return known[t.get()] = int(out.values.size()) - 1;
  }
  void see(const Kernel& k, TensorImpl* const* operands) {
    if (k.outputs + k.inputs > TileCall::kOperands || (k.scalars && k.scalar_bytes < 0)) {
      failed = true;
      return;
    }
    TileCall c{k.loop, k.outputs, k.inputs, {}, {}, {}, k.grain < 32768};
    if (k.scalars)
      c.scalars.assign(static_cast<const char*>(k.scalars), static_cast<const char*>(k.scalars) + k.scalar_bytes);
    for (int i = k.outputs; i < k.outputs + k.inputs; ++i) {
      const Tensor t = Ref<TensorImpl>::share(operands[i]);
      c.types[i] = k.types[i];
      auto at = known.find(t.get());
      if (at != known.end())
        c.values[i] = at->second;
      else if (t.dim() == 0 && t.has_memory())
        c.values[i] = add(t, TileValue::Role::Number);  // which the operator made
      else
        failed = true;
      failed |= t.dim() != 0 && !is_stand_in_like(t);
    }
    for (int i = 0; i < k.outputs; ++i) {
      const Tensor t = Ref<TensorImpl>::share(operands[i]);
      c.types[i] = k.types[i];
      failed |= !is_stand_in_like(t);
      // Written again: another value.
      c.values[i] = add(t, TileValue::Role::Made);
    }
    if (!failed) out.calls.push_back(c);
  }
  static void see_for(void* self, const Kernel& k, TensorImpl* const* operands) {
    static_cast<Watched*>(self)->see(k, operands);
  }
};

struct Run {
  Watched watched;
  Result result;
  std::vector<Tensor> inputs;
  bool failed = true;
};

// One call under watch. `number`: what arguments of one element hold, other than constants.
void call(const Row& row, const torch::Value* arguments, const std::vector<TensorArgument>& tensors, double number,
          int seed, Run& run) {
  torch::Value values[kMaxParameters];
  std::copy(arguments, arguments + row.schema.count, values);
  for (const TensorArgument& a : tensors) {
    Tensor t;
    if (a.same_as >= 0)
      t = run.inputs[size_t(a.same_as)];
    else if (a.is_constant && a.tensor.dim() == 0)
      t = a.tensor;
    else
      t = a.tensor.dim() == 0 ? number_tensor(a.tensor, number) : stand_in(a.tensor.dtype(), seed++);
    run.inputs.push_back(t);
    values[a.parameter].tensor = t.get();
    values[a.parameter].present = true;
    if (a.same_as >= 0) {
      run.watched.out.values.push_back({t.dtype(), TileValue::Role::Input});  // counts, and is never read
      continue;
    }
    const bool fixed = a.is_constant && a.tensor.dim() == 0;
    run.watched.add(t, fixed ? TileValue::Role::Number : TileValue::Role::Input);
  }
  Watch watch(Watched::see_for, &run.watched);
  try {
    row.invoke(values, run.result);
    run.failed = run.watched.failed;
    if (run.watched.out.calls.size() == 1) run.watched.out.calls[0].op = row.schema.op_name();
  } catch (const Error&) {
  }
}

bool same_values(const Observed& a, const Observed& b) {
  if (a.values.size() != b.values.size() || a.calls != b.calls) return false;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const TileValue &x = a.values[i], &y = b.values[i];
    if (x.type != y.type || x.role != y.role || std::memcmp(x.number, y.number, sizeof x.number)) return false;
  }
  return true;
}

// Whether the loops give what the operator gave.
bool agrees(const Row& row, const Run& run, Observed found) {
  for (int r : found.results) found.values[size_t(r)].is_output = true;
  const Tiles tiles(found.values, found.calls);
  const Kernel kernel = tiles.kernel();
  std::vector<TensorImpl*> operands;
  std::vector<Tensor> made;
  for (size_t v = 0; v < found.values.size(); ++v)
    if (found.values[v].is_output) operands.push_back(made.emplace_back(stand_in(found.values[v].type, 0)).get());
  for (size_t v = 0; v < run.inputs.size(); ++v)
    if (found.values[v].role == TileValue::Role::Input) operands.push_back(run.inputs[v].get());
  iterate(kernel, operands.data());
  for (int i = 0; i < row.schema.result_count; ++i) {
    const Tensor& expected = run.result.tensors[i];
    size_t at = 0;
    for (int v = 0; v < found.results[size_t(i)]; ++v) at += found.values[size_t(v)].is_output;
    if (std::memcmp(expected.data(), made[at].data(), size_t(kRows * kColumns * expected.item_size()))) return false;
  }
  return true;
}

}  // namespace

std::optional<Observed> observe(const Row& row, const torch::Value* arguments,
                                const std::vector<TensorArgument>& tensors) {
  Run first;
  call(row, arguments, tensors, kNumbers[0], 0, first);
  if (first.failed || first.watched.out.calls.empty()) return {};
  Observed found = first.watched.out;
  for (int i = 0; i < row.schema.result_count; ++i) {
    const Tensor& r = first.result.tensors[i];
    if (row.schema.results[i].kind != Kind::Tensor || !r || !is_stand_in_like(r)) return {};
    auto at = first.watched.known.find(r.get());
    if (at == first.watched.known.end() || found.values[size_t(at->second)].role != TileValue::Role::Made) return {};
    found.results.push_back(at->second);
  }
  bool has_number = false;
  for (const TensorArgument& a : tensors) has_number |= !a.is_constant && a.tensor.dim() == 0;
  // Other values, the same loops.
  const int times = has_number ? int(std::size(kNumbers)) : 2;
  for (int k = 1; k < times; ++k) {
    Run again;
    call(row, arguments, tensors, kNumbers[k], 3 * k, again);
    if (again.failed && again.watched.out.calls.empty()) return {};
    if (!same_values(first.watched.out, again.watched.out)) return {};
    if (!again.failed && !agrees(row, again, found)) return {};
  }
  if (!agrees(row, first, found)) return {};
  return found;
}

}  // namespace torch::program
