package import Logging
import PollerIdentity
package import PollerOperations
package import PollerQueue
package import PollerWatches

/// Delivers the next pending event of one source to one endpoint.
///
/// It handles one event per lease, so that each success is recorded before the next attempt. A crash repeats at most
/// the one attempt whose result was not recorded, with the same event ID.
package struct DeliveryHandler<Store: WatchStore>: ItemHandler {
    /// The wait before a leased fallback is tried again: its attempt takes seconds.
    private static var fallbackRetryPause: Duration { .seconds(1) }

    private let store: Store
    private let resolver: DeliveryResolver<Store>
    private let health: EndpointHealth?
    private let fallbacks: FallbackNotifier?
    private let selector: DeliverySelector<Store>
    private let channels: DeliveryChannels
    private let slow: SlowRecipientLimiter?
    private let metrics: DeliveryMetrics
    private let tracer: (any WorkTracer)?
    private let logger: Logger

    /// Creates a handler that delivers the events in `store` to inline URLs and to the endpoints of `directory`,
    /// through the channel of the URL's scheme.
    ///
    /// `deliveries` marks fallback endpoints and has past attempts; without it there are no fallbacks. `audit` records
    /// endpoints that are disabled. `slots` is the number of concurrent attempts, of which slow recipients of one
    /// account get a part; without it, all. Without a `tracer` a recipient gets the trace of the event.
    package init(
        store: Store,
        directory: EndpointDirectory? = nil,
        deliveries: (any DeliveryQueue & DeliveryOperations)? = nil,
        channels: [any DeliveryChannel],
        audit: AuditRecorder? = nil,
        slots: Int? = nil,
        tracer: (any WorkTracer)? = nil,
        logger: Logger
    ) {
        self.store = store
        self.tracer = tracer
        slow = slots.map(SlowRecipientLimiter.init)
        resolver = DeliveryResolver(store: store, directory: directory)
        selector = DeliverySelector(store: store, operations: deliveries, logger: logger)
        fallbacks = deliveries.map { FallbackNotifier(directory: directory, deliveries: $0) }
        health = directory.map { EndpointHealth(directory: $0, audit: audit, logger: logger) }
        self.logger = logger
        self.channels = DeliveryChannels(channels)
        metrics = DeliveryMetrics(schemes: self.channels.schemes)
    }

    package func handle(_ leased: LeasedItem<Delivery>) async -> Decision<DeliveryChange>? {
        let delivery = leased.item
        let target: DeliveryTarget
        switch await resolver.resolve(delivery) {
        case .target(let found): target = found
        case .instead(let answer): return answer
        }
        if !delivery.state.pendingFallback.isEmpty,
            let decision = await notifyPendingFallbacks(leased, target)
        {
            return decision
        }
        return await deliverNext(leased, target)?.dueForFallback(within: Self.fallbackRetryPause)
    }

    /// Selects the next event, attempts it and returns the decision to record.
    private func deliverNext(
        _ leased: LeasedItem<Delivery>,
        _ target: DeliveryTarget
    ) async -> Decision<DeliveryChange>? {
        let delivery = leased.item
        let channel = channels.channel(for: target.url.scheme)
        let selection: DeliverySelector<Store>.Selection
        do {
            selection = try await selector.next(
                leased,
                target,
                isSuperseding: channel.isSuperseding
            ) {
                channel.sends($0, to: target)
            }
        } catch {
            let why = "log unreadable: \(error)"
            return .silent(.next(after: .seconds(1)), delivery.state, why: why)
        }
        switch selection {
        case .passed(let state, let verdict):
            return .silent(verdict, state)
        case .event(let pending):
            return await attempt(leased, pending, target, through: channel)
        }
    }

    /// Attempts an event and returns the decision to record.
    private func attempt(
        _ leased: LeasedItem<Delivery>,
        _ pending: PendingEvent,
        _ target: DeliveryTarget,
        through channel: any DeliveryChannel
    ) async -> Decision<DeliveryChange>? {
        let delivery = leased.item
        let state = delivery.state
        // An endpoint's own schedule is about the endpoint, not about a missing channel.
        let own = channel is MissingChannel ? nil : target.endpoint?.retry
        let decider = DeliveryDecider(
            schedule: own?.schedule(standard: channel.schedule) ?? channel.schedule,
            notifyBy: fallbacks == nil ? nil : target.endpoint?.notifyBy?.within
        )
        var context = DeliveryContext(leased, pending, target, decider, metrics, logger)
        if leased.lease.crashes >= Lease<Delivery>.poisonAt {
            // Another cause may have crashed the notifiers, so the event is tried later.
            let why = "\(leased.lease.crashes) notifiers in a row ended while delivering it"
            return await recorded(
                context.conclude(.failed(why, .poison), began: leased.now),
                target
            )
        }
        if let unsent = context.deadLetterIfExpired() { return await recorded(unsent, target) }
        let timeout = target.endpoint?.timeout ?? channel.timeout
        // After a stall another process may lease it before this attempt could end, so it is released.
        guard leased.remaining > timeout else { return nil }
        let (began, host) = (leased.now, String(target.url.host))
        let group = SlowRecipientLimiter.RecipientGroup(
            account: delivery.watch.account,
            channel: channel.schemes.min() ?? ""
        )
        // After a crash the attempt is always made, or the cause could never be determined.
        let isNeeded = leased.lease.crashes > 0
        if let wait = slow?.begin(group, host, isNeeded: isNeeded, now: began) {
            metrics.countPutOff()
            return await recorded(context.postpone(for: wait), target)
        }
        defer { slow?.end(group, host, began: began, now: leased.now) }
        let span = tracer?.begin(.delivery, under: pending.event.trace, linked: nil, at: began)
        context.trace = span?.context ?? pending.event.trace
        var result = await deliver(pending.event, to: context.traced, state.failures + 1, channel)
        // Not every channel measures the time.
        if result.phases.totalMs == nil {
            result.phases.totalMs = Int(clamping: (leased.now - began).ms)
        }
        // Before an attempt that was cut off is dropped: its receiver may have the ID of the span.
        span?.end(context.facts(of: result), at: leased.now)
        if Task.isCancelled, result.outcome != .delivered { return nil }
        if channel is MissingChannel {
            return await recorded(context.conclude(result, began: began), target)
                .preferringOtherProcesses
        }
        if let endpoint = target.endpoint {
            await health?.record(result, of: endpoint, leased.lease.outage, now: leased.now)
        }
        return await recorded(context.conclude(result, began: began), target)
    }

    /// Makes the attempt, with the watch if the channel needs it.
    private func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        _ attempt: Int,
        _ channel: any DeliveryChannel
    ) async -> AttemptResult {
        var target = target
        if channel.readsWatch {
            do throws(StoreError) {
                target.snapshot = try await store.snapshot(of: event.key)
            } catch {
                return .failed("the watch cannot be read: \(error)", .local)
            }
        }
        return await channel.deliver(event, to: target, attempt: attempt)
    }

    /// Returns the decision to record, after the fallback endpoint is marked if it must receive the event.
    ///
    /// The mark comes first: a crash between the two repeats it without effect. If it cannot be stored, usually because
    /// the fallback's delivery is leased, the attempt is recorded all the same, and the mark is made later.
    private func recorded(
        _ conclusion: DeliveryContext.Conclusion,
        _ target: DeliveryTarget
    ) async -> Decision<DeliveryChange> {
        guard let event = conclusion.escalates, let fallback = target.endpoint?.notifyBy?.fallback
        else { return conclusion.record }
        do throws(StoreError) {
            try await notifyFallback(fallback, event)
        } catch {
            return conclusion.record.withPendingFallback(event.seq)
        }
        return conclusion.record
    }

    /// Marks the fallback for the events that are still due to it, and returns the decision to record.
    ///
    /// `nil` if it could be marked for none and an attempt at the endpoint is due: that attempt does not wait for the
    /// fallback. Marks that were made are recorded first, because a repeated one sends the event again.
    private func notifyPendingFallbacks(
        _ leased: LeasedItem<Delivery>,
        _ target: DeliveryTarget
    ) async -> Decision<DeliveryChange>? {
        var state = leased.item.state
        do throws(StoreError) {
            for seq in state.pendingFallback {
                let event = try await store.event(seq, of: leased.item.watch)
                // If the event was deleted or the fallback removed, there is no recipient left.
                if let event, let fallback = target.endpoint?.notifyBy?.fallback {
                    try await notifyFallback(fallback, event)
                }
                state.removePendingFallback(seq)
            }
        } catch {
            let isDue = state.retryAt.map { $0 <= leased.now } ?? true
            // If more events are due to the fallback than a delivery remembers, the oldest would be lost.
            let hasRoom = state.pendingFallback.count < DeliveryState.deadMax
            if isDue, hasRoom, state == leased.item.state { return nil }
            let why = "the fallback is not notified yet: \(error)"
            return .silent(.next(after: Self.fallbackRetryPause), state, why: why)
        }
        let wait = state.retryAt.map { max($0 - leased.now, .zero) }
        return .silent(.next(after: wait ?? .zero), state)
    }

    private func notifyFallback(_ fallback: EndpointID, _ event: Event) async throws(StoreError) {
        let named = fallbacks?.logged(fallback) ?? ["endpoint": "\(fallback)"]
        do throws(StoreError) {
            try await fallbacks?.make(event, to: fallback)
        } catch {
            logger.warning(
                "fallback not notified yet",
                metadata: named.merging(["error": "\(error)"]) { $1 }
            )
            throw error
        }
        logger.warning(
            "not accepted in time; notifying the fallback",
            metadata: named.merging(["event.id": "\(event.id)"]) { $1 }
        )
    }
}

extension WatchStore {
    /// Reads one event of a watch; `nil` when its log no longer contains it.
    func event(_ seq: Int, of key: WatchKey) async throws(StoreError) -> Event? {
        try await deliverableEvents(of: key, after: seq - 1, limit: 1).first { $0.seq == seq }
    }
}

extension Decision<DeliveryChange> {
    /// Returns the decision with an event that the fallback must still receive.
    fileprivate func withPendingFallback(_ seq: Int) -> Self {
        var state = change.state
        state.addPendingFallback(seq)
        var copy = self
        copy.change = DeliveryChange(
            state: state,
            lastError: change.lastError,
            attempt: change.attempt
        )
        return copy
    }

    /// Returns the decision with a wait of at most `pause` while the fallback must still receive an event.
    fileprivate func dueForFallback(within pause: Duration) -> Self {
        guard !change.state.pendingFallback.isEmpty else { return self }
        let wait = if case .next(let wait) = verdict { min(wait, pause) } else { pause }
        return Decision(
            verdict: .next(after: wait),
            change: change,
            signal: signal,
            isUrgent: isUrgent,
            commitsAtOnce: commitsAtOnce,
            prefersOtherProcesses: prefersOtherProcesses
        )
    }
}
