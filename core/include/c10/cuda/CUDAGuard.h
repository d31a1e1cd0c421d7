// A name under which CUDA extensions of PyTorch include it.
#pragma once
#include <c10/cuda/CUDAStream.h>
