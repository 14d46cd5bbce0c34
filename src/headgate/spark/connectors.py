"""The settings that put Kafka and Delta Lake into a Spark session.

For sessions that Headgate opens. A user's own session brings its own jars and needs none of this.
"""

from __future__ import annotations

from headgate.jars import DELTA, SPARK_KAFKA, jar_files

# Spark hides the values of options with such names wherever it prints plans and settings. By itself it does not
# know that Kafka's login, which is one line of text with the password in it, and its private keys are secrets.
_SECRETS = "(?i)secret|password|passwd|token|credential|access[.]?key|jaas|keystore[.]key"


def connector_settings(*, kafka: bool = True, delta: bool = False) -> dict[str, str]:
    """Spark settings with the jars of the connectors that are wanted; fetches them if they are not there yet."""
    wanted = [jars for jars, is_wanted in ((SPARK_KAFKA, kafka), (DELTA, delta)) if is_wanted]
    if not wanted:
        return {}
    settings = {
        "spark.jars": ",".join(str(path) for jars in wanted for path in jar_files(jars)),
        "spark.redaction.regex": _SECRETS,
    }
    if delta:
        settings |= {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # Delta reads its log in 50 tasks by default, which is made for tables of millions of files.
            "spark.databricks.delta.snapshotPartitions": "1",
        }
    return settings
