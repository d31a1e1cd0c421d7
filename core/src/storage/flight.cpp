#include "torch/core/flight.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "os/os.h"
namespace torch::flight {

std::atomic<int> count{0}, waiting{0};
void (*pause)() noexcept = nullptr;

namespace {

constinit thread_local bool in_flight = false;

std::mutex kept_mutex;
std::vector<AutogradMeta*> kept;
std::atomic<bool> has_kept{false};

// Only the thread that forked lives on in the child, and it held the lock.
void after_fork_in_child() {
  count.store(0);
  waiting.store(0);
}

template <class Condition>
void sleep_while(Condition condition) noexcept {
  using namespace std::chrono_literals;
  for (int i = 0; i < 40 && condition(); ++i) i < 8 ? std::this_thread::yield() : std::this_thread::sleep_for(50us);
}

}  // namespace

void enter() noexcept {
  [[maybe_unused]] static const bool forks = (os::at_fork(nullptr, nullptr, after_fork_in_child), true);
  in_flight = true;
  count.fetch_add(1, std::memory_order_acq_rel);
}
bool leave() noexcept {
  if (!in_flight) return false;
  in_flight = false;
  count.fetch_sub(1, std::memory_order_acq_rel);
  return true;
}

void wait() noexcept {
  sleep_while([] { return any(); });
}
void step_aside() noexcept {
  sleep_while([] { return is_awaited(); });
}

void keep_for_flights(AutogradMeta* meta) {
  std::lock_guard lock(kept_mutex);
  kept.push_back(meta);
  has_kept.store(true, std::memory_order_release);
}
void free_kept() noexcept {
  if (TORCH_LIKELY(!has_kept.load(std::memory_order_acquire)) || any()) return;
  std::vector<AutogradMeta*> all;
  {
    std::lock_guard lock(kept_mutex);
    all.swap(kept);
    has_kept.store(false, std::memory_order_release);
  }
  for (AutogradMeta* meta : all) meta->release();
}

}  // namespace torch::flight
