// Operators that programs bring: rows whose schema is parsed at run time and whose function is boxed.
//
//   const Row& row = add_row("mine::twice(Tensor x) -> Tensor", [](const Row&, DispatchKey at, const Value* v, Result&
//   r) {
//     if (at == DispatchKey::Autograd) return false;  // nothing to say there: the call goes on to the next key
//     r.tensors[0] = mul(unbox<Tensor>(v[0]), 2);
//     return true;
//   });
//   row.invoke(values, result);
//
// Layers (profile, autocast, vmap, dual numbers, __torch_dispatch__) see them as they see every operator. C++ programs
// register theirs by TORCH_LIBRARY (torch/library.h), which leaves notes here for torch.library to read.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "torch/core/row.h"

namespace torch {

// Runs the operator at one of the keys that a call has, from the highest one down; false: not here.
using Boxed = std::function<bool(const Row& row, DispatchKey at, const Value* arguments, Result& result)>;

// The row lives as long as the process. RuntimeError for a schema that cannot be read. Types are those of schema.h; a
// name has its namespace in front, so that it is none of torch's own.
TORCH_API const Row& add_row(std::string schema, Attr attr, Boxed boxed);
// Those that were added so far, after the first `known` of them.
TORCH_API std::vector<const Row*> added_rows(size_t known = 0);

// What one line of TORCH_LIBRARY says: a schema, a function, or both.
struct Registration {
  std::string space, op;  // "mine", "twice"
  std::string schema;     // "twice(Tensor x) -> Tensor"; empty: the operator is defined elsewhere
  std::string key;        // "CPU", "CompositeImplicitAutograd", ...; empty: no function
  std::string signature;  // of the function, as a schema
  std::function<void(const Value* arguments, Result& result)> function;
  Boxed boxed;  // in its place, one of the signature that the operator's schema says
  const char* file = "";
  int line = 0;
};
TORCH_API void register_operator(Registration r);
// Those that were not taken yet.
TORCH_API std::vector<Registration> take_registrations();

}  // namespace torch
