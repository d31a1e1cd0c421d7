// Defines the operators of one family: their slots, their callables and their rows in the table. CMakeLists.txt
// compiles this file once for each family, with TORCH_FAMILY as its name.
#include "one_device.h"
#include "outlet.h"
#include "register.h"

#define TORCH_TEXT(PATH) #PATH
#define TORCH_FILE(PATH) TORCH_TEXT(PATH)
// clang-format off
#define TORCH_HEADER TORCH_FILE(torch/core/ops/TORCH_FAMILY.h)
#define TORCH_ROWS TORCH_FILE(torch/core/ops/TORCH_FAMILY.def)
// clang-format on
#include TORCH_HEADER

namespace torch {

#define TORCH_OP(NAME, SCHEMA, ATTR, DOC)         \
  constinit void* op::NAME::slots[kEntries] = {}; \
  const Operator<op::NAME> NAME;
#include TORCH_ROWS
#undef TORCH_OP

namespace {
constexpr Row kRows[] = {
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) \
  {detail::Signature<op::NAME>::schema, ATTR, DOC, &detail::invoke_boxed<op::NAME>, op::NAME::slots},
#include TORCH_ROWS
#undef TORCH_OP
};
}  // namespace

ArrayRef<Row> rows::TORCH_FAMILY::table() noexcept { return kRows; }

void rows::TORCH_FAMILY::connect() noexcept {
  const Row* row = kRows;
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) detail::connect<op::NAME>(*row++);
#include TORCH_ROWS
#undef TORCH_OP
}

void rows::TORCH_FAMILY::check_devices() noexcept {
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) detail::check_devices<op::NAME>(ATTR);
#include TORCH_ROWS
#undef TORCH_OP
}

}  // namespace torch
