package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

func rueidisClient(change func(*rueidis.ClientOption)) (rueidis.Client, error) {
	options := rueidis.ClientOption{InitAddress: []string{address}, Username: username, Password: password, TLSConfig: tlsConfig()}
	if change != nil {
		change(&options)
	}
	return rueidis.NewClient(options)
}

func none(result rueidis.RedisResult) {
	if !rueidis.IsRedisNil(result.Error()) {
		panic(fmt.Sprintf("expected nil, got %v", result))
	}
}

func rueidisChecks() []check {
	x := context.Background()
	// By default this client caches, for which the server has to remember what was read. Where it does not, the
	// error says to turn that off: the first check fails then, and the others go on without.
	c, refusal := rueidisClient(nil)
	if refusal != nil {
		c = must(rueidisClient(func(options *rueidis.ClientOption) { options.DisableCache = true }))
	}
	b := c.B
	do := func(command rueidis.Completed) rueidis.RedisResult { return c.Do(x, command) }
	text := func(command rueidis.Completed) string { return must(do(command).ToString()) }
	number := func(command rueidis.Completed) int64 { return must(do(command).AsInt64()) }
	words := func(command rueidis.Completed) []string { return must(do(command).AsStrSlice()) }
	set := func(k, value string) { ok(do(b().Set().Key(k).Value(value).Build()).Error()) }
	get := func(k string) string { return text(b().Get().Key(k).Build()) }
	ttl := func(k string) int64 { return number(b().Ttl().Key(k).Build()) }
	hset := func(k string, pairs ...string) int64 {
		return number(b().Arbitrary("HSET").Keys(k).Args(pairs...).Build())
	}
	api := func(name string, run func()) check { return check{"api", name, run} }
	return []check{
		api("TRACKING lets it connect with its defaults", func() { ok(refusal) }),
		api("SET stores and replaces", func() {
			k := key()
			none(do(b().Get().Key(k).Build()))
			set(k, "a")
			set(k, "b")
			equal(get(k), "b")
		}),
		api("SET nx and xx", func() {
			k := key()
			none(do(b().Set().Key(k).Value("a").Xx().Build()))
			equal(text(b().Set().Key(k).Value("a").Nx().Build()), "OK")
			none(do(b().Set().Key(k).Value("b").Nx().Build()))
			equal(text(b().Set().Key(k).Value("c").Xx().Build()), "OK")
			equal(get(k), "c")
		}),
		api("SET ex px exat and pxat", func() {
			k, at := key(), time.Now().Unix()+300
			ok(do(b().Set().Key(k).Value("a").ExSeconds(100).Build()).Error())
			near(ttl(k), 100)
			ok(do(b().Set().Key(k).Value("a").PxMilliseconds(200000).Build()).Error())
			near(ttl(k), 200)
			ok(do(b().Set().Key(k).Value("a").ExatTimestamp(at).Build()).Error())
			equal(number(b().Expiretime().Key(k).Build()), at)
			ok(do(b().Set().Key(k).Value("a").PxatMillisecondsTimestamp(at * 1000).Build()).Error())
			equal(number(b().Pexpiretime().Key(k).Build()), at*1000)
		}),
		api("SET keepttl and get", func() {
			k := key()
			ok(do(b().Set().Key(k).Value("a").ExSeconds(100).Build()).Error())
			equal(text(b().Set().Key(k).Value("b").Get().Keepttl().Build()), "a")
			near(ttl(k), 100)
		}),
		api("SETNX stores only what is absent", func() {
			k := key()
			equal(number(b().Setnx().Key(k).Value("a").Build()), 1)
			equal(number(b().Setnx().Key(k).Value("b").Build()), 0)
		}),
		api("SETEX stores with an expiry", func() {
			k := key()
			equal(text(b().Setex().Key(k).Seconds(100).Value("a").Build()), "OK")
			near(ttl(k), 100)
		}),
		api("PSETEX stores with an expiry in milliseconds", func() {
			k := key()
			equal(text(b().Psetex().Key(k).Milliseconds(100000).Value("a").Build()), "OK")
			near(ttl(k), 100)
		}),
		api("GETEX reads and changes the expiry", func() {
			k := key()
			set(k, "a")
			equal(text(b().Getex().Key(k).ExSeconds(100).Build()), "a")
			near(ttl(k), 100)
			equal(text(b().Getex().Key(k).Persist().Build()), "a")
			equal(ttl(k), -1)
		}),
		api("GETDEL reads and deletes", func() {
			k := key()
			set(k, "a")
			equal(text(b().Getdel().Key(k).Build()), "a")
			none(do(b().Getdel().Key(k).Build()))
		}),
		api("GETSET replaces and returns", func() {
			k := key()
			none(do(b().Getset().Key(k).Value("a").Build()))
			equal(text(b().Getset().Key(k).Value("b").Build()), "a")
		}),
		api("MSET stores all", func() {
			values := map[string]string{}
			for n := range 500 {
				values[key()] = fmt.Sprint(n)
			}
			for _, err := range rueidis.MSet(c, x, values) {
				ok(err)
			}
			for k, message := range must(rueidis.MGet(c, x, keysOf(values))) {
				equal(must(message.ToString()), values[k])
			}
		}),
		api("MGET reads all with holes", func() {
			a, h := key(), key()
			set(a, "1")
			hset(h, "f", "v")
			got := must(do(b().Mget().Key(a, key(), h).Build()).ToArray())
			equal(must(got[0].ToString()), "1")
			equal(got[1].IsNil() && got[2].IsNil(), true)
		}),
		api("MSETNX stores all or none", func() {
			equal(number(b().Msetnx().KeyValue().KeyValue(key(), "1").KeyValue(key(), "2").Build()), 1)
		}),
		api("APPEND appends and creates", func() {
			k := key()
			equal(number(b().Append().Key(k).Value("ab").Build()), 2)
			equal(number(b().Append().Key(k).Value("cd").Build()), 4)
		}),
		api("STRLEN counts bytes", func() {
			k := key()
			set(k, "héllo")
			equal(number(b().Strlen().Key(k).Build()), 6)
		}),
		api("GETRANGE reads a part", func() {
			k := key()
			set(k, "This is a string")
			equal(text(b().Getrange().Key(k).Start(-3).End(-1).Build()), "ing")
		}),
		api("SETRANGE writes a part", func() {
			k := key()
			set(k, "Hello World")
			equal(number(b().Setrange().Key(k).Offset(6).Value("Redis").Build()), 11)
			equal(get(k), "Hello Redis")
		}),
		api("INCR counts up", func() { equal(number(b().Incr().Key(key()).Build()), 1) }),
		api("INCRBY adds", func() { equal(number(b().Incrby().Key(key()).Increment(-40).Build()), -40) }),
		api("INCRBYFLOAT adds fractions", func() {
			k := key()
			equal(text(b().Incrbyfloat().Key(k).Increment(10.5).Build()), "10.5")
			equal(must(do(b().Incrbyfloat().Key(k).Increment(0.1).Build()).AsFloat64()), 10.6)
		}),
		api("DECR counts down", func() { equal(number(b().Decr().Key(key()).Build()), -1) }),
		api("DECRBY subtracts", func() { equal(number(b().Decrby().Key(key()).Decrement(7).Build()), -7) }),
		api("DEL deletes and counts", func() {
			k := key()
			set(k, "a")
			equal(number(b().Del().Key(k, key()).Build()), 1)
		}),
		api("UNLINK deletes too", func() {
			k := key()
			set(k, "a")
			equal(number(b().Unlink().Key(k, key()).Build()), 1)
		}),
		api("EXISTS counts repeats", func() {
			k := key()
			set(k, "a")
			equal(number(b().Exists().Key(k, k, key()).Build()), 2)
		}),
		api("EXPIRE nx xx gt and lt", func() {
			k := key()
			set(k, "a")
			equal(number(b().Expire().Key(k).Seconds(100).Xx().Build()), 0)
			equal(number(b().Expire().Key(k).Seconds(100).Nx().Build()), 1)
			equal(number(b().Expire().Key(k).Seconds(50).Gt().Build()), 0)
			equal(number(b().Expire().Key(k).Seconds(60).Lt().Build()), 1)
			near(ttl(k), 60)
		}),
		api("PEXPIRE takes milliseconds", func() {
			k := key()
			set(k, "a")
			equal(number(b().Pexpire().Key(k).Milliseconds(100000).Build()), 1)
			near(ttl(k), 100)
		}),
		api("EXPIREAT takes a moment", func() {
			k, at := key(), time.Now().Unix()+100
			set(k, "a")
			equal(number(b().Expireat().Key(k).Timestamp(at).Build()), 1)
			equal(number(b().Expiretime().Key(k).Build()), at)
		}),
		api("PEXPIREAT takes a moment in milliseconds", func() {
			k, at := key(), time.Now().Unix()+100
			set(k, "a")
			equal(number(b().Pexpireat().Key(k).MillisecondsTimestamp(at*1000).Build()), 1)
			equal(number(b().Pexpiretime().Key(k).Build()), at*1000)
		}),
		api("TTL tells absent from unlimited", func() {
			k := key()
			equal(ttl(k), -2)
			set(k, "a")
			equal(ttl(k), -1)
		}),
		api("PTTL counts milliseconds", func() {
			k := key()
			ok(do(b().Set().Key(k).Value("a").ExSeconds(10).Build()).Error())
			left := number(b().Pttl().Key(k).Build())
			equal(left >= 8000 && left <= 11000, true)
		}),
		api("PERSIST removes the expiry", func() {
			k := key()
			ok(do(b().Set().Key(k).Value("a").ExSeconds(10).Build()).Error())
			equal(number(b().Persist().Key(k).Build()), 1)
			equal(ttl(k), -1)
		}),
		api("TOUCH counts what is there", func() {
			k := key()
			set(k, "a")
			equal(number(b().Touch().Key(k, key()).Build()), 1)
		}),
		api("TYPE names strings and hashes", func() {
			s, h := key(), key()
			set(s, "a")
			hset(h, "f", "v")
			equal(text(b().Type().Key(s).Build())+text(b().Type().Key(h).Build()), "stringhash")
		}),
		api("RENAME moves a value", func() {
			a, z := key(), key()
			set(a, "1")
			equal(text(b().Rename().Key(a).Newkey(z).Build()), "OK")
			equal(get(z), "1")
		}),
		api("COPY copies a value", func() {
			a, z := key(), key()
			set(a, "1")
			equal(number(b().Copy().Source(a).Destination(z).Build()), 1)
			equal(get(z), "1")
		}),
		api("SCAN iterates with match, count and type", func() {
			prefix, found := key(), map[string]bool{}
			for n := range 300 {
				set(fmt.Sprint(prefix, ":", n), "a")
			}
			hset(prefix+":h", "f", "v")
			scan := rueidis.NewScanner(func(cursor uint64) (rueidis.ScanEntry, error) {
				return do(b().Scan().Cursor(cursor).Match(prefix + ":*").Count(50).Build()).AsScanEntry()
			})
			for k := range scan.Iter() {
				found[k] = true
			}
			ok(scan.Err())
			equal(int64(len(found)), 301)
			var hashes []string
			for cursor, first := uint64(0), true; first || cursor != 0; first = false {
				entry := must(do(b().Scan().Cursor(cursor).Match(prefix + ":*").Count(1000).Type("hash").Build()).AsScanEntry())
				hashes, cursor = append(hashes, entry.Elements...), entry.Cursor
			}
			equal(hashes, []string{prefix + ":h"})
		}),
		api("KEYS matches patterns", func() {
			k := key()
			set(k, "a")
			equal(words(b().Keys().Pattern(k[:len(k)-1] + "?").Build())[0] != "", true)
		}),
		api("RANDOMKEY gives some key", func() {
			set(key(), "a")
			equal(number(b().Exists().Key(text(b().Randomkey().Build())).Build()), 1)
		}),
		api("DBSIZE counts keys", func() {
			before := number(b().Dbsize().Build())
			set(key(), "a")
			equal(number(b().Dbsize().Build()), before+1)
		}),
		api("SETBIT sets and returns the old bit", func() {
			k := key()
			equal(number(b().Setbit().Key(k).Offset(7).Value(1).Build()), 0)
			equal(number(b().Setbit().Key(k).Offset(7).Value(0).Build()), 1)
		}),
		api("GETBIT reads a bit", func() {
			k := key()
			set(k, "\x80")
			equal(number(b().Getbit().Key(k).Offset(0).Build()), 1)
		}),
		api("BITCOUNT counts in ranges", func() {
			k := key()
			set(k, "foobar")
			equal(number(b().Bitcount().Key(k).Start(5).End(30).Bit().Build()), 17)
		}),
		api("BITPOS finds the first", func() {
			k := key()
			set(k, "\xff\xf0\x00")
			equal(number(b().Bitpos().Key(k).Bit(0).Build()), 12)
		}),
		api("BITFIELD gets sets and adds", func() {
			equal(must(do(b().Bitfield().Key(key()).Set("u8", 8, 255).OverflowSat().Incrby("u8", 8, 10).Build()).AsIntSlice()), []int64{0, 255})
		}),
		api("BITFIELD_RO only reads", func() {
			k := key()
			set(k, "\x12")
			equal(must(do(b().BitfieldRo().Key(k).Get().Get("u4", 0).Build()).AsIntSlice()), []int64{1})
		}),
		api("HSET adds and replaces fields", func() {
			k := key()
			equal(number(b().Hset().Key(k).FieldValue().FieldValue("a", "1").FieldValue("b", "2").Build()), 2)
			equal(must(do(b().Hgetall().Key(k).Build()).AsStrMap()), map[string]string{"a": "1", "b": "2"})
		}),
		api("HSETNX adds only an absent field", func() {
			k := key()
			equal(number(b().Hsetnx().Key(k).Field("a").Value("1").Build()), 1)
			equal(number(b().Hsetnx().Key(k).Field("a").Value("2").Build()), 0)
		}),
		api("HGET reads a field", func() {
			k := key()
			hset(k, "a", "1")
			equal(text(b().Hget().Key(k).Field("a").Build()), "1")
			none(do(b().Hget().Key(k).Field("b").Build()))
		}),
		api("HMGET reads fields with holes", func() {
			k := key()
			hset(k, "a", "1", "b", "2")
			got := must(do(b().Hmget().Key(k).Field("a", "x", "b").Build()).ToArray())
			equal(must(got[2].ToString()), "2")
			equal(got[1].IsNil(), true)
		}),
		api("HGETALL reads large hashes", func() {
			k, pairs := key(), []string{}
			for n := range 2000 {
				pairs = append(pairs, fmt.Sprint("field ", n), fmt.Sprint(n))
			}
			equal(hset(k, pairs...), 2000)
			got := must(do(b().Hgetall().Key(k).Build()).AsStrMap())
			equal(int64(len(got)), 2000)
			equal(got["field 1999"], "1999")
		}),
		api("HDEL removes fields and then the key", func() {
			k := key()
			hset(k, "a", "1", "b", "2")
			equal(number(b().Hdel().Key(k).Field("a", "b", "x").Build()), 2)
			equal(number(b().Exists().Key(k).Build()), 0)
		}),
		api("HLEN counts fields", func() {
			k := key()
			hset(k, "a", "1", "b", "2")
			equal(number(b().Hlen().Key(k).Build()), 2)
		}),
		api("HEXISTS looks for a field", func() {
			k := key()
			hset(k, "a", "1")
			equal(must(do(b().Hexists().Key(k).Field("a").Build()).AsBool()), true)
		}),
		api("HKEYS lists fields", func() {
			k := key()
			hset(k, "a", "1", "b", "2")
			equal(sorted(words(b().Hkeys().Key(k).Build())), []string{"a", "b"})
		}),
		api("HVALS lists values", func() {
			k := key()
			hset(k, "a", "1", "b", "2")
			equal(sorted(words(b().Hvals().Key(k).Build())), []string{"1", "2"})
		}),
		api("HINCRBY adds to a field", func() {
			equal(number(b().Hincrby().Key(key()).Field("a").Increment(-7).Build()), -7)
		}),
		api("HINCRBYFLOAT adds fractions to a field", func() {
			equal(text(b().Hincrbyfloat().Key(key()).Field("a").Increment(1.5).Build()), "1.5")
		}),
		api("HSTRLEN counts bytes of a field", func() {
			k := key()
			hset(k, "a", "hello")
			equal(number(b().Hstrlen().Key(k).Field("a").Build()), 5)
		}),
		api("HSCAN iterates over fields", func() {
			k, pairs := key(), []string{}
			for n := range 1000 {
				pairs = append(pairs, fmt.Sprint("f", n), fmt.Sprint(n))
			}
			hset(k, pairs...)
			scan := rueidis.NewScanner(func(cursor uint64) (rueidis.ScanEntry, error) {
				return do(b().Hscan().Key(k).Cursor(cursor).Count(50).Build()).AsScanEntry()
			})
			got := map[string]string{}
			for field, value := range scan.Iter2() {
				got[field] = value
			}
			equal(int64(len(got)), 1000)
			equal(got["f999"], "999")
		}),
		api("HRANDFIELD gives some fields", func() {
			k := key()
			hset(k, "a", "1", "b", "2")
			equal(int64(len(words(b().Hrandfield().Key(k).Count(-7).Build()))), 7)
		}),
		api("pipeline commands without waiting", func() {
			k := key()
			var commands rueidis.Commands
			for range 1000 {
				commands = append(commands, b().Incr().Key(k).Build())
			}
			equal(must(c.DoMulti(x, commands...)[999].AsInt64()), 1000)
		}),
		api("binary keys, values and fields of any bytes", func() {
			k := binary + key()
			set(k, binary)
			equal(get(k), binary)
			hset(k+"h", binary, binary)
			equal(must(do(b().Hgetall().Key(k+"h").Build()).AsStrMap()), map[string]string{binary: binary})
		}),
		api("large values of a mebibyte less a little", func() {
			k := key()
			set(k, large)
			equal(get(k), large)
		}),
		api("errors wrong types", func() {
			s, h := key(), key()
			set(s, "a")
			hset(h, "f", "v")
			refused(do(b().Get().Key(h).Build()).Error(), wrongType)
			refused(do(b().Hgetall().Key(s).Build()).Error(), wrongType)
		}),
		api("errors no integers", func() {
			k := key()
			set(k, "text")
			refused(do(b().Incr().Key(k).Build()).Error(), "value is not an integer or out of range")
		}),
		api("errors unknown commands", func() {
			refused(do(b().Arbitrary("BOGUS").Args("a").Build()).Error(), "unknown command 'BOGUS', with args beginning with: 'a'")
		}),
		api("TRACKING caches at the client and sees changes", func() {
			k := key()
			set(k, "a")
			ok(refusal)
			equal(must(c.DoCache(x, b().Get().Key(k).Cache(), time.Minute).ToString()), "a")
			equal(c.DoCache(x, b().Get().Key(k).Cache(), time.Minute).IsCacheHit(), true)
			other := must(rueidisClient(func(options *rueidis.ClientOption) { options.DisableCache = true }))
			defer other.Close()
			ok(other.Do(x, other.B().Set().Key(k).Value("b").Build()).Error())
			eventually(func() error {
				if got := must(c.DoCache(x, b().Get().Key(k).Cache(), time.Minute).ToString()); got != "b" {
					return fmt.Errorf("a changed value is still read as %q", got)
				}
				return nil
			})
		}),
		api("CLIENT names and numbers", func() { equal(number(b().ClientId().Build()) > 0, true) }),
		api("ECHO echoes", func() { equal(text(b().Echo().Message("hello").Build()), "hello") }),
		api("INFO reports", func() { equal(strings.Contains(text(b().Info().Build()), "redis_mode:standalone"), true) }),
		api("CONFIG gets settings", func() {
			equal(int64(len(must(do(b().ConfigGet().Parameter("appendonly").Build()).AsStrMap()))), 1)
		}),
		api("COMMAND describes commands", func() { equal(number(b().CommandCount().Build()) > 50, true) }),
		api("pool of dedicated connections", func() {
			var group sync.WaitGroup
			wrong := make(chan error, 50)
			for range 50 {
				group.Go(func() {
					defer func() {
						if problem := recover(); problem != nil {
							wrong <- fmt.Errorf("%v", problem)
						}
					}()
					wrong <- c.Dedicated(func(one rueidis.DedicatedClient) error {
						for range 40 {
							k := key()
							ok(one.Do(x, one.B().Set().Key(k).Value(k).Build()).Error())
							equal(must(one.Do(x, one.B().Get().Key(k).Build()).ToString()), k)
						}
						return nil
					})
				})
			}
			group.Wait()
			for range 50 {
				ok(<-wrong)
			}
		}),
		api("FLUSHDB removes all", func() {
			set(key(), "a")
			ok(do(b().Flushdb().Build()).Error())
			equal(number(b().Dbsize().Build()), 0)
		}),
		{"session", "connects and works", func() {
			k := key()
			set(k, large)
			equal(get(k), large)
		}},
		{"session", "connects but not with a wrong password", func() {
			if password != "" {
				_, err := rueidisClient(func(options *rueidis.ClientOption) { options.Password = "wrong" })
				refused(err, "invalid username-password pair")
			}
		}},
		{"restart", "restart values are still there", func() {
			k := key()
			for n := range 300 {
				set(fmt.Sprint(k, n), fmt.Sprint("value ", n))
			}
			hset(k, "a", "1")
			restartServer()
			eventually(func() error { return do(b().Ping().Build()).Error() })
			for n := range 300 {
				equal(get(fmt.Sprint(k, n)), fmt.Sprint("value ", n))
			}
			equal(must(do(b().Hgetall().Key(k).Build()).AsStrMap()), map[string]string{"a": "1"})
		}},
	}
}

func keysOf(values map[string]string) []string {
	var keys []string
	for k := range values {
		keys = append(keys, k)
	}
	return keys
}
