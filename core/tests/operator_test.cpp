// Rows, schemas and dispatch as C++ users meet them.
#include "check.h"
#include "torch/core/init.h"
#include "torch/core/ops/pointwise.h"

using namespace torch;

static constexpr Schema kMax =
    parse_schema("max(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)");
static_assert(kMax.op_name() == "max" && kMax.count == 3 && kMax.required == 2 && kMax.returns_tuple());
static_assert(kMax.view(kMax.results[1].name) == "indices");
static constexpr Schema kPad = parse_schema("f(Tensor(a!) self, int[2] stride=1, *, Scalar? value=None) -> Tensor(a!)");
static_assert(kPad.in_place() && kPad.params[1].list_size == 2 && kPad.params[2].optional && kPad.positional == 2);

int main() {
  init();
  Tensor a = empty_tensor({2, 3}, DType::Float32), b = empty_tensor({2, 3}, DType::Float32);
  for (int i = 0; i < 6; ++i) a.data<float>()[i] = float(i), b.data<float>()[i] = 10;
  Tensor c = add(a, b, 2);
  CHECK(c.data<float>()[5] == 25);
  CHECK(add(a, b).sizes() == IntArrayRef({2, 3}));
  Tensor m = add(empty_tensor({2, 3}, DType::Float32, DeviceType::Meta),
                 empty_tensor({2, 3}, DType::Float32, DeviceType::Meta));
  CHECK(m.is_meta() && m.data() == nullptr);
  bool found = false;
  for (const Row* row : all_rows()) found |= row->schema.op_name() == "add";
  CHECK(found);
  return torch::test::result();
}
