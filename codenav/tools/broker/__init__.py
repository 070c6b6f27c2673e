"""Calls from stubs in a sandbox to the services behind tools: checked, sent and recorded on the host."""
