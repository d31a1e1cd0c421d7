// Defines every operator of ops/*.def: its slots, its callable and its row in the table.
#include <mutex>

#include "register.h"
#include "torch/core/init.h"
#include "torch/core/ops.h"

namespace torch {

#define TORCH_OP(NAME, SCHEMA, ATTR, DOC)                                                                \
  constinit void* op::NAME::slots[kSlots] = {};                                                          \
  const Operator<op::NAME> NAME;                                                                         \
  namespace rows {                                                                                       \
  constexpr Row NAME = {detail::Signature<op::NAME>::schema, ATTR, DOC, &detail::invoke_boxed<op::NAME>, \
                        op::NAME::slots};                                                                \
  }
#include "torch/core/ops/all.def"
#undef TORCH_OP

namespace {
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) &rows::NAME,
constexpr const Row* kRows[] = {
#include "torch/core/ops/all.def"
};
#undef TORCH_OP
}  // namespace

void (*on_change)(TensorImpl*, const char*) noexcept = nullptr;
void (*refresh_view)(TensorImpl*) = nullptr;
constinit std::atomic<Keys> profiling_key{0};

ArrayRef<const Row*> all_rows() noexcept { return kRows; }

namespace {
#define TORCH_ALIAS(MODULE, NAME, OP) {MODULE, #NAME, #OP},
constexpr Alias kAliases[] = {
#include "torch/core/ops/aliases.def"
};
#undef TORCH_ALIAS
}  // namespace

ArrayRef<Alias> all_aliases() noexcept { return kAliases; }

int interface_number() noexcept { return TORCH_CORE_INTERFACE; }

void init() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_copy();
    register_unary();
    register_binary();
    register_pointwise();
    register_special();
    register_question();
    register_softmax();
    register_norm();
    register_loss();
    register_embedding();
    register_activation();
    register_matmul();
    register_contraction();
    register_linalg();
    register_random();
    register_view();
    register_create();
    register_join();
    register_index();
    register_reduce();
    register_sort();
    register_fft();
    register_stft();
    register_conv();
    register_pooling();
    register_unpooling();
    register_resample();
    register_sparse();
  });
}

void missing_kernel(std::string_view op, Slot slot) {
  if (slot == Slot::Autograd)
    throw_error(ErrorKind::NotImplemented,
                message(op,
                        ": no derivative is registered for an input that requires grad; detach() it, or install a "
                        "torch-autograd that knows the operator: pip install -U torch-autograd"));
  if (slot == Slot::CUDA)
    throw_error(ErrorKind::NotImplemented,
                message(op, ": no CUDA kernel; it needs the distribution 'torch-core-cuda', which is not installed"));
  if (slot == Slot::Sparse)
    throw_error(
        ErrorKind::NotImplemented,
        message(op, ": not implemented for tensors of layout torch.sparse_coo; convert with .to_dense() first"));
  throw_error(ErrorKind::NotImplemented,
              message(op, ": no kernel for ", name(slot), " tensors in this build of torch-core"));
}

void undefined_argument(std::string_view op, std::string_view argument) {
  throw_error(ErrorKind::Type, message(op, ": argument '", argument, "' must be a Tensor, not None"));
}

}  // namespace torch
