"""The machine beneath: files, locks, processes, the interpreter, Docker's engine. Knows nothing of codenav's parts."""
