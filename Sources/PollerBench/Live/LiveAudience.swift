import NIOCore
import Poller
import Synchronization

/// Many live clients, one for each watch, and what they have heard.
final class LiveAudience: Sendable {
    private struct Seat: Sendable {
        var cursor = "now"
        /// The last `seq` heard; nil before the first event.
        var seq: Int?
        var isCaughtUp = false
    }

    private struct State: Sendable {
        var seats: [Seat]
        var channels: [any Channel] = []
        var caughtUp = 0
        var lost = 0
        var unexpected: String?
    }

    /// Connections that are being made at once: what a gateway's backlog takes.
    private static let connecting = 64

    private let watches: [WatchKey]
    private let state: Mutex<State>
    private let hearEvent: @Sendable (String) -> Void

    /// An audience of one client for each watch; `hearEvent` is told the id of each event.
    init(_ watches: [WatchKey], hearEvent: @escaping @Sendable (String) -> Void) {
        self.watches = watches
        self.hearEvent = hearEvent
        state = Mutex(State(seats: Array(repeating: Seat(), count: watches.count)))
    }

    /// How many clients there are.
    var count: Int { watches.count }

    /// How many clients have everything that was recorded before they came.
    var caughtUp: Int { state.withLock(\.caughtUp) }

    /// Events that were not heard although later ones were, and the first message that nobody
    /// asked for.
    var faults: (lost: Int, unexpected: String?) {
        state.withLock { ($0.lost, $0.unexpected) }
    }

    /// Connects everybody, each from where it left; returns when all are connected.
    func enter(port: Int) async throws {
        state.withLock { state in
            state.caughtUp = 0
            for index in state.seats.indices { state.seats[index].isCaughtUp = false }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, watch) in watches.enumerated() {
                if index >= Self.connecting { try await group.next() }
                let from = state.withLock { $0.seats[index].cursor }
                // Connecting waits for the other side; the group's end is that of the last one.
                group.addTask {
                    let channel = try await LiveClient.connect(
                        port: port,
                        to: watch,
                        from: from
                    ) { news in self.hear(news, index) }
                    self.state.withLock { $0.channels.append(channel) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Disconnects everybody.
    func leave() async {
        let channels = state.withLock { state in
            defer { state.channels = [] }
            return state.channels
        }
        // One that is closed already is what is wanted.
        for channel in channels { try? await channel.close() }
    }

    private func hear(_ news: LiveClient.News, _ index: Int) {
        switch news {
        case .caughtUp:
            state.withLock { state in
                guard !state.seats[index].isCaughtUp else { return }
                state.seats[index].isCaughtUp = true
                state.caughtUp += 1
            }
        case .event(let id, let seq, let cursor):
            state.withLock { state in
                if let last = state.seats[index].seq { state.lost += max(0, seq - last - 1) }
                state.seats[index].seq = max(seq, state.seats[index].seq ?? 0)
                state.seats[index].cursor = cursor
            }
            hearEvent(id)
        case .unexpected(let text):
            state.withLock { $0.unexpected = $0.unexpected ?? text }
        }
    }
}
