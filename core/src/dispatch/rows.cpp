// Defines the operators of one family: their tables of functions, their callables and their rows in the table.
// CMakeLists.txt compiles this file once for each family, with TORCH_FAMILY as its name.
#include "dispatch/one_device.h"
#include "dispatch/outlet.h"
#include "dispatch/register.h"

#define TORCH_TEXT(PATH) #PATH
#define TORCH_FILE(PATH) TORCH_TEXT(PATH)
// clang-format off
#define TORCH_HEADER TORCH_FILE(torch/core/ops/TORCH_FAMILY.h)
#define TORCH_ROWS TORCH_FILE(torch/core/ops/TORCH_FAMILY.def)
// clang-format on
#include TORCH_HEADER

namespace torch {

#define TORCH_OP(NAME, SCHEMA, ATTR, DOC)             \
  constinit void* op::NAME::functions[kEntries] = {}; \
  const Operator<op::NAME> NAME;
#include TORCH_ROWS
#undef TORCH_OP

namespace {
constexpr Row kRows[] = {
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) \
  {detail::Signature<op::NAME>::schema, ATTR, DOC, &detail::invoke_boxed<op::NAME>, op::NAME::functions},
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

void rows::TORCH_FAMILY::guard_devices() noexcept {
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC)                                   \
  if constexpr (constexpr bool checks = detail::is_checked<op::NAME>(ATTR); \
                checks || !((ATTR).is_composite || (ATTR).is_view))         \
    detail::guard_devices<op::NAME, checks>();
#include TORCH_ROWS
#undef TORCH_OP
}

}  // namespace torch
