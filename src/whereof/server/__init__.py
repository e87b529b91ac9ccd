"""The browser: an HTTP server for runs. It requires the extra `web`."""
