// The C functions of PyTorch's stable ABI (torch/csrc/stable/c/shim.h and inductor/aoti_torch/c/shim.h there), over our
// tensors: extensions that were compiled against it run here unchanged. This is a library of its own, loaded when the
// first such extension is (torch.ops.load_library), and carries the name that extensions ask the loader for.
//
// A function gives 0, or 1 and leaves what went wrong in torch_exception_get_what().
#include <algorithm>
#include <bit>
#include <cstring>
#include <iostream>  // for its initializer: extensions write to std::cerr, and count on PyTorch to have set it up
#include <memory>

#include "torch/aten.h"
#include "torch/core/library.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"
#include "torch/core/pool.h"
#include "torch/core/sparse.h"
#include "torch/core/stable.h"

using namespace torch;
using stable::Bits, stable::List;

namespace {

std::string& what() {
  static thread_local std::string text;
  return text;
}

int32_t guarded(auto f) noexcept {
  try {
    f();
    return 0;
  } catch (const std::exception& e) {
    what() = e.what();
  } catch (...) {
    what() = "an exception that is no std::exception";
  }
  return 1;
}

Tensor* give(Tensor t) { return new Tensor(std::move(t)); }

struct Library {
  std::string space, key, file;
  int line;
  // A name may have its namespace in front.
  std::string_view own(std::string_view name) const {
    const std::string prefix = space + "::";
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  }
  Registration about(std::string_view op) const {
    Registration r;
    r.space = space;
    r.op = own(op);
    r.key = key;
    r.file = strdup(file.c_str());  // a registration keeps a pointer to what lives as long as the process
    r.line = line;
    return r;
  }
};

int32_t open_library(const char* space, const char* key, const char* file, uint32_t line, Library** out) noexcept {
  return guarded([&] { *out = new Library{space, key, file ? file : "", int(line)}; });
}

using StableFunction = void (*)(Bits*, uint64_t, uint64_t);

int32_t register_function(Library* library, const char* name, StableFunction f) noexcept {
  return guarded([&] {
    Registration r = library->about(name);
    r.boxed = [f](const Row& row, DispatchKey, const Value* arguments, Result& result) {
      const Schema& s = row.schema;
      std::vector<Bits> stack(std::max<size_t>(s.count, s.result_count));
      for (int i = 0; i < s.count; ++i) stack[size_t(i)] = stable::bits_of(s.params[i], arguments[i]);
      f(stack.data(), s.count, s.result_count);
      stable::take_results(row, stack.data(), result);
      return true;
    };
    register_operator(std::move(r));
  });
}

// What only Python knows.
void call(const char* name, const char* overload, Bits* stack) {
  TORCH_CHECK(stable::call_by_name, name, ": without the Python module there are no operators by name");
  stable::call_by_name(name, overload, stack);
}

// T? of a number that stands for a type, and where there is none.
Bits optional(const int32_t* code) { return code ? std::bit_cast<Bits>(new Bits(uint32_t(*code))) : 0; }
Bits list(const int64_t* items, int64_t count) {
  auto made = std::make_unique<List>();
  made->items.assign(items, items + count);
  return std::bit_cast<Bits>(made.release());
}
Bits device_or_none(const int32_t* type, int32_t index) {
  return type ? std::bit_cast<Bits>(new Bits(Bits(uint32_t(*type)) << 32 | uint32_t(index))) : 0;
}
// full, new_empty, new_zeros: the options stand behind `leading` arguments.
int32_t make(const char* name, std::initializer_list<Bits> leading, const int32_t* dtype, const int32_t* layout,
             const int32_t* device, int32_t device_index, const int32_t* pinned, Tensor** out) noexcept {
  return guarded([&] {
    std::vector<Bits> stack(leading);
    for (Bits b : {optional(dtype), optional(layout), device_or_none(device, device_index), optional(pinned)})
      stack.push_back(b);
    call(name, "", stack.data());
    *out = std::bit_cast<Tensor*>(stack[0]);
  });
}

template <class T>
int32_t item(const Tensor& t, T* out) noexcept {
  return guarded([&] { *out = t.item().to<T>(); });
}

int32_t no_cuda(const char* function) noexcept {
  return guarded([&] {
    throw_error(
        ErrorKind::NotImplemented,
        message(function, ": extensions of the stable ABI have no streams of CUDA here; move the tensors to the CPU"));
  });
}

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

// --- numbers that stand for types ---

#define CODE(name, value) \
  API int32_t name() { return value; }
CODE(aoti_torch_device_type_cpu, 0)
CODE(aoti_torch_device_type_cuda, 1)
CODE(aoti_torch_device_type_xpu, 12)
CODE(aoti_torch_device_type_mps, 13)
CODE(aoti_torch_device_type_meta, 14)
CODE(aoti_torch_device_type_privateuse1, 20)
CODE(aoti_torch_dtype_uint8, 0)
CODE(aoti_torch_dtype_int8, 1)
CODE(aoti_torch_dtype_int16, 2)
CODE(aoti_torch_dtype_int32, 3)
CODE(aoti_torch_dtype_int64, 4)
CODE(aoti_torch_dtype_float16, 5)
CODE(aoti_torch_dtype_float32, 6)
CODE(aoti_torch_dtype_float64, 7)
CODE(aoti_torch_dtype_complex32, 8)
CODE(aoti_torch_dtype_complex64, 9)
CODE(aoti_torch_dtype_complex128, 10)
CODE(aoti_torch_dtype_bool, 11)
CODE(aoti_torch_dtype_bfloat16, 15)
CODE(aoti_torch_dtype_float8_e5m2, 23)
CODE(aoti_torch_dtype_float8_e4m3fn, 24)
CODE(aoti_torch_dtype_float8_e5m2fnuz, 25)
CODE(aoti_torch_dtype_float8_e4m3fnuz, 26)
CODE(aoti_torch_dtype_uint16, 27)
CODE(aoti_torch_dtype_uint32, 28)
CODE(aoti_torch_dtype_uint64, 29)
CODE(torch_dtype_float8_e8m0fnu, 44)
CODE(torch_dtype_float4_e2m1fn_x2, 45)
CODE(aoti_torch_dtype_float8_e8m0fnu, 44)
CODE(aoti_torch_dtype_float4_e2m1fn_x2, 45)
CODE(aoti_torch_layout_strided, 0)
CODE(aoti_torch_layout_sparse_coo, 1)
CODE(aoti_torch_layout__mkldnn, 2)
CODE(aoti_torch_layout_sparse_csr, 3)
CODE(aoti_torch_layout_sparse_csc, 5)
CODE(aoti_torch_layout_sparse_bsr, 6)
CODE(aoti_torch_layout_sparse_bsc, 7)
CODE(aoti_torch_layout_jagged, 9)
CODE(aoti_torch_memory_format_contiguous_format, 0)
CODE(aoti_torch_memory_format_preserve_format, 1)
CODE(aoti_torch_memory_format_channels_last, 2)
CODE(aoti_torch_memory_format_channels_last_3d, 3)
// tags, which have no effect here
CODE(torch_tag_core, 0)
CODE(torch_tag_cudagraph_unsafe, 1)
CODE(torch_tag_data_dependent_output, 2)
CODE(torch_tag_dynamic_output_shape, 3)
CODE(torch_tag_flexible_layout, 4)
CODE(torch_tag_generated, 5)
CODE(torch_tag_inplace_view, 6)
CODE(torch_tag_maybe_aliasing_or_mutating, 7)
CODE(torch_tag_needs_contiguous_strides, 8)
CODE(torch_tag_needs_exact_strides, 9)
CODE(torch_tag_needs_fixed_stride_order, 10)
CODE(torch_tag_nondeterministic_bitwise, 11)
CODE(torch_tag_nondeterministic_seeded, 12)
CODE(torch_tag_out_variant, 13)
CODE(torch_tag_pointwise, 14)
CODE(torch_tag_pt2_compliant_tag, 15)
CODE(torch_tag_reduction, 16)
CODE(torch_tag_view_copy, 17)
#undef CODE

// The generation of PyTorch's interface that is served: a byte each of major, minor and patch, above five of zeros.
API uint64_t aoti_torch_abi_version() { return uint64_t{2} << 56 | uint64_t{TORCH_SERVED_MINOR} << 48; }

API size_t aoti_torch_dtype_element_size(int32_t dtype) { return size_t(item_size(stable::dtype_of_code(dtype))); }

// --- errors ---

API const char* torch_exception_get_what() { return what().c_str(); }
API const char* torch_exception_get_what_without_backtrace() { return what().c_str(); }
API void aoti_torch_warn(const char*, const char*, uint32_t, const char* text) {
  guarded([&] {
    Bits stack[] = {std::bit_cast<Bits>(new std::string(text))};
    call("torch::warn", "", stack);
  });
}

// --- tensors ---

API int32_t aoti_torch_delete_tensor_object(Tensor* t) {
  delete t;
  return 0;
}
API int32_t aoti_torch_new_tensor_handle(Tensor* t, Tensor** out) {
  return guarded([&] { *out = give(*t); });
}
API int32_t aoti_torch_new_uninitialized_tensor(Tensor** out) {
  return guarded([&] { *out = new Tensor; });
}
API int32_t aoti_torch_is_defined(Tensor* t, bool* out) {
  *out = bool(*t);
  return 0;
}
API int32_t aoti_torch_get_data_ptr(Tensor* t, void** out) {
  return guarded([&] { *out = t->data(); });
}
API int32_t torch_get_mutable_data_ptr(Tensor* t, void** out) { return aoti_torch_get_data_ptr(t, out); }
API int32_t torch_get_const_data_ptr(Tensor* t, const void** out) {
  return guarded([&] { *out = t->data(); });
}
API int32_t aoti_torch_get_dim(Tensor* t, int64_t* out) {
  return guarded([&] { *out = t->dim(); });
}
API int32_t aoti_torch_get_numel(Tensor* t, int64_t* out) {
  return guarded([&] { *out = t->numel(); });
}
API int32_t aoti_torch_get_sizes(Tensor* t, int64_t** out) {
  return guarded([&] { *out = const_cast<int64_t*>(t->sizes().data()); });
}
API int32_t aoti_torch_get_strides(Tensor* t, int64_t** out) {
  return guarded([&] { *out = const_cast<int64_t*>(t->strides().data()); });
}
API int32_t aoti_torch_get_size(Tensor* t, int64_t dim, int64_t* out) {
  return guarded([&] { *out = t->sizes()[size_t(wrap_dim(dim, t->dim()))]; });
}
API int32_t aoti_torch_get_stride(Tensor* t, int64_t dim, int64_t* out) {
  return guarded([&] { *out = t->strides()[size_t(wrap_dim(dim, t->dim()))]; });
}
API int32_t aoti_torch_get_dtype(Tensor* t, int32_t* out) {
  return guarded([&] { *out = stable::code_of(t->dtype()); });
}
API int32_t aoti_torch_get_layout(Tensor* t, int32_t* out) {
  return guarded([&] { *out = stable::code_of(layout_of(*t)); });
}
API int32_t aoti_torch_get_device_type(Tensor* t, int32_t* out) {
  return guarded([&] { *out = stable::code_of(t->device().type); });
}
API int32_t aoti_torch_get_device_index(Tensor* t, int32_t* out) {
  return guarded([&] { *out = t->device().index; });
}
API int32_t aoti_torch_get_storage_offset(Tensor* t, int64_t* out) {
  return guarded([&] { *out = t->storage_offset(); });
}
API int32_t aoti_torch_get_storage_size(Tensor* t, int64_t* out) {
  return guarded([&] { *out = int64_t((*t)->storage->nbytes); });
}
API int32_t aoti_torch_is_contiguous(Tensor* t, bool* out) {
  return guarded([&] { *out = t->is_contiguous(); });
}
API int32_t torch_set_requires_grad(Tensor* t, bool requires_grad) {
  return guarded([&] {
    Bits stack[] = {std::bit_cast<Bits>(give(*t)), requires_grad};
    call("torch::requires_grad_", "", stack);
    delete std::bit_cast<Tensor*>(stack[0]);
  });
}
API int32_t aoti_torch_empty_strided(int64_t dims, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                                     int32_t device_type, int32_t device_index, Tensor** out) {
  return guarded([&] {
    const Device device(stable::device_of_code(device_type), device_type == 0 ? -1 : device_index);
    *out = give(
        torch::empty_strided({sizes, size_t(dims)}, {strides, size_t(dims)}, stable::dtype_of_code(dtype), device));
  });
}
API int32_t torch_from_blob(void* data, int64_t dims, const int64_t* sizes, const int64_t* strides, int64_t offset,
                            int32_t dtype, int32_t device_type, int32_t, Tensor** out, int32_t layout, const uint8_t*,
                            int64_t, void (*deleter)(void*, void*), void* context) {
  return guarded([&] {
    TORCH_CHECK(device_type == 0 && layout == 0, "torch_from_blob: expected strided memory of the CPU");
    const IntArrayRef s(sizes, size_t(dims)), st(strides, size_t(dims));
    const DType t = stable::dtype_of_code(dtype);
    std::function<void(void*)> end = [=](void*) {
      if (deleter) deleter(data, context);
    };
    *out = give(
        from_blob(static_cast<char*>(data) + offset * item_size(t), s, st, std::move(end), TensorOptions().dtype(t)));
  });
}

API int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t dims, const int64_t* sizes, const int64_t* strides,
                                               int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index,
                                               Tensor** out) {
  return torch_from_blob(data, dims, sizes, strides, offset, dtype, device_type, device_index, out, 0, nullptr, 0,
                         nullptr, nullptr);
}
API int32_t aoti_torch_create_tensor_from_blob_v2(void* data, int64_t dims, const int64_t* sizes,
                                                  const int64_t* strides, int64_t offset, int32_t dtype,
                                                  int32_t device_type, int32_t device_index, Tensor** out,
                                                  int32_t layout, const uint8_t*, int64_t) {
  return torch_from_blob(data, dims, sizes, strides, offset, dtype, device_type, device_index, out, layout, nullptr, 0,
                         nullptr, nullptr);
}
API int32_t aoti_torch__reinterpret_tensor(Tensor* self, int64_t dims, const int64_t* sizes, const int64_t* strides,
                                           int64_t offset, Tensor** out) {
  return guarded([&] {
    *out =
        give(torch::as_strided(*self, {sizes, size_t(dims)}, {strides, size_t(dims)}, self->storage_offset() + offset));
  });
}

// --- numbers ---

#define ITEM(name, type) \
  API int32_t aoti_torch_item_##name(Tensor* t, type* out) { return item(*t, out); }
ITEM(float32, float)
ITEM(float64, double)
ITEM(int8, int8_t)
ITEM(int16, int16_t)
ITEM(int32, int32_t)
ITEM(int64, int64_t)
ITEM(uint8, uint8_t)
ITEM(uint16, uint16_t)
ITEM(uint32, uint32_t)
ITEM(uint64, uint64_t)
ITEM(bool, bool)
#undef ITEM
API bool aoti_torch_grad_mode_is_enabled() {
  Bits stack[] = {0};
  guarded([&] { call("torch::is_grad_enabled", "", stack); });
  return stack[0] != 0;
}
API void aoti_torch_grad_mode_set_enabled(bool enabled) {
  Bits stack[] = {enabled};
  guarded([&] { call("torch::set_grad_enabled", "", stack); });
}

// --- a few operators, by name ---

API int32_t aoti_torch_aten_amax(Tensor* self, const int64_t* dims, int64_t count, int32_t keepdim, Tensor** out) {
  return guarded([&] { *out = give(torch::amax(*self, IntArrayRef(dims, size_t(count)), keepdim != 0)); });
}
API int32_t aoti_torch_aten_full(const int64_t* size, int64_t dims, double value, int32_t* dtype, int32_t* layout,
                                 int32_t* device, int32_t device_index, int32_t* pinned, Tensor** out) {
  return make("aten::full", {list(size, dims), std::bit_cast<Bits>(value)}, dtype, layout, device, device_index, pinned,
              out);
}
API int32_t aoti_torch_aten_new_empty(Tensor* self, const int64_t* size, int64_t dims, int32_t* dtype, int32_t* layout,
                                      int32_t* device, int32_t device_index, int32_t* pinned, Tensor** out) {
  return make("aten::new_empty", {std::bit_cast<Bits>(give(*self)), list(size, dims)}, dtype, layout, device,
              device_index, pinned, out);
}
API int32_t aoti_torch_aten_new_zeros(Tensor* self, const int64_t* size, int64_t dims, int32_t* dtype, int32_t* layout,
                                      int32_t* device, int32_t device_index, int32_t* pinned, Tensor** out) {
  return make("aten::new_zeros", {std::bit_cast<Bits>(give(*self)), list(size, dims)}, dtype, layout, device,
              device_index, pinned, out);
}
API int32_t aoti_torch_aten_pad(Tensor* self, const int64_t* pad, int64_t count, const char* mode, double* value,
                                Tensor** out) {
  return guarded([&] {
    Bits stack[] = {std::bit_cast<Bits>(give(*self)), list(pad, count), std::bit_cast<Bits>(new std::string(mode)),
                    value ? std::bit_cast<Bits>(new Bits(std::bit_cast<Bits>(*value))) : 0};
    call("aten::pad", "", stack);
    *out = std::bit_cast<Tensor*>(stack[0]);
  });
}
API int32_t aoti_torch_aten_narrow(Tensor* self, int64_t dim, int64_t start, int64_t length, Tensor** out) {
  return guarded([&] { *out = give(torch::narrow(*self, dim, start, length)); });
}
API int32_t aoti_torch_aten_subtract_Tensor(Tensor* self, Tensor* other, double alpha, Tensor** out) {
  return guarded([&] { *out = give(torch::sub(*self, *other, alpha)); });
}
API int32_t aoti_torch_aten_fill__Scalar(Tensor* self, double value) {
  return guarded([&] { torch::fill_(*self, value); });
}
API int32_t aoti_torch_zero_(Tensor* self) {
  return guarded([&] { torch::zero_(*self); });
}
API int32_t aoti_torch_clone(Tensor* self, Tensor** out) {
  return guarded([&] { *out = give(torch::clone(*self)); });
}
API int32_t aoti_torch_copy_(Tensor* self, Tensor* from, int32_t) {
  return guarded([&] { torch::copy_(*self, *from); });
}

// All others: the module of Python knows them.
API int32_t torch_call_dispatcher(const char* name, const char* overload, Bits* stack, uint64_t) {
  return guarded([&] { call(name, overload, stack); });
}
API int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, Bits* stack) {
  return torch_call_dispatcher(name, overload, stack, 0);
}

// --- operators that the extension brings ---

API int32_t aoti_torch_library_init_def(const char* space, const char* file, uint32_t line, Library** out) {
  return open_library(space, "CompositeImplicitAutograd", file, line, out);
}
API int32_t aoti_torch_library_init_fragment(const char* space, const char* file, uint32_t line, Library** out) {
  return open_library(space, "CompositeImplicitAutograd", file, line, out);
}
API int32_t aoti_torch_library_init_impl(const char* space, const char* key, const char* file, uint32_t line,
                                         Library** out) {
  return open_library(space, key, file, line, out);
}
API int32_t aoti_torch_delete_library_object(Library* library) {
  delete library;
  return 0;
}
API int32_t aoti_torch_library_def(Library* library, const char* schema) {
  return guarded([&] {
    const std::string_view text = library->own(schema);
    Registration r = library->about(text.substr(0, text.find('(')));
    r.schema = text;
    register_operator(std::move(r));
  });
}
API int32_t torch_library_def_with_tags(Library* library, const char* schema, const int32_t*, int32_t) {
  return aoti_torch_library_def(library, schema);
}
API int32_t torch_library_set_python_module(Library*, const char*, const char*) { return 0; }
API int32_t torch_library_impl(Library* library, const char* name, StableFunction f, uint64_t) {
  return register_function(library, name, f);
}
API int32_t aoti_torch_library_impl(Library* library, const char* name, StableFunction f) {
  return register_function(library, name, f);
}

// --- what bits point at ---

API int32_t torch_new_stable_ivalue(Bits** out) {
  return guarded([&] { *out = new Bits(0); });
}
API int32_t torch_delete_stable_ivalue(Bits* value) {
  delete value;
  return 0;
}
API int32_t torch_new_list_reserve_size(size_t size, List** out) {
  return guarded([&] {
    auto list = std::make_unique<List>();
    list->items.reserve(size);
    *out = list.release();
  });
}
API int32_t torch_list_size(List* list, size_t* out) {
  *out = list->items.size();
  return 0;
}
API int32_t torch_list_get_item(List* list, size_t i, Bits* out) {
  return guarded([&] { *out = list->items.at(i); });
}
API int32_t torch_list_set_item(List* list, size_t i, Bits item) {
  return guarded([&] { list->items.at(i) = item; });
}
API int32_t torch_list_push_back(List* list, Bits item) {
  return guarded([&] { list->items.push_back(item); });
}
API int32_t torch_delete_list(List* list) {
  delete list;
  return 0;
}
API int32_t torch_new_string_handle(const char* data, size_t length, std::string** out) {
  return guarded([&] { *out = new std::string(data, length); });
}
API int32_t torch_delete_string(std::string* text) {
  delete text;
  return 0;
}
API int32_t torch_string_length(std::string* text, size_t* out) {
  *out = text->size();
  return 0;
}
API int32_t torch_string_c_str(std::string* text, const char** out) {
  *out = text->c_str();
  return 0;
}
API int32_t torch_parse_device_string(const char* text, uint32_t* type, int32_t* index) {
  return guarded([&] {
    const Device d = parse_device(text);
    *type = uint32_t(stable::code_of(d.type));
    *index = d.index;
  });
}

// --- threads ---

API int32_t torch_parallel_for(int64_t begin, int64_t end, int64_t grain, void (*f)(int64_t, int64_t, void*),
                               void* context) {
  return guarded([&] { parallel_for(begin, end, grain, [&](int64_t from, int64_t to) { f(from, to, context); }); });
}
API int32_t torch_get_num_threads(uint32_t* out) {
  *out = uint32_t(num_threads());
  return 0;
}
API int32_t torch_get_thread_idx(uint32_t* out) {
  *out = 0;
  return guarded([] { throw_error(ErrorKind::NotImplemented, "torch_get_thread_idx: threads have no numbers here"); });
}

// --- devices ---

API int32_t aoti_torch_delete_device_guard(void*) { return 0; }
#define NO_CUDA(name, ...) \
  API int32_t name(__VA_ARGS__) { return no_cuda(#name); }
NO_CUDA(aoti_torch_create_device_guard, int32_t, void**)
NO_CUDA(aoti_torch_device_guard_set_index, void*, int32_t)
NO_CUDA(aoti_torch_get_current_device_index, int32_t*)
NO_CUDA(aoti_torch_get_current_cuda_stream, int32_t, void**)
NO_CUDA(aoti_torch_get_current_stream, int32_t, void**)
NO_CUDA(torch_get_current_cuda_blas_handle, void**)
NO_CUDA(torch_set_current_cuda_stream, void*, int32_t)
NO_CUDA(torch_get_cuda_stream_from_pool, bool, int32_t, void**)
NO_CUDA(torch_cuda_stream_synchronize, void*, int32_t)
NO_CUDA(torch_stream_native_handle, void*, void**)
#undef NO_CUDA
API int32_t torch_c10_cuda_check_msg(int32_t error, const char*, const char*, uint32_t, bool, char** out) {
  return guarded([&] {
    *out = nullptr;
    if (error) *out = strdup(("CUDA error of number " + std::to_string(error)).c_str());
  });
}
API void torch_c10_cuda_free_error_msg(char* text) { free(text); }
