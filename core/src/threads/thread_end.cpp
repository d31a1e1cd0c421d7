#include "torch/core/thread_end.h"

namespace torch {

namespace {

struct Call {
  void (*f)() noexcept;
  Call* next;
};
struct Calls {
  Call* first = nullptr;
  ~Calls() {
    while (Call* c = first) {
      first = c->next;
      c->f();
      delete c;
    }
  }
};

}  // namespace

void at_thread_end(void (*f)() noexcept) {
  static thread_local Calls calls;
  calls.first = new Call{f, calls.first};
}

}  // namespace torch
