// How many processors this process may use: affinity mask and control group quota.
#include <algorithm>

#include "os/os.h"
#include "torch/core/cpu.h"

namespace torch {

int available_cpus() noexcept {
  try {
    int count = std::max(os::affinity_count(), 1);
    const double quota = os::processor_quota();
    if (quota > 0) count = std::min(count, std::max(static_cast<int>(quota + 0.5), 1));
    return count;
  } catch (...) {
    return 1;
  }
}

}  // namespace torch
