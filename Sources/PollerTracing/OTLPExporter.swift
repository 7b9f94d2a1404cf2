import AsyncHTTPClient
package import Logging
import NIOCore
package import Poller
package import ServiceLifecycle

/// What a process needs to be traced: who is told, and who sends it.
package struct TraceExport: Sendable {
    /// For those who do the work.
    package let tracer: any WorkTracer
    /// To be run before those who do the work, so that it outlives them.
    package let service: any Service

    /// Traces a process, and sends what it does to a collector.
    package init<C: Clock>(
        to collector: OTLPCollector,
        of process: TracedProcess,
        clock: C,
        logger: Logger
    ) where C.Duration == Duration {
        let queue = SpanQueue()
        tracer = OTLPWorkTracer(tracer: OTLPTracer(queue: queue))
        service = OTLPExporter(
            queue: queue,
            process: process,
            collector: collector,
            clock: clock,
            logger: logger
        )
    }
}

/// Sends the spans of a process to a collector, every second.
///
/// *Problem.* A collector may be absent, slow, or answer what it likes; payments are told of all the same.
/// *Approach.* Who does the work adds to a bounded queue and goes on (``SpanQueue``). One task sends, one
/// batch at a time; a collector that is busy is asked again a few times, no sooner than it says, and then the
/// batch is given up. While it is away one try in five seconds is made, and the queue drops and counts what
/// comes. The log has a line when that begins and one when it is over, a minute apart at least.
/// *A crash* loses what was queued, a second's worth. On shutdown what is queued has three seconds.
struct OTLPExporter<C: Clock>: Service where C.Duration == Duration {
    /// How long a span waits at most, while all is well.
    static var exportInterval: Duration { .seconds(1) }
    /// Spans of a request: some 200 KB, of the 4 MiB that collectors take.
    static var batchMax: Int { 512 }
    static var attemptsMax: Int { 4 }
    /// Between tries while the collector is away.
    static var outageInterval: Duration { .seconds(5) }
    /// Within the 5 s that services have beside the drain of the loops.
    static var flushTimeout: Duration { .seconds(3) }
    /// One that comes and goes must not fill the log.
    static var logInterval: Duration { .seconds(60) }

    let queue: SpanQueue
    let process: TracedProcess
    let collector: OTLPCollector
    let clock: C
    let logger: Logger

    /// Sends until shut down, and then what is left.
    func run() async throws {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5))
        )
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        try await HTTPClient.withHTTPClient(configuration: configuration) { http in
            await cancelWhenGracefulShutdown { await export(by: http) }
            await flush(by: http)
        }
    }

    private func export(by http: HTTPClient) async {
        var outage = ExportOutage<C.Instant>()
        while !Task.isCancelled {
            // Cancelled: what is queued is flushed.
            try? await clock.sleep(for: Self.exportInterval)
            while !Task.isCancelled, let batch = queue.take(Self.batchMax) {
                await export(batch, by: http, &outage)
            }
        }
    }

    /// Sends a batch, a few times where that may help, and then gives it up.
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
                if number < Self.attemptsMax, !outage.isOpen { try? await clock.sleep(for: wait) }
            }
            if Task.isCancelled { return queue.putBack(batch) }
        }
        queue.countDropped(batch.count)
        if outage.begin(losing: batch.count, at: clock.now, quiet: Self.logInterval) {
            logger.warning(
                "traces are not exported",
                metadata: [
                    "collector": "\(collector.url)", "reason": "\(reason)",
                    "hint": "is POLLER_OTLP_ENDPOINT right, and does it take OTLP over HTTP?",
                ]
            )
        }
        try? await clock.sleep(for: max(wait, Self.outageInterval))
    }

    /// Sends what is left, each batch once, as far as the time goes.
    private func flush(by http: HTTPClient) async {
        await withTaskGroup { group in
            group.addTask {
                while !Task.isCancelled, let batch = queue.take(Self.batchMax) {
                    let outcome = await collector.send(
                        process.request(of: batch),
                        by: http,
                        clock: clock
                    )
                    guard case .accepted = outcome else { return queue.countDropped(batch.count) }
                    queue.countExported(batch.count)
                }
            }
            // Cancelled: all is sent.
            group.addTask { try? await clock.sleep(for: Self.flushTimeout) }
            await group.next()
            group.cancelAll()
        }
    }
}

/// Whether the collector is away, and what of that is in the log.
struct ExportOutage<Instant: InstantProtocol> where Instant.Duration == Duration {
    private(set) var isOpen = false
    private var isLogged = false
    private var loggedAt: Instant?
    private var lost = 0

    /// The collector has not taken a batch; whether that is to be told.
    mutating func begin(losing count: Int, at now: Instant, quiet: Duration) -> Bool {
        lost += count
        guard !isOpen else { return false }
        isOpen = true
        isLogged = loggedAt.map { $0.duration(to: now) >= quiet } ?? true
        if isLogged { loggedAt = now }
        return isLogged
    }

    /// The collector has taken a batch; how many spans were lost, where that is to be told.
    mutating func end() -> Int? {
        guard isOpen else { return nil }
        isOpen = false
        guard isLogged else { return nil }
        defer { lost = 0 }
        return lost
    }
}
