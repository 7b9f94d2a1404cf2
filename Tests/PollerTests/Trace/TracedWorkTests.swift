import Poller
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

/// The spans of handlers, and the trace context that they propagate.
@Suite struct TracedWorkTests {
    private let upstream = ScriptedUpstream()
    private let tracer = RecordingTracer()

    private func poll(
        _ trace: TraceContext?,
        _ answer: PollResult,
        by tracer: RecordingTracer?
    ) async throws -> Decision<WatchChange> {
        var watch = Sample.watch(status: "pending", seq: 1)
        watch.trace = trace
        upstream.script(watch.key.source, [answer])
        let now = VirtualTime.start
        let handler = PollHandler(
            upstream: upstream,
            timeout: .seconds(8),
            tracer: tracer,
            logger: Sample.quiet
        )
        let lease = Lease(watch, at: now, for: .seconds(30))
        return try #require(await handler.handle(LeasedItem(lease: lease, elapsed: { .zero })))
    }

    @Test("a poll without a change creates no span")
    func silent() async throws {
        for trace in [nil, Samples.trace] {
            _ = try await poll(trace, .pending, by: tracer)
        }
        #expect(tracer.ended.isEmpty)
    }

    @Test("a change is a child span of the watch request, linked to the poll's separate trace")
    func change() async throws {
        let decision = try await poll(Samples.trace, .status("chargeable"), by: tracer)
        #expect(tracer.ended.map(\.work) == [.poll, .change])
        let (look, change) = (tracer.ended[0], tracer.ended[1])
        #expect(look.parent == nil && look.link == Samples.trace)
        #expect(look.context.traceID != Samples.trace.traceID)
        #expect(change.parent == Samples.trace && change.link == look.context)
        #expect(!decision.change.events.isEmpty)
        #expect(decision.change.events.allSatisfy { $0.trace == change.context })
        let event = try #require(decision.change.event)
        #expect(event.json.contains(#""traceparent":"\#(change.context.traceparent)""#))
        #expect(change.text("poller.event.id") == event.id.description)
        #expect(look.text("poller.result") == "observed" && look.facts?.error == nil)
    }

    @Test("without a trace of the watch a change is a child span of the poll")
    func root() async throws {
        let decision = try await poll(nil, .status("chargeable"), by: tracer)
        #expect(tracer.ended[1].parent == tracer.ended[0].context && tracer.ended[1].link == nil)
        #expect(decision.change.event?.trace == tracer.ended[1].context)
    }

    @Test("a failed poll is a failed span")
    func failure() async throws {
        let gone = PollResult.unavailable("no answer", retryAfter: nil)
        _ = try await poll(Samples.trace, gone, by: tracer)
        #expect(tracer.ended.map(\.work) == [.poll])
        #expect(tracer.ended[0].facts?.error == "no answer")
        #expect(tracer.ended[0].text("error.type") == "unavailable")
    }

    @Test("without a tracer an event has the watch's trace context, if any")
    func off() async throws {
        let carried = try await poll(Samples.trace, .status("chargeable"), by: nil)
        #expect(carried.change.events.allSatisfy { $0.trace == Samples.trace })
        let bare = try await poll(nil, .status("chargeable"), by: nil)
        let event = try #require(bare.change.event)
        #expect(event.trace == nil && !event.json.contains("traceparent"))
    }

    @Test("a parsed event keeps its trace context, and an event without its body has none")
    func event() throws {
        var watch = Sample.watch()
        watch.trace = Samples.trace
        let event = Event(watch, status: .chargeable, polledAt: VirtualTime.start)
        let read = try #require(Event(json: event.carrying(metadata: #"{"a":"b"}"#).json))
        #expect(read.trace == Samples.trace && read.id == event.id)
        #expect(read.withoutBody.trace == nil)
        let broken = event.json.replacing("00-4bf9", with: "00-4BF9")
        #expect(try #require(Event(json: broken)).trace == nil)
    }

    @Test("long span attributes are truncated, and missing ones are omitted")
    func facts() {
        var facts = SpanFacts()
        facts.add("a", String(repeating: "x", count: 1000))
        facts.add("b", nil as String?)
        facts.add("c", nil as Int?)
        facts.fail("kind", String(repeating: "y", count: 1000))
        #expect(facts.all.map(\.name) == ["a", "error.type"])
        #expect(facts.all.first?.value == .text(String(repeating: "x", count: 256)))
        #expect(facts.error?.count == 256)
    }
}

extension DeliveryHandlerTests {
    /// Records an event of a watch with a trace.
    private func recordTraced(_ trace: TraceContext?) async throws {
        var new = try NewWatch(key: key)
        new.options.trace = trace
        _ = try await store.enqueue([new])
        try await record(["chargeable"])
    }

    private func deliver(
        _ answer: AttemptResult,
        _ state: DeliveryState = DeliveryState(),
        by tracer: RecordingTracer?
    ) async throws -> TraceContext? {
        let channel = RecordingChannel()
        channel.script([answer])
        let handler = DeliveryHandler(
            store: store,
            channels: [channel],
            tracer: tracer,
            logger: Sample.quiet
        )
        _ = await handler.handle(try leased(state, url: "https://a.example/hook"))
        return try #require(channel.attempts.first).target.trace
    }

    @Test("an attempt is a child span of the change and is propagated to the receiver")
    func traced() async throws {
        try await recordTraced(Samples.trace)
        let tracer = RecordingTracer()
        let sentContext = try await deliver(.delivered, by: tracer)
        let span = try #require(tracer.ended.first)
        #expect(span.work == .delivery && span.parent == Samples.trace && span.link == nil)
        #expect(sentContext == span.context && sentContext?.traceID == Samples.trace.traceID)
        #expect(span.number("poller.attempt") == 1 && span.text("server.address") == "a.example")
        #expect(span.facts?.error == nil)
    }

    @Test("each attempt is a separate span, and a failed one has its error")
    func tracedFailure() async throws {
        try await recordTraced(Samples.trace)
        let tracer = RecordingTracer()
        let answer = AttemptResult.failed("answered 500", .serverError, code: 500)
        _ = try await deliver(answer, DeliveryState(failures: 2, attempts: 2), by: tracer)
        let span = try #require(tracer.ended.first)
        #expect(span.facts?.error == "answered 500" && span.text("error.type") == "server_error")
        #expect(span.number("http.response.status_code") == 500)
        #expect(span.number("poller.attempt") == 3 && span.number("http.request.resend_count") == 2)
    }

    @Test("an attempt that is cut off ends its span, because the receiver may have its ID")
    func tracedCutOff() async throws {
        try await recordTraced(Samples.trace)
        let tracer = RecordingTracer()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await deliver(.failed("shutting down", .local), by: tracer)
        }
        task.cancel()
        let sentContext = try #require(try await task.value)
        let span = try #require(tracer.ended.first)
        #expect(span.context == sentContext && span.facts?.error == "shutting down")
    }

    @Test("without a tracer the receiver gets the event's trace context, if any")
    func untraced() async throws {
        try await recordTraced(Samples.trace)
        #expect(try await deliver(.delivered, by: nil) == Samples.trace)
    }

    @Test("an event without a trace context is delivered without one")
    func unknown() async throws {
        try await record(["chargeable"])
        #expect(try await deliver(.delivered, by: nil) == nil)
    }
}
