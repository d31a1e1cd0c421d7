"""Event files for TensorBoard: scalars, histograms, images, text, graphs, embeddings, hyperparameters.

Writing needs nothing but torch-core; looking needs ``pip install tensorboard``, then ``tensorboard --logdir runs``.
"""

from .records import FileWriter, RecordWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
