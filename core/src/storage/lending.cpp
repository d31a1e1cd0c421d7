// Who lends is rare, and who asks whether something is lent rarer: a table beside the storages, which stay small.
#include "storage/lending.h"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "os/os.h"
namespace torch {

namespace {

struct Loan {
  int64_t count = 0;
  std::vector<StorageRef> old;
};
struct Loans {
  std::mutex mutex;
  std::unordered_map<Storage*, Loan> all;
  std::atomic<size_t> count{0};
};
// Never destroyed: arrays may outlive every static object.
Loans& loans() {
  static Loans* const instance = [] {
    auto* const made = new Loans;
    os::at_fork([] { loans().mutex.lock(); }, [] { loans().mutex.unlock(); }, [] { loans().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

}  // namespace

void lend(Storage* s) {
  Loans& l = loans();
  std::lock_guard lock(l.mutex);
  ++l.all[s].count;
  l.count.store(l.all.size(), std::memory_order_release);
  s->retain();
}

void give_back(Storage* s) noexcept {
  const StorageRef held = StorageRef::steal(s);
  Loan over;
  Loans& l = loans();
  std::lock_guard lock(l.mutex);
  auto it = l.all.find(s);
  if (--it->second.count > 0) return;
  over = std::move(it->second);
  l.all.erase(it);
  l.count.store(l.all.size(), std::memory_order_release);
}

bool is_lent(Storage* s) noexcept {
  Loans& l = loans();
  if (l.count.load(std::memory_order_acquire) == 0) return false;
  std::lock_guard lock(l.mutex);
  return l.all.count(s) > 0;
}

void keep_until_given_back(Storage* s, StorageRef old) {
  Loans& l = loans();
  std::lock_guard lock(l.mutex);
  l.all[s].old.push_back(std::move(old));
}

}  // namespace torch
