#include "torch/core/stable.h"

#include <bit>
#include <iterator>
#include <memory>

#include "torch/core/operator.h"

namespace torch::stable {

void (*call_by_name)(const char*, const char*, Bits*) = nullptr;

namespace {

// PyTorch's codes in the order of our enumerators.
constexpr int32_t kDTypeCodes[] = {
    11, 0, 1, 2, 3, 4, 27, 28, 29, 5, 15, 6, 7, 9, 10, 8, 24, 23, 26, 25, 44,
};
static_assert(std::size(kDTypeCodes) == kAllDTypes);
constexpr int32_t kDeviceCodes[] = {0, 1, 14, 20};
static_assert(std::size(kDeviceCodes) == kDeviceTypes);
constexpr int32_t kLayoutCodes[] = {0, 1, 3, 5, 6, 7};
constexpr int32_t kMemoryFormatCodes[] = {0, 1, 2, 3};

template <class T, size_t N>
T find(const int32_t (&codes)[N], int32_t code, const char* what) {
  for (size_t i = 0; i < N; ++i)
    if (codes[i] == code) return T(i);
  throw_error(ErrorKind::Runtime,
              message("an extension gave the ", what, " of number ", code, ", of which there are no tensors here"));
}

Tensor take_tensor(Bits bits) {
  std::unique_ptr<Tensor> owned(std::bit_cast<Tensor*>(bits));
  return owned ? std::move(*owned) : Tensor();
}

Bits bits_of_tensor(const Tensor& t) { return std::bit_cast<Bits>(new Tensor(t)); }

}  // namespace

int32_t code_of(DType t) noexcept { return kDTypeCodes[int(t)]; }
int32_t code_of(DeviceType t) noexcept { return kDeviceCodes[int(t)]; }
int32_t code_of(Layout l) noexcept { return kLayoutCodes[int(l)]; }
int32_t code_of(MemoryFormat f) noexcept { return kMemoryFormatCodes[int(f)]; }
DType dtype_of_code(int32_t code) { return find<DType>(kDTypeCodes, code, "dtype"); }
DeviceType device_of_code(int32_t code) { return find<DeviceType>(kDeviceCodes, code, "device type"); }
Layout layout_of_code(int32_t code) { return find<Layout>(kLayoutCodes, code, "layout"); }
MemoryFormat memory_format_of_code(int32_t code) {
  return find<MemoryFormat>(kMemoryFormatCodes, code, "memory format");
}

Bits bits_of(const Parameter& p, const Value& v) {
  const bool is_none = p.kind == Kind::Tensor ? !v.tensor : !v.present;
  if (p.optional) {
    if (is_none) return 0;
    Parameter inner = p;
    inner.optional = false;
    return std::bit_cast<Bits>(new Bits(bits_of(inner, v)));
  }
  switch (p.kind) {
    case Kind::Tensor:
      return bits_of_tensor(reinterpret_cast<const Tensor&>(v.tensor));
    case Kind::TensorList: {
      auto list = std::make_unique<List>();
      for (int64_t i = 0; i < v.size; ++i) list->items.push_back(bits_of_tensor(static_cast<const Tensor*>(v.data)[i]));
      return std::bit_cast<Bits>(list.release());
    }
    case Kind::IntList: {
      auto list = std::make_unique<List>();
      for (int64_t i = 0; i < v.size; ++i) list->items.push_back(Bits(static_cast<const int64_t*>(v.data)[i]));
      return std::bit_cast<Bits>(list.release());
    }
    case Kind::Scalar:
      return std::bit_cast<Bits>(torch::detail::unbox<const Scalar&, Kind::Scalar, false>(v).to<double>());
    case Kind::Int:
      return Bits(v.i);
    case Kind::Bool:
      return Bits(v.i != 0);
    case Kind::Float:
      return std::bit_cast<Bits>(v.d);
    case Kind::Str:
      return std::bit_cast<Bits>(new std::string(static_cast<const char*>(v.data), size_t(v.size)));
    case Kind::DType:
      return Bits(uint32_t(code_of(DType(v.i))));
    case Kind::Layout:
      return Bits(uint32_t(code_of(Layout(v.i))));
    case Kind::MemoryFormat:
      return Bits(uint32_t(code_of(MemoryFormat(v.i))));
    case Kind::Device:
      return Bits(uint32_t(code_of(DeviceType(v.i)))) << 32 | uint32_t(int32_t(v.size));
    default:
      throw_error(ErrorKind::NotImplemented, "a generator is not handed to extensions of the stable ABI");
  }
}

void take_results(const Row& row, Bits* bits, Result& result) {
  const Schema& s = row.schema;
  for (int i = 0; i < s.result_count; ++i) {
    switch (s.results[i].kind) {
      case Kind::Tensor:
        result.tensors[i] = take_tensor(bits[i]);
        break;
      case Kind::TensorList: {
        std::unique_ptr<List> list(std::bit_cast<List*>(bits[i]));
        for (Bits b : list->items) result.list.push_back(take_tensor(b));
        break;
      }
      case Kind::Float:
        result.value.d = std::bit_cast<double>(bits[i]);
        break;
      case Kind::Bool:
        result.value.i = bits[i] & 0xff;
        break;
      case Kind::Int:
        result.value.i = int64_t(bits[i]);
        break;
      case Kind::DType:
        result.value.i = int64_t(dtype_of_code(int32_t(bits[i])));
        break;
      case Kind::None:
        break;
      default:
        throw_error(ErrorKind::NotImplemented,
                    message(s.op_name(),
                            ": results other than tensors, numbers and dtypes are not taken from "
                            "extensions of the stable ABI"));
    }
  }
  result.value.present = true;
}

}  // namespace torch::stable
