"""The run of a request, from its first action to its answer: the loop, its sandboxes, the replay of its summary."""
