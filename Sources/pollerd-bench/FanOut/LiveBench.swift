import BenchPlan
import Foundation
import Histogram
import NIOCore
import PollerIdentity
import Synchronization

/// Measures the memory of a live connection, its latency, and the time until all clients are back after a crash of the
/// gateway.
struct LiveBench: Sendable {
    /// Connections while idle memory is measured, the maximum per key.
    static let idle = 10_000
    /// Events a second while latency is measured.
    static let rate = 1000

    let store: BenchStore
    let plan: BenchPlan
    let notifier: NotifierProcess

    func measure(_ report: inout BenchReport) async throws {
        var live = BenchReport()
        try await weigh(&live)
        for count in [1000, 5000] { try await follow(count, &live) }
        report.add("live", live)
    }

    private func weigh(_ report: inout BenchReport) async throws {
        // The first connections create shared state: pools, tables, code.
        let first = LiveAudience(try store.keys(100, prefix: "w")) { _ in }
        try await enter(first)
        let before = try residentKiB()
        let audience = LiveAudience(try store.keys(Self.idle, prefix: "i")) { _ in }
        try await enter(audience)
        let each = (try residentKiB() - before) / Double(Self.idle)
        report.add("memory of an idle WebSocket", "idle_kib_per_connection", each, "KiB")
        await audience.leave()
        await first.leave()
        try notifier.restart()
    }

    /// Measures the latency at ``rate`` with a number of connections, and their recovery after a `kill -9`.
    private func follow(_ count: Int, _ report: inout BenchReport) async throws {
        let watches = try store.keys(count, prefix: "l")
        try await store.fill(watches)
        let span = Duration.milliseconds(Int64(count * 1000 / Self.rate))
        let handler = BenchHandler(eventEvery: 1, pace: BenchHandler.spread(over: span))
        let audience = LiveAudience(watches) { handler.recordReceived($0) }
        try await enter(audience)
        try await store.withWorker(handler, concurrency: 1024) {
            try await store.clock.sleep(for: span + .seconds(1))
            handler.restart()
            try await store.clock.sleep(for: max(plan.span, span * 2))
            let latency = handler.tally.withLock { $0.publishUs.latency }
            report.add(
                "commit to \(count) WebSockets, \(Self.rate) events/s",
                "to_client_ms_\(count)",
                latency
            )
            let began = store.clock.now
            await audience.leave()
            try notifier.restart()
            try await enter(audience)
            let back = began.duration(to: store.clock.now) / .milliseconds(1)
            report.add("  all back after kill -9", "resumed_ms_\(count)", back, "ms")
            // Every client gets one more event, so that missing events become visible.
            try await store.clock.sleep(for: span + .seconds(1))
        }
        let (lost, unexpected) = audience.faults
        if let unexpected { throw BenchError("the gateway said \(unexpected.prefix(200))") }
        report.addLoss("  events lost", "lost_\(count)", lost)
        await audience.leave()
        try await store.clear()
        try notifier.restart()
    }

    /// Connects an audience and waits until all clients have caught up.
    private func enter(_ audience: LiveAudience) async throws {
        try await audience.enter(port: notifier.gatewayPort)
        let end = store.clock.now.advanced(by: .seconds(120))
        while audience.caughtUp < audience.count, audience.faults.unexpected == nil {
            guard store.clock.now < end else {
                throw BenchError("\(audience.caughtUp) of \(audience.count) clients caught up")
            }
            try await store.clock.sleep(for: .milliseconds(10))
        }
    }

    /// Returns the notifier's private memory, without the pages of its program.
    private func residentKiB() throws -> Double {
        guard let process = notifier.process else { throw BenchError("the notifier has ended") }
        return try process.residentKiB("RssAnon")
    }
}

/// A large number of live clients, one per watch, with their received events.
final class LiveAudience: Sendable {
    private struct ClientState: Sendable {
        var cursor = "now"
        /// The last `seq` received, or `nil` before the first event.
        var seq: Int?
        var isCaughtUp = false
    }

    /// The state behind the lock.
    private struct State: Sendable {
        var clients: [ClientState]
        var channels: [any Channel] = []
        var caughtUp = 0
        var lost = 0
        var unexpected: String?
    }

    /// The maximum of concurrent connects, which a gateway's backlog allows.
    private static let connecting = 64

    private let watches: [WatchKey]
    private let state: Mutex<State>
    private let onEvent: @Sendable (String) -> Void

    /// Creates an audience of one client per watch.
    ///
    /// `onEvent` is called with the id of each event.
    init(_ watches: [WatchKey], onEvent: @escaping @Sendable (String) -> Void) {
        self.watches = watches
        self.onEvent = onEvent
        state = Mutex(State(clients: Array(repeating: ClientState(), count: watches.count)))
    }

    /// The number of clients.
    var count: Int { watches.count }

    /// The number of clients that have everything recorded before they connected.
    var caughtUp: Int { state.withLock(\.caughtUp) }

    /// The number of missed events that were followed by later ones, and the first unexpected message.
    var faults: (lost: Int, unexpected: String?) {
        state.withLock { ($0.lost, $0.unexpected) }
    }

    /// Connects all clients, each from its last cursor, and returns when all are connected.
    func enter(port: Int) async throws {
        state.withLock { state in
            state.caughtUp = 0
            for index in state.clients.indices { state.clients[index].isCaughtUp = false }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, watch) in watches.enumerated() {
                if index >= Self.connecting { try await group.next() }
                let from = state.withLock { $0.clients[index].cursor }
                // Connecting waits for the gateway. The group ends with the last connection.
                group.addTask {
                    let channel = try await LiveClient.connect(
                        port: port,
                        to: [watch],
                        from: from
                    ) { notification in self.receive(notification, index) }
                    self.state.withLock { $0.channels.append(channel) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Disconnects all clients.
    func leave() async {
        let channels = state.withLock { state in
            defer { state.channels = [] }
            return state.channels
        }
        // A closed channel is the goal, so its error is ignored.
        for channel in channels { try? await channel.close() }
    }

    private func receive(_ notification: LiveClient.Notification, _ index: Int) {
        switch notification {
        case .caughtUp:
            state.withLock { state in
                guard !state.clients[index].isCaughtUp else { return }
                state.clients[index].isCaughtUp = true
                state.caughtUp += 1
            }
        case .event(let message):
            guard let id = message.id, let seq = message.seq, let cursor = message.cursor else {
                return state.withLock { $0.unexpected = $0.unexpected ?? message.text }
            }
            state.withLock { state in
                if let last = state.clients[index].seq { state.lost += max(0, seq - last - 1) }
                state.clients[index].seq = max(seq, state.clients[index].seq ?? 0)
                state.clients[index].cursor = cursor
            }
            onEvent(id)
        case .unexpected(let text):
            state.withLock { $0.unexpected = $0.unexpected ?? text }
        }
    }
}
