public import PollerWire

/// Events as they are recorded, one after the other, for as long as somebody asks.
///
/// How nothing gets lost: a follower keeps a cursor into the log of all events and reads behind it,
/// from the gateway's event stream or by long polls. One of named watches takes its cursor *before*
/// it reads their history, so what is recorded between the two comes twice and is told once, by its
/// seq. When the server says that the log was cut behind the cursor, the history of the named
/// watches is read again by seq. Transient failures are waited out for ever; others, and failures
/// before the first answer, are thrown.
public struct EventFollower: AsyncSequence, Sendable {
    /// What a follower gives.
    public enum Element: Hashable, Sendable {
        /// Something was recorded.
        case event(Received<Event>)
        /// Some events before the next one are no longer kept: read the watches you care for.
        case gap
    }

    let client: PollerClient
    var names: [WatchName] = []
    var account: String?
    var afterSeq = 0
    let types: [String]
    let start: EventStart
    private var outage: (@Sendable (PollerError?) -> Void)?

    init(
        client: PollerClient,
        names: [WatchName] = [],
        account: String? = nil,
        afterSeq: Int = 0,
        types: [String],
        start: EventStart
    ) {
        self.client = client
        self.names = names
        self.account = account
        self.afterSeq = afterSeq
        self.types = types
        self.start = start
    }

    /// The same follower, which tells why it waits for the server, and nil when the server is back.
    ///
    /// It goes on by itself; this is for who looks on. Each outage is told once.
    public func onOutage(_ tell: @escaping @Sendable (PollerError?) -> Void) -> EventFollower {
        var follower = self
        follower.outage = tell
        return follower
    }

    /// Begins to follow.
    public func makeAsyncIterator() -> Iterator {
        Iterator(follower: self, start: start)
    }

    /// One reader's place.
    public struct Iterator: AsyncIteratorProtocol {
        private let follower: EventFollower
        private var start: EventStart
        private var subscription: EventSubscription
        private var hasBegun = false
        private var hasAnswered = false
        private var isOut = false
        private var pending: [Element] = []
        /// Told already, by watch; of named watches alone.
        private var seqs: [WatchName: Int] = [:]
        private var backoff = Backoff()

        init(follower: EventFollower, start: EventStart) {
            self.follower = follower
            self.start = start
            subscription = EventSubscription(
                follower.client,
                names: follower.names,
                account: follower.account,
                types: follower.types
            )
        }

        /// The next event, however long it takes; nil never comes.
        public mutating func next() async throws -> Element? {
            while pending.isEmpty {
                do {
                    try await hasBegun ? read() : begin()
                    hasAnswered = true
                    backoff.reset()
                    tell(outage: nil)
                } catch let error as PollerError where error.isTransient && hasAnswered {
                    tell(outage: error)
                    try await backoff.sleep(atLeast: error.retryAfter)
                    await lookWhetherBack()
                }
            }
            return pending.removeFirst()
        }

        private mutating func tell(outage error: PollerError?) {
            guard isOut != (error != nil) else { return }
            isOut = error != nil
            follower.outage?(error)
        }

        /// A read waits half a minute for news: whether the server is back is told before.
        private mutating func lookWhetherBack() async {
            guard follower.outage != nil else { return }
            // What fails here, fails in the read that follows.
            guard (try? await follower.client.events(from: .now, limit: 1)) != nil else { return }
            tell(outage: nil)
        }

        /// Takes the cursor first and the history of named watches then.
        private mutating func begin() async throws {
            if !follower.names.isEmpty {
                let page = try await follower.client.events(from: .now, limit: 1)
                if let next = page.next { start = .cursor(next) }
                try await readHistory()
            }
            hasBegun = true
        }

        private mutating func read() async throws {
            let names = follower.names
            let batch: EventSubscription.Batch
            do {
                batch = try await subscription.read(from: start)
            } catch PollerError.problem(let problem) where problem.field == "cursor" {
                // Another store than before; the history by seq is what is left.
                start = names.isEmpty ? .oldest : .now
                hasBegun = false
                pending.append(.gap)
                return
            }
            if batch.hasGap {
                if names.isEmpty {
                    pending.append(.gap)
                } else {
                    do {
                        try await readHistory()
                    } catch {
                        // A stream is past what it has given; a new one begins at our place.
                        subscription.closeStream()
                        throw error
                    }
                }
            }
            for event in batch.events { tell(event) }
            // Only now: what failed before is read again from the old place.
            if let next = batch.next { start = .cursor(next) }
        }

        private mutating func readHistory() async throws {
            for name in follower.names {
                var hasMore = true
                while hasMore {
                    let seq = seqs[name] ?? follower.afterSeq
                    let page: Page<Event>
                    do {
                        page = try await follower.client.events(of: name, after: seq)
                    } catch PollerError.problem(let problem) where problem.status == 404 {
                        break  // Not enqueued yet: everything is still to come.
                    }
                    if page.hasGap, seq > 0 { pending.append(.gap) }
                    for event in page.items { tell(event) }
                    hasMore = page.hasMore
                }
            }
        }

        private mutating func tell(_ event: Received<Event>) {
            guard !follower.names.isEmpty else {
                pending.append(.event(event))
                return
            }
            guard let name = follower.names.first(where: { $0.names(event) }),
                event.seq > seqs[name] ?? follower.afterSeq
            else { return }
            seqs[name] = event.seq
            guard follower.wants(event) else { return }
            pending.append(.event(event))
        }
    }

    /// Whether the types fit: history comes unfiltered.
    private func wants(_ event: Received<Event>) -> Bool {
        types.isEmpty
            || types.contains { type in
                type.hasSuffix(".*") ? event.type.hasPrefix(type.dropLast()) : event.type == type
            }
    }
}

/// The events of one watch, each once, in order of `seq`, until the watch has ended.
///
/// ```swift
/// for try await event in client.events(for: "src_123", after: lastSeq) {
///     try await save(event)  // with event.seq: that is where to go on after a crash
/// }
/// ```
/// It ends after the event with a `closedReason`, and at once when that was before
/// `after`. A source that nobody watches yet is waited for. A `seq` that jumps says that older
/// events are no longer kept. Leaving the loop, and cancelling its task, closes the connection.
///
/// *Errors*: as ``EventFollower``: transient failures after the first answer are waited out.
public struct WatchEvents: AsyncSequence, Sendable {
    /// What the sequence gives.
    public typealias Element = Received<Event>

    let client: PollerClient
    let name: WatchName
    let afterSeq: Int

    /// Begins to follow.
    public func makeAsyncIterator() -> Iterator {
        Iterator(events: self)
    }

    /// One reader's place.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: WatchEvents
        private var follower: EventFollower.Iterator
        private var hasBegun = false
        private var isOver = false

        init(events: WatchEvents) {
            self.events = events
            follower = events.client.follow([events.name], after: events.afterSeq)
                .makeAsyncIterator()
        }

        /// The next event, however long it takes; nil once the watch has ended.
        public mutating func next() async throws -> Received<Event>? {
            if !hasBegun { isOver = try await hasEndedBefore() }
            hasBegun = true
            while !isOver {
                // A gap shows in the seq of the next event.
                guard case .event(let event)? = try await follower.next() else { continue }
                isOver = event.closedReason != nil
                return event
            }
            return nil
        }

        /// Whether there is nothing behind the place we begin at, nor ever will be.
        private func hasEndedBefore() async throws -> Bool {
            guard events.afterSeq > 0 else { return false }
            do {
                let watch = try await events.client.watch(events.name)
                return !watch.isOpen && watch.seq <= events.afterSeq
            } catch PollerError.problem(let problem) where problem.status == 404 {
                return false
            }
        }
    }
}
