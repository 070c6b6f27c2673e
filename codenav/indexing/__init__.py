"""Sources as open indexes: what is read, where it is kept, and how it follows its source."""
