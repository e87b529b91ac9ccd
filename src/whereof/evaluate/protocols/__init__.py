"""The protocols, one file each; `whereof.registry` lists them."""
