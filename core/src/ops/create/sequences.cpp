#include "dispatch/work.h"
#include "iterate/iterate.h"
#include "ops/create/create.h"
#include "ops/create/write_sequence.h"

namespace torch {

namespace {

void generate_on_cpu(const Tensor& out, const Sequence& sequence) {
  std::visit([&](const auto& f) { write_sequence(out, f); }, sequence);
}

}  // namespace

constexpr CreateWork creation_on_cpu{.triangle = triangle_on_cpu, .generate = generate_on_cpu};

void generate(const Tensor& out, const Sequence& sequence) {
  if (const auto* there = work<CreateWork>.find(out.device())) return there->generate(out, sequence);
  if (out.is_meta()) return;
  const Tensor here = empty_tensor(out.sizes(), out.dtype());
  generate_on_cpu(here, sequence);
  copy_into(out, here);
}

}  // namespace torch
