package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func goRedisClient(change func(*redis.Options)) *redis.Client {
	options := &redis.Options{Addr: address, Username: username, Password: password, TLSConfig: tlsConfig()}
	if change != nil {
		change(options)
	}
	return redis.NewClient(options)
}

// must is the value of a reply, which may be no error; an absent value is an error of this client.
func must[T any](value T, err error) T {
	ok(err)
	return value
}

func absent(err error) {
	if err != redis.Nil {
		panic(fmt.Sprintf("expected redis.Nil, got %v", err))
	}
}

func goRedis() []check {
	x := context.Background()
	c := goRedisClient(nil)
	api := func(name string, run func()) check { return check{"api", name, run} }
	return []check{
		api("SET stores and replaces", func() {
			k := key()
			absent(c.Get(x, k).Err())
			equal(must(c.Set(x, k, "a", 0).Result()), "OK")
			ok(c.Set(x, k, []byte("b"), 0).Err())
			equal(must(c.Get(x, k).Result()), "b")
		}),
		api("SET nx and xx", func() {
			k := key()
			absent(c.SetArgs(x, k, "a", redis.SetArgs{Mode: "XX"}).Err())
			equal(must(c.SetArgs(x, k, "a", redis.SetArgs{Mode: "NX"}).Result()), "OK")
			absent(c.SetArgs(x, k, "b", redis.SetArgs{Mode: "NX"}).Err())
			equal(must(c.SetXX(x, k, "c", 0).Result()), true)
			equal(must(c.Get(x, k).Result()), "c")
		}),
		api("SET ex px exat and keepttl", func() {
			k, at := key(), time.Unix(time.Now().Unix()+300, 0)
			ok(c.Set(x, k, "a", 100*time.Second).Err())
			near(int64(must(c.TTL(x, k).Result()).Seconds()), 100)
			ok(c.Set(x, k, "b", redis.KeepTTL).Err())
			near(int64(must(c.TTL(x, k).Result()).Seconds()), 100)
			ok(c.SetArgs(x, k, "a", redis.SetArgs{ExpireAt: at}).Err())
			equal(int64(must(c.ExpireTime(x, k).Result()).Seconds()), at.Unix())
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.TTL(x, k).Result()), time.Duration(-1))
		}),
		api("SET get returns the old value", func() {
			k := key()
			absent(c.SetArgs(x, k, "a", redis.SetArgs{Get: true}).Err())
			equal(must(c.SetArgs(x, k, "b", redis.SetArgs{Get: true}).Result()), "a")
		}),
		api("SET expires", func() {
			k := key()
			ok(c.Set(x, k, "a", time.Second).Err())
			equal(must(c.Get(x, k).Result()), "a")
			time.Sleep(2200 * time.Millisecond)
			absent(c.Get(x, k).Err())
		}),
		api("SETNX stores only what is absent", func() {
			k := key()
			equal(must(c.SetNX(x, k, "a", 0).Result()), true)
			equal(must(c.SetNX(x, k, "b", 0).Result()), false)
		}),
		api("SETEX stores with an expiry", func() {
			k := key()
			ok(c.SetEx(x, k, "a", 100*time.Second).Err())
			near(int64(must(c.TTL(x, k).Result()).Seconds()), 100)
		}),
		api("GETEX reads and changes the expiry", func() {
			k := key()
			absent(c.GetEx(x, k, time.Second).Err())
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.GetEx(x, k, 100*time.Second).Result()), "a")
			near(int64(must(c.TTL(x, k).Result()).Seconds()), 100)
			equal(must(c.GetEx(x, k, 0).Result()), "a")
			equal(must(c.TTL(x, k).Result()), time.Duration(-1))
		}),
		api("GETDEL reads and deletes", func() {
			k := key()
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.GetDel(x, k).Result()), "a")
			absent(c.GetDel(x, k).Err())
		}),
		api("GETSET replaces and returns", func() {
			k := key()
			absent(c.GetSet(x, k, "a").Err())
			equal(must(c.GetSet(x, k, "b").Result()), "a")
		}),
		api("MSET stores all", func() {
			values, keys, expected := map[string]any{}, []string{}, []any{}
			for n := range 500 {
				k := key()
				values[k] = fmt.Sprint(n)
				keys, expected = append(keys, k), append(expected, fmt.Sprint(n))
			}
			ok(c.MSet(x, values).Err())
			equal(must(c.MGet(x, keys...).Result()), expected)
		}),
		api("MGET reads all with holes", func() {
			a, b, h := key(), key(), key()
			ok(c.MSet(x, a, "1", b, "2").Err())
			ok(c.HSet(x, h, "f", "v").Err())
			equal(must(c.MGet(x, a, key(), h, b).Result()), []any{"1", nil, nil, "2"})
		}),
		api("MSETNX stores all or none", func() {
			a, b := key(), key()
			equal(must(c.MSetNX(x, a, "1", b, "2").Result()), true)
			equal(must(c.MSetNX(x, key(), "1", b, "3").Result()), false)
		}),
		api("APPEND appends and creates", func() {
			k := key()
			equal(must(c.Append(x, k, "ab").Result()), 2)
			equal(must(c.Append(x, k, "cd").Result()), 4)
			equal(must(c.Get(x, k).Result()), "abcd")
		}),
		api("STRLEN counts bytes", func() {
			k := key()
			ok(c.Set(x, k, "héllo", 0).Err())
			equal(must(c.StrLen(x, k).Result()), 6)
		}),
		api("GETRANGE reads a part", func() {
			k := key()
			ok(c.Set(x, k, "This is a string", 0).Err())
			equal(must(c.GetRange(x, k, 0, 3).Result()), "This")
			equal(must(c.GetRange(x, k, -3, -1).Result()), "ing")
		}),
		api("SETRANGE writes a part", func() {
			k := key()
			ok(c.Set(x, k, "Hello World", 0).Err())
			equal(must(c.SetRange(x, k, 6, "Redis").Result()), 11)
			equal(must(c.Get(x, k).Result()), "Hello Redis")
		}),
		api("INCR counts up", func() {
			k := key()
			equal(must(c.Incr(x, k).Result()), 1)
			equal(must(c.Incr(x, k).Result()), 2)
			ok(c.Set(x, k, "9223372036854775807", 0).Err())
			refused(c.Incr(x, k).Err(), "increment or decrement would overflow")
		}),
		api("INCRBY adds", func() {
			k := key()
			equal(must(c.IncrBy(x, k, 40).Result()), 40)
			equal(must(c.IncrBy(x, k, -50).Result()), -10)
		}),
		api("INCRBYFLOAT adds fractions", func() {
			k := key()
			equal(must(c.IncrByFloat(x, k, 10.5).Result()), 10.5)
			equal(must(c.IncrByFloat(x, k, 0.1).Result()), 10.6)
			equal(must(c.Get(x, k).Result()), "10.6")
		}),
		api("DECR counts down", func() { equal(must(c.Decr(x, key()).Result()), -1) }),
		api("DECRBY subtracts", func() { equal(must(c.DecrBy(x, key(), 7).Result()), -7) }),
		api("DEL deletes and counts", func() {
			a, b := key(), key()
			ok(c.MSet(x, a, "1", b, "2").Err())
			equal(must(c.Del(x, a, b, key()).Result()), 2)
		}),
		api("UNLINK deletes too", func() {
			a, b := key(), key()
			ok(c.MSet(x, a, "1", b, "2").Err())
			equal(must(c.Unlink(x, a, b, key()).Result()), 2)
		}),
		api("EXISTS counts repeats", func() {
			k := key()
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.Exists(x, k, k, key()).Result()), 2)
		}),
		api("EXPIRE nx xx gt and lt", func() {
			k := key()
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.ExpireXX(x, k, 100*time.Second).Result()), false)
			equal(must(c.ExpireNX(x, k, 100*time.Second).Result()), true)
			equal(must(c.ExpireGT(x, k, 50*time.Second).Result()), false)
			equal(must(c.ExpireGT(x, k, 200*time.Second).Result()), true)
			equal(must(c.ExpireLT(x, k, 60*time.Second).Result()), true)
			equal(must(c.Expire(x, k, 90*time.Second).Result()), true)
			near(int64(must(c.TTL(x, k).Result()).Seconds()), 90)
			equal(must(c.Expire(x, key(), time.Second).Result()), false)
		}),
		api("PEXPIRE takes milliseconds", func() {
			k := key()
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.PExpire(x, k, 100*time.Second).Result()), true)
			near(int64(must(c.TTL(x, k).Result()).Seconds()), 100)
		}),
		api("EXPIREAT takes a moment", func() {
			k, at := key(), time.Now().Add(100*time.Second)
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.ExpireAt(x, k, at).Result()), true)
			equal(int64(must(c.ExpireTime(x, k).Result()).Seconds()), at.Unix())
		}),
		api("PEXPIREAT takes a moment in milliseconds", func() {
			k, at := key(), time.Unix(time.Now().Unix()+100, 0)
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.PExpireAt(x, k, at).Result()), true)
			equal(must(c.PExpireTime(x, k).Result()).Milliseconds(), at.UnixMilli())
		}),
		api("TTL tells absent from unlimited", func() {
			k := key()
			equal(must(c.TTL(x, k).Result()), time.Duration(-2))
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.TTL(x, k).Result()), time.Duration(-1))
		}),
		api("PTTL counts milliseconds", func() {
			k := key()
			ok(c.Set(x, k, "a", 10*time.Second).Err())
			left := must(c.PTTL(x, k).Result())
			equal(left >= 8*time.Second && left <= 11*time.Second, true)
		}),
		api("PERSIST removes the expiry", func() {
			k := key()
			ok(c.Set(x, k, "a", 100*time.Second).Err())
			equal(must(c.Persist(x, k).Result()), true)
			equal(must(c.Persist(x, k).Result()), false)
		}),
		api("TOUCH counts what is there", func() {
			k := key()
			ok(c.Set(x, k, "a", 0).Err())
			equal(must(c.Touch(x, k, key()).Result()), 1)
		}),
		api("TYPE names strings and hashes", func() {
			s, h := key(), key()
			ok(c.Set(x, s, "a", 0).Err())
			ok(c.HSet(x, h, "f", "v").Err())
			equal([]string{must(c.Type(x, s).Result()), must(c.Type(x, h).Result()), must(c.Type(x, key()).Result())}, []string{"string", "hash", "none"})
		}),
		api("RENAME moves a value", func() {
			a, b := key(), key()
			ok(c.Set(x, a, "1", 0).Err())
			ok(c.Rename(x, a, b).Err())
			equal(must(c.Get(x, b).Result()), "1")
		}),
		api("COPY copies a value", func() {
			a, b := key(), key()
			ok(c.Set(x, a, "1", 0).Err())
			equal(must(c.Copy(x, a, b, 0, false).Result()), 1)
			equal(must(c.Get(x, b).Result()), "1")
		}),
		api("SCAN iterates with match, count and type", func() {
			prefix, all := key(), map[string]bool{}
			for n := range 1000 {
				k := fmt.Sprintf("%s:%d", prefix, n)
				all[k] = true
				ok(c.Set(x, k, "a", 0).Err())
			}
			found := map[string]bool{}
			for iterator := c.Scan(x, 0, prefix+":*", 100).Iterator(); iterator.Next(x); {
				found[iterator.Val()] = true
			}
			equal(found, all)
			ok(c.HSet(x, prefix+":h", "f", "v").Err())
			hashes := map[string]bool{}
			for iterator := c.ScanType(x, 0, prefix+":*", 100, "hash").Iterator(); iterator.Next(x); {
				hashes[iterator.Val()] = true
			}
			equal(hashes, map[string]bool{prefix + ":h": true})
		}),
		api("KEYS matches patterns", func() {
			prefix := key()
			ok(c.MSet(x, prefix+":one", "1", prefix+":two", "2").Err())
			equal(must(c.Keys(x, prefix+":t[a-z]?").Result()), []string{prefix + ":two"})
		}),
		api("RANDOMKEY gives some key", func() {
			ok(c.Set(x, key(), "a", 0).Err())
			equal(must(c.Exists(x, must(c.RandomKey(x).Result())).Result()), 1)
		}),
		api("DBSIZE counts keys", func() {
			before := must(c.DBSize(x).Result())
			ok(c.Set(x, key(), "a", 0).Err())
			equal(must(c.DBSize(x).Result()), before+1)
		}),
		api("SETBIT sets and returns the old bit", func() {
			k := key()
			equal(must(c.SetBit(x, k, 7, 1).Result()), 0)
			equal(must(c.SetBit(x, k, 7, 0).Result()), 1)
		}),
		api("GETBIT reads a bit", func() {
			k := key()
			ok(c.Set(x, k, "\x80", 0).Err())
			equal(must(c.GetBit(x, k, 0).Result()), 1)
			equal(must(c.GetBit(x, k, 100).Result()), 0)
		}),
		api("BITCOUNT counts in ranges", func() {
			k := key()
			ok(c.Set(x, k, "foobar", 0).Err())
			equal(must(c.BitCount(x, k, nil).Result()), 26)
			equal(must(c.BitCount(x, k, &redis.BitCount{Start: 5, End: 30, Unit: "BIT"}).Result()), 17)
		}),
		api("BITPOS finds the first", func() {
			k := key()
			ok(c.Set(x, k, "\xff\xf0\x00", 0).Err())
			equal(must(c.BitPos(x, k, 0).Result()), 12)
			equal(must(c.BitPos(x, k, 1, 2).Result()), -1)
			equal(must(c.BitPosSpan(x, k, 0, 13, 23, "bit").Result()), 13)
		}),
		api("BITFIELD gets sets and adds", func() {
			k := key()
			equal(must(c.BitField(x, k, "SET", "u8", "#1", 255, "OVERFLOW", "SAT", "INCRBY", "u8", "#1", 10).Result()), []int64{0, 255})
		}),
		api("BITFIELD_RO only reads", func() {
			k := key()
			ok(c.Set(x, k, "\x12\x34", 0).Err())
			equal(must(c.BitFieldRO(x, k, "u4", 0).Result()), []int64{1})
		}),
		api("HSET adds and replaces fields", func() {
			k := key()
			equal(must(c.HSet(x, k, "a", "1").Result()), 1)
			equal(must(c.HSet(x, k, map[string]any{"a": 5, "b": 3}).Result()), 1)
			equal(must(c.HGetAll(x, k).Result()), map[string]string{"a": "5", "b": "3"})
			var fields struct {
				A int    `redis:"a"`
				B string `redis:"b"`
			}
			ok(c.HGetAll(x, k).Scan(&fields))
			equal(fields.A == 5 && fields.B == "3", true)
		}),
		api("HSETNX adds only an absent field", func() {
			k := key()
			equal(must(c.HSetNX(x, k, "a", "1").Result()), true)
			equal(must(c.HSetNX(x, k, "a", "2").Result()), false)
		}),
		api("HGET reads a field", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1").Err())
			equal(must(c.HGet(x, k, "a").Result()), "1")
			absent(c.HGet(x, k, "b").Err())
		}),
		api("HMSET adds fields under its old name", func() {
			k := key()
			equal(must(c.HMSet(x, k, "a", "1", "b", "2").Result()), true)
		}),
		api("HMGET reads fields with holes", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1", "b", "2").Err())
			equal(must(c.HMGet(x, k, "a", "x", "b").Result()), []any{"1", nil, "2"})
		}),
		api("HGETALL reads large hashes", func() {
			k, fields, words := key(), map[string]string{}, []any{}
			for n := range 2000 {
				fields[fmt.Sprint("field ", n)] = fmt.Sprint(n)
				words = append(words, fmt.Sprint("field ", n), fmt.Sprint(n))
			}
			equal(must(c.HSet(x, k, words...).Result()), 2000)
			equal(must(c.HGetAll(x, k).Result()), fields)
		}),
		api("HDEL removes fields and then the key", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1", "b", "2").Err())
			equal(must(c.HDel(x, k, "a", "b", "x").Result()), 2)
			equal(must(c.Exists(x, k).Result()), 0)
		}),
		api("HLEN counts fields", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1", "b", "2").Err())
			equal(must(c.HLen(x, k).Result()), 2)
		}),
		api("HEXISTS looks for a field", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1").Err())
			equal(must(c.HExists(x, k, "a").Result()), true)
			equal(must(c.HExists(x, k, "b").Result()), false)
		}),
		api("HKEYS lists fields", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1", "b", "2").Err())
			equal(sorted(must(c.HKeys(x, k).Result())), []string{"a", "b"})
		}),
		api("HVALS lists values", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1", "b", "2").Err())
			equal(sorted(must(c.HVals(x, k).Result())), []string{"1", "2"})
		}),
		api("HINCRBY adds to a field", func() {
			k := key()
			equal(must(c.HIncrBy(x, k, "a", 5).Result()), 5)
			equal(must(c.HIncrBy(x, k, "a", -7).Result()), -2)
		}),
		api("HINCRBYFLOAT adds fractions to a field", func() {
			k := key()
			equal(must(c.HIncrByFloat(x, k, "a", 1.5).Result()), 1.5)
			equal(must(c.HIncrByFloat(x, k, "a", 2.25).Result()), 3.75)
		}),
		api("HSTRLEN counts bytes of a field", func() {
			k := key()
			ok(c.HSet(x, k, "a", "hello").Err())
			equal(must(c.HStrLen(x, k, "a").Result()), 5)
		}),
		api("HSCAN iterates over fields", func() {
			k, words := key(), []any{}
			for n := range 1000 {
				words = append(words, fmt.Sprint("f", n), n)
			}
			ok(c.HSet(x, k, words...).Err())
			count := 0
			for iterator := c.HScan(x, k, 0, "f99?", 50).Iterator(); iterator.Next(x); {
				count++
			}
			equal(int64(count), 20)
		}),
		api("HRANDFIELD gives some fields", func() {
			k := key()
			ok(c.HSet(x, k, "a", "1", "b", "2").Err())
			equal(int64(len(must(c.HRandField(x, k, -7).Result()))), 7)
			for _, pair := range must(c.HRandFieldWithValues(x, k, 5).Result()) {
				equal(pair.Value, map[string]string{"a": "1", "b": "2"}[pair.Key])
			}
		}),
		api("pipeline many commands in one write", func() {
			k := key()
			commands := must(c.Pipelined(x, func(pipe redis.Pipeliner) error {
				for range 1000 {
					pipe.Incr(x, k)
				}
				pipe.HSet(x, k+"h", "a", "1")
				pipe.HGetAll(x, k+"h")
				return nil
			}))
			equal(commands[999].(*redis.IntCmd).Val(), 1000)
			equal(commands[1001].(*redis.MapStringStringCmd).Val(), map[string]string{"a": "1"})
		}),
		api("pipeline an error stands at its place", func() {
			k := key()
			commands, err := c.Pipelined(x, func(pipe redis.Pipeliner) error {
				pipe.Set(x, k, "text", 0)
				pipe.Incr(x, k)
				pipe.Get(x, k)
				return nil
			})
			refused(err, "not an integer")
			equal(commands[2].(*redis.StringCmd).Val(), "text")
		}),
		api("MULTI runs a transaction", func() {
			must(c.TxPipelined(x, func(pipe redis.Pipeliner) error { return pipe.Set(x, key(), "1", 0).Err() }))
		}),
		api("binary keys, values and fields of any bytes", func() {
			k := binary + key()
			ok(c.Set(x, k, binary, 0).Err())
			equal(must(c.Get(x, k).Result()), binary)
			ok(c.HSet(x, k+"h", binary, binary).Err())
			equal(must(c.HGetAll(x, k+"h").Result()), map[string]string{binary: binary})
			ok(c.Set(x, k, "", 0).Err())
			equal(must(c.Get(x, k).Result()), "")
		}),
		api("large values of a mebibyte less a little", func() {
			k := key()
			ok(c.Set(x, k, large, 0).Err())
			equal(must(c.Get(x, k).Result()), large)
			equal(must(c.GetRange(x, k, 1000, 200000).Result()), large[1000:200001])
		}),
		api("errors wrong types", func() {
			s, h := key(), key()
			ok(c.Set(x, s, "a", 0).Err())
			ok(c.HSet(x, h, "f", "v").Err())
			refused(c.Get(x, h).Err(), "WRONGTYPE "+wrongType)
			refused(c.Incr(x, h).Err(), wrongType)
			refused(c.HGetAll(x, s).Err(), wrongType)
		}),
		api("errors no integers", func() {
			k := key()
			ok(c.Set(x, k, "text", 0).Err())
			refused(c.Incr(x, k).Err(), "ERR value is not an integer or out of range")
			refused(c.IncrByFloat(x, k, 1.5).Err(), "ERR value is not a valid float")
		}),
		api("errors unknown commands", func() {
			refused(c.Do(x, "BOGUS", "a", "b").Err(), "ERR unknown command 'BOGUS', with args beginning with: 'a' 'b'")
			refused(c.Do(x, "GET").Err(), "wrong number of arguments for 'get' command")
			equal(must(c.Ping(x).Result()), "PONG")
		}),
		api("CLIENT names and numbers", func() {
			one := c.Conn()
			defer one.Close()
			ok(one.ClientSetName(x, "a-name").Err())
			equal(must(one.ClientGetName(x).Result()), "a-name")
			equal(must(one.ClientID(x).Result()) > 0, true)
			equal(must(one.ClientInfo(x).Result()).Name, "a-name")
		}),
		api("ECHO echoes", func() { equal(must(c.Echo(x, "hello").Result()), "hello") }),
		api("INFO reports", func() {
			info := must(c.Info(x).Result())
			for _, word := range []string{"redis_version:", "redis_mode:standalone", "role:master", "loading:0"} {
				equal(strings.Contains(info, word), true)
			}
		}),
		api("CONFIG gets settings", func() { equal(int64(len(must(c.ConfigGet(x, "appendonly").Result()))), 1) }),
		api("COMMAND describes commands", func() {
			get := must(c.Command(x).Result())["get"]
			equal(int64(get.Arity), 2)
			equal(int64(get.FirstKeyPos), 1)
			equal(get.ReadOnly, true)
		}),
		api("pool of fifty connections", func() {
			pool := goRedisClient(func(options *redis.Options) { options.PoolSize = 50 })
			defer pool.Close()
			var group sync.WaitGroup
			wrong := make(chan any, 100)
			for range 100 {
				group.Go(func() {
					for range 40 {
						k := key()
						if err := pool.Set(x, k, k, 0).Err(); err != nil {
							wrong <- err
							return
						}
						if got := pool.Get(x, k).Val(); got != k {
							wrong <- got
							return
						}
					}
				})
			}
			group.Wait()
			equal(int64(len(wrong)), 0)
		}),
		api("RESP2 works too", func() {
			two := goRedisClient(func(options *redis.Options) { options.Protocol = 2 })
			defer two.Close()
			k := key()
			ok(two.HSet(x, k, "a", "1").Err())
			equal(must(two.HGetAll(x, k).Result()), map[string]string{"a": "1"})
		}),
		api("FLUSHDB removes all", func() {
			ok(c.Set(x, key(), "a", 0).Err())
			ok(c.FlushDB(x).Err())
			equal(must(c.DBSize(x).Result()), 0)
		}),
		{"session", "connects and works", func() {
			k := key()
			ok(c.Set(x, k, large, 0).Err())
			equal(must(c.Get(x, k).Result()), large)
		}},
		{"session", "connects but not with a wrong password", func() {
			if password != "" {
				wrong := goRedisClient(func(options *redis.Options) { options.Password = "wrong" })
				refused(wrong.Ping(x).Err(), "invalid username-password pair")
			}
		}},
		{"restart", "restart values are still there", func() {
			k := key()
			for n := range 300 {
				ok(c.Set(x, fmt.Sprint(k, n), fmt.Sprint("value ", n), 0).Err())
			}
			ok(c.HSet(x, k, "a", "1").Err())
			restartServer()
			eventually(func() error { return c.Ping(x).Err() })
			for n := range 300 {
				equal(must(c.Get(x, fmt.Sprint(k, n)).Result()), fmt.Sprint("value ", n))
			}
			equal(must(c.HGetAll(x, k).Result()), map[string]string{"a": "1"})
		}},
	}
}
