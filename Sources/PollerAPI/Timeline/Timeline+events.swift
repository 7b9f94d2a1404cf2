import Poller
import PollerWire

/// What became of the payment itself.
extension Timeline {
    /// Events as entries; what one look has shown stands together, behind what it means for the money.
    ///
    /// That nothing more is looked at is said once, of the last one: after each of those before it came
    /// another.
    var ofEvents: [TimelineEntry] {
        var entries: [TimelineEntry] = []
        var charge = Poller.ChargeProgress.none
        var before: Poller.Event?
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
            if let told = Self.entry(of: event, after: charge) {
                // In front of what it has changed, which stays the last.
                entries.insert(told, at: max(entries.endIndex - 1, 0))
            }
            charge = event.progress
            before = event
        }
        return entries
    }

    /// What the end of a watch means for what may come; nil where that is said, or the money is gone.
    private func ending(_ event: Poller.Event) -> String? {
        guard let closed = event.closed, closed == watch.closed, !event.type.hasPrefix("watch.")
        else { return nil }
        switch event.payment?.state {
        case .disputed, .reversed, .refunded: return nil
        case .paid, .partiallyPaid, .partiallyRefunded:
            // Stripe tells of both by itself, by its events.
            let isTold = closed == .settled && watch.watch.key.kind.isOfPayments
            return isTold
                ? "It is not polled any more; refunds and disputes are still told."
                : StoryWords.sentence(closed)
        default: return StoryWords.sentence(closed, status: event.status, error: error(at: event))
        }
    }

    /// Why the look that made an event came to nothing; nil where that is not known any more.
    private func error(at event: Poller.Event) -> String? {
        event.seq == events.last?.seq && event.closed == watch.closed ? watch.lastError : nil
    }

    /// Whether an event ends a watch without an answer.
    private func isBlind(_ event: Poller.Event) -> Bool {
        event.closed.map { StoryWords.isBlind($0, event.status, error(at: event)) } ?? false
    }

    private func entry(of event: Poller.Event) -> TimelineEntry {
        let end = event.type.hasPrefix("watch.") ? event.closed : nil
        let isSeen = !event.type.hasPrefix("watch.") && !event.type.hasPrefix("order.")
        return TimelineEntry(
            event.polledAt,
            .change,
            isBlind(event) && end != nil ? .bad : event.tone,
            end.map { StoryWords.sentence($0, status: event.status, error: error(at: event)) }
                ?? event.sentence,
            // What it tells of may have been before: this is when somebody looked.
            detail: (isSeen ? "seen then, " : "") + "\(event.type), event \(event.seq)"
        )
    }

    /// What became of a charge with an event; nil when nothing did.
    private static func entry(
        of event: Poller.Event,
        after before: Poller.ChargeProgress
    ) -> TimelineEntry? {
        guard event.progress != before else { return nil }
        let tone: Tone
        let text: String
        switch event.progress {
        case .none: return nil
        case .doubtful:
            tone = .careful
            text = "A charge was asked for and may or may not have been made; it is looked for."
        case .pending:
            tone = .info
            text = "The charge has been made; the bank has not answered yet."
        case .succeeded:
            tone = .good
            text = "The charge has succeeded."
        case .failed:
            tone = .bad
            text = "The charge has failed."
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

extension Poller.Event {
    /// Whether it tells of the upstream's own word rather than of what it means.
    fileprivate var isTechnical: Bool {
        !["payment.", "refund.", "order.", "next_step.", "watch.", "mandate."].contains {
            type.hasPrefix($0)
        }
    }

    /// The event in a word, as what somebody was told of.
    var word: String {
        if type.hasPrefix("payment.") || (previousStatus == nil && isTechnical),
            let payment
        {
            return StoryWords.told(payment.state).word
        }
        if type.hasPrefix("refund.") { return StoryWords.plain(type.replacing(".", with: " ")) }
        if type == "next_step.changed" { return "Next step" }
        if type.hasPrefix("watch.") { return StoryWords.plain(String(type.dropFirst(6))) }
        if type.hasPrefix("order.") { return StoryWords.plain(String(type.dropFirst(6))) }
        return StoryWords.plain(isTechnical ? status?.description ?? type : type)
    }

    /// How it is to be taken.
    fileprivate var tone: Timeline.Tone? {
        if type.hasPrefix("payment."), let payment { return payment.state.tone }
        if type == "refund.failed" { return .bad }
        if type.hasPrefix("refund.") { return .careful }
        if type.hasPrefix("watch.") { return closed == .dead ? .bad : .quiet }
        if type == "order.paid_twice" { return .bad }
        return isTechnical && previousStatus != nil ? .quiet : nil
    }

    fileprivate var sentence: String {
        if type.hasPrefix("payment."), let payment { return StoryWords.sentence(payment) }
        if type.hasPrefix("refund."), let payment, let refund = payment.refund {
            return StoryWords.sentence(refund, payment.currency)
        }
        if type == "next_step.changed" { return StoryWords.sentence(nextStep) }
        if type == "mandate.notification" { return "A debit was announced to the customer." }
        if type.hasPrefix("order.") {
            return StoryWords.sentence(StoryWords.plain(type.replacing(".", with: " ")))
        }
        let status = StoryWords.plain(status?.description ?? "nothing that is known")
        guard let previousStatus else {
            if let payment { return StoryWords.sentence(payment) }
            return "Seen at the upstream for the first time: \(status)."
        }
        if type.hasPrefix("charge.") { return "The upstream says of the charge: \(status)." }
        // What every charge does to a source is no news.
        if self.status?.description == "consumed", payment != nil {
            return "The source is used up, as by every charge."
        }
        guard previousStatus != self.status else {
            return "The upstream still says \(status), and something beside it has changed."
        }
        let before = StoryWords.plain(previousStatus.description)
        return "The upstream says \(status); before it was \(before)."
    }
}

extension PaymentState {
    /// How it is to be taken.
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
    /// Adds what the same look has shown.
    fileprivate mutating func add(_ event: Poller.Event) {
        detail = [detail, "\(event.type), event \(event.seq)"].compactMap(\.self)
            .joined(separator: " · ")
    }
}
