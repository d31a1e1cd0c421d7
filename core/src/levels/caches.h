// How much memory is near: blocks of work are cut by it where the cut does not show in the result. Sums along k are cut
// by constants of the instruction set, so that bits do not depend on a cache.
#pragma once
#include <cstdint>

namespace torch {

int64_t second_cache() noexcept;  // bytes
// `bytes`, which is a good choice beside a second cache of 1 MB, in proportion to that of this processor if it is
// smaller.
int64_t part_of_second_cache(int64_t bytes) noexcept;
// The same of the first cache, beside one of 32 KB; more where it is larger, up to four times as much.
int64_t part_of_first_cache(int64_t bytes) noexcept;

}  // namespace torch
