// Reference counts that live in the object they count.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

#include "torch/core/macros.h"

namespace torch {

struct Counted {
  std::atomic<uint32_t> refs{1};
  void retain() noexcept { refs.fetch_add(1, std::memory_order_relaxed); }
  // True: the caller held the last reference and must destroy. A sole owner needs no locked instruction.
  bool drop() noexcept {
    if (refs.load(std::memory_order_acquire) == 1) return true;
    return refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  uint32_t use_count() const noexcept { return refs.load(std::memory_order_relaxed); }
};

// T has a static `void destroy(T*) noexcept`.
template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}
  static Ref steal(T* p) noexcept {
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref share(T* p) noexcept {
    if (p) p->retain();
    return steal(p);
  }
  Ref(const Ref& o) noexcept : p_(o.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && p_->drop()) T::destroy(p_);
  }
  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  T* release() noexcept { return std::exchange(p_, nullptr); }
  void reset() noexcept { *this = Ref(); }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace torch
