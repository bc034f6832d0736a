"""What every area shares: Hypothesis without deadlines (the first call of a kernel compiles it)."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("gstream", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gstream")
