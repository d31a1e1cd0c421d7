// The thread pool behind pool.h.
//
//   caller                     kDispatchKeys jobs                     workers
//   claims a free slot  ---->  [open | waiting | members]  <-- spin on epoch_ a little, then sleep on it; join an open
//   takes tasks itself         next task, count, error         job, take tasks until there are none, leave
//   closes, waits for members == 0
//
// A job is entered by raising `members` while it is open and left by lowering it, so a closed job without members is
// nobody's any more. When all slots are taken, the caller does its tasks by itself: cuts depend on the shape, so the
// result is the same. Workers are detached and the pool is never destroyed: an exiting process does not wait for them.
//
// fork: the child keeps only the thread that forked. The handler drops the parent's pool with whatever state it was in,
// and the next parallel call builds a new one.
#include "torch/core/pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "os/os.h"
#include "torch/core/cpu.h"
#include "torch/core/error.h"
#include "torch/core/interrupt.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace torch {
namespace {

constexpr int kDispatchKeys = 8;
constexpr int kMaxThreads = 4096;
constexpr std::chrono::microseconds kSpin{40};  // about the gap between two regions of a training step

void cpu_pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins for a short time while condition() holds; false when it still holds at the end.
template <class Condition>
bool spin_while(Condition&& condition) noexcept {
  std::chrono::steady_clock::time_point end{};
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (!condition()) return true;
      cpu_pause();
    }
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point{}) end = now + kSpin;
    if (now >= end) return false;
  }
}

// Thrown in the tasks of a job that an interrupt ended on another thread.
struct Stopped {};

constexpr uint32_t kOpen = 1u << 31, kWaiting = 1u << 30, kMembers = kWaiting - 1;

struct alignas(64) Job {
  std::atomic<bool> taken{false};
  std::atomic<uint32_t> state{0};
  // Set by the owner while the job is closed and empty. Atomic because enter() looks at them before it is a member.
  std::atomic<uint32_t> most_members{0};
  std::atomic<int64_t> count{0};
  const FunctionRef<void(int64_t)>* task = nullptr;
  // The error with the lowest task number counts, so that the message does not depend on the threads. Tasks are handed
  // out in rising order: all lower ones are under way when one throws.
  std::mutex error_mutex;
  std::exception_ptr error;
  int64_t error_task = 0;
  std::atomic<bool> stopped{false};  // by an interrupt
  bool flushes = false;              // denormals, in the thread that opened it

  alignas(64) std::atomic<int64_t> next{0};

  void open(int64_t tasks, int threads, const FunctionRef<void(int64_t)>& function) noexcept {
    task = &function;
    flushes = flushes_denormals();
    error = nullptr;
    stopped.store(false, std::memory_order_relaxed);
    count.store(tasks, std::memory_order_relaxed);
    most_members.store(static_cast<uint32_t>(threads - 1), std::memory_order_relaxed);
    next.store(0, std::memory_order_relaxed);
    state.store(kOpen, std::memory_order_release);
  }

  void work() noexcept {
    const int64_t tasks = count.load(std::memory_order_relaxed);
    for (;;) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= tasks) return;
      run(i, [&] {
        check_interrupt();
        (*task)(i);
      });
    }
  }

  template <class F>
  void run(int64_t i, F f) noexcept {
    try {
      f();
    } catch (const Stopped&) {
    } catch (...) {
      next.store(count.load(std::memory_order_relaxed), std::memory_order_relaxed);
      std::lock_guard<std::mutex> lock(error_mutex);
      if (!error || i < error_task) {
        error = std::current_exception();
        error_task = i;
      }
    }
  }

  bool enter() noexcept {
    uint32_t seen = state.load(std::memory_order_relaxed);
    while ((seen & kOpen) && (seen & kMembers) < most_members.load(std::memory_order_relaxed)) {
      if (next.load(std::memory_order_relaxed) >= count.load(std::memory_order_relaxed)) return false;
      if (state.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  void leave() noexcept {
    if (state.fetch_sub(1, std::memory_order_acq_rel) == (kWaiting | 1)) os::wake(state, 1);
  }

  // Admits no further thread and returns when all have left.
  void close() noexcept {
    if ((state.fetch_and(~kOpen, std::memory_order_acq_rel) & kMembers) == 0) return;
    if (!spin_while([this] { return (state.load(std::memory_order_acquire) & kMembers) != 0; })) {
      uint32_t seen = state.fetch_or(kWaiting, std::memory_order_acq_rel) | kWaiting;
      while (seen & kMembers) {
        os::doze_while(state, seen);
        run(INT64_MAX, [] { check_interrupt(); });
        seen = state.load(std::memory_order_acquire);
      }
    }
    state.store(0, std::memory_order_relaxed);
  }
};

struct Pool {
  Job jobs[kDispatchKeys];
  alignas(64) std::atomic<uint32_t> epoch{0};  // rises with every job opened
  std::atomic<int> sleepers{0};
  alignas(64) std::atomic<int> workers{0};  // changed under g_mutex

  Job* claim() noexcept {
    for (Job& job : jobs)
      if (!job.taken.load(std::memory_order_relaxed) && !job.taken.exchange(true, std::memory_order_acquire))
        return &job;
    return nullptr;
  }

  void call_workers(int64_t wanted) noexcept {
    epoch.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      os::wake(epoch, static_cast<int>(std::min<int64_t>(wanted, INT_MAX)));
  }

  void sleep(uint32_t seen) noexcept {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (epoch.load(std::memory_order_seq_cst) == seen) os::sleep_while(epoch, seen);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
};

std::mutex g_mutex;  // guards the birth of pools and workers
std::atomic<Pool*> g_pool{nullptr};
std::atomic<int> g_threads{0};  // 0: not yet determined
thread_local bool t_in_region = false, t_is_worker = false;
thread_local Job* t_job = nullptr;  // whose task this thread runs

void* worker_main(void* argument) {
  Pool* const pool = static_cast<Pool*>(argument);
  t_in_region = t_is_worker = true;
  for (;;) {
    const uint32_t seen = pool->epoch.load(std::memory_order_acquire);
    for (Job& job : pool->jobs) {
      if (!job.enter()) continue;
      t_job = &job;
      if (TORCH_UNLIKELY(flushes_denormals() != job.flushes)) flush_denormals(job.flushes);
      job.work();
      job.leave();
    }
    const auto idle = [&] { return pool->epoch.load(std::memory_order_relaxed) == seen; };
    if (!spin_while(idle)) pool->sleep(seen);
  }
  return nullptr;
}

// A system that refuses more threads gets by with those it has: every job can be done by its owner.
bool start_worker(Pool* pool) noexcept { return os::start_thread(worker_main, pool, "torch-pool"); }

void before_fork() { g_mutex.lock(); }
void after_fork_in_parent() { g_mutex.unlock(); }
void after_fork_in_child() {
  g_pool.store(nullptr, std::memory_order_relaxed);
  g_mutex.unlock();
}

TORCH_NOINLINE Pool* start_workers(int wanted) {
  std::lock_guard<std::mutex> lock(g_mutex);
  static bool handlers = false;
  if (!handlers) {
    os::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    handlers = true;
  }
  Pool* pool = g_pool.load(std::memory_order_relaxed);
  if (!pool) {
    pool = new Pool;
    g_pool.store(pool, std::memory_order_release);
  }
  while (pool->workers.load(std::memory_order_relaxed) < wanted) {
    if (!start_worker(pool)) break;
    pool->workers.fetch_add(1, std::memory_order_relaxed);
  }
  return pool;
}

TORCH_NOINLINE int default_threads() noexcept {
  if (const char* text = std::getenv("TORCH_NUM_THREADS"); text && *text) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end == 0 && value >= 1 && value <= kMaxThreads) return static_cast<int>(value);
    std::fprintf(stderr, "torch: TORCH_NUM_THREADS=%s is ignored: expected a number from 1 to %d\n", text, kMaxThreads);
  }
  if (const char* text = std::getenv("OMP_NUM_THREADS"); text && *text) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);  // "4,2" gives 4 threads at the outermost level
    if (end != text && value >= 1 && value <= kMaxThreads) return static_cast<int>(value);
  }
  return available_cpus();
}

struct Region {
  explicit Region(Job* job) noexcept {
    t_in_region = true;
    t_job = job;
  }
  ~Region() {
    t_in_region = false;
    t_job = nullptr;
  }
};

// Coarse: it is asked for before each task.
int64_t milliseconds() noexcept {
#if defined(__linux__)
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return int64_t(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
#else
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
#endif
}
constexpr int64_t kAskEvery = 200;  // milliseconds: who asks takes Python's lock
thread_local int64_t t_asked = 0;

TORCH_NOINLINE void ask(int64_t now) {
  t_asked = now;
  try {
    ask_for_interrupt();
  } catch (...) {
    if (t_job) t_job->stopped.store(true, std::memory_order_relaxed);
    throw;
  }
}

}  // namespace

void parallel_run(int64_t count, FunctionRef<void(int64_t)> task) {
  const int threads = count > 1 && !t_in_region ? num_threads() : 1;
  Pool* pool = nullptr;
  Job* job = nullptr;
  if (threads > 1) {
    pool = g_pool.load(std::memory_order_acquire);
    if (!pool || pool->workers.load(std::memory_order_relaxed) < threads - 1) pool = start_workers(threads - 1);
    job = pool->claim();
  }
  if (!job) {
    for (int64_t i = 0; i < count; ++i) {
      check_interrupt();
      task(i);
    }
    return;
  }
  job->open(count, threads, task);
  pool->call_workers(std::min<int64_t>(count, threads) - 1);
  {
    Region region(job);
    job->work();
  }
  // A task that forks leaves its child without the workers that hold the other tasks.
  TORCH_CHECK(g_pool.load(std::memory_order_relaxed) == pool,
              "a process that was forked inside a parallel region cannot finish that region");
  {
    Region region(job);
    job->close();
  }
  const std::exception_ptr error = std::move(job->error);
  job->error = nullptr;
  job->taken.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void (*ask_for_interrupt)() = nullptr;

void check_interrupt() {
  if (TORCH_UNLIKELY(t_job && t_job->stopped.load(std::memory_order_relaxed))) throw Stopped();
  if (t_is_worker || !ask_for_interrupt) return;
  const int64_t now = milliseconds();
  if (TORCH_UNLIKELY(now - t_asked >= kAskEvery)) ask(now);
}

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain) return f(0, n);
  parallel_run((n - 1) / grain + 1, [&](int64_t i) { f(i * grain, std::min(i * grain + grain, n)); });
}

int num_threads() noexcept {
  int threads = g_threads.load(std::memory_order_relaxed);
  if (TORCH_UNLIKELY(threads == 0)) {
    int undetermined = 0;
    threads = default_threads();
    if (!g_threads.compare_exchange_strong(undetermined, threads)) threads = undetermined;
  }
  return threads;
}

void set_num_threads(int threads) {
  TORCH_CHECK_VALUE(threads >= 1 && threads <= kMaxThreads, "set_num_threads: expected a number from 1 to ",
                    kMaxThreads, ", got ", threads);
  g_threads.store(threads, std::memory_order_relaxed);
}

bool in_parallel_region() noexcept { return t_in_region; }

}  // namespace torch
