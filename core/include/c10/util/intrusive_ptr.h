// c10::intrusive_ptr<T>: a handle of an object that counts its handles itself.
//
//   struct Table : c10::intrusive_ptr_target { at::Tensor rows; };
//   auto table = c10::make_intrusive<Table>();
#pragma once
#include <concepts>
#include <utility>

#include "torch/core/intrusive.h"

namespace c10 {

struct intrusive_ptr_target : torch::Counted {
  intrusive_ptr_target() = default;
  // The count belongs to an object, not to its value.
  intrusive_ptr_target(const intrusive_ptr_target&) noexcept : Counted() {}
  intrusive_ptr_target& operator=(const intrusive_ptr_target&) noexcept { return *this; }
  virtual ~intrusive_ptr_target() = default;
  static void destroy(intrusive_ptr_target* p) noexcept { delete p; }
};

template <class T>
class intrusive_ptr : public torch::Ref<T> {
 public:
  using element_type = T;
  using torch::Ref<T>::Ref;
  intrusive_ptr() noexcept = default;
  // Of an object that was just made: the handle is its first.
  explicit intrusive_ptr(T* made) noexcept : torch::Ref<T>(torch::Ref<T>::steal(made)) {}
  template <class Derived>
    requires(std::derived_from<Derived, T> && !std::same_as<Derived, T>)
  intrusive_ptr(const intrusive_ptr<Derived>& o) noexcept : torch::Ref<T>(torch::Ref<T>::share(o.get())) {}

  template <class... A>
  static intrusive_ptr make(A&&... a) {
    return intrusive_ptr(new T(std::forward<A>(a)...));
  }
  static intrusive_ptr reclaim(T* owned) noexcept { return intrusive_ptr(owned); }
  static intrusive_ptr reclaim_copy(T* p) noexcept {
    if (p) p->retain();
    return intrusive_ptr(p);
  }
  bool defined() const noexcept { return this->get() != nullptr; }
  size_t use_count() const noexcept { return defined() ? this->get()->torch::Counted::use_count() : 0; }
  bool unique() const noexcept { return use_count() == 1; }
};

template <class T, class... A>
intrusive_ptr<T> make_intrusive(A&&... a) {
  return intrusive_ptr<T>::make(std::forward<A>(a)...);
}

}  // namespace c10
