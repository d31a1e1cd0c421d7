#include "storage/forms.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "torch/core/allocator.h"

namespace torch {

constinit thread_local Forms* forms_in_force = nullptr;

Forms::Forms(const void* const* data, const int64_t* bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) constants_.push_back({static_cast<const char*>(data[i]), bytes[i]});
  std::sort(constants_.begin(), constants_.end(), [](const Constant& a, const Constant& b) { return a.data < b.data; });
}
Forms::~Forms() {
  for (auto& [key, form] : forms_) deallocate(form.data, form.bytes);
}

bool Forms::has(const void* data) const noexcept {
  const char* at = static_cast<const char*>(data);
  auto next = std::upper_bound(constants_.begin(), constants_.end(), at,
                               [](const char* p, const Constant& c) { return p < c.data; });
  return next != constants_.begin() && at < (next - 1)->data + (next - 1)->bytes;
}

size_t Forms::Hash::operator()(const FormKey& key) const noexcept {
  size_t h = std::hash<const void*>()(key.data) ^ size_t(key.kind);
  for (int64_t n : key.numbers) h = h * 0x9e3779b97f4a7c15u + size_t(n);
  return h;
}
bool Forms::Equal::operator()(const FormKey& a, const FormKey& b) const noexcept {
  return a.data == b.data && a.kind == b.kind && std::equal(a.numbers, a.numbers + FormKey::kNumbers, b.numbers);
}

// What two threads make at one time is the same, and one of it stays: a lock is not held while threads work.
const void* Forms::find(const FormKey& key, int64_t bytes, void (*make)(void* how, void* to), void* how) {
  {
    std::lock_guard lock(mutex_);
    if (auto at = forms_.find(key); at != forms_.end()) return at->second.data;
  }
  const Form made{allocate(size_t(bytes)), size_t(bytes)};
  make(how, made.data);
  std::lock_guard lock(mutex_);
  auto [at, is_new] = forms_.emplace(key, made);
  if (!is_new) deallocate(made.data, made.bytes);
  return at->second.data;
}

}  // namespace torch

torch::Forms* torch_forms_make(const void* const* data, const int64_t* bytes, int64_t count) {
  return new torch::Forms(data, bytes, count);
}
void torch_forms_free(torch::Forms* forms) noexcept { delete forms; }
torch::Forms* torch_forms_use(torch::Forms* forms) noexcept { return std::exchange(torch::forms_in_force, forms); }
