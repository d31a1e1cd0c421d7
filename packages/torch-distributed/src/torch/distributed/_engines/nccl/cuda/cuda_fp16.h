// NCCL's header includes it and uses nothing of it.
#pragma once
