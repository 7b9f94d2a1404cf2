import AsyncHTTPClient
package import Logging
import NIOCore
package import PollerOperations
package import ServiceLifecycle

/// The parts that a process needs for tracing: the tracer and the exporter.
package struct TraceExport: Sendable {
    /// The tracer for the handlers.
    package let tracer: any WorkTracer
    /// The exporter.
    ///
    /// It must start before the handlers, so that it ends after them.
    package let service: any Service

    /// Makes the tracing of a process, which exports to a collector.
    package init<C: Clock>(
        to collector: OTLPCollector,
        of process: TracedProcess,
        clock: C,
        logger: Logger
    ) where C.Duration == Duration {
        let queue = SpanQueue()
        tracer = OTLPWorkTracer(queue: queue)
        service = OTLPExporter(
            queue: queue,
            process: process,
            collector: collector,
            clock: clock,
            logger: logger
        )
    }
}

/// Exports the spans of a process to a collector, every second.
///
/// *Problem.* A collector may be absent, slow or faulty, and payments must still be delivered.
/// *Approach.* Handlers add spans to a bounded queue and continue (``SpanQueue``). One task sends
/// one batch at a time. If the collector is busy, it retries a few times, no sooner than the
/// collector requests, and then drops the batch. During an outage it tries once every five seconds,
/// and the queue drops and counts further spans. The start and the end of an outage are logged, at
/// least a minute apart. *A crash* loses the queued spans, about a second's worth. On shutdown the
/// request in progress and the queue are sent for at most three seconds. That request is not
/// cancelled: the collector may have read it, and its spans would be exported twice.
struct OTLPExporter<C: Clock>: Service where C.Duration == Duration {
    /// How long a span waits at most during normal operation.
    static var exportInterval: Duration { .seconds(1) }
    /// Spans per request: some 200 KB, of the 4 MiB that collectors accept.
    static var batchMax: Int { 512 }
    static var attemptsMax: Int { 4 }
    /// Between attempts during an outage.
    static var outageInterval: Duration { .seconds(5) }
    /// Within the 5 s that services have in addition to the drain of the loops.
    static var flushTimeout: Duration { .seconds(3) }
    /// An unstable collector must not fill the log.
    static var logInterval: Duration { .seconds(60) }

    let queue: SpanQueue
    let process: TracedProcess
    let collector: OTLPCollector
    let clock: C
    let logger: Logger

    /// Exports until shutdown, and then flushes the queue.
    func run() async throws {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5))
        )
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await export(by: http)
                    await flush(by: http)
                }
                group.addTask {
                    // Cancelled: everything is sent, or the process ends at once.
                    try? await gracefulShutdown()
                    try? await clock.sleep(for: Self.flushTimeout)
                }
                await group.next()
                group.cancelAll()
            }
        }
    }

    /// Whether the process shuts down.
    private var isEnding: Bool { Task.isShuttingDownGracefully || Task.isCancelled }

    /// Waits for a span, or until shutdown.
    private func pause(for span: Duration) async {
        try? await cancelWhenGracefulShutdown { try await clock.sleep(for: span) }
    }

    private func export(by http: HTTPClient) async {
        var outage = ExportOutage<C.Instant>()
        while !isEnding {
            await pause(for: Self.exportInterval)
            while !isEnding, let batch = queue.take(Self.batchMax) {
                await export(batch, by: http, &outage)
            }
        }
    }

    /// Sends a batch, retries if that may help, and then drops it.
    private func export(
        _ batch: [SpanRecord],
        by http: HTTPClient,
        _ outage: inout ExportOutage<C.Instant>
    ) async {
        let body = process.request(of: batch)
        var (reason, wait) = ("", Self.outageInterval)
        tries: for number in 1...(outage.isOpen ? 1 : Self.attemptsMax) {
            let outcome = await collector.send(body, by: http, clock: clock)
            switch outcome {
            case .accepted:
                queue.countExported(batch.count)
                guard let lost = outage.end() else { return }
                return logger.notice("traces are exported again", metadata: ["lost": "\(lost)"])
            case .rejected(let why):
                reason = why
                break tries
            case .busy(let why, let asked):
                reason = why
                wait = asked ?? .seconds(1 << (number - 1))
                if number < Self.attemptsMax, !outage.isOpen { await pause(for: wait) }
            }
            if isEnding { return queue.putBack(batch) }
        }
        queue.countDropped(batch.count)
        if outage.begin(losing: batch.count, at: clock.now, quiet: Self.logInterval) {
            logger.warning(
                "traces are not exported",
                metadata: [
                    "collector": "\(collector.url)", "reason": "\(reason)",
                    "hint": "check that POLLER_OTLP_ENDPOINT accepts OTLP over HTTP",
                ]
            )
        }
        await pause(for: max(wait, Self.outageInterval))
    }

    /// Sends the remaining batches, each once.
    private func flush(by http: HTTPClient) async {
        while !Task.isCancelled, let batch = queue.take(Self.batchMax) {
            let body = process.request(of: batch)
            guard case .accepted = await collector.send(body, by: http, clock: clock) else {
                return queue.countDropped(batch.count)
            }
            queue.countExported(batch.count)
        }
    }
}

/// Whether the collector is unavailable, and whether that was logged.
struct ExportOutage<Instant: InstantProtocol> where Instant.Duration == Duration {
    private(set) var isOpen = false
    private var isLogged = false
    private var loggedAt: Instant?
    private var lost = 0

    /// The collector has not accepted a batch.
    ///
    /// Returns whether to log it.
    mutating func begin(losing count: Int, at now: Instant, quiet: Duration) -> Bool {
        lost += count
        guard !isOpen else { return false }
        isOpen = true
        isLogged = loggedAt.map { $0.duration(to: now) >= quiet } ?? true
        if isLogged { loggedAt = now }
        return isLogged
    }

    /// The collector has accepted a batch.
    ///
    /// Returns how many spans were lost if that must be logged.
    mutating func end() -> Int? {
        guard isOpen else { return nil }
        isOpen = false
        guard isLogged else { return nil }
        defer { lost = 0 }
        return lost
    }
}
