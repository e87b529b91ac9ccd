"""The pages of the server, one file each."""
