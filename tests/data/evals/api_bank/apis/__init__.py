"""Left out by the adapter, as upstream's is: importing it fails on purpose."""

raise ImportError("the adapter writes a package of its own")
