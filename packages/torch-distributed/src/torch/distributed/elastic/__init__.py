"""Jobs whose processes are started, watched and started again (``torchrun``)."""
