// The tables of work (work.h) that the plug-in fills for CUDA, family by family, and what starts it.
#pragma once
#include "cpu/distance_kernels.h"
#include "cpu/int8_kernels.h"
#include "cpu/norm_kernels.h"
#include "cpu/random_kernels.h"
#include "cpu/softmax_kernels.h"
#include "ops/class_loss.h"
#include "ops/conv/pooling.h"
#include "ops/conv/shape.h"
#include "ops/product.h"

namespace torch {
struct ChainWork;
struct CreateWork;
struct DrawWork;
struct FftWork;
struct MaskWork;
struct RecurrenceWork;
struct ScanWork;
struct SolverWork;
struct SortWork;
struct SparseWork;
struct TriangularWork;
}  // namespace torch

namespace torch::cuda {

void fill_elementwise_tables();  // elementwise.cpp
void fill_reduce_table();        // reduce.cpp
void fill_index_table();         // index.cpp

// softmax.cu, norm.cu
extern const SoftmaxKernels<float> softmax_float;
extern const SoftmaxKernels<double> softmax_double;
extern const NormKernels<float> norm_float;
extern const NormKernels<double> norm_double;
// distance.cu
extern const DistanceKernels<float> distance_float;
extern const DistanceKernels<double> distance_double;

extern const ProductWork product_work;      // product.cu
extern const Int8Kernels int8_kernels;      // int8.cu
extern const RandomKernels random_numbers;  // random.cu
void drop(RandomStream stream, uint64_t threshold, double scale, const Tensor& x, const Tensor& y, const Tensor& mask);

// loss.cu, conv.cu, pooling.cu
extern const ClassLossKernels<float> loss_float;
extern const ClassLossKernels<double> loss_double;
extern const ConvWork<float> conv_float;
extern const ConvWork<double> conv_double;
extern const pool::Kernels<float> pool_float;
extern const pool::Kernels<double> pool_double;
extern const pool::Kernels<int64_t> pool_int64;
// Of this library, as the tables of the core: scan.cu, mask.cu, sort.cu, create.cu, draws.cu, fft.cu,
// sparse.cu.
extern const ScanWork scans;
extern const MaskWork masks;
extern const SortWork sorting;
extern const CreateWork creation;
extern const DrawWork draw_kernels;
extern const FftWork fourier;
extern const SparseWork sparse_matrices;
extern const ChainWork chains;            // chain.cpp
extern const RecurrenceWork recurrences;  // recurrence.cpp
extern const SolverWork solver;           // cusolver.cpp
extern const TriangularWork triangles;    // triangular.cu

// Registers the backend and all tables; once, when the plug-in is loaded.
void start();

}  // namespace torch::cuda
