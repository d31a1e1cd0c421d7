"""Switches of torch.fx that programs set; nothing here shows progress, so that they change nothing."""

disable_progress = True
verbose_progress = False
