"""The command line: one file for each command.

In: the words of a person.
Out: text or JSON, and an exit code (docs/errors.md).
May import: every room.
"""
