// out= from C++: results written to tensors that the caller has.
#include "torch/core/out.h"

#include <vector>

#include "check.h"
#include "torch/core/ops.h"

using namespace torch;

namespace {

template <class Tag>
const Row& row_of() {
  return OperatorFunctions<Tag>::row();
}
Value value_of(const Tensor& t) {
  Value v;
  v.tensor = t.get();
  v.present = true;
  return v;
}
Value value_of(int64_t i) {
  Value v;
  v.i = i;
  v.scalar_kind = Scalar::Kind::Int;
  v.present = true;
  return v;
}

void test_a_loop_writes_there_itself() {
  const Tensor a = ones({2, 3}), out = zeros({2, 3});
  const void* memory = out.data();
  const uint32_t version = out.version();
  Value arguments[] = {value_of(a), value_of(a), value_of(int64_t(1))};
  row_of<op::add>().invoke_into(arguments, TensorList(&out, 1));
  CHECK(out.data() == memory && out.data<float>()[5] == 2);
  CHECK(out.version() > version);
}

void test_another_size_or_dtype_is_resized_and_converted() {
  const Tensor a = ones({2, 3}), out = empty({0}, DType::Float64);
  Value arguments[] = {value_of(a), value_of(a), value_of(int64_t(1))};
  row_of<op::add>().invoke_into(arguments, TensorList(&out, 1));
  CHECK(out.sizes() == IntArrayRef({2, 3}) && out.data<double>()[0] == 2);
}

void test_a_factory_takes_the_dtype_of_out() {
  const Tensor out = empty({2, 2}, DType::Int32);
  const Value arguments[] = {value_of(int64_t(4)), Value(), Value()};
  row_of<op::arange>().invoke_into(arguments, TensorList(&out, 1));
  CHECK(out.sizes() == IntArrayRef({2, 2}) && out.data<int32_t>()[3] == 3);  // as many numbers in another shape
}

void test_an_input_may_be_the_output() {
  const Tensor a = add(ones({4}), ones({4}));
  Value arguments[] = {value_of(a), value_of(a)};
  row_of<op::mul>().invoke_into(arguments, TensorList(&a, 1));
  CHECK_EQ(a.data<float>()[3], 4.0f);
  const Tensor m = ones({3, 3});
  Value product[] = {value_of(m), value_of(m)};
  row_of<op::mm>().invoke_into(product, TensorList(&m, 1));
  CHECK_EQ(m.data<float>()[8], 3.0f);
}

void test_several_results_have_an_out_each() {
  const Tensor x = arange(Scalar(3.0)), values = empty({0}), places = empty({0}, DType::Int64);
  Value arguments[] = {value_of(x), value_of(int64_t(-1)), value_of(int64_t(1)), value_of(int64_t(0))};
  const Tensor both[] = {values, places};
  row_of<op::sort>().invoke_into(arguments, both);
  CHECK(values.data<float>()[0] == 2 && places.data<int64_t>()[0] == 2);
}

void test_what_is_refused_leaves_out_as_it_was() {
  const Tensor a = ones({2, 3}), out = zeros({2, 3}, DType::Int64);
  Value arguments[] = {value_of(a), value_of(a), value_of(int64_t(1))};
  const Row& row = row_of<op::add>();
  CHECK_THROWS(row.invoke_into(arguments, TensorList(&out, 1)), Runtime,
               "can't be cast to the desired output type Long");
  CHECK(out.data<int64_t>()[0] == 0 && out.version() == 0);
  const Tensor broadcast = expand(zeros({1, 3}), {2, 3});
  CHECK_THROWS(row.invoke_into(arguments, TensorList(&broadcast, 1)), Runtime, "more than one element");
  const Tensor meta = empty({2, 3}, DType::Float32, Device(DeviceType::Meta));
  CHECK_THROWS(row.invoke_into(arguments, TensorList(&meta, 1)), Runtime, "Expected out tensor to be on cpu");
  CHECK_THROWS(row.invoke_into(arguments, {}), Runtime, "add: gives 1 results that out= can take, not 0");
  const Tensor none;
  CHECK_THROWS(row.invoke_into(arguments, TensorList(&none, 1)), Runtime, "argument 'out' must be Tensor, not None");
}

void test_a_tracer_sees_the_copy() {
  static int copies;
  copies = 0;
  set_layer(DispatchKey::Trace, [](const Row& row, const Value* arguments, Result& result) {
    copies += row.schema.op_name() == "copy_";
    row.invoke(arguments, result, keys_below(DispatchKey::Trace));
  });
  const Tensor a = ones({4}), out = zeros({4});
  Value arguments[] = {value_of(a), value_of(a), value_of(int64_t(1))};
  {
    Include tracing(DispatchKey::Trace);
    row_of<op::add>().invoke_into(arguments, TensorList(&out, 1));
  }
  set_layer(DispatchKey::Trace, nullptr);
  CHECK_EQ(copies, 1);
  CHECK_EQ(out.data<float>()[0], 2.0f);
}

}  // namespace

int main() {
  RUN(test_a_loop_writes_there_itself);
  RUN(test_another_size_or_dtype_is_resized_and_converted);
  RUN(test_a_factory_takes_the_dtype_of_out);
  RUN(test_an_input_may_be_the_output);
  RUN(test_several_results_have_an_out_each);
  RUN(test_what_is_refused_leaves_out_as_it_was);
  RUN(test_a_tracer_sees_the_copy);
  return torch::test::result();
}
