"""Core: the data and the contracts that all rooms share, and the machine beneath them.

In: nothing of codenav.
Out: settings, errors, actions, events, blocks, traces, protocols; secrets and their masking; files, locks, processes.
May import: nothing.
"""
