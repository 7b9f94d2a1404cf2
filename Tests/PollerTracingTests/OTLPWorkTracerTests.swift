import PollerIdentity
import PollerOperations
import PollerTesting
import Testing

@testable import PollerTracing

/// Tests of spans from their start to the queue.
///
/// `test_traces.py` checks that a collector can read them, with the messages of
/// opentelemetry-proto.
@Suite struct OTLPWorkTracerTests {
    private let queue = SpanQueue()
    private var work: OTLPWorkTracer { OTLPWorkTracer(queue: queue) }
    private let now = Timestamp(ms: 1_795_165_200_125)

    private var ended: [SpanRecord] { queue.take(1000) ?? [] }

    @Test("a child span belongs to its parent's trace, and a span without a parent starts one")
    func parents() {
        let below = work.begin(.delivery, under: Samples.trace, linked: nil, at: now)
        #expect(below.context.traceID == Samples.trace.traceID)
        #expect(below.context.spanID != Samples.trace.spanID && below.context.isSampled)
        let root = work.begin(.poll, under: nil, linked: Samples.trace, at: now)
        #expect(root.context.traceID != Samples.trace.traceID && root.context.isSampled)
        #expect(queue.take(1) == nil)
        root.end(SpanFacts(), at: now + .milliseconds(5))
        let queued = ended
        #expect(queued.map(\.work) == [.poll] && queued.map(\.link) == [Samples.trace])
        #expect(queued[0].parent == nil && queued[0].ended - queued[0].began == 5_000_000)
    }

    @Test("spans of an unsampled parent or link are not recorded")
    func unsampled() throws {
        let other = try #require(
            TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
        )
        for span in [
            work.begin(.delivery, under: other, linked: nil, at: now),
            work.begin(.poll, under: nil, linked: other, at: now),
        ] {
            #expect(!span.context.isSampled)
            span.end(SpanFacts(), at: now)
        }
        #expect(ended.isEmpty)
    }

    @Test("a span is queued once, and does not end before it began")
    func once() {
        let span = work.begin(.change, under: Samples.trace, linked: nil, at: now)
        var facts = SpanFacts()
        facts.add("poller.seq", 2)
        facts.fail("timeout", "no answer")
        span.end(facts, at: now + .seconds(-9))
        span.end(SpanFacts(), at: now)
        let queued = ended
        #expect(queued.count == 1 && queued[0].began == queued[0].ended)
        #expect(queued[0].facts == facts)
    }

    @Test(
        "an out-of-range instant does not trap",
        arguments: [Int64.min, -1, 1 << 50, .max]
    )
    func extremeInstants(_ ms: Int64) {
        let span = work.begin(.poll, under: Samples.trace, linked: nil, at: Timestamp(ms: ms))
        span.end(SpanFacts(), at: Timestamp(ms: ms))
        #expect(ended.count == 1)
    }

    @Test("a full queue drops new spans and keeps the old ones")
    func full() {
        let queue = SpanQueue(spansMax: 3)
        let work = OTLPWorkTracer(queue: queue)
        let named = (0..<5).map { _ in
            let span = work.begin(.poll, under: nil, linked: nil, at: now)
            span.end(SpanFacts(), at: now)
            return span.context
        }
        let batch = queue.take(2)
        #expect(batch?.map(\.trace) == Array(named[0..<2]))
        queue.putBack(batch ?? [])
        #expect(queue.take(9)?.map(\.trace) == Array(named[0..<3]) && queue.take(1) == nil)
    }
}
