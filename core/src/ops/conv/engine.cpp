#include "ops/conv/engine.h"

#include "dispatch/work.h"

namespace torch::conv {

const Engine& engine() { return work<Engine>.on_cpu(); }

}  // namespace torch::conv
