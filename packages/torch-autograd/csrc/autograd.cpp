#include "torch/autograd/autograd.h"

#include <mutex>

#include "change.h"
#include "derivatives/register.h"
#include "torch/autograd/record.h"
#include "torch/core/init.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
