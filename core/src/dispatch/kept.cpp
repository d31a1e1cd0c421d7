#include "torch/core/kept.h"

namespace torch {

namespace {

// A copy of the elements that a value points to, which it points to from here on.
template <class T>
void keep(Value& v, std::vector<std::vector<T>>& kept) {
  const T* first = static_cast<const T*>(v.data);
  kept.emplace_back(first, first + v.size);
  v.data = kept.back().data();
}

}  // namespace

Kept::Kept(const Schema& schema, const Value* arguments)
    : values_(arguments, arguments + schema.count), tensors_(schema.count) {
  for (int i = 0; i < schema.count; ++i) {
    Value& v = values_[i];
    if (!v.present && schema.params[i].kind != Kind::Tensor) continue;
    switch (schema.params[i].kind) {
      case Kind::Tensor:
        tensors_[i] = Tensor(Ref<TensorImpl>::share(v.tensor));
        break;
      case Kind::TensorList:
        keep(v, lists_);
        break;
      case Kind::IntList:
        keep(v, ints_);
        break;
      case Kind::Str:
        keep(v, texts_);
        break;
      default:
        break;
    }
  }
}

}  // namespace torch
