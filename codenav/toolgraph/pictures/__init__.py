"""Pictures of tool graphs: what is shown, where, and in which format."""
