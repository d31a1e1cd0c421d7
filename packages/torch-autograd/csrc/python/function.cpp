// Functions written in Python: torch.autograd.Function. The node of such a call holds its context (ctx), which is at
// the same time the node's Python object.
#include <Python.h>
#include <structmember.h>

#include <memory>

#include "../collect.h"
#include "../view.h"
#include "python.h"
#include "torch/core/ops/create.h"
