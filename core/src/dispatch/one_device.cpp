#include "dispatch/one_device.h"

namespace torch::detail {

void check_one_device(std::string_view op, ArrayRef<Placed> arguments) {
  const Tensor* first = nullptr;
  const auto look = [&](const Tensor& t) {
    if (!t) return;
    const auto is_number = [](const Tensor& x) { return x.dim() == 0 && x.device().type == DeviceType::CPU; };
    if (!first || is_number(*first)) first = &t;
    TORCH_CHECK(t.device() == first->device() || is_number(t), op,
                ": Expected all tensors to be on the same device, but found ", *first, " on ", first->device(), " and ",
                t, " on ", t.device(), "; move one of them with .to(\"",
                first->device().type == DeviceType::CPU ? t.device() : first->device(), "\")");
  };
  for (const Placed& argument : arguments) {
    const bool are_indices = argument.is_list && first;
    for (size_t i = 0; i < argument.count; ++i) {
      const Tensor& t = argument.first[i];
      if (!are_indices || (t && t.device().type != DeviceType::CPU)) look(t);
    }
  }
}

}  // namespace torch::detail
