import Logging
import Poller

/// Sends what one subscription asks for: snapshots, what was missed, then what happens.
///
/// *No gap, no duplicate*: it listens to the live feed first, which buffers; then it reads the
/// outbox from the client's position to the end; then it takes what was buffered. An entry that
/// came both ways is behind the position by then and passed over. What the feed had read before
/// we listened was in the outbox before we read; what is recorded after we read, the feed sees.
/// When the buffer overflows meanwhile, the same begins again from the position reached.
struct SubscriptionPump<Events: Outbox, Store: WatchStore, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// Entries the feed keeps for us while we read back; shared with other listeners.
    private static var bufferMax: Int { 256 }
    /// Entries read from the outbox at a time.
    private static var batch: Int { 64 }

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
    let queue: OutboundQueue
    /// Told how far the client has been sent to, for the connection's own goodbye.
    let progress: @Sendable ([OutboxPosition]) -> Void

    /// Runs until the subscription ends.
    func run() async -> Ending {
        var state: State?
        while !Task.isCancelled {
            let items = gateway.feed.listen(bufferMax: Self.bufferMax) { [subscription] entry in
                subscription.matches(entry.event)
            }
            do throws(StoreError) {
                let bounds = try await gateway.outbox.bounds()
                let isBeginning = state == nil
                var reached: State
                if let state { reached = state } else { reached = try await begin(bounds) }
                if let ending = try await readBack(&reached, upTo: bounds) { return ending }
                if isBeginning {
                    let cursor = cursor(reached)
                    _ = await send(
                        ServerMessage.caughtUp(sub: subscription.id, cursor: cursor)
                    )
                }
                state = reached
            } catch {
                guard state != nil else { return await refused(error) }
                gateway.logger.warning(
                    "live subscription delayed",
                    metadata: ["error": "\(error)"]
                )
                // Cancelled: the loop's condition ends it.
                try? await gateway.clock.sleep(for: .seconds(1))
                continue
            }
            guard var reached = state else { return .stopped }
            if let ending = await follow(items, &reached) { return ending }
            state = reached
        }
        return .stopped
    }

    private struct State: Sendable {
        var positions: [OutboxPosition]
        /// What a snapshot has already told, by watch.
        var known: [ItemID: Int] = [:]
    }

    /// Finds where to begin, says so, and sends snapshots if they are asked for or needed.
    private func begin(_ bounds: [OutboxBounds]) async throws(StoreError) -> State {
        let newest = bounds.map { OutboxPosition($0.newest) ?? .start }
        var state = State(positions: newest)
        var lost: String?
        if case .cursor(let text) = subscription.from {
            let positions = gateway.cursor.decode(
                text,
                partitions: bounds.count,
                for: subscription.principal
            )
            if let positions {
                lost = unreachable(positions, bounds)
                if lost == nil { state.positions = positions }
            } else {
                lost = "this is not a cursor for these credentials"
            }
        }
        let cursor = cursor(state)
        _ = await send(ServerMessage.subscribed(subscription, cursor: cursor, lost: lost))
        progress(state.positions)
        guard subscription.from == .snapshot || lost != nil else { return state }
        for source in (subscription.sources ?? []).sorted(by: { "\($0)" < "\($1)" }) {
            let key = WatchKey(
                account: subscription.principal.account ?? .main,
                source: source,
                kind: SourceKind(inferredFrom: source) ?? .source
            )
            guard let snapshot = try await gateway.watches.snapshot(of: key) else { continue }
            state.known[key.id] = snapshot.watch.seq
            _ = await send(
                ServerMessage.snapshot(snapshot, sub: subscription.id, cursor: cursor)
            )
        }
        return state
    }

    /// Why nobody can go on from these positions; nil when one can.
    private func unreachable(
        _ positions: [OutboxPosition],
        _ bounds: [OutboxBounds]
    ) -> String? {
        for (position, bound) in zip(positions, bounds) {
            if position < OutboxPosition(bound.trimmed) ?? .start {
                return "events after this cursor are no longer kept"
            }
            if position > OutboxPosition(bound.newest) ?? .start {
                return "the store has lost events that this cursor was past"
            }
        }
        return nil
    }

    /// Sends what lies between our position and the end of the outbox, as fast as it is read.
    private func readBack(
        _ state: inout State,
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
                    guard subscription.matches(entry.event) else { continue }
                    for text in texts(entry.event, state) {
                        guard await send(text) else { return .overloaded }
                    }
                    progress(state.positions)
                }
            }
        }
        return nil
    }

    /// Sends what happens; nil when the feed's buffer has overflowed.
    private func follow(
        _ items: AsyncStream<FeedItem>,
        _ state: inout State
    ) async -> Ending? {
        for await item in items {
            guard case .entry(let entry) = item else { return nil }
            guard let position = OutboxPosition(entry.id),
                position > state.positions[entry.partition]
            else { continue }
            state.positions[entry.partition] = position
            for text in texts(entry.event, state) {
                guard await send(text) else { return .overloaded }
            }
            progress(state.positions)
        }
        return Task.isCancelled ? .stopped : .drained
    }

    /// The messages that tell an event: none when a snapshot has told it already.
    private func texts(_ event: Event, _ state: State) -> [String] {
        guard event.seq > state.known[event.key.id] ?? 0 else { return [] }
        let told = ServerMessage.event(event, sub: subscription.id, cursor: cursor(state))
        return event.closed != nil
            ? [told, ServerMessage.settled(event.key, sub: subscription.id)] : [told]
    }

    private func cursor(_ state: State) -> String {
        gateway.cursor.encode(state.positions, for: subscription.principal)
    }

    private func refused(_ error: StoreError) async -> Ending {
        gateway.logger.warning("live subscription refused", metadata: ["error": "\(error)"])
        let text = ServerMessage.error(
            ref: subscription.ref,
            code: "unavailable",
            message: "the store cannot be reached; subscribe again in a moment"
        )
        _ = await send(text)
        return .refused
    }

    /// Queues a message; false when the client has taken nothing for too long, or is gone.
    private func send(_ text: String) async -> Bool {
        if queue.offer(.text(text)) { return true }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { [queue] in await queue.put(.text(text)) }
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
