"""Default times."""

from datetime import timedelta

default_pg_timeout = timedelta(minutes=30)
