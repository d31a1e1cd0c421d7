#include "ops/sort/sorting.h"

namespace torch {

constexpr Sorting sorting_on_cpu{.sort = on_cpu::sort,
                                 .topk = on_cpu::topk,
                                 .kthvalue = on_cpu::kthvalue,
                                 .median = on_cpu::median,
                                 .mode = on_cpu::mode,
                                 .unique = on_cpu::unique,
                                 .isin = on_cpu::isin,
                                 .histc = on_cpu::histc,
                                 .search = on_cpu::search};

}  // namespace torch
