# A small image with the stack and nothing to build it: from an index that `python ci/release.py index` made.
#   python3 ci/start.py -c "import torch" && python3 ci/release.py index
#   docker build -f docker/runtime.Dockerfile --build-context index=build/index -t torch .
#   docker run --rm torch python -c "import torch; print(torch.ones(2))"
# The index holds compiled wheels for the Python that made it: `--build-arg PYTHON=3.12` for another than Debian 12's.
ARG PYTHON=3.11
FROM python:${PYTHON}-slim-bookworm
ARG PACKAGES=torch
# No other index is asked: the public registry holds other people's packages of our names.
RUN --mount=from=index,target=/index \
    pip install --no-cache-dir --disable-pip-version-check --only-binary :all: --index-url file:///index/simple $PACKAGES \
 && python -m torch.doctor
RUN useradd --create-home torch
USER torch
WORKDIR /home/torch
CMD ["python"]
