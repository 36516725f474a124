"""The service for programs: routes under /api/v1."""
