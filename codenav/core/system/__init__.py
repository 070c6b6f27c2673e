"""Access to the machine: files, locks, processes, the interpreter, Docker's engine. Independent of codenav's parts."""
