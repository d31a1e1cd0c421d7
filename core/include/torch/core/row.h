// A row: everything that is known of an operator without its code. The table of all rows is what bindings, tapes and
// tests go through.
#pragma once
#include <string_view>
#include <vector>

#include "torch/core/schema.h"
#include "torch/core/tensor.h"

namespace torch {

class Generator;

enum class DTypes : uint8_t {
  All,
  Numeric,
  Floating,
  FloatingOrComplex,
  Real,
  Integral,
  IntegralOrBool,
  BoolOnly,
  RealNumeric,  // Real without bool
};

// What a row says beside its schema.

struct Attr {
  bool is_function = true, is_method = false;  // torch.name, Tensor.name
  bool is_composite = false;  // written in public operators: needs no kernel and no derivative of its own
  bool is_view = false;       // the result shares memory
  bool is_random = false;
  bool is_pointwise = false;
  bool is_hidden = false;          // for other operators (backward kernels): torch._C only
  bool is_exact_out = false;       // out= has the result's dtype; else it may be one that the result can be cast to
  bool is_apart = false;           // out= has no memory in common with an input
  DTypes dtypes = DTypes::All;     // the inputs that it accepts
  bool promotes_to_float = false;  // integers give the default dtype
  double low = -10, high = 10;     // domain that tests sample from
  const char* python = nullptr;  // module in which the name stands when it is not torch: "nn.functional", "linalg", ...
  const char* skip = nullptr;    // generated tests are skipped, and why

  constexpr Attr method() const {
    auto a = *this;
    a.is_method = true;
    return a;
  }
  constexpr Attr method_only() const {
    auto a = *this;
    a.is_method = true;
    a.is_function = false;
    return a;
  }
  constexpr Attr hidden() const {
    auto a = *this;
    a.is_hidden = true;
    a.is_function = false;
    return a;
  }
  constexpr Attr composite() const {
    auto a = *this;
    a.is_composite = true;
    return a;
  }
  constexpr Attr view() const {
    auto a = *this;
    a.is_view = true;
    return a;
  }
  constexpr Attr random() const {
    auto a = *this;
    a.is_random = true;
    return a;
  }
  constexpr Attr pointwise() const {
    auto a = *this;
    a.is_pointwise = true;
    return a;
  }
  constexpr Attr exact_out() const {
    auto a = *this;
    a.is_exact_out = true;
    return a;
  }
  constexpr Attr apart() const {
    auto a = *this;
    a.is_apart = true;
    return a;
  }
  constexpr Attr in(const char* module) const {
    auto a = *this;
    a.python = module;
    return a;
  }
  constexpr Attr accepts(DTypes d) const {
    auto a = *this;
    a.dtypes = d;
    return a;
  }
  constexpr Attr floats() const {
    auto a = *this;
    a.promotes_to_float = true;
    return a;
  }
  constexpr Attr domain(double lo, double hi) const {
    auto a = *this;
    a.low = lo;
    a.high = hi;
    return a;
  }
  constexpr Attr skip_tests(const char* why) const {
    auto a = *this;
    a.skip = why;
    return a;
  }
};

// One argument without a static type. Tensors and lists are borrowed from the caller. A default-constructed Value is
// None.
struct Value {
  union {
    TensorImpl* tensor;
    int64_t i;
    double d;
    const void* data;  // IntList, TensorList, Str: first element
    Generator* generator;
  };
  union {
    int64_t size;
    double imag;
  };
  bool present = false;
  Scalar::Kind scalar_kind{};
  constexpr Value() : tensor(nullptr), size(0) {}
};

// What a call gave back.
struct Result {
  Tensor tensors[kMaxResults];
  std::vector<Tensor> list;
  std::vector<int64_t> ints;
  Value value;  // Int, Bool, Float, Scalar, DType, ...
};

struct Row {
  Schema schema;
  Attr attr;
  const char* doc;
  void (*invoke)(const Value* arguments, Result& result);
  void* const* slots;  // one function per slot, null where there is none
};

TORCH_API ArrayRef<const Row*> all_rows() noexcept;

// Another name of an operator (ops/aliases.def); `module` is "" for torch itself.
struct Alias {
  const char *module, *name, *op;
};
TORCH_API ArrayRef<Alias> all_aliases() noexcept;
[[noreturn]] TORCH_API void missing_kernel(std::string_view op, Slot slot);
[[noreturn]] TORCH_API void undefined_argument(std::string_view op, std::string_view argument);

}  // namespace torch
