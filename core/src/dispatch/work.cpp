// The CPU's entries in the tables of work: each is compiled once per instruction set (src/cpu), and one of them is
// chosen here, when the library is loaded.
#include "dispatch/work.h"

#include <vector>

#include "cpu/attention_kernels.h"
#include "cpu/distance_kernels.h"
#include "cpu/fft_kernels.h"
#include "cpu/gemm_kernels.h"
#include "cpu/int8_kernels.h"
#include "cpu/narrow_kernels.h"
#include "cpu/norm_kernels.h"
#include "cpu/random_kernels.h"
#include "cpu/recurrent_kernels.h"
#include "cpu/softmax_kernels.h"
#include "dispatch/families.h"
#include "iterate/chain.h"
#include "iterate/elementwise.h"
#include "iterate/staging.h"
#include "kernels/index.h"
#include "kernels/reduce.h"
#include "kernels/scan.h"
#include "kernels/sort.h"
#include "kernels/sparse.h"
#include "levels/isa.h"
#include "ops/attention.h"
#include "ops/class_loss.h"
#include "ops/conv/engine.h"
#include "ops/conv/pooling.h"
#include "ops/conv/shape.h"
#include "ops/create/create.h"
#include "ops/fft/work.h"
#include "ops/index/index.h"
#include "ops/linalg/work.h"
#include "ops/product.h"
#include "ops/random/draw_work.h"
#include "ops/recurrence_work.h"
#include "ops/reduce/engine.h"
#include "ops/reduce/scan.h"
#include "ops/sort/sort_work.h"
#include "ops/sort/sorting.h"
#include "ops/sparse/work.h"

namespace torch {

TORCH_PER_ISA(const RandomKernels& random_table(); const GemmKernels& gemm_table();
              void add_pooling_last(pool::Kernels<float>&);
              void add_pooling(pool::Kernels<float>&, pool::Kernels<double>&, pool::Kernels<int64_t>&);
              void add_resample(pool::Kernels<float>&, pool::Kernels<double>&); void add_conv_gemm(conv::Engine&);
              void add_conv_weights(conv::Engine&); void add_conv_direct(conv::Engine&);
              void add_conv_winograd(conv::Engine&); void add_conv_winograd_weights(conv::Engine&);
              void add_conv_windows(conv::Engine&); void add_conv_dots(conv::Engine&);
              void add_conv_last(conv::Engine&); void add_conv_depthwise(conv::Engine&);)

namespace {

struct KnownTable {
  const std::type_info* type;
  void (*set)(DeviceType, const void* table) noexcept;
};
std::vector<KnownTable>& kinds() {
  static std::vector<KnownTable> all;
  return all;
}
template <class Table>
void known() {
  kinds().push_back({&typeid(Table), [](DeviceType type, const void* table) noexcept {
                       work<Table>.set(type, static_cast<const Table*>(table));
                     }});
}
template <class Table>
void set_on_cpu(const Table& table) {
  known<Table>();
  work<Table>.set(DeviceType::CPU, &table);
}

template <class Table>
void set_on_others(const Table& table) {
  work<Table>.set_on_others(&table);
}

// Tables to which several files add.
pool::Kernels<float> pool_f32;
pool::Kernels<double> pool_f64;
pool::Kernels<int64_t> pool_i64;
conv::Engine convolution;
template <class T>
constexpr ConvWork<T> convolutions{.forward = conv_forward<T>,
                                   .backward_data = conv_backward_data<T>,
                                   .backward_weights = conv_backward_weights<T>,
                                   .backward_bias = conv_backward_bias<T>,
                                   .takes_channels_last_weights = true,
                                   .prefers_channels_last = prefers_channels_last,
                                   .backward_bias_last = conv_backward_bias_last<T>};
ReduceTables reductions;

}  // namespace

void choose_instruction_set() {
  if constexpr (has_family("random")) set_on_cpu(TORCH_PICK_ISA(random_table)());
  if constexpr (has_family("sparse")) set_on_cpu(*TORCH_PICK_ISA(sparse_kernels_table)), set_on_cpu(sparse_on_cpu);
  if constexpr (has_family("loss")) set_on_cpu(class_loss_float), set_on_cpu(class_loss_double);
  if constexpr (has_family("distance"))
    set_on_cpu(TORCH_PICK_ISA(distance_float)()), set_on_cpu(TORCH_PICK_ISA(distance_double)());
  if constexpr (has_family("fft")) set_on_cpu(TORCH_PICK_ISA(fft_float)()), set_on_cpu(TORCH_PICK_ISA(fft_double)());
  set_on_cpu(*TORCH_PICK_ISA(staging_table));
  set_on_cpu(*TORCH_PICK_ISA(index_kernels_table));
  set_on_cpu(*TORCH_PICK_ISA(sort_kernels_table));
  set_on_cpu(*TORCH_PICK_ISA(scan_kernels_table));
  const auto reduce_table = TORCH_PICK_ISA(reduce_table);
  for (int i = 0; i < kReductions; ++i) reductions.of[i] = &reduce_table(Reduce(i));
  set_on_cpu(reductions);
  set_on_cpu(TORCH_PICK_ISA(gemm_table)());
  set_on_cpu(TORCH_PICK_ISA(int8_table)());
  set_on_cpu(TORCH_PICK_ISA(narrow_table)());
  set_on_cpu(TORCH_PICK_ISA(softmax_float)());
  set_on_cpu(TORCH_PICK_ISA(softmax_double)());
  set_on_cpu(TORCH_PICK_ISA(attention_float)());
  set_on_cpu(TORCH_PICK_ISA(attention_double)());
  set_on_cpu(attention_on_cpu), set_on_others(attention_by_operators);
  set_on_cpu(TORCH_PICK_ISA(norm_float)());
  set_on_cpu(TORCH_PICK_ISA(norm_double)());
  set_on_cpu(TORCH_PICK_ISA(recurrent_float)());
  set_on_cpu(TORCH_PICK_ISA(recurrent_double)());
  TORCH_PICK_ISA(add_pooling)(pool_f32, pool_f64, pool_i64);
  TORCH_PICK_ISA(add_pooling_last)(pool_f32);
  TORCH_PICK_ISA(add_resample)(pool_f32, pool_f64);
  set_on_cpu(pool_f32), set_on_cpu(pool_f64), set_on_cpu(pool_i64);
  for (auto add :
       {TORCH_PICK_ISA(add_conv_gemm), TORCH_PICK_ISA(add_conv_weights), TORCH_PICK_ISA(add_conv_direct),
        TORCH_PICK_ISA(add_conv_winograd), TORCH_PICK_ISA(add_conv_winograd_weights), TORCH_PICK_ISA(add_conv_windows),
        TORCH_PICK_ISA(add_conv_dots), TORCH_PICK_ISA(add_conv_last), TORCH_PICK_ISA(add_conv_depthwise)})
    add(convolution);
  set_on_cpu(convolution);
  set_on_cpu(convolutions<float>), set_on_cpu(convolutions<double>);
  set_on_cpu(index_on_cpu), set_on_cpu(product_on_cpu);
  set_on_cpu(scans_on_cpu), set_on_cpu(creation_on_cpu);
  set_on_cpu(sorting_on_cpu), set_on_cpu(masking_on_cpu), set_on_cpu(counting_on_cpu);
  set_on_cpu(recurrence_on_cpu), set_on_others(recurrence_by_operators);
  set_on_others(sorting_by_order), set_on_others(masking_by_places), set_on_others(counting_by_operators);
  known<SortWork>(), known<MaskWork>();  // what those stand on
  known<LapackWork>(), known<SolverWork>(), known<TriangularWork>(), known<DrawWork>(), known<FftWork>();
  known<CopyWork>(), known<ElementwiseWork>(), known<ReduceWork>(),
      known<ChainWork>();  // the CPU has the engine for these (iterate.h)
}

void set_work(DeviceType type, const std::type_info& kind, const void* table) {
  TORCH_CHECK(find_backend(type), "set_work: no backend is registered for device ", to_string(Device(type)));
  for (const KnownTable& k : kinds())
    if (*k.type == kind) return k.set(type, table);
  throw_error(ErrorKind::Value, message("set_work: there is no such table of kernels: ", kind.name()));
}

}  // namespace torch
