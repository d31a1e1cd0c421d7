// Layers: one function for all operators at a dispatch key, which the arguments, the thread or the process bring.
#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "torch/core/init.h"
#include "torch/core/kept.h"
#include "torch/core/ops.h"
#include "torch/core/profile.h"

using namespace torch;

namespace {

std::vector<std::string> seen;

std::string all_seen() {
  std::string all;
  for (const std::string& name : seen) all += (all.empty() ? "" : " ") + name;
  seen.clear();
  return all;
}

void trace(const Row& row, const Value* arguments, Result& result) {
  seen.push_back(std::string(row.schema.op_name()));
  row.invoke(arguments, result, keys_below(DispatchKey::Trace));
}
void trace_inside(const Row& row, const Value* arguments, Result& result) {
  seen.push_back(std::string(row.schema.op_name()));
  Readmit inner(DispatchKey::Trace);
  row.invoke(arguments, result, keys_below(DispatchKey::Trace));
}

// For a test, the layer of a dispatch key.
class Installed {
 public:
  Installed(DispatchKey dispatch_key, Layer layer) : key_(dispatch_key), before_(set_layer(dispatch_key, layer)) {}
  ~Installed() { set_layer(key_, before_); }

 private:
  DispatchKey key_;
  Layer before_;
};

bool no_keys() { return thread_keys.include == 0 && thread_keys.exclude == key(DispatchKey::Python); }
Tensor filled(IntArrayRef sizes, double value) { return full(sizes, value, DType::Float32); }

void test_a_layer_sees_every_operator_of_its_thread() {
  Installed tracer(DispatchKey::Trace, trace);
  Tensor a = filled({2, 3}, 1), w = filled({4, 3}, 2), b = filled({4}, 3);
  {
    Include tracing(DispatchKey::Trace);
    Tensor y = relu(linear(a, w, b));
    CHECK_EQ(y.data<float>()[7], 9.f);
    std::thread other([&] { torch::neg(a); });
    other.join();
  }
  torch::neg(a);
  CHECK_EQ(all_seen(), std::string("linear relu"));
  CHECK(no_keys());
}

void test_results_of_all_kinds_pass() {
  Installed tracer(DispatchKey::Trace, trace);
  Include tracing(DispatchKey::Trace);
  Tensor a = filled({4, 3}, 1);
  std::vector<Tensor> two = split(a, 3, 0);  // Tensor[]
  CHECK_EQ(two.size(), size_t(2));
  CHECK(two[1].sizes() == IntArrayRef({1, 3}));
  CHECK(allclose(a, a) && !equal(a, two[0]));  // bool
  auto [values, indices] = max_dim(a, 1);      // two tensors
  CHECK(values.sizes() == IntArrayRef({4}) && indices.dtype() == DType::Int64);
  CHECK(result_type_op(a, filled({1}, 2)) == DType::Float32);        // dtype
  auto [lu, pivots, info] = linalg_lu_factor_ex(filled({2, 2}, 1));  // three tensors
  CHECK_EQ(pivots.numel(), 2);
  CHECK_EQ(info.numel(), 1);
  const uint32_t version = a.version();
  Tensor b = add_(a, filled({3}, 1), Scalar(2));  // in place: the same tensor, changed once
  CHECK(b.get() == a.get());
  CHECK_EQ(a.data<float>()[0], 3.f);
  CHECK_EQ(a.version(), version + 1);
  seen.clear();
}

void test_arguments_of_all_kinds_pass() {
  static std::vector<int64_t> sizes;
  static double number, p;
  static bool has_dtype;
  Installed reader(DispatchKey::Trace, [](const Row& row, const Value* v, Result& r) {
    const Schema& s = row.schema;
    for (int i = 0; i < s.count; ++i) {
      if (s.params[i].kind == Kind::IntList && v[i].present)
        sizes.assign(static_cast<const int64_t*>(v[i].data), static_cast<const int64_t*>(v[i].data) + v[i].size);
      if (s.params[i].kind == Kind::Scalar && v[i].present) number = v[i].d;
      if (s.params[i].kind == Kind::Float) p = v[i].d;
      if (s.params[i].kind == Kind::DType) has_dtype = v[i].present;
    }
    row.invoke(v, r, keys_below(DispatchKey::Trace));
  });
  Include reading(DispatchKey::Trace);
  Tensor a = full({2, 5}, Scalar(0.5), DType::Float64);
  CHECK(sizes == std::vector<int64_t>({2, 5}));
  CHECK_EQ(number, 0.5);
  CHECK(has_dtype && a.dtype() == DType::Float64);
  Tensor s = sum(a, IntArrayRef({1}));
  CHECK(!has_dtype && sizes == std::vector<int64_t>({1}));
  CHECK_EQ(s.data<double>()[1], 2.5);
  dropout(a, 0.25, false);
  CHECK_EQ(p, 0.25);
  CHECK(clamp(a, std::nullopt, Scalar(0.25)).data<double>()[9] == 0.25);
  Scalar big(uint64_t(1) << 63);
  CHECK_EQ(full({1}, big, DType::UInt64).data<uint64_t>()[0], uint64_t(1) << 63);
}

void test_a_composite_is_seen_whole_or_with_what_it_calls() {
  Tensor a = filled({2, 2}, 3);
  {
    Installed tracer(DispatchKey::Trace, trace);
    Include tracing(DispatchKey::Trace);
    allclose(a, a);
    CHECK_EQ(all_seen(), std::string("allclose"));
  }
  Installed tracer(DispatchKey::Trace, trace_inside);
  Include tracing(DispatchKey::Trace);
  allclose(a, a);
  const std::string all = all_seen();
  CHECK(all.starts_with("allclose ") && all.find("isclose") != all.npos);
  CHECK(thread_keys.include == key(DispatchKey::Trace) && thread_keys.exclude == key(DispatchKey::Python));
}

void test_an_error_in_a_layer_restores_the_keys() {
  static bool itself;
  itself = true;
  Installed raising(DispatchKey::Trace, [](const Row& row, const Value* v, Result& r) {
    Readmit inner(DispatchKey::Trace);
    if (itself) throw_error(ErrorKind::Runtime, "the layer refuses");
    row.invoke(v, r, keys_below(DispatchKey::Trace));
  });
  Tensor a = filled({2}, 1), b = filled({3}, 1);
  {
    Include on(DispatchKey::Trace);
    CHECK_THROWS(torch::neg(a), Runtime, "the layer refuses");
    CHECK(thread_keys.include == key(DispatchKey::Trace) && thread_keys.exclude == key(DispatchKey::Python));
    itself = false;
    CHECK_THROWS(add(a, b), Runtime, "");
    CHECK(thread_keys.include == key(DispatchKey::Trace) && thread_keys.exclude == key(DispatchKey::Python));
  }
  CHECK(no_keys());
}

void test_a_layer_does_not_call_itself() {
  static int calls;
  calls = 0;
  Installed doubling(DispatchKey::Trace, [](const Row& row, const Value* v, Result& r) {
    ++calls;
    Tensor extra = torch::neg(ones({2}));  // would come back here for ever
    row.invoke(v, r);                      // and so would this
  });
  Tensor a = filled({2}, 0);
  Include on(DispatchKey::Trace);
  torch::exp(a);
  CHECK_EQ(calls, 1);
}

void test_a_layer_that_changes_arguments_works_on_a_copy() {
  Installed doubling(DispatchKey::Autocast, [](const Row& row, const Value* v, Result& r) {
    Value changed[kMaxParameters];
    std::copy_n(v, row.schema.count, changed);
    Tensor twice;
    if (row.schema.op_name() == "exp") {
      twice = add(reinterpret_cast<const Tensor&>(v[0].tensor), reinterpret_cast<const Tensor&>(v[0].tensor));
      changed[0].tensor = twice.get();
    }
    row.invoke(changed, r, keys_below(DispatchKey::Autocast));
  });
  Tensor a = filled({1}, 1);
  Include on(DispatchKey::Autocast);
  CHECK_NEAR(torch::exp(a).data<float>()[0], std::exp(2.0), 1e-5);
  CHECK_EQ(a.data<float>()[0], 1.f);
}

void test_functions_of_an_operator_go_before_its_layer() {
  Installed tracer(DispatchKey::Trace, trace);
  static int typed;
  typed = 0;
  OperatorFunctions<op::neg>::set(DispatchKey::Trace, [](const Tensor& self) -> Tensor {
    ++typed;
    return below<op::neg>(DispatchKey::Trace, self);
  });
  Tensor a = filled({1}, 0);
  {
    Include on(DispatchKey::Trace);
    torch::neg(torch::exp(a));
  }
  OperatorFunctions<op::neg>::set(DispatchKey::Trace, nullptr);
  CHECK_EQ(typed, 1);
  CHECK_EQ(all_seen(), std::string("exp"));
}

void test_layers_stand_in_the_order_of_their_slots() {
  static std::string order;
  order.clear();
  Installed upper(DispatchKey::Trace, [](const Row& row, const Value* v, Result& r) {
    order += "T";
    row.invoke(v, r, keys_below(DispatchKey::Trace));
  });
  Installed lower(DispatchKey::Autocast, [](const Row& row, const Value* v, Result& r) {
    order += "A";
    row.invoke(v, r, keys_below(DispatchKey::Autocast));
  });
  Tensor a = filled({1}, 0);
  Include trace_it(DispatchKey::Trace);
  Include cast_it(DispatchKey::Autocast);
  torch::neg(a);
  CHECK_EQ(order, std::string("TA"));
  order.clear();
  {
    Exclude upper_off(DispatchKey::Trace);
    torch::neg(a);
  }
  torch::neg(a);
  CHECK_EQ(order, std::string("ATA"));
}

void test_the_profiler_notes_calls_above_layers_and_is_told_from_them() {
  Installed tracer(DispatchKey::Trace, trace);
  Include on(DispatchKey::Trace);
  CHECK(!profile::on());
  const uint64_t session = profile::start(profile::kShapes);
  CHECK(profile::on());
  torch::exp(torch::neg(filled({2}, 0)));
  profile::Recording r = profile::stop(session);
  std::string names;
  for (const profile::Event& e : r.events) names += r.names[e.name] + " ";
  CHECK_EQ(names, std::string("aten::full aten::neg aten::exp "));
  CHECK_EQ(all_seen(), std::string("full neg exp"));
}

// --- a program written down, and run again on other tensors ---

struct Step {
  const Row* row;
  Kept arguments;
  std::vector<Tensor> results;
};
std::vector<Step> program;

void record(const Row& row, const Value* arguments, Result& result) {
  Kept kept(row.schema, arguments);
  row.invoke(arguments, result, keys_below(DispatchKey::Trace));
  std::vector<Tensor> results = result.list;
  for (const Tensor& t : result.tensors)
    if (t) results.push_back(t);
  program.push_back({&row, std::move(kept), std::move(results)});
}

Tensor run_again(const Tensor& input, const Tensor& other) {
  std::map<const TensorImpl*, Tensor> now{{input.get(), other}};
  Tensor last;
  for (Step& step : program) {
    step.arguments.for_each_tensor([&](Tensor& t) {
      if (auto at = now.find(t.get()); at != now.end()) t = at->second;
    });
    Result r;
    step.row->invoke(step.arguments.values(), r);
    std::vector<Tensor> results = r.list;
    for (const Tensor& t : r.tensors)
      if (t) results.push_back(t);
    for (size_t i = 0; i < results.size(); ++i) now.emplace(step.results[i].get(), results[i]);
    last = results[0];
  }
  return last;
}

Tensor calculate(const Tensor& x) {
  std::vector<Tensor> halves = split(x, 2, 1);
  std::vector<int64_t> dims{0};  // gone when the program runs again
  Tensor joined = cat({halves[1], halves[0], full({2, 1}, 0.5, DType::Float32)}, 1);
  std::string mode("floor");
  return sum(torch::div(joined, full({1}, 0.25, DType::Float32), std::string_view(mode)), IntArrayRef(dims));
}

void test_arguments_that_are_kept_make_the_call_again() {
  Installed recorder(DispatchKey::Trace, record);
  Tensor x = reshape(arange(Scalar(8), DType::Float32), {2, 4}), y = neg(x);
  {
    Include on(DispatchKey::Trace);
    calculate(x);
  }
  CHECK(program.size() >= 5);
  Tensor again = run_again(x, y), expected = calculate(y);
  CHECK(equal(again, expected) && !equal(again, calculate(x)));
  program.clear();
}

void test_a_key_without_a_layer_says_what_is_missing() {
  Tensor a = filled({1}, 0);
  Include on(DispatchKey::Wrapped);
  CHECK_THROWS(torch::neg(a), NotImplemented, "neg: no kernel for Wrapped tensors");
  CHECK(thread_keys.include == key(DispatchKey::Wrapped) && thread_keys.exclude == key(DispatchKey::Python));
}

}  // namespace

int main() {
  init();
  RUN(test_a_layer_sees_every_operator_of_its_thread);
  RUN(test_results_of_all_kinds_pass);
  RUN(test_arguments_of_all_kinds_pass);
  RUN(test_a_composite_is_seen_whole_or_with_what_it_calls);
  RUN(test_an_error_in_a_layer_restores_the_keys);
  RUN(test_a_layer_does_not_call_itself);
  RUN(test_a_layer_that_changes_arguments_works_on_a_copy);
  RUN(test_functions_of_an_operator_go_before_its_layer);
  RUN(test_layers_stand_in_the_order_of_their_slots);
  RUN(test_the_profiler_notes_calls_above_layers_and_is_told_from_them);
  RUN(test_arguments_that_are_kept_make_the_call_again);
  RUN(test_a_key_without_a_layer_says_what_is_missing);
  return torch::test::result();
}
