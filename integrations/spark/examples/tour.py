"""Writes, reads and deletes records of a FAWN cluster.

    integrations/spark/cluster submit integrations/spark/examples/tour.py [HOST:PORT,...]
"""

import os
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

managers = sys.argv[1] if len(sys.argv) > 1 else os.environ["FAWN_MANAGERS"]
spark = (
    SparkSession.builder.appName("fawn-tour")
    .config("spark.datasource.fawn.managers", managers)
    .config("spark.sql.catalog.fawn", "fawn.spark.FawnCatalog")
    .config("spark.sql.catalog.fawn.managers", managers)
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")

# Each row is a record: its key is a column, the other columns are fields of a JSON object.
users = spark.range(100_000).select(
    f.format_string("user:%06d", "id").alias("key"),
    f.format_string("name %d", "id").alias("name"),
    (f.col("id") % 90).cast("int").alias("age"),
)
users.write.format("fawn").option("value.format", "json").option("ttl", "1d").mode("append").save()

table = spark.read.format("fawn").option("value.format", "json").schema("key STRING, name STRING, age INT").load()
print("records:", table.count())
# Gets of two keys, not a scan.
table.where(f.col("key").isin("user:000007", "user:000042")).show()
# A scan: each executor reads the ranges near it.
table.groupBy((f.col("age") / 30).cast("int").alias("decade")).count().orderBy("decade").show()
# A join with few keys becomes gets of these keys.
wanted = spark.createDataFrame([("user:000001",), ("user:000002",)], "key STRING")
table.join(f.broadcast(wanted), "key").show()

# Any number of rows, joined with their records by gets.
lookup = spark.sparkContext._jvm.fawn.spark.FawnLookup
rows = spark.range(20_000).select(f.format_string("user:%06d", f.col("id") * 10).alias("key"))
joined = DataFrame(lookup.join(rows._jdf, "key", {"managers": managers, "value.format": "utf8"}), spark)
print("found:", joined.where("value is not null").count(), "of", joined.count())

# The same in SQL, by a catalog.
spark.sql("CREATE TABLE fawn.users (key STRING, name STRING, age INT) TBLPROPERTIES ('value.format' = 'json')")
spark.sql("INSERT INTO fawn.users VALUES ('user:ann', 'Ann', 31)")
spark.sql("SELECT name, age, flags, expiry FROM fawn.users WHERE key IN ('user:ann', 'user:000007')").show()
spark.sql("DELETE FROM fawn.users WHERE key = 'user:ann'")

# Deletes by the keys of rows.
users.select("key").write.format("fawn").option("operation", "delete").mode("append").save()
print("records:", table.count())
spark.stop()
