// What a new tensor is like, said step by step, as C++ programs of PyTorch say it:
//
//   torch::zeros({2, 3}, torch::TensorOptions().dtype(torch::DType::Float64));
//   torch::empty({n}, x.options());
#pragma once
#include "torch/core/schema.h"
#include "torch/core/tensor.h"

namespace torch {

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType t) : dtype_(t) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType t) : device_(Device(t)) {}
  TensorOptions(const Options& o) : dtype_(o.dtype), device_(o.device) {}

  TensorOptions dtype(DType t) const {
    return with([&](auto& o) { o.dtype_ = t; });
  }
  template <class T>
  TensorOptions dtype() const {
    return dtype(dtype_of<T>);
  }
  TensorOptions device(Device d) const {
    return with([&](auto& o) { o.device_ = d; });
  }
  TensorOptions device(DeviceType t, int index = -1) const { return device(Device(t, index)); }
  TensorOptions layout(Layout l) const {
    TORCH_CHECK_IMPLEMENTED(l == Layout::Strided,
                            "TensorOptions: new tensors are strided; convert them with to_sparse");
    return *this;
  }
  TensorOptions memory_format(MemoryFormat f) const {
    return with([&](auto& o) { o.memory_format_ = f; });
  }
  TensorOptions requires_grad(bool on = true) const {
    TORCH_CHECK_IMPLEMENTED(!on, "TensorOptions: a tensor is told to require a gradient in Python: x.requires_grad_()");
    return *this;
  }

  DType dtype() const { return dtype_.value_or(default_dtype()); }
  Device device() const { return device_.value_or(Device()); }
  Layout layout() const { return Layout::Strided; }
  bool requires_grad() const { return false; }
  bool is_cuda() const { return device().type == DeviceType::CUDA; }

  // What stands for an operator's parameter of this kind.
  template <Kind kind, class T>
  T argument(T fallback) const {
    if constexpr (kind == Kind::DType)
      return dtype_ ? T(dtype_) : fallback;
    else if constexpr (kind == Kind::Device)
      return device_ ? T(device_) : fallback;
    else if constexpr (kind == Kind::MemoryFormat)
      return memory_format_ ? T(*memory_format_) : fallback;
    else
      return fallback;
  }

 private:
  template <class F>
  TensorOptions with(F set) const {
    TensorOptions o = *this;
    set(o);
    return o;
  }
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  std::optional<MemoryFormat> memory_format_;
};

// What x.type() gives: a dtype and a device, printed as 2018 named them.
class TypeOptions : public TensorOptions {
 public:
  using TensorOptions::TensorOptions;
  DType scalarType() const { return dtype(); }
  std::string toString() const {
    return message(is_cuda()                           ? "CUDA"
                   : device().type == DeviceType::Meta ? "Meta"
                                                       : "CPU",
                   legacy_name(dtype()), "Type");
  }
  friend bool operator==(const TypeOptions& a, const TypeOptions& b) {
    return a.dtype() == b.dtype() && a.device() == b.device();
  }
};
inline std::ostream& operator<<(std::ostream& out, const TypeOptions& t) { return out << t.toString(); }

inline TensorOptions dtype(DType t) { return t; }
template <class T>
TensorOptions dtype() {
  return dtype_of<T>;
}
inline TensorOptions device(Device d) { return d; }
inline TensorOptions device(DeviceType t, int index = -1) { return Device(t, index); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

}  // namespace torch
