// The backward pass, in one page.
//
//   1. From the roots, walk the edges and count in each node how many gradients it will receive (`waiting`).
//   2. Take the youngest node that waits for nothing; run its derivative; hand each result to the node of the input:
//      the first one is stored, further ones are added. A node that has received all of them is ready.
//   3. Leaves add what they receive to .grad.
//
// The counts lie in the nodes themselves (Node::visit), claimed for one pass by its number. A node that another pass
// is using at the moment, on another thread or around this one, is kept in a table of this pass instead. Nothing here
// recurses, so that graphs may be of any depth. With `inputs`, only nodes between the roots and the inputs are run.
#include <algorithm>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "anomaly.h"
#include "torch/autograd/backward.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/pointwise.h"
