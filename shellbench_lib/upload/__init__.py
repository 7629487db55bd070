"""Publishing a run's raw traces to a bucket that is proved private; nothing else in the project imports it."""
