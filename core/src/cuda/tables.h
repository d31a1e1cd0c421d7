// The tables of work (work.h) that the plug-in fills for CUDA, family by family, and what starts it.
#pragma once
#include "norm_kernels.h"
#include "softmax_kernels.h"

namespace torch::cuda {

void fill_elementwise_tables();  // elementwise.cpp
void fill_reduce_table();        // reduce.cpp
void fill_index_table();         // index.cpp

// softmax.cu, norm.cu. Of the kernels of norms there are those over rows.
extern const SoftmaxKernels<float> softmax_float;
extern const SoftmaxKernels<double> softmax_double;
extern const NormKernels<float> norm_float;
extern const NormKernels<double> norm_double;

// Registers the backend and all tables; once, when the plug-in is loaded.
void start();

}  // namespace torch::cuda
