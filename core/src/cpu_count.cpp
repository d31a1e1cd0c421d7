// How many processors this process may use: affinity mask and control group quota.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "torch/core/cpu.h"
#if defined(__linux__)
#include <sched.h>
#endif

namespace torch {
namespace {

int affinity_count() {
#if defined(__linux__)
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
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

#if defined(__linux__)
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

double cgroup_quota() {
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
#else
double cgroup_quota() { return 0; }
#endif

}  // namespace

int available_cpus() noexcept {
  try {
    int count = std::max(affinity_count(), 1);
    const double quota = cgroup_quota();
    if (quota > 0) count = std::min(count, std::max(static_cast<int>(quota + 0.5), 1));
    return count;
  } catch (...) {
    return 1;
  }
}

}  // namespace torch
