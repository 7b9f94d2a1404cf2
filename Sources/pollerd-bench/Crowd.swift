import Histogram
import NIOCore
import Poller
import Synchronization

/// Very many listeners on few WebSockets, and what all of them have heard.
///
/// A listener is a subscription to one source. They are spread over the sockets by chance, as customers and tabs are:
/// those who hear one source are at different gateways and have different numbers at their sockets.
final class Crowd: Sendable {
    /// What the sockets have been told so far.
    struct Heard: Sendable {
        /// Frames that tell an event.
        var frames = 0
        /// From the decision to record an event to the frame, in µs.
        var toFrameUs = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        /// The first message that nobody asked for; never forgotten.
        var unexpected: String?
    }

    /// Subscriptions of a socket: what one may have.
    static let listenersPerSocket = 100
    /// Connections that are being made at once: what a gateway's backlog takes.
    private static let connecting = 64

    let count: Int
    /// The sources that each socket subscribes to.
    private let sockets: [[WatchKey]]
    private let channels = Mutex<[any Channel]>([])
    private let caughtUpCount = Mutex(0)
    private let heard = Mutex(Heard())
    private let total = Mutex(0)
    private let recordedAt: @Sendable (String) -> ContinuousClock.Instant?

    /// A listener for each of these, some of which may be the same; `recordedAt` knows when an event was.
    init(
        _ wanted: [WatchKey],
        recordedAt: @escaping @Sendable (String) -> ContinuousClock.Instant?
    ) {
        count = wanted.count
        let mixed = wanted.shuffled()
        sockets = stride(from: 0, to: mixed.count, by: Self.listenersPerSocket).map {
            Array(mixed[$0..<min($0 + Self.listenersPerSocket, mixed.count)])
        }
        self.recordedAt = recordedAt
    }

    /// How many sockets they share.
    var socketCount: Int { sockets.count }

    /// How many are told what happens.
    var caughtUp: Int { caughtUpCount.withLock { $0 } }

    /// Frames that have told an event, ever.
    var framesTotal: Int { total.withLock { $0 } }

    /// What was heard since the last ``forget()``.
    var news: Heard { heard.withLock { $0 } }

    /// Begins to count anew.
    func forget() {
        heard.withLock { $0 = Heard(unexpected: $0.unexpected) }
    }

    /// Connects all sockets, by turns to these ports.
    func enter(ports: [Int]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, watches) in sockets.enumerated() {
                if index >= Self.connecting { try await group.next() }
                // Connecting waits for the other side; the group's end is that of the last one.
                group.addTask {
                    let channel = try await LiveClient.connect(
                        port: ports[index % ports.count],
                        to: watches,
                        from: "now"
                    ) { self.hear($0) }
                    self.channels.withLock { $0.append(channel) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Disconnects everybody.
    func leave() async {
        let channels = channels.withLock { channels in
            defer { channels = [] }
            return channels
        }
        // One that is closed already is what is wanted.
        for channel in channels { try? await channel.close() }
    }

    private func hear(_ news: LiveClient.News) {
        switch news {
        case .caughtUp: caughtUpCount.withLock { $0 += 1 }
        case .event(let id, _, _):
            let tookUs = recordedAt(id).map { $0.duration(to: .now) / .microseconds(1) }
            total.withLock { $0 += 1 }
            heard.withLock { heard in
                heard.frames += 1
                if let tookUs { _ = heard.toFrameUs.record(UInt64(max(tookUs, 0))) }
            }
        case .unexpected(let text):
            heard.withLock { $0.unexpected = $0.unexpected ?? text }
        }
    }
}
