import JSONText
import PollerWire

/// The source of events after a cursor for an ``EventFollower``: the gateway's event stream if it works, otherwise long
/// polls of the API.
///
/// Both use the same cursor, so it switches between them at any event. A stream that ends or breaks is replaced by long
/// polls at once. It is tried again after the wait that the server requested. No event is late meanwhile, and clients
/// of a restarting gateway do not all reconnect together.
struct EventSubscription {
    /// The result of a read.
    struct Batch {
        /// The events before the gap, if there is one; a failover may have lost them.
        var before: [Received<Event>] = []
        var events: [Received<Event>] = []
        /// The cursor after them.
        var next: String?
        /// Whether some events before these are no longer kept.
        var hasGap = false
    }

    /// The duration of a long poll, below the idle timeouts of usual proxies.
    private static let wait = Duration.seconds(30)
    /// The maximum of names in a query.
    ///
    /// With more, the follower filters.
    private static let namesPerQueryMax = 50
    /// The wait after a gateway's rejection, which is unlikely to change soon.
    private static let refusedWait = Duration.seconds(30)

    private let client: PollerClient
    /// The sources in the query, or none if the follower filters.
    let sources: [String]
    /// The account in the query.
    let account: String?
    private let types: [String]
    private let clock = ContinuousClock()
    private var stream: EventStreamReader?
    private var streamAt: ContinuousClock.Instant

    /// Creates a reader for the events of these names, account and types.
    init(_ client: PollerClient, names: [WatchName], account: String?, types: [String]) {
        self.client = client
        // The gateway reads sources of one account only, so the follower filters those of several.
        let isOneAccount = Set(names.map(\.account)).count <= 1
        let areInQuery = isOneAccount && names.count <= Self.namesPerQueryMax
        sources = areInQuery ? names.map(\.source) : []
        self.account = account ?? (areInQuery ? names.first?.account : nil)
        self.types = types
        streamAt = clock.now
    }

    /// Returns the events after a position.
    ///
    /// A long poll waits at most half a minute for them.
    mutating func read(from start: EventStart) async throws -> Batch {
        if stream == nil, case .cursor(let cursor) = start { try await open(behind: cursor) }
        if stream != nil { return try await readStream() }
        let now = clock.now
        // With a gateway, the poll ends when the stream may be tried again.
        let isBack = client.gateway != nil && streamAt > now
        let wait = isBack ? min(Self.wait, max(streamAt - now, .milliseconds(100))) : Self.wait
        let page = try await client.events(
            from: start,
            sources: sources,
            account: account,
            types: types,
            wait: wait
        )
        return Batch(events: page.items, next: page.next, hasGap: page.hasGap)
    }

    /// Closes an open event stream, so that the next read begins at its argument.
    mutating func closeStream() {
        stream = nil
    }

    private mutating func open(behind cursor: String) async throws {
        guard let gateway = client.gateway, clock.now >= streamAt else { return }
        do {
            stream = try await EventStreamReader.open(
                client,
                gateway: gateway,
                query: [
                    ("source", sources.isEmpty ? nil : sources.joined(separator: ",")),
                    ("account", account),
                    ("types", types.isEmpty ? nil : types.joined(separator: ",")),
                    ("since", cursor),
                ]
            )
        } catch let error as PollerError {
            let isTransient = error.isTransient
            streamAt = clock.now + (isTransient ? Self.shortWait : Self.refusedWait)
        }
    }

    private mutating func readStream() async throws -> Batch {
        var batch = Batch()
        guard let stream else { return batch }
        let messages: [EventStreamParser.Message]?
        do {
            messages = try await stream.next()
        } catch is PollerError {
            messages = nil
        }
        guard let messages else {
            streamAt = clock.now + (await stream.retry ?? Self.shortWait)
            self.stream = nil
            return batch
        }
        for message in messages {
            switch message.name {
            case "message":
                guard let json = RawJSON(received: Array(message.data.utf8)),
                    let event = Received<Event>(json)
                else {
                    throw PollerError.unintelligible(
                        "an event of the stream cannot be understood: use a client of the "
                            + "server's version"
                    )
                }
                batch.events.append(event)
            case "reset":
                batch.hasGap = true
                batch.before += batch.events
                batch.events = []
            default: break
            }
            // Only messages with an id advance the cursor.
            if let id = message.id { batch.next = id }
        }
        return batch
    }

    private static var shortWait: Duration { .milliseconds(Int64.random(in: 500...8000)) }
}
