"""Named sandboxes: each belongs to a small host process and outlives the command that started it.

`launch.start` starts one, `client.connect` talks to one, `places.listed` finds them all.
"""
