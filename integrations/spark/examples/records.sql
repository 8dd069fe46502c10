-- spark-sql --master ... --jars fawn-spark-0.1.0.jar \
--   --conf spark.sql.catalog.fawn=fawn.spark.FawnCatalog --conf spark.sql.catalog.fawn.managers=HOST:PORT
CREATE TABLE fawn.users (key STRING, name STRING, age INT) TBLPROPERTIES ('value.format' = 'json');
INSERT INTO fawn.users VALUES ('user:ann', 'Ann', 31), ('user:bob', 'Bob', 27);
-- Gets of two keys.
SELECT name, age, flags, expiry, cas FROM fawn.users WHERE key IN ('user:ann', 'user:bob');
-- A scan of all records, of which the keys with the prefix are decoded.
SELECT count(*), avg(age) FROM fawn.users WHERE key LIKE 'user:%';
DELETE FROM fawn.users WHERE key IN ('user:ann', 'user:bob');
