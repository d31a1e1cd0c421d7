"""The writer that training loops hold: one method for each kind of thing to show."""

from __future__ import annotations

import os
import socket
import time

from . import embedding, hparams, media, mesh, proto, summary, video
from . import layout as charts
from .graph import graph
from .records import FileWriter, event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor
    from typing_extensions import Self


class SummaryWriter:
    """Writes what a run reports into a folder that TensorBoard shows.

    Args:
        log_dir: the folder of the run (default: ``runs/<date>_<host><comment>``)
        comment: added to the default folder's name
        purge_step: what an earlier, crashed run wrote at this step or later is not shown
        max_queue, flush_secs: events wait for so many, or so long, before they are written to the disk
        filename_suffix: of the event files

    Example:
        >>> import os, tempfile
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", 1 / (step + 1), step)
        >>> [name.split(".")[0] for name in os.listdir(writer.log_dir)]
        ['events']
    """

    def __init__(
        self,
        log_dir: str | os.PathLike | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer = FileWriter(self.log_dir, max_queue, flush_secs, filename_suffix)
        self._others: dict[str, FileWriter] = {}
        if purge_step is not None:  # SessionLog: status 1 START
            self.file_writer.add_event(event(purge_step, None, proto.data(7, proto.integer(1, 1))))

    def _get_file_writer(self) -> FileWriter:
        """What writes the event file, which loggers of libraries give summaries of their own; open again after `close`."""
        if self.file_writer._closed:
            self.file_writer.reopen()
        return self.file_writer

    def _add(self, content: bytes, global_step, walltime) -> None:
        step = None if global_step is None else int(summary.number("global_step", global_step))
        self._get_file_writer().add_summary(content, step, walltime)

    def get_logdir(self) -> str:
        """The folder of the run."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """One number: a Python number, or a tensor of one element."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Several numbers in one diagram. Each key has a run of its own, in a folder below this one's."""
        if not isinstance(tag_scalar_dict, dict):
            raise TypeError(
                f"add_scalars({main_tag!r}): expected a dict of numbers, got {type(tag_scalar_dict).__name__}"
            )
        for tag, scalar_value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag}_{tag}".replace("/", "_"))
            if folder not in self._others:
                self._others[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            content = summary.scalar(main_tag, scalar_value)
            self._others[folder].add_summary(content, global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Tensor, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A tensor of floats, as it is."""
        x = summary.as_tensor(f"add_tensor({tag!r})", tensor).float()
        content = proto.data(5, memoryview(x.contiguous()).tobytes())
        self._add(summary.value(tag, summary.tensor(summary.FLOAT, tuple(x.shape), content)), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: str = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed.

        Args:
            bins: "tensorflow" (limits that grow by a tenth), a number of bins, their limits, or a name that
                ``numpy.histogram_bin_edges`` knows
            max_bins: at most so many, by joining neighbours
        """
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A histogram that was counted elsewhere: limits are the buckets' right ends."""
        content = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(content, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: bytes (0 to 255) or floats (0 to 1), its dims named by `dataformats` ("CHW", "HWC", "HW")."""
        self._add(media.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures of one size, eight in a row."""
        self._add(media.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: int = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """A picture with frames: `box_tensor` is (boxes, 4), each left, top, right, bottom in pixels.

        Args:
            labels: a str for each box (needs Pillow)
        """
        what = f"add_image_with_boxes({tag!r})"
        drawn = media.with_boxes(what, img_tensor, box_tensor, labels, dataformats)
        self._add(media.image(tag, drawn, "HWC", rescale), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A matplotlib figure, or several of one size."""
        figures = figure if isinstance(figure, (list, tuple)) else [figure]
        self.add_images(tag, media.figure(figures), global_step, walltime, "NHWC")
        if close:
            import matplotlib.pyplot as plt

            for one in figures:
                plt.close(one)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: int = 4, walltime: float | None = None
    ) -> None:
        """Moving pictures: (N, T, C, H, W), N clips side by side of T pictures each. Needs Pillow."""
        self._add(video.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound: (samples) or (channels, samples) in [-1, 1]."""
        self._add(media.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Text, which TensorBoard reads as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The operations of one run of a module, grouped by the modules in it.

        Args:
            input_to_model: the tensor, or tuple of arguments, to run it with
            verbose: print the graph's nodes
            use_strict_trace: without effect: nothing is traced, the tape of one run is read
        """
        if not hasattr(model, "named_modules"):
            raise TypeError(f"add_graph: expected a Module, got {type(model).__name__}")
        if input_to_model is None:
            raise ValueError("add_graph: input_to_model is missing: the graph is that of one run")
        content = graph(model, input_to_model, verbose)
        if self.file_writer._closed:
            self.file_writer.reopen()
        self.file_writer.add_event(event(None, None, proto.data(4, content)))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Vectors for the projector.

        Args:
            mat: (vectors, dims)
            metadata: one entry for each vector; a list of columns for each with `metadata_header`
            label_img: (vectors, C, H, W), a picture for each
        """
        step = 0 if global_step is None else int(global_step)
        embedding.write(self.log_dir, tag, step, mat, metadata, label_img, metadata_header)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision over recall: `labels` are 0 or 1, `predictions` the probabilities of 1."""
        content = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(content, global_step, walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any, false_negative_counts: Any, precision: Any,
        recall: Any, global_step: int | None=None, num_thresholds: int = 127, weights: Any=None, walltime: float | None=None,
    ) -> None:  # fmt: skip
        """A curve that was counted elsewhere, one entry for each threshold."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        self._add(summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds), global_step, walltime)

    def add_custom_scalars(self, layout: dict) -> None:
        """Charts of several scalars, for the tab Custom Scalars; said once, for scalars that `add_scalar` writes.

        Args:
            layout: ``{category: {title: ["Multiline", tags]}}``, or ``["Margin", [value, lower, upper]]`` for a line in a band
        """
        self._add(charts.layout(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """One chart of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """One chart of a scalar in a band: `tags` are value, lower and upper."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A mesh, or a cloud of points without `faces`.

        Args:
            vertices: (batch, n, 3) coordinates
            colors: (batch, n, 3), 0 to 255, one for each vertex
            faces: (batch, m, 3), three numbers of vertices for each triangle
            config_dict: settings of ThreeJS, such as ``{"material": {"cls": "PointsMaterial", "size": 0.1}}``
        """
        self._add(mesh.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_hparams(
        self, hparam_dict: dict, metric_dict: dict, hparam_domain_discrete: dict | None = None, run_name: Any=None,
        global_step: int | None=None,
    ) -> None:  # fmt: skip
        """The settings of a run and the metrics it reached, as a run of its own below this one's folder.

        Args:
            hparam_domain_discrete: for settings, all the values that they may have
            run_name: of the folder (default: the time)
        """
        contents = hparams.summaries(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, str(time.time()) if run_name is None else run_name)
        writer = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
        for content in contents:
            writer.add_summary(content)
        for name, metric in metric_dict.items():
            writer.add_summary(summary.scalar(name, metric), global_step)
        writer.close()

    def flush(self) -> None:
        """Write what waits to the disk."""
        for writer in (self.file_writer, *self._others.values()):
            if not writer._closed:
                writer.flush()

    def close(self) -> None:
        """Write what waits and close the files; writing again begins new ones."""
        for writer in (self.file_writer, *self._others.values()):
            if not writer._closed:
                writer.close()
        self._others = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
