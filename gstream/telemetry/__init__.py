"""What a run tells while it goes on: figures, traces, progress."""
