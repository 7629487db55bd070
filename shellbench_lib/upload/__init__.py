"""Publishing raw traces to a bucket that is proved private. The only place that imports boto3."""
