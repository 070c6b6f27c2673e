"""The session: joins sources, model, sandbox and limits, and runs requests.

In: what a caller of `codenav.run` gives.
Out: an `Episode` for each request, and its `EpisodeResult`.
May import: every room but `evals` and `cli`.
"""
