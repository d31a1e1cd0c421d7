// One tensor on the Meta device takes the whole call there, where functions ask `self` alone whether it has memory: a
// call that mixes it with tensors on the CPU ends here.
#include <algorithm>
#include <string_view>

#include "parser.h"

namespace torch::python {

namespace {

// Operators that look at every tensor's device themselves, or at nothing but shapes and dtypes.
bool takes_mixtures(const Row& row) {
  constexpr std::string_view names[] = {"copy_", "type_as", "result_type", "resize_as_"};
  return row.attr.is_pointwise || row.attr.is_view ||
         std::find(std::begin(names), std::end(names), row.schema.op_name()) != std::end(names);
}

class OneDevice {
 public:
  explicit OneDevice(const Row& row) : row_(row) {}

  void look(TensorImpl* t) {
    if (!t) return;
    if (!first_) first_ = t;
    if (t->device == first_->device || (t->ndim == 0 && t->device.type == DeviceType::CPU)) return;
    const Tensor a(Ref<TensorImpl>::share(first_)), b(Ref<TensorImpl>::share(t));
    throw_error(ErrorKind::Runtime,
                message(row_.schema.op_name(), ": Expected all tensors to be on the same device, but found ", a, " on ",
                        a.device(), " and ", b, " on ", b.device()));
  }
  // Indices: those on the CPU index tensors of any device.
  void look_at_indices(TensorImpl* t) {
    if (!first_ || (t && t->device.type != DeviceType::CPU)) look(t);
  }

 private:
  const Row& row_;
  TensorImpl* first_ = nullptr;
};

}  // namespace

void check_one_device(const Row& row, const Value* values) {
  if (takes_mixtures(row)) return;
  OneDevice device(row);
  bool is_alone = true;  // no tensor before the list
  for (int i = 0; i < row.schema.count; ++i) {
    const Value& v = values[i];
    if (row.schema.params[i].kind == Kind::Tensor) {
      device.look(v.tensor);
      is_alone &= !v.tensor;
    } else if (row.schema.params[i].kind == Kind::TensorList) {
      for (int64_t k = 0; k < v.size; ++k) {
        TensorImpl* t = static_cast<const Tensor*>(v.data)[k].get();
        is_alone ? device.look(t) : device.look_at_indices(t);
      }
    }
  }
}

void check_one_device(const Row& row, TensorImpl* a, TensorImpl* b) {
  if (takes_mixtures(row)) return;
  OneDevice device(row);
  device.look(a);
  device.look(b);
}

}  // namespace torch::python
