// The stable C interface over the C++ library: every function catches, none throws.
#include <cstdlib>
#include <cstring>
#include <string>

#include "torch/c/torch.h"
#include "torch/core/dlpack.h"
#include "torch/core/features.h"
#include "torch/core/init.h"
#include "torch/core/ops/create.h"

using torch::Tensor;

static_assert(int(TORCH_COMPLEX128) == int(torch::DType::Complex128) &&
              int(TORCH_FLOAT32) == int(torch::DType::Float32));
static_assert(int(TORCH_ERROR_OVERFLOW) == int(torch::ErrorKind::Overflow) + 1);

namespace {

thread_local std::string* last_error = nullptr;

torch_status keep(torch_status status, const char* text) {
  if (!last_error) last_error = new std::string;  // lives as long as the thread's process: callers may hold the pointer
  *last_error = text;
  return status;
}

template <class F>
torch_status guarded(F f) noexcept {
  try {
    torch::init();
    f();
    return TORCH_OK;
  } catch (const torch::Error& e) {
    return keep(torch_status(int(e.kind()) + 1), e.what());
  } catch (const std::bad_alloc&) {
    return keep(TORCH_ERROR_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& e) {
    return keep(TORCH_ERROR_RUNTIME, e.what());
  }
}

torch_tensor* give(Tensor t) { return reinterpret_cast<torch_tensor*>(t.release()); }
torch::TensorImpl* impl_of(const torch_tensor* t) {
  return reinterpret_cast<torch::TensorImpl*>(const_cast<torch_tensor*>(t));
}

torch::DType dtype_of(torch_dtype t) {
  TORCH_CHECK_VALUE(unsigned(t) < unsigned(torch::kDTypes), "unknown torch_dtype ", int(t));
  return torch::DType(t);
}
torch::IntArrayRef sizes_of(const char* op, int ndim, const int64_t* sizes) {
  TORCH_CHECK_VALUE(ndim >= 0 && ndim <= torch::kMaxDims && (ndim == 0 || sizes), op, ": ndim must lie between 0 and ",
                    torch::kMaxDims, " and sizes must be given, got ndim ", ndim);
  return {sizes, size_t(ndim)};
}

// "max" or "max#1".
const torch::Row* find(std::string_view name) {
  size_t hash = name.find('#');
  int wanted = hash == name.npos ? 0 : std::atoi(std::string(name.substr(hash + 1)).c_str());
  name = name.substr(0, hash);
  for (const torch::Row* row : torch::all_rows())
    if (row->schema.op_name() == name && wanted-- == 0) return row;
  return nullptr;
}

// What a call needs beside the boxed values.
struct Held {
  std::vector<Tensor> made;
  std::vector<std::vector<Tensor>> lists;
  std::vector<torch::detail::ListLiteral> literals;
};

void set_scalar(torch::Value& v, const torch::Scalar& s) {
  v.scalar_kind = s.kind();
  if (s.is_integral())
    v.i = s.to_int();
  else
    v.d = s.to_double(), v.imag = s.to_complex().imag();
  v.present = true;
}
torch::Scalar scalar_of(const torch_value& a) {
  switch (a.kind) {
    case TORCH_BOOLEAN:
      return a.as.integer != 0;
    case TORCH_INTEGER:
      return a.as.integer;
    case TORCH_COMPLEX:
      return std::complex<double>(a.as.number, a.more.imaginary);
    default:
      return a.as.number;
  }
}

torch::Value boxed(const torch::Schema& s, int i, const torch_value& a, Held& held) {
  using torch::Kind;
  const torch::Parameter& p = s.params[i];
  auto refuse = [&]() {
    TORCH_CHECK_TYPE(false, s.op_name(), ": argument '", s.view(p.name), "' (number ", i + 1, ") has the wrong kind ",
                     int(a.kind), "; schema: ", s.text);
  };
  bool number = a.kind == TORCH_BOOLEAN || a.kind == TORCH_INTEGER || a.kind == TORCH_DOUBLE || a.kind == TORCH_COMPLEX;
  torch::Value v;
  if (a.kind == TORCH_NONE) {
    if (!p.optional) refuse();
    return v;
  }
  v.present = true;
  switch (p.kind) {
    case Kind::Tensor:
      if (a.kind == TORCH_TENSOR && a.as.tensor)
        v.tensor = impl_of(a.as.tensor);
      else if (number && p.accepts_number) {
        torch::Scalar n = scalar_of(a);
        torch::DType t = n.is_bool()       ? torch::DType::Bool
                         : n.is_integral() ? torch::DType::Int64
                         : n.is_complex()  ? torch::DType::Complex128
                                           : torch::DType::Float64;
        held.made.push_back(torch::scalar_tensor_of(n, t, true));
        v.tensor = held.made.back().get();
      } else
        refuse();
      break;
    case Kind::TensorList: {
      if (a.kind != TORCH_TENSOR_LIST) refuse();
      auto& list = held.lists.emplace_back();
      for (int64_t k = 0; k < a.more.size; ++k)
        list.push_back(torch::Ref<torch::TensorImpl>::share(impl_of(static_cast<torch_tensor* const*>(a.as.list)[k])));
      v.data = list.data();
      v.size = a.more.size;
      break;
    }
    case Kind::Scalar:
      if (!number) refuse();
      set_scalar(v, scalar_of(a));
      break;
    case Kind::Int:
      if (a.kind != TORCH_INTEGER) refuse();
      v.i = a.as.integer;
      break;
    case Kind::Bool:
      if (a.kind != TORCH_BOOLEAN && a.kind != TORCH_INTEGER) refuse();
      v.i = a.as.integer != 0;
      break;
    case Kind::Float:
      if (a.kind != TORCH_DOUBLE && a.kind != TORCH_INTEGER) refuse();
      v.d = a.kind == TORCH_DOUBLE ? a.as.number : double(a.as.integer);
      break;
    case Kind::IntList:
      if (a.kind != TORCH_INT_LIST) refuse();
      v.data = a.as.list;
      v.size = a.more.size;
      break;
    case Kind::Str:
      if (a.kind != TORCH_STRING) refuse();
      v.data = a.as.list;
      v.size = a.more.size;
      break;
    case Kind::DType:
      if (a.kind != TORCH_DTYPE) refuse();
      v.i = int64_t(dtype_of(torch_dtype(a.as.integer)));
      break;
    default:
      refuse();
  }
  return v;
}

torch::Value fallback(const torch::Schema& s, int i, Held& held) {
  using torch::Kind;
  const torch::Parameter& p = s.params[i];
  TORCH_CHECK_TYPE(p.has_default, s.op_name(), ": argument '", s.view(p.name), "' (number ", i + 1,
                   ") is missing; schema: ", s.text);
  std::string_view text = s.view(p.fallback);
  torch::Value v;
  if (text == "None") return v;
  v.present = true;
  switch (p.kind) {
    case Kind::Int:
      torch::detail::parse_int(text, v.i);
      break;
    case Kind::Bool:
      v.i = text == "True";
      break;
    case Kind::Float:
      v.d = text == "inf" ? __builtin_inf() : torch::detail::parse_float(text);
      break;
    case Kind::Scalar:
      set_scalar(v, torch::detail::parse_scalar(text));
      break;
    case Kind::Str:
      v.data = text.data() + 1;
      v.size = int64_t(text.size()) - 2;
      break;
    case Kind::MemoryFormat:
      v.i = int64_t(torch::detail::parse_memory_format(text));
      break;
    case Kind::IntList: {
      auto& list = held.literals.emplace_back(torch::detail::parse_list(text, p.list_size));
      v.data = list.v;
      v.size = int64_t(list.n);
      break;
    }
    default:
      TORCH_CHECK_IMPLEMENTED(false, s.op_name(), ": the default of '", s.view(p.name), "' cannot be passed through C");
  }
  return v;
}

int results_of(const torch::Schema& s, torch::Result& r, torch_value* out, int capacity) {
  using torch::Kind;
  TORCH_CHECK_VALUE(capacity >= s.result_count, s.op_name(), ": gives ", int(s.result_count),
                    " results, there is room for ", capacity);
  for (int i = 0; i < s.result_count; ++i) {
    switch (s.results[i].kind) {
      case Kind::Tensor:
        out[i] = torch_value_tensor(give(std::move(r.tensors[i])));
        break;
      case Kind::TensorList: {
        auto** list = static_cast<torch_tensor**>(std::malloc(sizeof(void*) * (r.list.size() + 1)));
        for (size_t k = 0; k < r.list.size(); ++k) list[k] = give(std::move(r.list[k]));
        out[i] = torch_value_tensors(list, int64_t(r.list.size()));
        break;
      }
      case Kind::Bool:
        out[i] = torch_value_bool(r.value.i != 0);
        break;
      case Kind::Int:
        out[i] = torch_value_int(r.value.i);
        break;
      case Kind::Float:
        out[i] = torch_value_double(r.value.d);
        break;
      case Kind::DType:
        out[i] = torch_value_dtype(torch_dtype(r.value.i));
        break;
      default:
        TORCH_CHECK_IMPLEMENTED(false, s.op_name(), ": a result of this kind cannot be passed through C");
    }
  }
  return s.result_count;
}

torch_value value(torch_kind kind) {
  torch_value v;
  std::memset(&v, 0, sizeof v);
  v.kind = kind;
  return v;
}

}  // namespace

extern "C" {

int torch_c_version(void) { return TORCH_C_VERSION; }
int torch_interface(void) { return torch::interface_number(); }
int torch_features(void) { return torch::feature_number(); }
const char* torch_last_error(void) { return last_error ? last_error->c_str() : ""; }
torch_status torch_fail(torch_status status, const char* text) { return keep(status, text ? text : ""); }

torch_value torch_value_none(void) { return value(TORCH_NONE); }
torch_value torch_value_tensor(torch_tensor* tensor) {
  torch_value v = value(TORCH_TENSOR);
  v.as.tensor = tensor;
  return v;
}
torch_value torch_value_tensors(torch_tensor* const* tensors, int64_t count) {
  torch_value v = value(TORCH_TENSOR_LIST);
  v.as.list = tensors;
  v.more.size = count;
  return v;
}
torch_value torch_value_bool(int truth) {
  torch_value v = value(TORCH_BOOLEAN);
  v.as.integer = truth != 0;
  return v;
}
torch_value torch_value_int(int64_t i) {
  torch_value v = value(TORCH_INTEGER);
  v.as.integer = i;
  return v;
}
torch_value torch_value_double(double d) {
  torch_value v = value(TORCH_DOUBLE);
  v.as.number = d;
  return v;
}
torch_value torch_value_ints(const int64_t* values, int64_t count) {
  torch_value v = value(TORCH_INT_LIST);
  v.as.list = values;
  v.more.size = count;
  return v;
}
torch_value torch_value_string(const char* text) {
  torch_value v = value(TORCH_STRING);
  v.as.list = text;
  v.more.size = int64_t(std::strlen(text));
  return v;
}
torch_value torch_value_dtype(torch_dtype dtype) {
  torch_value v = value(TORCH_DTYPE);
  v.as.integer = dtype;
  return v;
}

torch_status torch_call(const char* op, const torch_value* arguments, int count, torch_value* results, int capacity) {
  return guarded([&] {
    TORCH_CHECK_VALUE(op && count >= 0 && (count == 0 || arguments),
                      "torch_call: the operator's name and its arguments must be given");
    const torch::Row* row = find(op);
    TORCH_CHECK_IMPLEMENTED(row, "torch_call: there is no operator '", op, "'");
    const torch::Schema& s = row->schema;
    TORCH_CHECK_TYPE(count <= s.count, s.op_name(), ": takes ", int(s.count), " arguments but ", count,
                     " were given; schema: ", s.text);
    Held held;
    held.made.reserve(torch::kMaxParameters);
    held.lists.reserve(torch::kMaxParameters);
    held.literals.reserve(torch::kMaxParameters);
    torch::Value values[torch::kMaxParameters];
    for (int i = 0; i < s.count; ++i) values[i] = i < count ? boxed(s, i, arguments[i], held) : fallback(s, i, held);
    torch::Result r;
    row->invoke(values, r);
    results_of(s, r, results, capacity);
  });
}
const char* torch_schema(const char* op) {
  const torch::Row* row = op ? find(op) : nullptr;
  return row ? row->schema.text : nullptr;
}

torch_status torch_empty(int ndim, const int64_t* sizes, torch_dtype dtype, torch_tensor** out) {
  return guarded([&] { *out = give(torch::empty_tensor(sizes_of("torch_empty", ndim, sizes), dtype_of(dtype))); });
}
torch_status torch_ones(int ndim, const int64_t* sizes, torch_dtype dtype, torch_tensor** out) {
  return guarded([&] { *out = give(torch::ones(sizes_of("torch_ones", ndim, sizes), dtype_of(dtype))); });
}

torch_status torch_from_memory(void* data, int ndim, const int64_t* sizes, const int64_t* strides, torch_dtype dtype,
                               void (*deleter)(void*), void* context, torch_tensor** out) {
  return guarded([&] {
    torch::IntArrayRef shape = sizes_of("torch_from_memory", ndim, sizes);
    torch::DType t = dtype_of(dtype);
    torch::checked_numel("torch_from_memory", shape);
    struct Owner {
      void (*deleter)(void*);
      void* context;
    };
    std::vector<int64_t> steps =
        strides ? std::vector<int64_t>(strides, strides + ndim) : torch::contiguous_strides(shape);
    auto release = [](torch::Storage* s) noexcept {
      auto* owner = static_cast<Owner*>(s->context);
      if (owner->deleter) owner->deleter(owner->context);
      delete owner;
    };
    *out = give(torch::tensor_over(data, shape, steps, t, release, new Owner{deleter, context}));
  });
}

void torch_retain(torch_tensor* t) { impl_of(t)->retain(); }
void torch_release(torch_tensor* t) {
  if (t) Tensor(torch::Ref<torch::TensorImpl>::steal(impl_of(t))).reset();
}
void torch_free_list(torch_value* v) {
  if (v->kind != TORCH_TENSOR_LIST) return;
  auto** list = static_cast<torch_tensor**>(const_cast<void*>(v->as.list));
  for (int64_t i = 0; i < v->more.size; ++i) torch_release(list[i]);
  std::free(list);
  *v = torch_value_none();
}

int torch_ndim(const torch_tensor* t) { return impl_of(t)->ndim; }
const int64_t* torch_sizes(const torch_tensor* t) { return impl_of(t)->sizes(); }
const int64_t* torch_strides(const torch_tensor* t) { return impl_of(t)->strides(); }
int64_t torch_numel(const torch_tensor* t) { return impl_of(t)->numel; }
torch_dtype torch_get_dtype(const torch_tensor* t) { return torch_dtype(int(impl_of(t)->dtype)); }
void* torch_data(const torch_tensor* t) {
  return impl_of(t)->device.type == torch::DeviceType::Meta ? nullptr : impl_of(t)->data();
}

torch_status torch_to_dlpack(torch_tensor* t, DLManagedTensor** out) {
  return guarded([&] { *out = torch::to_dlpack(torch::Ref<torch::TensorImpl>::share(impl_of(t))); });
}
torch_status torch_from_dlpack(DLManagedTensor* managed, torch_tensor** out) {
  return guarded([&] { *out = give(torch::from_dlpack(managed, nullptr)); });
}

}  // extern "C"
