import NIOCore

/// What callers have left for the event loop of a ``RedisCommandLink``.
///
/// Requests are bounded. Other events always fit: there are at most two for each request or wait
/// that was let in.
struct RedisCommandInbox {
    enum Event {
        case submit(RedisRequest)
        case cancel(RedisRequest)
        case addObserver(RedisWaiter<Void>)
        case removeObserver(RedisWaiter<Void>)
    }

    /// What became of an event.
    enum Posted {
        /// There is no room.
        case refused
        /// The event loop has been asked to look already.
        case quietly
        /// The event loop must be asked to look.
        case wakingUp
    }

    /// Room made in advance: as many events as gather in one turn of a busy event loop.
    private static let usualCount = 256

    private let commandsMax: Int
    private let bytesMax: Int
    private var events: [Event] = []
    private var bytes = 0
    private var isWakeScheduled = false

    init(commandsMax: Int, bytesMax: Int) {
        self.commandsMax = commandsMax
        self.bytesMax = bytesMax
    }

    /// Adds an event.
    mutating func append(_ event: Event) -> Posted {
        if case .submit(let request) = event {
            let size = request.wire.readableBytes
            guard events.count < commandsMax, bytes + size <= bytesMax else { return .refused }
            bytes += size
        }
        events.append(event)
        if isWakeScheduled { return .quietly }
        isWakeScheduled = true
        return .wakingUp
    }

    /// Empties it.
    mutating func takeAll() -> [Event] {
        let taken = events
        events = []
        events.reserveCapacity(min(taken.count, Self.usualCount))
        bytes = 0
        isWakeScheduled = false
        return taken
    }
}
