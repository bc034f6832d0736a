"""The host's cores as a device."""
