"""One MCP server in front of many: it shows an agent little and safe, and holds the policy at every call."""
