// The seams for what is not in torch-core: a CUDA plug-in, sparse tensors, tracing. Each is a dispatch key that a
// library fills at run time; here one operator of each works on Meta tensors.
#include <cstdio>
#include <string>
#include <vector>

#include "check.h"
#include "torch/core/backend.h"
#include "torch/core/init.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/unary.h"

using namespace torch;

static Tensor meta_with(DispatchKey dispatch_key) {
  Tensor t = empty_tensor({2, 3}, DType::Float32, DeviceType::Meta);
  t->keys |= key(dispatch_key);
  return t;
}

static Tensor mark(const Tensor& t, DispatchKey dispatch_key) {
  t->keys |= key(dispatch_key);
  return t;
}

static void test_an_empty_slot_says_what_is_missing() {
  CHECK_THROWS(torch::exp(meta_with(DispatchKey::Sparse)), NotImplemented,
               "exp: not implemented for tensors of layout torch.sparse_coo; convert with .to_dense() first");
  CHECK_THROWS(neg(meta_with(DispatchKey::Wrapped)), NotImplemented, "neg: no kernel for Wrapped tensors");
  CHECK_THROWS(empty_tensor({2}, DType::Float32, DeviceType::CUDA), NotImplemented,
               "empty: no memory on device cuda; it needs the distribution 'torch-core-cuda'");
  CHECK_THROWS(missing_work("neg", DeviceType::CUDA), NotImplemented,
               "neg: no kernel for cuda tensors; it needs the distribution 'torch-core-cuda'");
}

static void test_sparse_operators_enter_by_their_slot() {
  for (DispatchKey dispatch_key : {DispatchKey::Sparse, DispatchKey::SparseCompressed}) {
    static DispatchKey current;
    current = dispatch_key;
    auto before = OperatorFunctions<op::neg>::get(dispatch_key);
    // A real one would work on indices and values; shape and keys are what Meta tensors have.
    OperatorFunctions<op::neg>::set(
        dispatch_key, [](const Tensor& self) -> Tensor { return mark(below<op::neg>(current, self), current); });
    Tensor r = neg(meta_with(dispatch_key));
    CHECK(r.has(dispatch_key) && r.is_meta());
    CHECK(r.sizes() == IntArrayRef({2, 3}));
    OperatorFunctions<op::neg>::set(dispatch_key, before);
  }
}

static void test_a_device_plug_in_may_fill_a_slot_itself() {
  const auto before = OperatorFunctions<op::neg>::get(DispatchKey::CUDA);
  OperatorFunctions<op::neg>::set(DispatchKey::CUDA, [](const Tensor& self) -> Tensor {
    Tensor r = empty_tensor(self.sizes(), self.dtype(), DeviceType::Meta);
    r->keys = key(DispatchKey::CUDA);
    return r;
  });
  Tensor t = empty_tensor({4}, DType::Float32, DeviceType::Meta);
  t->keys = key(DispatchKey::CUDA);
  CHECK(neg(t).has(DispatchKey::CUDA));
  OperatorFunctions<op::neg>::set(DispatchKey::CUDA, before);
}

static std::vector<std::string> traced;
static void test_tracing_sees_the_call_and_goes_on_below() {
  OperatorFunctions<op::add>::set(DispatchKey::Trace,
                                  [](const Tensor& a, const Tensor& b, const Scalar& alpha) -> Tensor {
                                    traced.push_back(op::add::text);
                                    return mark(below<op::add>(DispatchKey::Trace, a, b, alpha), DispatchKey::Trace);
                                  });
  Tensor r = add(add(meta_with(DispatchKey::Trace), meta_with(DispatchKey::Trace)),
                 empty_tensor({3}, DType::Float32, DeviceType::Meta));
  CHECK_EQ(traced.size(), size_t(2));
  CHECK(traced[0].starts_with("add(") && r.has(DispatchKey::Trace));
  OperatorFunctions<op::add>::set(DispatchKey::Trace, nullptr);
}

// A composite's function stands at the keys of wrappers, too: what it calls meets them one by one.
static void test_rows_say_which_operators_are_composites() {
  for (const Row* row : all_rows()) {
    const void* const function = row->functions[unsigned(DispatchKey::CPU)];
    if (!function) continue;
    const bool is_composite = function == row->functions[unsigned(DispatchKey::Wrapped)];
    if (is_composite != row->attr.is_composite) std::fprintf(stderr, "%s\n", row->schema.text);
    CHECK_EQ(is_composite, row->attr.is_composite);
  }
}

int main() {
  init();
  RUN(test_an_empty_slot_says_what_is_missing);
  RUN(test_sparse_operators_enter_by_their_slot);
  RUN(test_a_device_plug_in_may_fill_a_slot_itself);
  RUN(test_tracing_sees_the_call_and_goes_on_below);
  RUN(test_rows_say_which_operators_are_composites);
  return torch::test::result();
}
