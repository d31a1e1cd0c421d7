// Element-wise calls of a list: torch._foreach_* and optimizers make the same few for many tensors. While a list is
// open on a thread, calls over elements without gaps wait, and those of one formula that need nothing of each other
// become one launch for 64 of them. Whatever else is about to be put into a stream, or asks for one, comes after what
// waits (device_times.h), so that nobody sees the difference.
//
// A call's level is one more than that of the last call that it must come after: one that writes what it reads or
// writes, or reads what it writes. Calls of one level may go in any order.
#pragma once
#include <map>
#include <vector>

#include "cuda/elementwise_call.h"
#include "torch/core/storage.h"

namespace torch::cuda {

struct ListedCall {
  const char* op;
  char* data[kOperands];
  uint32_t n;
  uint8_t ones;  // bit k: operand k is one element for all
};
// What calls of one launch have in common. Bytes that are not used are 0.
struct ListedFormula {
  ListLaunch launch;
  Fault* fault;
  DType type[kOperands];
  Numbers numbers;
  Scalars scalars;
};

// Calls as a kernel is told of them.
constexpr uint32_t kListPiece = 1 << 13;  // elements
struct CallsOfLaunch {
  static constexpr int kMost = 64;
  char* data[kOperands][kMost];
  uint32_t n[kMost];
  int first_piece[kMost + 1];
  int count;
  uint8_t ones[kMost];
  DType type[kOperands];
  uint8_t size[kOperands];
};
static_assert(sizeof(CallsOfLaunch) + sizeof(Numbers) + sizeof(Scalars) <= 4000,
              "arguments of a kernel are 4 KB at most");
CallsOfLaunch calls_of_launch(const ListedFormula&, const ListedCall*, int count);
// go(calls of a launch, its blocks) for all of them.
template <class Go>
void each_launch(const ListedFormula& f, const ListedCall* calls, int count, Go go) {
  while (count > 0) {
    const CallsOfLaunch c = calls_of_launch(f, calls, count);
    go(c, unsigned(c.first_piece[c.count] < 132 * 16 ? c.first_piece[c.count] : 132 * 16));
    calls += c.count;
    count -= c.count;
  }
}

class OpenList {
 public:
  // Of this thread; null where no list is open.
  static OpenList* find() noexcept;
  static void open();
  static void close();

  // False: it is no call for a list, and what waits is launched.
  bool take(const ElementwiseCall&, ListLaunch, int device, const StorageRef* held, int count);
  // Elements of `size` bytes without gaps: those at `from`, or each as `value`.
  bool take_copy(void* to, const void* from, const void* value, int64_t size, int64_t count, int device);
  void launch();

 private:
  struct Span {  // of memory: the last levels that wrote and read it, or -1
    uintptr_t end;
    int written, read;
  };
  int level_after(uintptr_t begin, uintptr_t end, bool writes) const;
  void note(uintptr_t begin, uintptr_t end, bool writes, int level);

  struct Waiting {
    int level;
    ListedFormula formula;
    ListedCall call;
  };
  int depth_ = 0, device_ = 0;
  Stream stream_;
  std::vector<Waiting> waiting_;
  std::vector<StorageRef> held_;  // else a temporary's memory would be that of the next one, which would have to wait
  std::map<uintptr_t, Span> spans_;  // apart from each other, by where they begin
  int64_t bytes_ = 0;
};

inline void launch_listed() {
  if (OpenList* list = OpenList::find(); TORCH_UNLIKELY(list)) list->launch();
}

}  // namespace torch::cuda
