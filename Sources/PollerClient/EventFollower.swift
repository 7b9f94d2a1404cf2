public import PollerWire

/// An endless sequence of events in the order in which they are recorded.
///
/// No event is lost. A follower keeps a cursor into the log of all events and reads after it, from the gateway's event
/// stream or by long polls. For named watches it takes the cursor *before* it reads their history. Events recorded
/// between the two arrive twice and are returned once, by their seq and ID. If the server reports that events after the
/// cursor are no longer in the log, the history of the named watches is read again. After a failover that lost returned
/// events, the events that replace them are returned, with the same seqs. Transient failures are retried without limit.
/// Other failures, and failures before the first response, are thrown.
public struct EventFollower: AsyncSequence, Sendable {
    /// An element of the sequence.
    public enum Element: Hashable, Sendable {
        /// An event was recorded.
        case event(Received<Event>)
        /// Some events before the next one are no longer kept. Read the affected watches.
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

    /// Returns the same follower with a callback for outages.
    ///
    /// The callback gets the error when an outage begins, and `nil` when the server is available again. It runs once
    /// for each. The follower retries automatically, so the callback is for information only.
    public func onOutage(_ report: @escaping @Sendable (PollerError?) -> Void) -> EventFollower {
        var follower = self
        follower.outage = report
        return follower
    }

    /// Starts to follow.
    public func makeAsyncIterator() -> Iterator {
        Iterator(follower: self, start: start)
    }

    /// The state of one reader.
    public struct Iterator: AsyncIteratorProtocol {
        private let follower: EventFollower
        /// The watches, each with an account once the reader has begun.
        private var names: [WatchName]
        private var start: EventStart
        private var subscription: EventSubscription
        private var hasBegun = false
        private var hasAnswered = false
        private var isInOutage = false
        private var pending: [Element] = []
        /// The returned events by watch, for named watches only.
        private var progress: [WatchName: WatchProgress] = [:]
        private var backoff = Backoff()

        init(follower: EventFollower, start: EventStart) {
            self.follower = follower
            names = follower.names
            self.start = start
            subscription = follower.subscription(to: follower.names)
        }

        /// Whether events have been read that are not returned yet.
        fileprivate var hasEvents: Bool {
            pending.contains { element in
                if case .event = element { return true }
                return false
            }
        }

        /// Returns the next event, however long it takes, and never returns `nil`.
        public mutating func next() async throws -> Element? {
            while pending.isEmpty {
                do {
                    try await hasBegun ? read() : begin()
                    hasAnswered = true
                    backoff.reset()
                    report(outage: nil)
                } catch let error as PollerError where error.isTransient && hasAnswered {
                    report(outage: error)
                    try await backoff.sleep(atLeast: error.retryAfter)
                    await checkForRecovery()
                }
            }
            return pending.removeFirst()
        }

        private mutating func report(outage error: PollerError?) {
            guard isInOutage != (error != nil) else { return }
            isInOutage = error != nil
            follower.outage?(error)
        }

        /// Reports the recovery early, because a read waits up to half a minute for events.
        private mutating func checkForRecovery() async {
            guard follower.outage != nil else { return }
            // If this fails, the next read fails too.
            guard (try? await follower.client.events(from: .now, limit: 1)) != nil else { return }
            report(outage: nil)
        }

        /// Takes the cursor first, then the history of the named watches.
        private mutating func begin() async throws {
            if !names.isEmpty {
                try await nameAccounts()
                let page = try await follower.client.events(from: .now, limit: 1)
                if let next = page.next { start = .cursor(next) }
                try await readHistory()
            }
            hasBegun = true
        }

        /// Adds the account to names without one, because every event has an account.
        private mutating func nameAccounts() async throws {
            guard names.contains(where: { $0.account == nil }),
                let account = try await follower.client.defaultAccount()
            else { return }
            names = names.map {
                WatchName($0.source, account: $0.account ?? account, kind: $0.kind)
            }
            subscription = follower.subscription(to: names)
        }

        private mutating func read() async throws {
            let batch: EventSubscription.Batch
            do {
                batch = try await subscription.read(from: start)
            } catch PollerError.problem(let problem) where problem.field == "cursor" {
                // The store has been replaced. Only the history is left.
                start = names.isEmpty ? .oldest : .now
                hasBegun = false
                pending.append(.gap)
                return
            }
            // The history after the gap replaces those that are lost.
            for event in batch.before { report(event) }
            if batch.hasGap {
                if names.isEmpty {
                    pending.append(.gap)
                } else {
                    do {
                        try await readHistory()
                    } catch {
                        // The stream has moved past these events, so a new stream begins at the cursor.
                        subscription.closeStream()
                        throw error
                    }
                }
            }
            for event in batch.events { report(event) }
            // Updated last, so that a failed read is repeated from the old cursor.
            if let next = batch.next { start = .cursor(next) }
        }

        private mutating func readHistory() async throws {
            for name in names {
                var after = follower.afterSeq
                var hasMore = true
                while hasMore {
                    let page: Page<Event>
                    do {
                        page = try await follower.client.events(of: name, after: after)
                    } catch PollerError.problem(let problem) where problem.status == 404 {
                        break  // Not enqueued yet: everything is still to come.
                    }
                    guard let first = page.items.first, let last = page.items.last else { break }
                    let seq = progress[name]?.seq ?? follower.afterSeq
                    if seq > 0, first.seq > seq, first.seq - seq > 1 { pending.append(.gap) }
                    for event in page.items { report(event) }
                    after = last.seq
                    hasMore = page.hasMore
                }
            }
        }

        private mutating func report(_ event: Received<Event>) {
            guard !names.isEmpty else {
                pending.append(.event(event))
                return
            }
            guard let name = names.first(where: { $0.names(event) }) else { return }
            var watch = progress.removeValue(forKey: name) ?? WatchProgress(seq: follower.afterSeq)
            let isNew = watch.take(event)
            progress[name] = watch
            guard isNew, follower.includes(event) else { return }
            pending.append(.event(event))
        }
    }

    private func subscription(to names: [WatchName]) -> EventSubscription {
        EventSubscription(client, names: names, account: account, types: types)
    }

    /// Whether an event has a requested type.
    ///
    /// The history is unfiltered.
    private func includes(_ event: Received<Event>) -> Bool {
        types.isEmpty
            || types.contains { type in
                type.hasSuffix(".*") ? event.type.hasPrefix(type.dropLast()) : event.type == type
            }
    }
}

/// The position of a follower in the events of one watch.
private struct WatchProgress {
    /// The number of events of a watch that the server keeps.
    private static let keptMax = 100

    /// The seq of the last event.
    private(set) var seq: Int
    /// The IDs of the last events, by seq: of all that the server keeps, and of some before them.
    private var ids: [Int: String] = [:]

    init(seq: Int) {
        self.seq = seq
    }

    /// Moves to an event, and returns whether it is new.
    ///
    /// An event with the seq of an earlier one is new if its ID differs: the store has lost the earlier one.
    mutating func take(_ event: Received<Event>) -> Bool {
        if event.seq <= seq {
            guard let earlier = ids[event.seq], earlier != event.id else { return false }
            ids = ids.filter { $0.key < event.seq }
        }
        seq = event.seq
        ids[seq] = event.id
        if ids.count > 2 * Self.keptMax { ids = ids.filter { $0.key > seq - Self.keptMax } }
        return true
    }
}

/// The events of one watch, each once, in order of `seq`, until the watch has ended.
///
/// ```swift
/// for try await event in client.events(for: "src_123", after: lastSeq) {
///     try await save(event)  // store event.seq: resume there after a crash
/// }
/// ```
/// It ends after the event with a `closedReason`, unless the source has been enqueued again by then, and at once if that
/// event was before `after`. If the source is not watched yet, the sequence waits for it. A jump in `seq` means that
/// older events are no longer kept. After a failover that lost returned events, the events that replace them are
/// returned, with the same seqs. Leaving the loop, or cancelling its task, closes the connection.
///
/// *Errors*: as for ``EventFollower``, transient failures after the first response are retried.
public struct WatchEvents: AsyncSequence, Sendable {
    /// An element of the sequence.
    public typealias Element = Received<Event>

    let client: PollerClient
    let name: WatchName
    let afterSeq: Int

    /// Starts to follow.
    public func makeAsyncIterator() -> Iterator {
        Iterator(events: self)
    }

    /// The state of one reader.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: WatchEvents
        private var follower: EventFollower.Iterator
        /// The last event, if it closed the watch.
        private var closing: Received<Event>?
        private var hasBegun = false
        private var isOver = false

        init(events: WatchEvents) {
            self.events = events
            follower = events.client.follow([events.name], after: events.afterSeq)
                .makeAsyncIterator()
        }

        /// Returns the next event, however long it takes, or `nil` once the watch has ended.
        public mutating func next() async throws -> Received<Event>? {
            if !hasBegun { isOver = try await hasEndedBefore() }
            hasBegun = true
            // Events behind it that were read with it replace lost ones, or belong to a later run.
            if let closing, !follower.hasEvents {
                isOver = try await events.client.hasEnded(events.name, with: closing)
            }
            closing = nil
            while !isOver {
                // A gap is visible in the seq of the next event.
                guard case .event(let event)? = try await follower.next() else { continue }
                if event.closedReason != nil { closing = event }
                return event
            }
            return nil
        }

        /// Whether the watch ended at or before the starting position.
        private func hasEndedBefore() async throws -> Bool {
            guard events.afterSeq > 0 else { return false }
            do {
                let (client, name, seq) = (events.client, events.name, events.afterSeq)
                let watch = try await client.watch(name)
                guard watch.isOpen, watch.seq == seq else {
                    return !watch.isOpen && watch.seq <= seq
                }
                guard let last = try await client.closing(name, at: seq) else { return false }
                return try await client.hasEnded(name, with: last)
            } catch PollerError.problem(let problem) where problem.status == 404 {
                return false
            }
        }
    }
}

extension PollerClient {
    /// The duration of a long poll while a watch is open again.
    private static let reopenedWait = Duration.seconds(10)

    /// Returns the event with this number of a watch, if it has closed the watch.
    package func closing(_ name: WatchName, at seq: Int) async throws -> Received<Event>? {
        let event = try await events(of: name, after: seq - 1, limit: 1).items.first
        guard let event, event.closedReason != nil else { return nil }
        return event
    }

    /// Returns whether no event follows one that closed a watch.
    ///
    /// A source that was enqueued again has events of later runs. A closed watch is open again for a poll of its
    /// payment, which may record no event, so it is read again until it has an event or is closed.
    package func hasEnded(
        _ name: WatchName,
        with last: Received<Event>
    ) async throws -> Bool {
        var backoff = Backoff()
        while true {
            do {
                let watch = try await self.watch(name)
                guard watch.seq <= last.seq else { return false }
                guard watch.isOpen, watch.run > last.run else { return true }
                let newer = try await self.watch(name, after: last.seq, wait: Self.reopenedWait)
                guard newer == nil else { return false }
                backoff.reset()
            } catch PollerError.problem(let problem) where problem.status == 404 {
                return true
            } catch let error as PollerError where error.isTransient {
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }
}
