import BenchPlan
import ChildPrograms
import Histogram
import NIOCore
import PollerIdentity
import Synchronization

/// Measures the cost of a subscriber over plain HTTP: an event stream of a gateway, and a long poll of the API.
///
/// Each source has four subscribers. Events are few and all have subscribers, so the CPU is the cost of delivery.
/// ``SubscriberBench`` measures events without subscribers.
struct HTTPListenerBench: Sendable {
    private static let sources = 500
    private static let each = 4
    /// The interval between two events of a source.
    private static let interval = Duration.seconds(5)
    private static let connecting = 64
    private static let enterTimeout = Duration.seconds(120)

    /// The totals of all subscribers.
    private struct ReceivedCounts: Sendable {
        var waiting = 0
        var count = 0
        var toAnswerUs = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        var unexpected: String?
    }

    let store: BenchStore
    let plan: BenchPlan
    let redisURL: String

    func measure(_ report: inout BenchReport) async throws {
        try await measure("streams", "event streams", .stream, "gateway", &report)
        try await measure("long_polls", "long polls", .poll, "api", &report)
    }

    private func measure(
        _ member: String,
        _ title: String,
        _ way: HTTPListener.Way,
        _ role: String,
        _ report: inout BenchReport
    ) async throws {
        let port = try FreePort.find()
        let bind = ["POLLER_\(role.uppercased())_BIND": "127.0.0.1:\(port)"]
        let process = try PollerdProcess(role, redisURL: redisURL, environment: bind)
        defer { process.stop() }
        let pace = BenchHandler.spread(over: Self.interval)
        let handler = BenchHandler(eventEvery: 1, pace: pace)
        let received = Mutex(ReceivedCounts())
        let keys = try store.keys(Self.sources, prefix: "l")
        let figures = try await store.withWorker(handler, concurrency: 1024) {
            try await store.fill(keys)
            // Each watch has its first event by then, whose `seq` the long polls send.
            try await store.clock.sleep(for: .seconds(2))
            let before = try process.residentKiB("RssAnon")
            let channels = try await enter(keys, port, way) { notification in
                switch notification {
                case .waits: received.withLock { $0.waiting += 1 }
                case .event(let id):
                    let sent = id.flatMap { id in handler.tally.withLock { $0.sent[id] } }
                    received.withLock { received in
                        received.count += 1
                        if let us = sent.map({ $0.duration(to: .now) / .microseconds(1) }) {
                            _ = received.toAnswerUs.record(UInt64(max(us, 0)))
                        }
                    }
                case .unexpected(let text):
                    received.withLock { $0.unexpected = $0.unexpected ?? text }
                }
            }
            defer { for channel in channels { channel.close(promise: nil) } }
            let end = store.clock.now.advanced(by: Self.enterTimeout)
            while received.withLock({ $0.waiting }) < channels.count, store.clock.now < end {
                try await store.clock.sleep(for: .milliseconds(20))
            }
            try await store.clock.sleep(for: Self.interval)
            let kib = (try process.residentKiB("RssAnon") - before) / Double(channels.count)
            let cpu = try process.cpuSeconds()
            received.withLock {
                ($0.count, $0.toAnswerUs) = (0, .init(numberOfSignificantValueDigits: .three))
            }
            try await store.clock.sleep(for: max(plan.span, Self.interval))
            return (kib, try process.cpuSeconds() - cpu, received.withLock { $0 })
        }
        if let unexpected = figures.2.unexpected {
            throw BenchError("a \(role) said \(unexpected) to a client of \(title)")
        }
        var own = BenchReport()
        own.add(title, "listeners", Double(Self.sources * Self.each), "")
        own.add("  memory of one", "kib_per_listener", figures.0, "KiB")
        let cpu = figures.1 / Double(figures.2.count)
        own.add("  CPU an event and listener", "answer_us", cpu: cpu)
        if way == .stream {
            own.add("  recorded to message", "to_message_ms", figures.2.toAnswerUs.latency)
        }
        report.add(member, own)
        try await store.clear()
    }

    private func enter(
        _ keys: [WatchKey],
        _ port: Int,
        _ way: HTTPListener.Way,
        onNotification: @escaping @Sendable (HTTPListener.Notification) -> Void
    ) async throws -> [any Channel] {
        let wanted = keys.flatMap { Array(repeating: $0, count: Self.each) }
        return try await withThrowingTaskGroup(of: (any Channel).self) { group in
            var channels: [any Channel] = []
            for (index, key) in wanted.enumerated() {
                if index >= Self.connecting, let channel = try await group.next() {
                    channels.append(channel)
                }
                // Connecting waits for the server.
                group.addTask {
                    try await HTTPListener.connect(
                        port: port,
                        to: key,
                        by: way,
                        onNotification: onNotification
                    )
                }
            }
            for try await channel in group { channels.append(channel) }
            return channels
        }
    }
}
