// Follows a Redis stream from Go. First send events to a stream:
//
//	pollerctl enqueue src_123 --notify redis+stream:orders
//	go mod init example && go get github.com/redis/go-redis/v9
//	go run subscribe.go orders [LAST_ID]
//
// A stream keeps its last 10,000 entries, so the ID of the last entry is the only state to store. LAST_ID continues
// after that entry, so no event is missed while this program is stopped. Several processes can share the work with
// XREADGROUP instead of XREAD. REDIS_URL and POLLER_NAMESPACE set the server and the key prefix.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: go run subscribe.go NAME [LAST_ID]")
	}
	options, err := redis.ParseURL(environment("REDIS_URL", "redis://127.0.0.1:6379/0"))
	if err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()

	stream := environment("POLLER_NAMESPACE", "poller") + ":stream:" + os.Args[1]
	last := "0"
	if len(os.Args) > 2 {
		last = os.Args[2]
	}
	// Deliveries are at least once, so an event with a known ID is dropped. A duplicate follows soon after the first, so
	// the last few IDs are enough.
	seen := newRecent(1000)

	for ctx := context.Background(); ; {
		answer, err := client.XRead(ctx, &redis.XReadArgs{
			Streams: []string{stream, last},
			Count:   100,
			Block:   5 * time.Second,
		}).Result()
		switch {
		case errors.Is(err, redis.Nil):
			continue // Nothing new.
		case err != nil:
			log.Print("retrying: ", err)
			time.Sleep(time.Second)
			continue
		}
		for _, entry := range answer[0].Messages {
			if seen.add(entry.Values["id"]) {
				fmt.Println(entry.ID, entry.Values["event"])
			}
			// The position moves only after the event was processed.
			last = entry.ID
		}
	}
}

// recent stores the last IDs.
type recent struct {
	order []any
	known map[any]bool
	most  int
}

func newRecent(most int) *recent { return &recent{known: map[any]bool{}, most: most} }

// add adds an ID and reports whether it is new.
func (r *recent) add(id any) bool {
	if r.known[id] {
		return false
	}
	r.known[id] = true
	r.order = append(r.order, id)
	if len(r.order) > r.most {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	return true
}

func environment(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
