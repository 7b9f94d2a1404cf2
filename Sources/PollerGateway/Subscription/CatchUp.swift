import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// Reads the events that a subscription has missed, from the client's position to the end of the outbox.
///
/// It runs in a separate task outside the event loops, at the beginning of a subscription and after it has fallen
/// behind. The task ends when there is nothing more to read. Events go to the loop in batches, each after the client
/// has accepted the one before. Events recorded meanwhile are kept there (``SubscriptionProgress``).
///
/// A subscription to one watch reads that watch's log by seq instead of the outbox. If many clients reconnect at once,
/// each costs one short read.
struct CatchUp: Sendable {
    /// The maximum of outbox entries or log events per read.
    static let batch = 64

    /// The result of a catch-up.
    enum Ending: Sendable {
        /// It reached the end of the outbox as of its start.
        case reached
        /// The connection accepts no more messages.
        case stopped
        case failed(StoreError)
    }

    let subscription: Subscription
    let store: GatewayStore
    let cursors: GatewayCursor
    /// Sends messages and the position after them.
    ///
    /// Returns `false` if the connection accepts no more.
    let deliver: @Sendable ([LiveMessage], SubscriptionState?) async -> Bool
    /// The messages to send next.
    var messages: [LiveMessage] = []
    /// Sources known to be settled without a sent event that says so.
    var settled: Set<SourceID> = []

    /// Reads from a position.
    ///
    /// With `nil` it begins where the client has requested.
    mutating func run(from state: SubscriptionState?) async -> Ending {
        do throws(StoreError) {
            if state == nil, subscription.from.isPosition { try await findSettled() }
            let ends = try await store.ends.ends()
            var reached: SubscriptionState
            if let state {
                reached = state
            } else {
                guard let begun = try await begin(ends) else { return .stopped }
                reached = begun
            }
            guard try await readBack(&reached, upTo: ends) else { return .stopped }
            if state == nil {
                messages.append(.caughtUp(cursor: cursor(reached)))
                // The end of a source in `ending` is decided below.
                let others = reached.sent.settled.union(reached.sent.ending)
                for source in settled.subtracting(others) {
                    messages.append(.settled(source, cursor: cursor(reached)))
                }
            }
            guard try await settleEnding(&reached) else { return .stopped }
            return await send(reached) ? .reached : .stopped
        } catch {
            return .failed(error)
        }
    }

    /// Sends the events between the subscription's position and the end of the outbox while reading them.
    mutating func readBack(
        _ state: inout SubscriptionState,
        upTo ends: OutboxEnds
    ) async throws(StoreError) -> Bool {
        guard zip(state.positions, ends.newest).contains(where: <) else { return true }
        let interests = InterestTable(subscription.id, matching: subscription.interest)
        let base = store.outbox.basePartitions
        var failed: (partitions: [Int], error: StoreError)?
        for (partition, end) in ends.newest.enumerated() {
            // Earlier events of a payment are in the partition from which this one was split.
            if failed?.partitions.contains(where: { (partition - $0) % base == 0 }) == true {
                continue
            }
            do throws(StoreError) {
                guard try await readBack(partition, &state, upTo: end, interests) else {
                    return false
                }
            } catch {
                // One unavailable master does not stop the other partitions.
                failed = ((failed?.partitions ?? []) + [partition], failed?.error ?? error)
            }
        }
        if let failed { throw failed.error }
        return true
    }

    /// Sends the events of one partition in the same way.
    private mutating func readBack(
        _ partition: Int,
        _ state: inout SubscriptionState,
        upTo end: OutboxPosition,
        _ interests: InterestTable<String>
    ) async throws(StoreError) -> Bool {
        while state.positions[partition] < end {
            let references = try await store.references(
                partition: partition,
                after: state.positions[partition],
                limit: Self.batch
            )
            guard !references.isEmpty else { break }
            let matching = references.filter { interests.mayMatch($0) }
            let events = matching.isEmpty ? [] : try await store.events(of: matching)
            var rest = Array(zip(matching, events))[...]
            for reference in references {
                guard let position = OutboxPosition(reference.id) else { continue }
                let before = state.positions[partition]
                state.positions[partition] = position
                guard rest.first?.0 == reference, let event = rest.removeFirst().1,
                    subscription.interest.matches(event)
                else { continue }
                do throws(StoreError) {
                    try await appendMessages(event, &state)
                } catch {
                    state.positions[partition] = before
                    throw error
                }
            }
            guard await send(state) else { return false }
        }
        return true
    }

    /// Adds the messages about an event, or none if it was sent before.
    mutating func appendMessages(
        _ event: Event,
        _ state: inout SubscriptionState
    ) async throws(StoreError) {
        if state.sent.sendState(of: event) == .unclear {
            if try await isOnRecord(state.sent.prefix(of: event.key.id), of: event.key) { return }
            state.sent.forget(event.key.id)
        }
        let (shouldSend, isSettled) = state.sent.take(event, subscription)
        if shouldSend { messages.append(.event(event, cursor: cursor(state))) }
        if isSettled { messages.append(.settled(event.key.source, cursor: cursor(state))) }
    }

    /// Whether the log of a watch still has the last sent event, and therefore all events before it.
    private func isOnRecord(
        _ prefix: SentPrefix?,
        of watch: WatchKey
    ) async throws(StoreError) -> Bool {
        guard let prefix else { return false }
        let found = try await store.events(of: watch, after: prefix.seq - 1, limit: 1).first
        guard let found, found.seq == prefix.seq else { return false }
        return prefix.digest(of: prefix.seq).map { $0 == found.digest } ?? true
    }

    /// Sends the pending messages.
    ///
    /// Returns `false` if the connection accepts no more.
    mutating func send(_ state: SubscriptionState) async -> Bool {
        defer { messages = [] }
        return await deliver(messages, state)
    }

    func cursor(_ state: SubscriptionState) -> String {
        let position = LiveCursor(positions: state.positions, mark: state.sent.mark(subscription))
        return cursors.encode(position, for: subscription.principal)
    }
}

/// A message of a subscription, before a transport formats it.
enum LiveMessage: Sendable {
    /// The subscription begins. `lost` is the reason why the client's cursor could not be resumed.
    case subscribed(cursor: String, lost: String?)
    /// The state of a source.
    case snapshot(WatchSnapshot, cursor: String)
    /// An event was recorded.
    case event(Event, cursor: String)
    /// The client has everything that was recorded before it subscribed.
    case caughtUp(cursor: String)
    /// No further event of this run of the source will follow.
    case settled(SourceID, cursor: String)
    /// The subscription cannot begin, because the store is unavailable.
    case unavailable
}
