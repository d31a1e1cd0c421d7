// From operators that write to self to those that give their result back, for layers that compute something else.
#pragma once
#include "torch/core/row.h"

namespace torch {

// `mul` of `mul_`, by name and number of parameters; null where there is none.
inline const Row* plain_form(const Row& row) {
  const std::string_view op = row.schema.op_name();
  for (const Row* r : all_rows())
    if (r->schema.count == row.schema.count && op.size() > 1 && r->schema.op_name() == op.substr(0, op.size() - 1) &&
        r->schema.params[0].kind == Kind::Tensor && !r->schema.params[0].written)
      return r;
  return nullptr;
}

}  // namespace torch
