// Calls of a row from only its schema: what has no default is one of the given tensors in turn, or a small number.
#pragma once
#include "torch/core/row.h"

namespace torch::test {

struct GeneratedCall {
  Value values[kMaxParameters];
  int tensors = 0;

  GeneratedCall(const Row& row, const Tensor (&given)[2]) {
    static constexpr int64_t ones[] = {1, 1, 1};
    const Schema& s = row.schema;
    for (int i = 0; i < s.count; ++i) {
      const Parameter& p = s.params[i];
      Value& v = values[i];
      if (p.kind == Kind::Tensor) {
        v.tensor = given[tensors++ % 2].get();
      } else if (p.kind == Kind::TensorList) {
        v.data = given;
        v.size = 2;
        tensors += 2;
      } else if (p.optional) {
        continue;
      } else if (p.kind == Kind::IntList) {
        v.data = ones;
        v.size = p.list_size ? p.list_size : 1;
      } else if (p.kind == Kind::Scalar || p.kind == Kind::Float) {
        v.scalar_kind = Scalar::Kind::Float;
        v.d = 1;
      } else if (p.kind == Kind::Int || p.kind == Kind::Bool) {
        v.i = 1;
      } else if (p.kind == Kind::DType) {
        v.i = int64_t(DType::Float32);
      } else if (p.kind == Kind::Str) {
        v.data = "sum";
        v.size = 3;
      } else {
        continue;
      }
      v.present = true;
    }
  }
};

}  // namespace torch::test
