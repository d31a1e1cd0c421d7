# The stack with its kernels for NVIDIA GPUs, built from the tree: the driver comes from the machine that runs it.
#   docker build -f docker/cuda.Dockerfile -t torch-cuda .
#   docker run --rm --gpus all torch-cuda python -c "import torch; print(torch.ones(2, device='cuda'))"
# Without `--gpus` it runs too, on the CPU; `python -m torch.doctor` says what is missing.
ARG CUDA=13.0.1
FROM nvidia/cuda:${CUDA}-devel-ubuntu24.04 AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ git python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/torch
ENV PATH=/opt/torch/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN pip install hatchling cmake ninja pybind11 numpy scipy-openblas32
COPY . /torch
WORKDIR /torch
# In this order, as parts are compiled against those before; no index is asked for ours, whose names others have there.
RUN pip install --no-build-isolation --no-deps ./packages/torch-core \
 && pip install --no-build-isolation --no-deps ./packages/torch-autograd ./packages/torch-multiprocessing \
    ./packages/torch-serialize ./packages/torch-nn ./packages/torch-optim ./packages/torch-utils \
    ./packages/torch-distributions ./packages/torch-legacy ./packages/torch-jit ./packages/torch-distributed ./packages/torch-core-cuda \
    ./packages/torch \
 && pip uninstall -y hatchling cmake ninja pybind11

FROM nvidia/cuda:${CUDA}-base-ubuntu24.04
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/torch /opt/torch
ENV PATH=/opt/torch/bin:$PATH
RUN python -m torch.doctor && useradd --create-home torch
USER torch
WORKDIR /home/torch
CMD ["python"]
