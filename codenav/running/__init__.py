"""One request from its first action to its answer: the loop, its sandboxes, and the replay of its summary."""
