#include "forms.h"

#include <algorithm>
#include <cstdint>

// Of a core that has them; else null.
extern "C" {
__attribute__((weak)) torch::Forms* torch_forms_make(const void* const* data, const int64_t* bytes, int64_t count);
__attribute__((weak)) void torch_forms_free(torch::Forms*) noexcept;
__attribute__((weak)) torch::Forms* torch_forms_use(torch::Forms*) noexcept;
}

namespace torch::program {

namespace {

// Whether nobody else can write to the memory of a tensor: it is our allocation, no other tensor lies in it, and Python
// has let go of it.
bool is_private(const Tensor& t) {
  const Storage* s = t->storage;
  return t.device().type == DeviceType::CPU && !t->payload && s && s->data && !s->deleter && !s->is_shared() &&
         !s->pyobj && s->use_count() == 1 && (!t->pyobj || t->owns_pyobj) && t.dim() > 1 && t.numel() > 0;
}

}  // namespace

ConstantForms::~ConstantForms() {
  if (Forms* forms = forms_.load()) torch_forms_free(forms);
}

void ConstantForms::find(const std::vector<Cell>& constants) const {
  std::lock_guard lock(mutex_);
  if (forms_.load() || !torch_forms_make || !torch_forms_use || !torch_forms_free) return;
  std::vector<const void*> data;
  std::vector<int64_t> bytes;
  for (const Cell& c : constants) {
    if (!c.is(Cell::Tag::Tensor) || !is_private(c.to_tensor())) continue;
    const Tensor& t = c.to_tensor();
    if (std::find(data.begin(), data.end(), t->storage->data) != data.end()) continue;
    data.push_back(t->storage->data);
    bytes.push_back(int64_t(t->storage->nbytes));
    seen_.push_back({t, t->storage->data, t.version()});
  }
  if (!seen_.empty()) forms_.store(torch_forms_make(data.data(), bytes.data(), int64_t(data.size())));
}

bool ConstantForms::are_unchanged() const noexcept {
  return std::all_of(seen_.begin(), seen_.end(), [](const Seen& s) {
    return s.tensor.version() == s.version && s.tensor->storage->data == s.data;
  });
}

ConstantForms::Use::Use(const ConstantForms& forms, const std::vector<Cell>& constants) {
  constexpr int kFirst = 1;
  if (forms.runs_.load(std::memory_order_relaxed) <= kFirst && forms.runs_++ == kFirst) forms.find(constants);
  Forms* mine = forms.forms_.load(std::memory_order_acquire);
  if (!mine || !forms.are_unchanged()) return;
  before_ = torch_forms_use(mine);
  is_in_force_ = true;
}
ConstantForms::Use::~Use() {
  if (is_in_force_) torch_forms_use(before_);
}

}  // namespace torch::program
