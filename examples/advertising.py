"""The advertising pipeline with the table that it needs: which campaign each advertisement belongs to.

Here the table is that of the generated records; yours would be read from a file or a database.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from headgate.pipelines.advertising import advertising
from headgate.workloads.records.ads import CAMPAIGN_ADS


def views(events: DataFrame, *, window_s: float = 10.0, watermark_s: float = 30.0) -> DataFrame:
    """Raw records to the views of each campaign in each window."""
    campaigns = events.sparkSession.createDataFrame(list(CAMPAIGN_ADS), "ad_id STRING, campaign_id STRING")
    return advertising(events, campaigns, window_s=window_s, watermark_s=watermark_s)
