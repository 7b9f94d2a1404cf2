// A worker that polls with asynq, for `ops/bench` to measure beside Poller.
//
// It does what a shop would write with a queue for Go: each task makes a GET and enqueues the next one. It takes the
// cheapest way at each choice, so that the comparison favours asynq: one queue for all accounts, HTTP/1.1, and the
// response is read but not parsed, compared or recorded.
//
// pollerd-bench starts it, sends it lines, and reads one line for each:
//
//	fill COUNT DUE SPAN   enqueues tasks that are due evenly over SPAN ms from DUE (ms since 1970), and then polls each
//	                      once. With SPAN 0 all are due, and each task enqueues itself again at once. Reply: ready
//	report                Reply: the polls since the last report, as JSON
//
// It ends with its standard input. PEER_REDIS_URL is the database. SSL_CERT_FILE names the trusted certificates.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// asynq looks for due tasks at this interval. The defaults are 1 s and 5 s, with which a poll is seconds late.
const checkInterval = 200 * time.Millisecond

// After a paced poll the next one is due after the measurement, as Poller's is.
const nextPoll = time.Hour

type poller struct {
	url    string
	client *asynq.Client
	http   *http.Client
	isOpen bool // whether tasks have due times

	mutex  sync.Mutex
	failed int
	lags   []float64
}

// report is the reply to `report`: the lag is the start of the poll minus its due time, negative if it was early.
type report struct {
	Polls  int                `json:"polls"`
	Failed int                `json:"failed"`
	LagMs  map[string]float64 `json:"lag_ms,omitempty"`
}

// A payload is the due time in ms since 1970 as 8 bytes, and the source.
func payload(due int64, source string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(due)), source...)
}

func (p *poller) poll(ctx context.Context, task *asynq.Task) error {
	due := int64(binary.BigEndian.Uint64(task.Payload()))
	lag := time.Now().UnixMilli() - due
	err := p.get(ctx, string(task.Payload()[8:]))
	p.mutex.Lock()
	p.lags = append(p.lags, float64(lag))
	if err != nil {
		p.failed++
	}
	p.mutex.Unlock()
	next := asynq.NewTask(task.Type(), task.Payload())
	if p.isOpen {
		_, err = p.client.EnqueueContext(ctx, next, asynq.ProcessIn(nextPoll))
	} else {
		_, err = p.client.EnqueueContext(ctx, next)
	}
	return err
}

func (p *poller) get(ctx context.Context, source string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/v1/sources/"+source, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer sk_test_bench")
	response, err := p.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %d", response.StatusCode)
	}
	return nil
}

// fill enqueues the tasks, eight at a time.
func (p *poller) fill(count int, due, span int64) error {
	p.isOpen = span > 0
	errors := make(chan error, 8)
	for worker := range 8 {
		go func() {
			for number := worker; number < count; number += 8 {
				at := due + span*int64(number)/int64(count)
				source := fmt.Sprintf("src_1%023d", number)
				task := asynq.NewTask("poll", payload(at, source))
				var options []asynq.Option
				if p.isOpen {
					options = append(options, asynq.ProcessAt(time.UnixMilli(at)))
				}
				if _, err := p.client.Enqueue(task, options...); err != nil {
					errors <- err
					return
				}
			}
			errors <- nil
		}()
	}
	for range 8 {
		if err := <-errors; err != nil {
			return err
		}
	}
	return nil
}

func (p *poller) report() report {
	p.mutex.Lock()
	lags, failed := p.lags, p.failed
	p.lags, p.failed = nil, 0
	p.mutex.Unlock()
	found := report{Polls: len(lags), Failed: failed}
	if p.isOpen && len(lags) > 0 {
		slices.Sort(lags)
		at := func(share float64) float64 { return lags[int(share*float64(len(lags)-1))] }
		found.LagMs = map[string]float64{"min": at(0), "p50": at(0.5), "p99": at(0.99), "max": at(1)}
	}
	return found
}

func run() error {
	url := flag.String("url", "", "the upstream's URL without a path")
	concurrency := flag.Int("concurrency", 256, "polls in flight at once")
	flag.Parse()
	redis, err := asynq.ParseRedisURI(os.Getenv("PEER_REDIS_URL"))
	if err != nil {
		return err
	}
	// Without HTTP/2, which takes more CPU in Go.
	transport := &http.Transport{MaxIdleConnsPerHost: *concurrency, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(true)
	p := &poller{
		url:    *url,
		client: asynq.NewClient(redis),
		http:   &http.Client{Transport: transport, Timeout: 8 * time.Second},
	}
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency:              *concurrency,
		TaskCheckInterval:        checkInterval,
		DelayedTaskCheckInterval: checkInterval,
		LogLevel:                 asynq.ErrorLevel,
	})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var count int
		var due, span int64
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "fill "):
			if _, err := fmt.Sscanf(line, "fill %d %d %d", &count, &due, &span); err != nil {
				return err
			}
			if err := p.fill(count, due, span); err != nil {
				return err
			}
			if err := server.Start(asynq.HandlerFunc(p.poll)); err != nil {
				return err
			}
			fmt.Println("ready")
		case line == "report":
			text, err := json.Marshal(p.report())
			if err != nil {
				return err
			}
			fmt.Println(string(text))
		default:
			return fmt.Errorf("unknown line: %s", line)
		}
	}
	return lines.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
