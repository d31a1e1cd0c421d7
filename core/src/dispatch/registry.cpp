// The table of all operators, and what fills their functions.

#include "dispatch/families.h"
#include "dispatch/one_device.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "stored/stored.h"
#include "torch/core/features.h"
#include "torch/core/init.h"
#include "torch/core/operator.h"
#include "torch/core/tape.h"

namespace torch {

void (*on_change)(TensorImpl*, const char*) noexcept = nullptr;
void (*refresh_view)(TensorImpl*) = nullptr;
bool (*is_recording)() noexcept = nullptr;
const Tape* tape = nullptr;

ArrayRef<const Row*> all_rows() noexcept {
  static const std::vector<const Row*> all = [] {
    std::vector<const Row*> joined;
#define X(FAMILY) \
  for (const Row& row : rows::FAMILY::table()) joined.push_back(&row);
    TORCH_FOR_EACH_FAMILY(X)
#undef X
    return joined;
  }();
  return all;
}

namespace {
#define TORCH_ALIAS(MODULE, NAME, OP) {MODULE, #NAME, #OP},
constexpr Alias kAliases[] = {
#include "torch/core/ops/aliases.def"
};
#undef TORCH_ALIAS
}  // namespace

ArrayRef<Alias> all_aliases() noexcept { return kAliases; }

int interface_number() noexcept { return TORCH_CORE_INTERFACE; }
int feature_number() noexcept { return TORCH_CORE_FEATURES; }

void init() {
  // No std::call_once, here or elsewhere: it lives in thread-local storage of libstdc++, which is out of reach once a
  // library that was loaded before us has used it.
  [[maybe_unused]] static const bool done = [] {
    choose_instruction_set();
#define X(FAMILY) rows::FAMILY::connect();
    TORCH_FOR_EACH_FAMILY(X)
#undef X
#define X(FAMILY) \
  if constexpr (has_family(#FAMILY)) register_##FAMILY();
    TORCH_FOR_EACH_FAMILY(X)
#undef X
    register_stored();
#define X(FAMILY) \
  if constexpr (kAbsentFamilies.empty()) rows::FAMILY::guard_devices();
    TORCH_FOR_EACH_FAMILY(X)  // nothing of other devices is in a small library
#undef X
    return true;
  }();
}

namespace {
// A program's first call finds the tables filled. What is wrong (TORCH_CPU_LEVEL) is told by the init() that somebody
// calls.
[[gnu::constructor]] void fill_when_loaded() noexcept {
  try {
    init();
  } catch (...) {
  }
}
}  // namespace

std::string known_name(const Row& row) {
  if (row.attr.known_as) return row.attr.known_as;
  const std::string name(row.schema.op_name());
  return row.attr.python ? message(row.attr.python, ".", name) : name;
}

void missing_kernel(const Row& row, DispatchKey dispatch_key) {
  const std::string op = known_name(row);
  if (dispatch_key == DispatchKey::Autograd)
    throw_error(ErrorKind::NotImplemented,
                message(op,
                        ": no derivative is registered for an input that requires grad; detach() it, or install a "
                        "torch-autograd that knows the operator; python -m torch.doctor says from where"));
  if (dispatch_key == DispatchKey::CUDA) missing_work(op, DeviceType::CUDA);
  if (dispatch_key == DispatchKey::PrivateUse1) missing_work(op, DeviceType::PrivateUse1);
  if (dispatch_key == DispatchKey::Sparse)
    throw_error(
        ErrorKind::NotImplemented,
        message(op, ": not implemented for tensors of layout torch.sparse_coo; convert with .to_dense() first"));
  throw_error(ErrorKind::NotImplemented,
              message(op, ": no kernel for ", name(dispatch_key), " tensors in this build of torch-core"));
}

void undefined_argument(std::string_view op, std::string_view argument) {
  throw_error(ErrorKind::Type, message(op, ": argument '", argument, "' must be a Tensor, not None"));
}

void undefined_element(std::string_view op, std::string_view argument, size_t index) {
  throw_error(ErrorKind::Type, message(op, ": element ", index, " of ", argument, " must be a Tensor, not None"));
}

}  // namespace torch
