# Everything that the stack is built and tested with, on the oldest glibc that its wheels are made for here.
#   docker build -f docker/build.Dockerfile -t torch-build .
#   docker run --rm -v "$PWD:/torch" torch-build python3 ci/test.py
FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    ca-certificates ccache clang g++ git iproute2 libgloo-dev openssh-client patchelf python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*
ENV CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_DIR=/ccache PIP_DISABLE_PIP_VERSION_CHECK=1
VOLUME /ccache
WORKDIR /torch
CMD ["python3", "ci/test.py"]
