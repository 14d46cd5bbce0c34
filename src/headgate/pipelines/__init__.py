"""The real PySpark pipelines: functions from raw records, with the columns of Spark's Kafka source, to results.

They know nothing of autoscaling. Each file stands alone, so that it can be taken out and run by itself.
"""
