// OpenBLAS (the package scipy-openblas32), opened when it is first needed.
#pragma once
#include "cpu/gemm_kernels.h"

namespace torch {

bool openblas_available();  // opens it

extern constinit thread_local bool t_openblas;  // the last product of this thread went there; in dispatch/layer.cpp

// Cuts C into blocks by shape and gives each to single-threaded OpenBLAS on our pool. Operands whose strides BLAS does
// not know are copied. Throws ErrorKind::Runtime when the library is not there.
template <class T>
void openblas_product(const Product<T>& p);

}  // namespace torch
