"""What a command's exit code says; 2 is click's own for wrong options or arguments."""

from __future__ import annotations

DONE = 0
#: A failure, or a run that did only part of its work.
FAILURE = 1
#: The question cannot be answered, for example because the database is of a newer version.
CANNOT_TELL = 3
#: Interrupted by Ctrl-C or by SIGTERM, after what ran was brought to a safe end.
INTERRUPTED = 130
TERMINATED = 143
