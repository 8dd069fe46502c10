/** Parts of programs that read or write many records: the integrations of Hadoop and Spark are made of them. */
package fawn.client.bulk;
