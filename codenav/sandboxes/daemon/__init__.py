"""Named sandboxes. Each belongs to a small host process and outlives the command that started it.

`launch.start` starts one, `client.connect` connects to one, `places.records` finds all of them.
"""
