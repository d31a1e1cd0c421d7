// Plans without Python: groups give what operators give one by one, for arguments of every kind.
#include "torch/program/plan.h"

#include <cmath>
#include <cstring>

#include "check.h"
#include "torch/core/init.h"
#include "torch/core/ops.h"
#include "torch/core/pool.h"
#include "torch/program/text.h"

using namespace torch;
using namespace torch::program;

namespace {

constexpr const char* kChain = R"(graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %half : float = prim::Constant[value=0.5]()
  %a : Tensor = aten::mul(%x, %half)
  %b : Tensor = aten::add(%a, %y, %one)
  %c : Tensor = aten::tanh(%b)
  %d : Tensor = aten::sub(%c, %x, %one)
  return (%c, %d))";

Tensor ramp(IntArrayRef sizes, DType t, double step) {
  Tensor r = empty_tensor(sizes, t);
  for (int64_t i = 0; i < r.numel(); ++i)
    visit_dtype(
        t, [&](auto zero) { r.data<decltype(zero)>()[i] = Scalar(std::sin(double(i)) * step).to<decltype(zero)>(); });
  return r;
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes() || a.strides() != b.strides()) return false;
  const Tensor x = contiguous(a), y = contiguous(b);
  return !std::memcmp(x.data(), y.data(), size_t(x.numel() * x.item_size()));
}

void expect(const Plan& plan, const Tensor& x, const Tensor& y) {
  const Tensor c = torch::tanh(torch::add(torch::mul(x, scalar_tensor_of(0.5, DType::Float64, true)), y));
  const Tensor d = torch::sub(c, x);
  for (int run = 0; run < 3; ++run) {
    const Cell out = plan.call({Cell(x), Cell(y)});
    CHECK(same(out.items()[0].to_tensor(), c));
    CHECK(same(out.items()[1].to_tensor(), d));
  }
}

void test_a_chain_becomes_one_group() {
  const Plan plan(*parse_graph(kChain));
  CHECK(plan.describe().find("not planned yet") != std::string::npos);
  expect(plan, ramp({4, 5}, DType::Float32, 2), ramp({5}, DType::Float32, 3));
  CHECK(plan.describe().find("group  mul add tanh sub  (4, 5), 2 in, 2 out, ") != std::string::npos);
}

void test_sizes_dtypes_and_layouts() {
  const Plan plan(*parse_graph(kChain));
  for (int64_t n : {0, 1, 7, 1023, 1024, 1025, 40000})
    expect(plan, ramp({n}, DType::Float32, 2), ramp({n}, DType::Float32, 3));
  const Plan other(*parse_graph(kChain));
  for (DType t : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int32, DType::UInt8})
    expect(other, ramp({3, 4}, t, 50), transpose(ramp({4, 3}, DType::Float32, 1), 0, 1));
}

void test_threads_share_a_plan_of_any_number() {
  const Plan plan(*parse_graph(kChain));
  const Tensor x = ramp({200001}, DType::Float32, 2), y = ramp({200001}, DType::Float32, 1);
  const int before = num_threads();
  for (int threads : {1, 2, 4}) {
    set_num_threads(threads);
    expect(plan, x, y);
  }
  set_num_threads(before);
}

void test_errors_come_from_the_operator() {
  const Plan plan(*parse_graph(kChain));
  for (int run = 0; run < 3; ++run) plan.call({Cell(ramp({3}, DType::Float32, 1)), Cell(ramp({3}, DType::Float32, 1))});
  CHECK_THROWS(plan.call({Cell(ramp({3}, DType::Float32, 1)), Cell(ramp({4}, DType::Float32, 1))}), Runtime,
               "must match the size");
}

void test_a_loop_is_planned_within() {
  const Plan plan(*parse_graph(R"(graph(%x : Tensor, %n : int):
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %c : Tensor):
      %a : Tensor = aten::mul(%c, %two)
      %b : Tensor = aten::tanh(%a)
      -> (%true, %b)
  return (%y))"));
  const Tensor x = ramp({9}, DType::Float32, 1);
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = torch::tanh(torch::mul(y, scalar_tensor_of(int64_t(2), DType::Int64, true)));
  for (int run = 0; run < 3; ++run) CHECK(same(plan.call({Cell(x), Cell(5)}).to_tensor(), y));
  CHECK(plan.describe().find("group  mul tanh") != std::string::npos);
}

}  // namespace

int main() {
  torch::init();
  RUN(test_a_chain_becomes_one_group);
  RUN(test_sizes_dtypes_and_layouts);
  RUN(test_threads_share_a_plan_of_any_number);
  RUN(test_errors_come_from_the_operator);
  RUN(test_a_loop_is_planned_within);
  return torch::test::result();
}
