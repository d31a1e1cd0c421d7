"""What can be added to a Trainer: monitors measure, a logger prints, a bar shows, a checkpoint keeps."""

from .accuracy import AccuracyMonitor
from .bar import ProgressBar
from .checkpoint import Checkpoint
from .evaluation import Evaluation
from .logger import Logger
from .loss import LossMonitor
from .metric import MetricMonitor
from .monitor import Monitor
from .plugin import Plugin
from .progress import ProgressMonitor
from .time import TimeMonitor

__all__ = [
    "AccuracyMonitor",
    "Checkpoint",
    "Evaluation",
    "Logger",
    "LossMonitor",
    "MetricMonitor",
    "Monitor",
    "Plugin",
    "ProgressBar",
    "ProgressMonitor",
    "TimeMonitor",
]
