"""Models that codenav brings to this machine and serves by itself: catalogue, places, files, server."""
