package import Logging
import Metrics

/// A notifier's hand: tells one endpoint the next event of one source it has not been told yet.
///
/// One event a turn, so that each success is recorded before the next attempt: a crash repeats
/// at most the one attempt whose outcome nobody recorded, with the same event id.
package struct DeliveryHandler<Store: WatchStore>: Reconciling {
    /// Events read at a time; those an endpoint does not want are passed over in one turn.
    static var readAhead: Int { 32 }

    private let store: Store
    private let channels: [String: any DeliveryChannel]
    private let logger: Logger

    /// Delivers what `store` has recorded through the channel that serves the URL's scheme.
    package init(store: Store, channels: [any DeliveryChannel], logger: Logger) {
        self.store = store
        self.logger = logger
        var byScheme: [String: any DeliveryChannel] = [:]
        for channel in channels {
            for scheme in channel.schemes { byScheme[scheme] = channel }
        }
        self.channels = byScheme
    }

    package func reconcile(_ held: Held<Delivery>) async -> Reconciled<DeliveryChange>? {
        let delivery = held.item
        var state = delivery.state
        let events: [Event]
        do {
            events = try await store.events(
                of: delivery.watch,
                after: state.cursor,
                limit: Self.readAhead
            )
        } catch {
            let change = DeliveryChange(state: state, lastError: "log unreadable: \(error)")
            return Reconciled(verdict: .next(after: .seconds(1)), change: change)
        }
        if events.isEmpty, let behind = await rewound(delivery) {
            state.cursor = behind
            return Reconciled(verdict: .next(after: .zero), change: DeliveryChange(state: state))
        }
        guard let channel = channels[delivery.url.scheme] else {
            return skipped(
                delivery,
                events,
                why: "no channel for \(delivery.url.scheme): is POLLER_SMTP_URL set?"
            )
        }
        guard let index = events.firstIndex(where: channel.wants) else {
            state.cursor = events.last?.seq ?? state.cursor
            // A full page of unwanted events may hide more behind it.
            let verdict: Verdict =
                events.count == Self.readAhead ? .next(after: .zero) : .rest
            return Reconciled(verdict: verdict, change: DeliveryChange(state: state))
        }
        let event = events[index]
        if held.lease.crashes >= Lease<Delivery>.poisonAt {
            let why = "\(held.lease.crashes) notifiers in a row ended without a word on it"
            return concluded(delivery, event, .rejected(why), more: true, now: held.now)
        }
        // After a stall somebody else may hold it before this attempt could end: give it back.
        guard held.remaining > channel.timeout else { return nil }
        let outcome = await channel.deliver(
            event,
            to: delivery.url,
            attempt: state.failures + 1
        )
        if Task.isCancelled, outcome != .delivered { return nil }
        return concluded(
            delivery,
            event,
            outcome,
            more: index + 1 < events.count || events.count == Self.readAhead,
            now: held.now
        )
    }

    /// Where the cursor must go back to, when the store has lost events that were told already.
    ///
    /// What is recorded after a failover takes the numbers of what was lost; from one before the
    /// newest on it is told again, rather than the end of the payment to nobody.
    private func rewound(_ delivery: Delivery) async -> Int? {
        guard let snapshot = try? await store.snapshot(of: delivery.watch),
            snapshot.watch.seq < delivery.state.cursor
        else { return nil }
        logger.warning(
            "the store has lost events that were told",
            metadata: ["source": "\(delivery.watch.source)", "seq": "\(snapshot.watch.seq)"]
        )
        return max(snapshot.watch.seq - 1, 0)
    }

    private func concluded(
        _ delivery: Delivery,
        _ event: Event,
        _ outcome: AttemptResult,
        more: Bool,
        now: Timestamp
    ) -> Reconciled<DeliveryChange> {
        let lag = now - event.polledAt
        var state = delivery.state
        state.attempts += 1
        state.retryAt = nil
        var metadata: Logger.Metadata = [
            "event.id": "\(event.id)", "source": "\(event.key.source)", "seq": "\(event.seq)",
            "endpoint": "\(delivery.endpoint)", "host": "\(delivery.url.host)",
            "attempt": "\(state.failures + 1)",
        ]
        let following: Verdict = more ? .next(after: .zero) : .rest
        var error: String?
        var verdict = following
        var result = "delivered"
        switch outcome {
        case .delivered:
            (state.cursor, state.failures) = (event.seq, 0)
            metadata["lag.ms"] = "\(lag.ms)"
            logger.info("delivered", metadata: metadata)
            Timer(label: "poller_delivery_lag_seconds").recordMilliseconds(max(lag.ms, 0))
        case .failed(let reason, let after):
            error = reason
            metadata["error"] = "\(reason)"
            if let retryAt = delivery.state.retryAt, now < retryAt {
                // An extra attempt, made because something new was recorded: the schedule stands.
                state.retryAt = retryAt
                verdict = .next(after: retryAt - now)
                result = "failed"
                logger.debug("extra attempt failed", metadata: metadata)
                break
            }
            state.failures += 1
            var chance = SystemRandomNumberGenerator()
            let schedule = channels[delivery.url.scheme]?.schedule
            if let wait = schedule?.wait(failures: state.failures, using: &chance) {
                let wait = max(wait, min(after ?? .zero, .seconds(3600)))
                metadata["retry.ms"] = "\(wait.ms)"
                logger.warning("delivery failed, will be tried again", metadata: metadata)
                verdict = .next(after: wait)
                state.retryAt = now + wait
                result = "failed"
            } else {
                (state.cursor, state.failures) = (event.seq, 0)
                logger.error("delivery given up: no attempt is left", metadata: metadata)
                result = "given_up"
            }
        case .rejected(let reason):
            (state.cursor, state.failures) = (event.seq, 0)
            error = reason
            metadata["error"] = "\(reason)"
            logger.error("delivery given up: the receiver refused it", metadata: metadata)
            result = "rejected"
        }
        Counter(
            label: "poller_deliveries_total",
            dimensions: [("scheme", delivery.url.scheme), ("result", result)]
        ).increment()
        return Reconciled(
            verdict: verdict,
            change: DeliveryChange(state: state, lastError: error)
        )
    }

    /// Nobody here can deliver to this URL: look again in a minute, the operator may mend it.
    private func skipped(
        _ delivery: Delivery,
        _ events: [Event],
        why: String
    ) -> Reconciled<DeliveryChange> {
        logger.error(
            "delivery impossible",
            metadata: ["endpoint": "\(delivery.endpoint)", "error": "\(why)"]
        )
        let change = DeliveryChange(state: delivery.state, lastError: why)
        return Reconciled(verdict: .next(after: .seconds(60)), change: change)
    }
}
