"""Episodes: the records of runs.

In: the events of a run; a record on the disk.
Out: a record on the disk; its replay, comparison, notebook and script.
May import: `core`.
"""
