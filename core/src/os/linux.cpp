// Linux: futexes, /proc, control groups, affinity.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "os/os.h"

namespace torch::os {

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void doze_while(std::atomic<uint32_t>& word, uint32_t value) noexcept {
  const timespec limit{0, 100'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word, int count) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

bool grant_tiles() noexcept {
#if defined(__x86_64__)
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA, of Linux 5.16
  static const bool granted = syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
  return granted;
#else
  return false;
#endif
}

int64_t thread_id() noexcept { return syscall(SYS_gettid); }

bool start_thread(void* (*main)(void*), void* argument, const char* name) noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t thread;
  const int status = pthread_create(&thread, &attributes, main, argument);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  pthread_attr_destroy(&attributes);
  if (status == 0) pthread_setname_np(thread, name);
  return status == 0;
}

int affinity_count() {
  // The kernel's mask may be wider than cpu_set_t: EINVAL asks for a larger one.
  for (int cpus = 1024; cpus <= (1 << 18); cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (!set) break;
    const size_t size = CPU_ALLOC_SIZE(cpus);
    const int status = sched_getaffinity(0, size, set);
    const int count = status == 0 ? CPU_COUNT_S(size, set) : 0;
    const int error = errno;
    CPU_FREE(set);
    if (status == 0) return count;
    if (error != EINVAL) break;
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

namespace {

uint64_t read_number(const char* path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : 0;
}

double read_v2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::atof(quota.c_str()) / period;
}

double read_v1(const std::string& directory) {
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us"), period_file(directory + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return 0;
  return quota / period;
}

// The smallest quota on the way from the process's own group up to the root of the mount, 0 when there is none. A
// container often sees only its own group, mounted as the root: then the path of /proc/self/cgroup does not exist below
// the mount, and the climb ends there all the same.
template <class Read>
double smallest_quota(const std::string& mount, std::string path, Read read) {
  double smallest = 0;
  for (;;) {
    const double quota = read(mount + path);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    if (path.empty() || path == "/") return smallest;
    path.resize(std::max<size_t>(path.rfind('/'), 0));
  }
}

}  // namespace

uint64_t memory_total(bool with_swap) {
  uint64_t kib = 0, swap = 0, value = 0;
  std::ifstream file("/proc/meminfo");
  for (std::string key, unit; file >> key >> value && std::getline(file, unit);) {
    if (key == "MemTotal:") kib = value;
    if (key == "SwapTotal:") swap = value;
  }
  uint64_t total = (kib + (with_swap ? swap : 0)) << 10;
  if (total == 0) total = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (const uint64_t limit = read_number(path); limit > 0) total = std::min(total, limit);
  return total;
}

double processor_quota() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  double smallest = 0;
  while (std::getline(file, line)) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    double quota = 0;
    if (controllers.empty()) {
      quota = smallest_quota("/sys/fs/cgroup", path, read_v2);
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      quota = smallest_quota("/sys/fs/cgroup/" + controllers, path, read_v1);
      if (quota == 0) quota = smallest_quota("/sys/fs/cgroup/cpu", path, read_v1);
    }
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
  }
  return smallest;
}

int64_t first_cache() noexcept {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  return std::max<int64_t>(sysconf(_SC_LEVEL1_DCACHE_SIZE), 0);
#else
  return 0;
#endif
}

int64_t second_cache() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  return std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 0);
#else
  return 0;
#endif
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos && line.compare(0, 10, "model name") == 0) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace torch::os
