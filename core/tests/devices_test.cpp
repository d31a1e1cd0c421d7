// Tensors of two devices in one call from C++: an exception, never a look at memory that is not there. No init(): the
// library has set its functions.
#include <vector>

#include "calls.h"
#include "check.h"
#include "torch/core/ops.h"

using namespace torch;

namespace {

Tensor on(DeviceType place, IntArrayRef sizes = {3, 3}) {
  Tensor t = empty_tensor(sizes, DType::Float32, place);
  return place == DeviceType::CPU ? fill_(t, Scalar(1.0)) : t;
}

void test_products_refuse_mixtures() {
  const Tensor cpu = on(DeviceType::CPU), meta = on(DeviceType::Meta);
  CHECK_THROWS(mm(cpu, meta), Runtime,
               "mm: Expected all tensors to be on the same device, but found (3, 3) torch.float32 on cpu and");
  CHECK_THROWS(mm(meta, cpu), Runtime, "on meta and (3, 3) torch.float32 on cpu; move one of them with .to(\"meta\")");
  CHECK_THROWS(cat(TensorList({cpu, meta}), 0), Runtime, "cat: Expected all tensors to be on the same device");
  CHECK_THROWS(addmm(cpu, cpu, meta), Runtime, "Expected all tensors");
}

void test_numbers_and_lists_of_indices_go_everywhere() {
  const Tensor meta = on(DeviceType::Meta);
  const Tensor place = fill_(empty_tensor({2}, DType::Int64), Scalar(int64_t(1)));
  CHECK(mul(meta, scalar_tensor_of(Scalar(2.0), DType::Float32)).is_meta());
  CHECK(index(meta, TensorList({place})).sizes() == IntArrayRef({2, 3}));
  CHECK(copy_(meta, on(DeviceType::CPU)).is_meta());
}

bool call(const Row& row, const Tensor& first, const Tensor& second) {
  const Tensor given[] = {first, second};
  const torch::test::GeneratedCall generated(row, given);
  if (generated.tensors < 2) return false;
  Result result;
  try {
    row.invoke(generated.values, result);
  } catch (const Error&) {
  } catch (const std::exception&) {
  }
  return true;
}

void test_every_operator_outlives_a_mixture() {
  int called = 0;
  for (const Row* row : all_rows())
    for (const auto& sizes : {std::vector<int64_t>{3, 3}, {2, 3, 3}, {4}})
      for (bool meta_first : {false, true}) {
        const Tensor cpu = on(DeviceType::CPU, sizes), meta = on(DeviceType::Meta, sizes);
        called += meta_first ? call(*row, meta, cpu) : call(*row, cpu, meta);
      }
  CHECK(called > 1000);
}

}  // namespace

int main() {
  RUN(test_products_refuse_mixtures);
  RUN(test_numbers_and_lists_of_indices_go_everywhere);
  RUN(test_every_operator_outlives_a_mixture);
  return torch::test::result();
}
