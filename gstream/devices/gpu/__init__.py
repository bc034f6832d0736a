"""A GPU as a device."""
