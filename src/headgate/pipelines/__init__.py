"""The real PySpark pipelines. They know nothing of autoscaling: session and options in, started queries out."""
