import PollerIdentity
import PollerPayments
import PollerWatches
import PollerWire

/// The changes of the payment itself.
extension Timeline {
    /// The events as entries.
    ///
    /// Technical events of one poll are details of its payment event. Only the last event says that polling has stopped.
    var eventEntries: [TimelineEntry] {
        var entries: [TimelineEntry] = []
        var charge = PollerPayments.ChargeProgress.none
        var before: PollerWatches.Event?
        for event in events {
            if let before, event.isTechnical, event.polledAt == before.polledAt, event.seq > 1 {
                entries[entries.endIndex - 1].add(event)
            } else {
                entries.append(entry(of: event))
            }
            if event.seq == events.last?.seq, let end = ending(event) {
                entries[entries.endIndex - 1].text += " \(end)"
                if isBlind(event) { entries[entries.endIndex - 1].tone = Open(.bad) }
            }
            if let change = Self.entry(of: event, after: charge) {
                // Before the payment event that it caused.
                entries.insert(change, at: max(entries.endIndex - 1, 0))
            }
            charge = event.progress
            before = event
        }
        return entries
    }

    /// Returns a sentence about the closed watch; `nil` when the event says it, or the money is gone.
    private func ending(_ event: PollerWatches.Event) -> String? {
        guard let closed = event.closed, closed == watch.closed, !event.type.hasPrefix("watch.")
        else { return nil }
        switch event.payment?.state {
        case .disputed, .reversed, .refunded: return nil
        case .paid, .partiallyPaid, .partiallyRefunded:
            // Stripe reports both with events.
            let isReported = closed == .settled && watch.watch.key.kind.isOfPayments
            return isReported
                ? "Polling has stopped. Refunds and disputes are still reported."
                : TimelineText.sentence(closed)
        default: return TimelineText.sentence(closed, status: event.status, error: error(at: event))
        }
    }

    /// Returns the error of the poll that produced an event; `nil` when a later poll replaced it.
    private func error(at event: PollerWatches.Event) -> String? {
        event.seq == events.last?.seq && event.closed == watch.closed ? watch.lastError : nil
    }

    /// Returns whether an event closed the watch while the payment state was unknown.
    private func isBlind(_ event: PollerWatches.Event) -> Bool {
        event.closed.map { TimelineText.isBlind($0, event.status, error(at: event)) } ?? false
    }

    private func entry(of event: PollerWatches.Event) -> TimelineEntry {
        let end = event.type.hasPrefix("watch.") ? event.closed : nil
        let isObserved = !event.type.hasPrefix("watch.") && !event.type.hasPrefix("order.")
        return TimelineEntry(
            event.polledAt,
            .change,
            isBlind(event) && end != nil ? .bad : event.tone,
            end.map { TimelineText.sentence($0, status: event.status, error: error(at: event)) }
                ?? event.sentence,
            // The change itself may be older than the poll.
            detail: (isObserved ? "time of the poll, " : "") + "\(event.type), event \(event.seq)"
        )
    }

    /// Returns the change of the charge with an event; `nil` when it did not change.
    private static func entry(
        of event: PollerWatches.Event,
        after before: PollerPayments.ChargeProgress
    ) -> TimelineEntry? {
        guard event.progress != before else { return nil }
        let tone: Tone
        let text: String
        switch event.progress {
        case .none: return nil
        case .doubtful:
            tone = .careful
            text = "A charge was requested. Its outcome is unknown and is being checked."
        case .pending:
            tone = .info
            text = "The charge was created. The bank has not answered yet."
        case .succeeded:
            tone = .good
            text = "The charge succeeded."
        case .failed:
            tone = .bad
            text = "The charge failed."
        }
        return TimelineEntry(
            event.polledAt,
            .charge,
            tone,
            text,
            detail: event.progress.charge.map { "\($0)" }
        )
    }
}

extension PollerWatches.Event {
    /// Whether the event reports an upstream status rather than a payment state.
    fileprivate var isTechnical: Bool {
        !["payment.", "refund.", "order.", "next_step.", "watch.", "mandate."].contains {
            type.hasPrefix($0)
        }
    }

    /// The label of the event in deliveries.
    var label: String {
        if type.hasPrefix("payment.") || (previousStatus == nil && isTechnical),
            let payment
        {
            return TimelineText.label(payment.state).label
        }
        if type.hasPrefix("refund.") { return TimelineText.plain(type.replacing(".", with: " ")) }
        if type == "next_step.changed" { return "Next step" }
        if type.hasPrefix("watch.") { return TimelineText.plain(String(type.dropFirst(6))) }
        if type.hasPrefix("order.") { return TimelineText.plain(String(type.dropFirst(6))) }
        return TimelineText.plain(isTechnical ? status?.description ?? type : type)
    }

    fileprivate var tone: Timeline.Tone? {
        if type.hasPrefix("payment."), let payment { return payment.state.tone }
        if type == "refund.failed" { return .bad }
        if type.hasPrefix("refund.") { return .careful }
        if type.hasPrefix("watch.") { return closed == .dead ? .bad : .quiet }
        if type == "order.paid_twice" { return .bad }
        return isTechnical && previousStatus != nil ? .quiet : nil
    }

    fileprivate var sentence: String {
        if type.hasPrefix("payment."), let payment { return TimelineText.sentence(payment) }
        if type.hasPrefix("refund."), let payment, let refund = payment.refund {
            return TimelineText.sentence(refund, payment.currency)
        }
        if type == "next_step.changed" { return TimelineText.sentence(nextStep) }
        if type == "mandate.notification" { return "A debit was announced to the customer." }
        if type.hasPrefix("order.") {
            return TimelineText.sentence(TimelineText.plain(type.replacing(".", with: " ")))
        }
        let status = TimelineText.plain(status?.description ?? "unknown")
        guard let previousStatus else {
            if let payment { return TimelineText.sentence(payment) }
            return "First poll: the upstream status is \(status)."
        }
        if type.hasPrefix("charge.") { return "The upstream status of the charge is \(status)." }
        // Every charge consumes its source.
        if self.status?.description == "consumed", payment != nil {
            return "The source was consumed by the charge."
        }
        guard previousStatus != self.status else {
            return "The upstream status is still \(status). Other fields have changed."
        }
        let before = TimelineText.plain(previousStatus.description)
        return "The upstream status changed from \(before) to \(status)."
    }
}

extension PaymentState {
    fileprivate var tone: Timeline.Tone? {
        switch self {
        case .awaitingCustomer: nil
        case .processing, .authorised: .info
        case .paid: .good
        case .partiallyPaid, .refunded, .partiallyRefunded, .unknown: .careful
        case .failed, .disputed, .reversed: .bad
        case .expired, .cancelled: .quiet
        }
    }
}

extension TimelineEntry {
    /// Adds another event of the same poll.
    fileprivate mutating func add(_ event: PollerWatches.Event) {
        detail = [detail, "\(event.type), event \(event.seq)"].compactMap(\.self)
            .joined(separator: " · ")
    }
}
