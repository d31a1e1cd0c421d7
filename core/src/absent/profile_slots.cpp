// Stands for profile_slots.cpp in a build without the profiler, which refuses to start before it would call this.
#include "../profile.h"

void torch::profile::fill_slots() noexcept {}
