import Logging
import Poller

/// Sends what one subscription asks for: snapshots, what was missed, then what happens.
///
/// *No gap, no duplicate*: it listens to the hub first, which buffers; then it reads the outbox
/// from the client's position to the end; then it takes what was buffered. An entry that came
/// both ways is behind the position by then and passed over. What the feed had read before we
/// listened was in the outbox before we read; what is recorded after we read, the feed sees.
/// When the buffer overflows meanwhile, the same begins again from the position reached.
///
/// A subscription to one watch reads that watch's own history by seq instead of the outbox, and
/// tells events apart by seq: a herd that comes back costs one short read each.
struct SubscriptionPump<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// Entries read from the outbox, or events of a history, at a time.
    static var batch: Int { 64 }

    /// How a subscription came to its end.
    enum Ending: Hashable, Sendable {
        /// It was stopped, or its connection has ended.
        case stopped
        /// It never began; the client has been told.
        case refused
        /// The client reads too slowly.
        case overloaded
        /// The process drains.
        case drained
    }

    let subscription: Subscription
    let gateway: GatewayCore<Events, Store, C>
    let sink: SubscriptionSink
    /// Told the number of its listener at the hub, each time it has a new one.
    let listening: @Sendable (Int) -> Void

    /// What a reading back came to.
    private enum Catching: Sendable {
        case reached(SubscriptionState)
        case ended(Ending)
        case failed(StoreError)
    }

    /// Runs until the subscription ends.
    func run() async -> Ending {
        var state: SubscriptionState?
        while !Task.isCancelled {
            let (number, items) = gateway.hub.listen(to: subscription.sources)
            defer { gateway.hub.end(number) }
            listening(number)
            let before = state
            switch await inChildTask({ await self.catchUp(from: before) }) {
            case .ended(let ending): return ending
            case .reached(var reached):
                if let ending = await follow(items, &reached) { return ending }
                state = reached
            case .failed(let error):
                guard state != nil else { return await refused(error) }
                gateway.logger.warning(
                    "live subscription delayed",
                    metadata: ["error": "\(error)"]
                )
                // Cancelled: the loop's condition ends it.
                try? await gateway.clock.sleep(for: .seconds(1))
            }
        }
        return .stopped
    }

    /// Begins, or goes on from where it has come to, up to what happens from now on.
    private func catchUp(from state: SubscriptionState?) async -> Catching {
        do throws(StoreError) {
            let settled = state == nil ? try await settledBefore() : []
            let bounds = try await gateway.outbox.bounds()
            var reached: SubscriptionState
            if let state { reached = state } else { reached = try await begin(bounds) }
            if reached.isStalled { return .ended(.overloaded) }
            if let ending = try await readBack(&reached, upTo: bounds) { return .ended(ending) }
            if state == nil {
                _ = await send(.caughtUp(cursor: cursor(reached)))
                for source in settled.subtracting(reached.settled) {
                    _ = await send(.settled(source, cursor: cursor(reached)))
                    sink.settled(source)
                }
            }
            return .reached(reached)
        } catch {
            return .failed(error)
        }
    }

    /// Sends what lies between our position and the end of the outbox, as fast as it is read.
    private func readBack(
        _ state: inout SubscriptionState,
        upTo bounds: [OutboxBounds]
    ) async throws(StoreError) -> Ending? {
        for (partition, bound) in bounds.enumerated() {
            guard let end = OutboxPosition(bound.newest) else { continue }
            while state.positions[partition] < end, !Task.isCancelled {
                let entries = try await gateway.outbox.entries(
                    partition: partition,
                    after: state.positions[partition].description,
                    limit: Self.batch
                )
                guard !entries.isEmpty else { break }
                for entry in entries {
                    guard let position = OutboxPosition(entry.id) else { continue }
                    state.positions[partition] = position
                    guard subscription.concerns(entry.event) else { continue }
                    guard await tell(entry.event, &state) else { return .overloaded }
                    sink.progress(place(state))
                }
            }
        }
        return nil
    }

    /// Sends what happens; nil when a buffer has overflowed.
    private func follow(
        _ items: AsyncStream<FeedItem>,
        _ state: inout SubscriptionState
    ) async -> Ending? {
        for await item in items {
            guard case .entry(let entry) = item else { return nil }
            guard let position = OutboxPosition(entry.id),
                position > state.positions[entry.partition]
            else { continue }
            state.positions[entry.partition] = position
            guard subscription.concerns(entry.event) else { continue }
            guard await tell(entry.event, &state) else { return .overloaded }
            sink.progress(place(state))
        }
        return Task.isCancelled ? .stopped : .drained
    }

    /// Sends the messages that tell an event: none when it has been told already.
    func tell(_ event: Event, _ state: inout SubscriptionState) async -> Bool {
        let id = event.key.id
        guard event.seq > state.known[id] ?? 0 else { return true }
        if subscription.watch != nil { state.known[id] = event.seq }
        let isWanted = subscription.wants(event)
        if isWanted {
            guard await send(.event(event, cursor: cursor(state))) else { return false }
        }
        guard event.closed != nil else {
            state.settled.remove(event.key.source)
            return true
        }
        guard isWanted || subscription.sources != nil else { return true }
        state.settled.insert(event.key.source)
        guard await send(.settled(event.key.source, cursor: cursor(state))) else { return false }
        sink.progress(place(state))
        sink.settled(event.key.source)
        return true
    }

    func key(of source: SourceID) -> WatchKey {
        subscription.watch
            ?? WatchKey(
                account: subscription.account ?? .main,
                source: source,
                kind: SourceKind(inferredFrom: source) ?? .source
            )
    }

    func place(_ state: SubscriptionState) -> LiveCursor {
        let mark = subscription.watch.flatMap { watch in
            state.known[watch.id].map { LiveCursor.Mark(watch: watch.id, seq: $0) }
        }
        return LiveCursor(positions: state.positions, mark: mark)
    }

    func cursor(_ state: SubscriptionState) -> String {
        gateway.cursor.encode(place(state), for: subscription.principal)
    }

    private func refused(_ error: StoreError) async -> Ending {
        gateway.logger.warning("live subscription refused", metadata: ["error": "\(error)"])
        _ = await send(.unavailable)
        return .refused
    }

    /// Queues a message; false when the client has taken nothing for too long, or is gone.
    func send(_ message: LiveMessage) async -> Bool {
        guard let text = sink.text(message) else { return true }
        let frame = OutboundFrame.text(text)
        if sink.queue.offer(frame) { return true }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { [queue = sink.queue] in await queue.put(frame) }
            group.addTask { [gateway] in
                // Cancelled: the message went in first.
                try? await gateway.clock.sleep(for: gateway.limits.stallTimeout)
                return false
            }
            let isIn = await group.next() ?? false
            group.cancelAll()
            // The message may have gone in at the very moment the wait ended.
            return await group.reduce(isIn) { $0 || $1 }
        }
    }
}

/// How far a subscription has come.
struct SubscriptionState: Sendable {
    /// Read up to here, in every partition of the outbox.
    var positions: [OutboxPosition]
    /// What a snapshot or a history has already told, by watch.
    var known: [ItemID: Int] = [:]
    /// Told to be settled.
    var settled: Set<SourceID> = []
    /// The client took nothing for too long.
    var isStalled = false
}

/// Where a ``SubscriptionPump`` puts what it has to say, and whom it tells how far it is.
struct SubscriptionSink: Sendable {
    let queue: OutboundQueue
    /// A message in the transport's own words; nil for what it does not tell.
    let text: @Sendable (LiveMessage) -> String?
    /// Told how far the client has been sent to, for the connection's own goodbye.
    let progress: @Sendable (LiveCursor) -> Void
    /// Told that a source is settled, once that has been sent.
    let settled: @Sendable (SourceID) -> Void
}

/// What a subscription has to say, before a transport puts it into its own words.
enum LiveMessage: Sendable {
    /// It begins here; `lost` says why the client's cursor could not be resumed.
    case subscribed(cursor: String, lost: String?)
    /// The state of a source.
    case snapshot(WatchSnapshot, cursor: String)
    /// Something was recorded.
    case event(Event, cursor: String)
    /// The client has everything that was recorded before it subscribed.
    case caughtUp(cursor: String)
    /// No further event of this run of the source will follow.
    case settled(SourceID, cursor: String)
    /// It cannot begin: the store cannot be reached.
    case unavailable
}

/// Runs work in a task of its own, so that the memory of its calls is given back at its end.
///
/// A task keeps what its deepest call took for as long as it lives, and those of a live
/// connection live for hours: 20 of its 56 KiB were the frames of its first second.
func inChildTask<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) async -> Result {
    await withTaskGroup(of: Result.self) { group in
        // Ends with the work; cancelled with whoever waits here.
        group.addTask { await work() }
        for await result in group { return result }
        preconditionFailure("a group of one task has one result")
    }
}
