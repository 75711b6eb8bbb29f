"""What runs as a server: the MCP gateway.  A skin: thin, over indexing and pipeline."""
