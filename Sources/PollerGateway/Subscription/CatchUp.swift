import Poller
import PollerIdentity
import PollerQueue

/// Reads what a subscription has missed: from where its client is to the end of the outbox.
///
/// It runs in a task of its own, beside the event loops, and only as long as there is something to
/// read: at the beginning of a subscription, and when it has fallen behind. What it finds goes to the
/// loop in batches, each once the client has taken the one before; what is recorded meanwhile is
/// kept there (``Following``).
///
/// A subscription to one watch reads that watch's own history by seq instead of the outbox: a herd
/// that comes back costs one short read each.
struct CatchUp: Sendable {
    /// Entries read from the outbox, or events of a history, at a time.
    static let batch = 64

    /// How a reading ended.
    enum Ending: Sendable {
        /// It has come to the end of the outbox as it was when it began.
        case reached
        /// The connection does not want more.
        case stopped
        case failed(StoreError)
    }

    let subscription: Subscription
    let store: GatewayStore
    let cursors: GatewayCursor
    /// Takes messages and the place behind them; false when nobody wants more.
    let deliver: @Sendable ([LiveMessage], SubscriptionState?) async -> Bool
    /// What is to be delivered next.
    var messages: [LiveMessage] = []
    /// Sources that are known to have settled, without an event that says so having been told.
    var settled: Set<SourceID> = []

    /// Reads from a place on; without one, from where the client has asked to begin.
    mutating func run(from state: SubscriptionState?) async -> Ending {
        do throws(StoreError) {
            if state == nil, subscription.from.isPlace { try await lookForSettled() }
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
                for source in settled.subtracting(reached.told.settled) {
                    messages.append(.settled(source, cursor: cursor(reached)))
                }
            }
            return await send(reached) ? .reached : .stopped
        } catch {
            return .failed(error)
        }
    }

    /// Tells what lies between our position and the end of the outbox, as fast as it is read.
    private mutating func readBack(
        _ state: inout SubscriptionState,
        upTo ends: OutboxEnds
    ) async throws(StoreError) -> Bool {
        guard zip(state.positions, ends.newest).contains(where: <) else { return true }
        let interests = InterestTable(subscription.id, hearing: subscription.interest)
        let base = store.outbox.basePartitions
        var failed: (partitions: [Int], error: StoreError)?
        for (partition, end) in ends.newest.enumerated() {
            // A payment's earlier events are in the partition that this one was split from.
            if failed?.partitions.contains(where: { (partition - $0) % base == 0 }) == true {
                continue
            }
            do throws(StoreError) {
                guard try await readBack(partition, &state, upTo: end, interests) else {
                    return false
                }
            } catch {
                // One master that is away does not silence the others.
                failed = ((failed?.partitions ?? []) + [partition], failed?.error ?? error)
            }
        }
        if let failed { throw failed.error }
        return true
    }

    /// The same of one partition.
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
            let heard = references.filter { interests.mayHear($0) }
            let events = heard.isEmpty ? [] : try await store.events(of: heard)
            var rest = Array(zip(heard, events))[...]
            for reference in references {
                guard let position = OutboxPosition(reference.id) else { continue }
                let before = state.positions[partition]
                state.positions[partition] = position
                guard rest.first?.0 == reference, let event = rest.removeFirst().1,
                    subscription.interest.hears(event)
                else { continue }
                do throws(StoreError) {
                    try await tell(event, &state)
                } catch {
                    state.positions[partition] = before
                    throw error
                }
            }
            guard await send(state) else { return false }
        }
        return true
    }

    /// Adds the messages that tell an event: none when it has been told already.
    mutating func tell(_ event: Event, _ state: inout SubscriptionState) async throws(StoreError) {
        if state.told.standing(of: event) == .unclear {
            if try await isOnRecord(state.told.run(of: event.key.id), of: event.key) { return }
            state.told.forget(event.key.id)
        }
        let (isTold, isSettled) = state.told.take(event, subscription)
        if isTold { messages.append(.event(event, cursor: cursor(state))) }
        if isSettled { messages.append(.settled(event.key.source, cursor: cursor(state))) }
    }

    /// Whether the log of a watch still has what was told last, and so all before it.
    private func isOnRecord(
        _ run: ToldRun?,
        of watch: WatchKey
    ) async throws(StoreError) -> Bool {
        guard let run else { return false }
        let found = try await store.events(of: watch, after: run.seq - 1, limit: 1).first
        guard let found, found.seq == run.seq else { return false }
        return run.digest(of: run.seq).map { $0 == found.id.digest } ?? true
    }

    /// Hands over what there is to tell; false when nobody wants more.
    mutating func send(_ state: SubscriptionState) async -> Bool {
        defer { messages = [] }
        return await deliver(messages, state)
    }

    func key(of source: SourceID) -> WatchKey {
        subscription.watch
            ?? WatchKey(
                account: subscription.account ?? .main,
                source: source,
                kind: SourceKind(inferredFrom: source) ?? .source
            )
    }

    func cursor(_ state: SubscriptionState) -> String {
        let place = LiveCursor(positions: state.positions, mark: state.told.mark(subscription))
        return cursors.encode(place, for: subscription.principal)
    }
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
