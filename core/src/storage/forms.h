// Other forms of operands that stay as they are. A kernel that packs its weights asks here first: where a program has
// said that they are constants, they are packed once and not at each call.
//
//   const float* packed = form_of<float>({weights, FormKind::Columns, {n, k}}, count, [&](float* to) { pack(to); });
//   if (!packed) ...  // nothing is known of them: packed into scratch, as always
//
// A form has the very numbers that the kernel would pack, so that results keep their bits. Linear layers of 784-512-512
// with 64 rows: 0.98 -> 0.78 ms (one thread of an Intel Xeon with AMX, beside load).
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "torch/core/macros.h"

namespace torch {

enum class FormKind : int64_t { Columns, ConvRows, ConvLast, Winograd, Direct, Step };

// An operand, and all that its form follows from.
struct FormKey {
  static constexpr int kNumbers = 10;
  const void* data;
  FormKind kind;
  int64_t numbers[kNumbers];
};

// The constants of one program, and their forms.
class TORCH_API Forms {
 public:
  Forms(const void* const* data, const int64_t* bytes, int64_t count);
  ~Forms();
  Forms(const Forms&) = delete;
  bool has(const void* data) const noexcept;
  const void* find(const FormKey& key, int64_t bytes, void (*make)(void* how, void* to), void* how);

 private:
  struct Constant {
    const char* data;
    int64_t bytes;
  };
  struct Hash {
    size_t operator()(const FormKey& key) const noexcept;
  };
  struct Equal {
    bool operator()(const FormKey& a, const FormKey& b) const noexcept;
  };
  struct Form {
    void* data;
    size_t bytes;
  };
  std::vector<Constant> constants_;  // by address
  std::mutex mutex_;
  std::unordered_map<FormKey, Form, Hash, Equal> forms_;
};

// Of the program that runs on this thread; null: none has said anything.
extern TORCH_API constinit thread_local Forms* forms_in_force;

// Null where the operand is no constant; else `count` elements that `make` writes, once.
template <class T, class F>
TORCH_INLINE const T* form_of(const FormKey& key, int64_t count, F make) {
  Forms* const forms = forms_in_force;
  if (!forms || !forms->has(key.data)) return nullptr;
  const auto call = [](void* how, void* to) { (*static_cast<F*>(how))(static_cast<T*>(to)); };
  return static_cast<const T*>(forms->find(key, count * int64_t(sizeof(T)), call, &make));
}

}  // namespace torch

// What libtorch_program looks for when it is loaded (program/src/forms.h): no header that others see, so that it runs
// with a core that lacks them.
extern "C" {
TORCH_API torch::Forms* torch_forms_make(const void* const* data, const int64_t* bytes, int64_t count);
TORCH_API void torch_forms_free(torch::Forms*) noexcept;
TORCH_API torch::Forms* torch_forms_use(torch::Forms*) noexcept;  // on this thread; gives those before
}
